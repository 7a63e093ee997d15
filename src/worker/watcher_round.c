/*
 * watcher_round.c
 *	  From a range of blocks to the one commit: fetch logs, find the runs they start, take these
 *	  as far as they go,
 *	  and write cursor, occurrences, runs, journal and queue together.
 *
 * Nothing is written before that commit. Whatever happens before it, the cursor has not moved,
 * and the same logs are read again; the occurrence keys make a repetition harmless.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/crash.h"
#include "db/datum.h"
#include "db/settings.h"
#include "db/statement.h"
#include "db/wait.h"
#include "db/wake.h"
#include "flow/claim.h"
#include "flow/held.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/dispatch.h"
#include "worker/watcher.h"

/* Logs that are decoded and filtered in one go. */
#define CHUNK_LOGS 1024
/* Call data and decoded values of one chunk. */
#define CHUNK_MAX_BYTES ((size_t) 256 * 1024 * 1024)
/* Pauses after a round that could not be completed. */
#define HOLD_FIRST_MS 20
#define HOLD_LONGEST_MS 5000

/* A range that is being read for a cursor. */
struct round
{
	struct watcher *watcher;
	struct chain_cursor *cursor;
	List *definitions;
	struct chain_logs logs;
	int64 to;
	size_t next; /* log that has not been dispatched */
};

/* Where the cursor stands when everything before it has been claimed. */
struct position
{
	int64 block;
	int log_index;
};

void
worker_watcher_hold(struct watcher *watcher, const char *why)
{
	double pause = HOLD_FIRST_MS * (double) (1 << Min(watcher->failures, 10));

	watcher->failures++;
	watcher->hold_until = db_now_ms() + Min(pause, HOLD_LONGEST_MS);
	/* Another endpoint may answer next: it has to say first which chain it is on. */
	if (rpc_client_error(watcher->client)[0] != '\0' && !rpc_client_was_limited(watcher->client))
		watcher->identified = 0;
	db_report_error("%s", why);
}

static struct db_statement disable_workflow = {
	.sql =
		"UPDATE rflow.workflows w "
		"   SET enabled = false "
		" WHERE w.name IN (SELECT l.name FROM rflow.workflows l WHERE l.name = $1 FOR UPDATE "
		"SKIP LOCKED)",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement note_detached = {
	.sql =
		"INSERT INTO rflow_private.incidents (kind, network, workflow, subject, reason, "
		"what_to_do) "
		"VALUES ('detached', $2, $1, $1, $3, "
		"        'mend the workflow, then rflow.enable(workflow, resume => ''cursor''): nothing "
		"is lost') "
		"    ON CONFLICT (kind, subject) DO UPDATE "
		"   SET reason = excluded.reason, since = excluded.since, resolved_at = NULL",
	.types = {TEXTOID, TEXTOID, TEXTOID},
	.count = 3,
};

/*
 * A workflow that the others would have to wait for is stopped where it stands: it is disabled
 * with a cursor of its own, and rflow.stuck says why. Nothing of what was computed is claimed;
 * the range is read again without it.
 */
static void
detach(struct watcher *watcher, const struct flow_definition *definition)
{
	Datum values[3];
	bool locked;

	if (!worker_begin(watcher->worker, "detaching a workflow"))
		return;
	values[0] = CStringGetTextDatum(definition->workflow);
	values[1] = CStringGetTextDatum(watcher->chain->network);
	values[2] = CStringGetTextDatum(definition->detach_reason);
	locked = db_execute(&disable_workflow, values, NULL) == 0;
	if (!locked)
		(void) db_execute(&note_detached, values, NULL);
	db_commit();
	if (locked)
		worker_watcher_hold(watcher,
							psprintf("workflow \"%s\" must be detached, but its row is locked",
									 definition->workflow));
	watcher->generation = 0;
}

/* True when a workflow had to be detached: the range has to be read again. */
static bool
detach_offenders(const struct round *round)
{
	bool any = false;
	ListCell *cell;

	foreach (cell, round->definitions)
	{
		const struct flow_definition *definition = lfirst(cell);

		if (definition->detach_reason != NULL)
		{
			detach(round->watcher, definition);
			any = true;
		}
	}
	return any;
}

static List *
definitions_of(const struct watcher *watcher, const struct chain_cursor *cursor)
{
	List *result = NIL;
	ListCell *name;
	ListCell *cell;

	foreach (name, cursor->workflows)
	{
		foreach (cell, watcher->definitions)
		{
			struct flow_definition *definition = lfirst(cell);

			if (strcmp(definition->workflow, lfirst(name)) == 0)
				result = lappend(result, definition);
		}
	}
	return result;
}

static struct position
position_of_log(const struct round *round, size_t index)
{
	struct position result = {round->to + 1, 0};

	if (index < round->logs.count)
	{
		result.block = round->logs.logs[index].block_number;
		result.log_index = round->logs.logs[index].log_index;
	}
	return result;
}

static struct position
position_of_run(const struct flow_run *run)
{
	struct position result = {run->log.block_number, run->log.log_index};

	return result;
}

/*
 * The one commit. False when the definitions have changed since the runs were computed, or the
 * database may not act any more: everything computed is thrown away.
 */
static bool
claim(struct round *round, struct flow_run **runs, int count, struct position position)
{
	struct watcher *watcher = round->watcher;
	TimestampTz committed_at;
	int won = 0;

	if (!worker_begin(watcher->worker, "claiming"))
		return false;
	db_lock_definitions();
	if (db_definitions_generation() != watcher->generation)
	{
		db_abort();
		watcher->generation = 0;
		return false;
	}
	if (count == 0)
		db_synchronous_commit(false); /* can be derived again from the chain */
	chain_advance_cursor(round->cursor, position.block, position.log_index);
	if (count > 0)
		won = flow_claim(runs, count, watcher->chain->network, GetCurrentTimestamp());
	DB_CRASH_POINT("claim-before-commit");
	db_commit();
	/* Of those that were known some may have come back, and wait. */
	watcher->reorg_due |= won < count;
	committed_at = db_committed_at();
	DB_CRASH_POINT("claim-after-commit");
	for (int i = 0; i < won; i++)
		db_record_commit(runs[i]->key, committed_at);
	return true;
}

/* Takes runs as far as they go and claims them; position is where the cursor stands behind them. */
static bool
advance_and_claim(struct round *round, struct flow_run **runs, int count, struct position position)
{
	struct watcher *watcher = round->watcher;
	struct flow_turn turn = {
		.network = watcher->chain->network,
		.client = watcher->client,
	};

	if (!flow_advance(runs, count, &turn))
	{
		worker_watcher_hold(watcher, rpc_client_error(watcher->client));
		return false;
	}
	return claim(round, runs, count, position);
}

/* The runs that events of this range may be of; read again for each chunk. */
static bool
load_held(struct watcher *watcher, List **held)
{
	MemoryContext context = CurrentMemoryContext;

	*held = NIL;
	if (!watcher->reorg_due)
		return true;
	if (!worker_begin(watcher->worker, "loading detached runs"))
		return false;
	MemoryContextSwitchTo(context);
	*held = flow_load_held(watcher->chain->network);
	db_commit();
	return true;
}

/*
 * In a commit of its own, before the cursor moves: what is read again then is attached already.
 */
static bool
reattach(struct watcher *watcher, List *returned)
{
	if (returned == NIL)
		return true;
	if (!worker_begin(watcher->worker, "re-attaching runs"))
		return false;
	flow_reattach(returned);
	DB_CRASH_POINT("reattach-before-commit");
	db_commit();
	DB_CRASH_POINT("reattach-after-commit");
	return true;
}

/* Dispatches the next logs and claims what they start, a batch at a time. */
static bool
do_chunk(struct round *round)
{
	size_t last = Min(round->next + CHUNK_LOGS, round->logs.count);
	struct evm_arena *arena = db_arena_create(CurrentMemoryContext, CHUNK_MAX_BYTES);
	struct flow_run **runs;
	List *held;
	List *returned = NIL;
	int count;

	if (!load_held(round->watcher, &held))
		return false;
	runs = worker_dispatch_logs(round->watcher->chain, &round->logs, round->next, last,
								round->definitions, held, &returned, arena, &count);
	round->next = last;
	if (detach_offenders(round) || !reattach(round->watcher, returned))
		return false;
	for (int first = 0; first < count; first += db_claim_batch)
	{
		int size = Min(db_claim_batch, count - first);
		struct position position = first + size < count ? position_of_run(runs[first + size])
														: position_of_log(round, last);

		if (!advance_and_claim(round, runs + first, size, position))
			return false;
	}
	/* The end of the range is committed even when nothing in it started anything. */
	if (count == 0 && last == round->logs.count)
		return claim(round, NULL, 0, position_of_log(round, last));
	return true;
}

static void
skip_claimed(struct round *round)
{
	const struct chain_cursor *cursor = round->cursor;

	while (round->next < round->logs.count &&
		   round->logs.logs[round->next].block_number == cursor->next_block &&
		   round->logs.logs[round->next].log_index < cursor->next_log)
		round->next++;
}

static bool
do_range(struct round *round)
{
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext chunk = AllocSetContextCreate(outer, "rflow chunk", ALLOCSET_DEFAULT_SIZES);
	bool done = true;

	if (detach_offenders(round))
		return false;
	skip_claimed(round);
	do
	{
		MemoryContextReset(chunk);
		MemoryContextSwitchTo(chunk);
		done = do_chunk(round);
		MemoryContextSwitchTo(outer);
		CHECK_FOR_INTERRUPTS();
	} while (done && round->next < round->logs.count);
	MemoryContextDelete(chunk);
	return done;
}

/* True when the range, or the part of it that the node gives, has been claimed. */
static bool
fetch_and_claim(struct watcher *watcher, struct chain_cursor *cursor, int64 ceiling)
{
	struct round round = {.watcher = watcher, .cursor = cursor};
	struct chain_filter *filters;
	int count;
	bool done;

	round.definitions = definitions_of(watcher, cursor);
	round.to = Min(ceiling, cursor->next_block + cursor->range - 1);
	filters = worker_dispatch_filters(round.definitions, &count);
	round.logs = chain_fetch_logs(watcher->chain, watcher->client, filters, count,
								  cursor->next_block, round.to);
	switch (round.logs.outcome)
	{
		case CHAIN_FETCH_LATER:
			worker_watcher_hold(watcher, round.logs.error);
			return false;
		case CHAIN_FETCH_LESS:
			cursor->range = Max(cursor->range / 2, 1);
			return true;
		case CHAIN_FETCHED:
			break;
	}
	done = do_range(&round);
	rpc_batch_destroy(round.logs.batch);
	if (!done)
		return false;
	cursor->range = Min(cursor->range * 2, watcher->log_range);
	watcher->failures = 0;
	watcher->report.rounds++;
	return true;
}

/* Two cursors of one ceiling at the same place are one: loading them merges them. */
static bool
can_merge(const struct watcher *watcher)
{
	ListCell *cell;
	ListCell *other;

	foreach (cell, watcher->cursors)
	{
		const struct chain_cursor *a = lfirst(cell);

		foreach (other, watcher->cursors)
		{
			const struct chain_cursor *b = lfirst(other);

			if (a != b && strcmp(a->ceiling, b->ceiling) == 0 && a->next_block == b->next_block &&
				a->next_log == b->next_log)
				return true;
		}
	}
	return false;
}

bool
worker_watcher_round(struct watcher *watcher)
{
	bool more = false;
	bool moved = false;
	ListCell *cell;

	if (db_now_ms() < watcher->hold_until)
		return false;
	foreach (cell, watcher->cursors)
	{
		struct chain_cursor *cursor = lfirst(cell);
		int64 ceiling = chain_ceiling(watcher->chain, cursor);

		if (cursor->next_block > ceiling)
			continue;
		if (!fetch_and_claim(watcher, cursor, ceiling))
		{
			/* What is old waits for the network's limit; what is new need not wait behind it. */
			if (rpc_client_was_limited(watcher->client))
				continue;
			return false;
		}
		moved = true;
		watcher->reorg_tip = -1;
		more |= cursor->next_block <= ceiling;
	}
	if (moved && list_length(watcher->cursors) > 1 && can_merge(watcher))
		watcher->cursors_stale = true;
	return more;
}
