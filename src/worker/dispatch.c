/*
 * dispatch.c
 *	  Matches logs with workflows, decodes them, and evaluates filters for all of them at once.
 *
 * The address, topic 0 and the number of topics choose the workflow's event: ERC-20 and ERC-721
 * share a topic 0 and differ in how many arguments are indexed.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "db/datum.h"
#include "db/statement.h"
#include "flow/claim.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "worker/dispatch.h"

/* A filter that raises the same error for so many events in a row is wrong, not the events. */
#define MAX_STRIKES 10

struct chain_filter *
worker_dispatch_filters(List *definitions, int *count)
{
	struct chain_filter *filters = palloc0(Max(list_length(definitions), 1) * sizeof(*filters));
	ListCell *cell;

	*count = 0;
	foreach (cell, definitions)
	{
		const struct flow_definition *definition = lfirst(cell);
		const struct evm_abi_item *event = definition->trigger.target.item;
		struct chain_filter *filter = &filters[(*count)++];

		filter->address = definition->trigger.target.address;
		filter->has_topic0 = !event->anonymous;
		filter->topic0 = event->hash;
	}
	return filters;
}

static void
make_key(uint8 out[32], const struct chain *chain, const struct flow_definition *definition,
		 const struct chain_log *log)
{
	struct flow_log_identity identity = {
		.workflow = definition->workflow,
		.chain_id = chain->chain_id,
		.genesis_hash = chain->genesis_hash,
		.transaction_hash = log->transaction_hash,
		.address = log->address,
		.topics = log->topics,
		.topic_count = log->topic_count,
		.data = log->data,
		.ordinal = log->ordinal,
	};

	flow_log_key(out, &identity);
}

static void
place_on_chain(struct flow_run *run, const struct chain_log *log, int64 timestamp)
{
	struct flow_log place = {
		.block_number = log->block_number,
		.block_hash = log->block_hash,
		.block_timestamp = chain_timestamp(timestamp),
		.transaction_hash = log->transaction_hash,
		.transaction_index = log->transaction_index,
		.log_index = log->log_index,
		.address = log->address,
	};

	flow_run_set_log(run, &place);
}

static void
fail_run(struct flow_run *run, Jsonb *error)
{
	run->state = FLOW_FAILED;
	run->error = error;
}

/* False when the log is not this workflow's event. */
static bool
match(struct dispatch_candidate *out, const struct chain *chain, const struct chain_logs *logs,
	  size_t index, struct flow_definition *definition, struct evm_arena *arena)
{
	const struct chain_log *log = &logs->logs[index];
	const struct flow_target *target = &definition->trigger.target;
	struct evm_abi_value *values;
	struct evm_error error;
	enum evm_status status;
	uint8 key[32];

	if (memcmp(log->address.b, target->address.b, sizeof(log->address.b)) != 0)
		return false;
	status = evm_abi_decode_log(arena, &values, target->item, log->topics, log->topic_count,
								log->data.data, log->data.len, &error);
	if (status == EVM_ERR_MISMATCH)
		return false;
	make_key(key, chain, definition, log);
	out->run = flow_run_create(definition, key, logs->held_at);
	out->log = log;
	out->values = status == EVM_OK ? values : NULL;
	place_on_chain(out->run, log, logs->timestamps[index]);
	if (status == EVM_OK)
		flow_run_set_event(out->run, values);
	else
		fail_run(out->run,
				 flow_error(ERRCODE_DATA_EXCEPTION, "the log does not decode as %s: %s",
							target->item->signature, error.message));
	return true;
}

static struct dispatch_candidate *
match_all(const struct chain *chain, const struct chain_logs *logs, size_t first, size_t last,
		  List *definitions, struct evm_arena *arena, int *count)
{
	struct dispatch_candidate *candidates =
		palloc(Max((last - first) * list_length(definitions), 1) * sizeof(*candidates));
	MemoryContext context = CurrentMemoryContext;
	ListCell *cell;

	*count = 0;
	db_begin("decoding logs");
	MemoryContextSwitchTo(context);
	for (size_t i = first; i < last; i++)
	{
		foreach (cell, definitions)
		{
			if (match(&candidates[*count], chain, logs, i, lfirst(cell), arena))
				(*count)++;
		}
	}
	db_abort();
	MemoryContextSwitchTo(context);
	return candidates;
}

/* Events that have a run already, whose block was replaced. */
static void
recognise(struct dispatch_candidate *candidates, int count, List *held, List **returned)
{
	MemoryContext context = CurrentMemoryContext;

	db_begin("recognising events");
	MemoryContextSwitchTo(context);
	for (int i = 0; i < count; i++)
	{
		const struct flow_held *found =
			flow_find_held(held, candidates[i].run, candidates[i].values);
		struct flow_returned *run;

		if (found == NULL)
			continue;
		run = palloc(sizeof(struct flow_returned));
		strlcpy(run->id, found->id, sizeof(run->id));
		run->log = candidates[i].run->log;
		*returned = lappend(*returned, run);
		candidates[i].run = NULL;
	}
	db_abort();
	MemoryContextSwitchTo(context);
}

/* What is evaluated for the candidates of one workflow, and what its value does to them. */
typedef void (*verdict_function)(struct dispatch_candidate *candidate,
								 const struct flow_evaluation *evaluation);

static void
judge_filter(struct dispatch_candidate *candidate, const struct flow_evaluation *evaluation)
{
	if (evaluation->nulls[0] || !DatumGetBool(evaluation->values[0]))
		candidate->run = NULL;
}

/* NULL: the occurrence stays its own. */
static void
replace_key(struct dispatch_candidate *candidate, const struct flow_evaluation *evaluation)
{
	const struct flow_definition *definition = candidate->run->definition;
	uint8 key[32];

	if (evaluation->nulls[0])
		return;
	flow_once_per_key(key, definition->workflow, definition->trigger.target.chain_id,
					  TextDatumGetCString(evaluation->values[0]));
	flow_run_set_key(candidate->run, key);
}

/* Time that others wait for, or the same error again and again: the workflow has to go on alone. */
static void
count_strikes(struct flow_definition *definition, const ErrorData *error)
{
	if (error == NULL)
		definition->strikes = 0;
	else if (error->sqlerrcode == definition->strike_sqlstate)
		definition->strikes++;
	else
	{
		definition->strikes = 1;
		definition->strike_sqlstate = error->sqlerrcode;
	}
	if (error == NULL || definition->detach_reason != NULL ||
		(error->sqlerrcode != ERRCODE_QUERY_CANCELED && definition->strikes < MAX_STRIKES))
		return;
	definition->detach_reason =
		MemoryContextStrdup(definition->context,
							error->sqlerrcode == ERRCODE_QUERY_CANCELED
								? "its filter takes longer than rflow.statement_timeout"
								: psprintf("its filter raised for %d events in a row: %s",
										   MAX_STRIKES, error->message));
}

static void
evaluate_for(struct flow_definition *definition, struct flow_expression *expression,
			 struct dispatch_candidate *candidates, int count, verdict_function verdict)
{
	struct flow_run **runs = palloc(Max(count, 1) * sizeof(struct flow_run *));
	struct dispatch_candidate **chosen = palloc(Max(count, 1) * sizeof(*chosen));
	struct flow_evaluation *evaluations;
	int size = 0;

	for (int i = 0; i < count; i++)
	{
		struct flow_run *run = candidates[i].run;

		if (run == NULL || run->definition != definition || run->state != FLOW_RUNNING)
			continue;
		chosen[size] = &candidates[i];
		runs[size++] = run;
	}
	if (size == 0)
		return;
	evaluations = flow_evaluate(definition, expression, runs, size);
	for (int i = 0; i < size; i++)
	{
		count_strikes(definition, evaluations[i].error);
		if (evaluations[i].error != NULL)
			fail_run(chosen[i]->run, flow_error_from_data(evaluations[i].error));
		else
			verdict(chosen[i], &evaluations[i]);
	}
}

/* The event as the run's row keeps it; only for what has passed. */
static void
keep_events(struct dispatch_candidate *candidates, int count)
{
	for (int i = 0; i < count; i++)
	{
		struct flow_run *run = candidates[i].run;
		const struct evm_abi_item *event;

		if (run == NULL || candidates[i].values == NULL)
			continue;
		event = run->definition->trigger.target.item;
		run->event =
			db_abi_params_to_jsonb(event->inputs, event->input_count, candidates[i].values);
	}
}

/* In order, each key once: a second one in the same batch is the same occurrence. */
static struct flow_run **
collect(struct dispatch_candidate *candidates, int count, int *kept)
{
	struct flow_run **runs = palloc(Max(count, 1) * sizeof(struct flow_run *));
	HASHCTL control = {.keysize = 32, .entrysize = 32, .hcxt = CurrentMemoryContext};
	HTAB *seen =
		hash_create("rflow keys", Max(count, 1), &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	*kept = 0;
	for (int i = 0; i < count; i++)
	{
		bool found;

		if (candidates[i].run == NULL)
			continue;
		(void) hash_search(seen, candidates[i].run->key, HASH_ENTER, &found);
		if (!found)
			runs[(*kept)++] = candidates[i].run;
	}
	hash_destroy(seen);
	return runs;
}

struct flow_run **
worker_dispatch_logs(const struct chain *chain, const struct chain_logs *logs, size_t first,
					 size_t last, List *definitions, List *held, List **returned,
					 struct evm_arena *arena, int *count)
{
	int candidate_count;
	struct dispatch_candidate *candidates =
		match_all(chain, logs, first, last, definitions, arena, &candidate_count);
	ListCell *cell;

	if (held != NIL)
		recognise(candidates, candidate_count, held, returned);
	foreach (cell, definitions)
	{
		struct flow_definition *definition = lfirst(cell);

		if (definition->filter != NULL)
			evaluate_for(definition, definition->filter, candidates, candidate_count, judge_filter);
		if (definition->once_per != NULL)
			evaluate_for(definition, definition->once_per, candidates, candidate_count,
						 replace_key);
	}
	keep_events(candidates, candidate_count);
	return collect(candidates, candidate_count, count);
}
