/*
 * advance.c
 *	  Takes runs as far as they go in this process, wave by wave.
 *
 * A wave: evaluate the expressions of all runs at the same step in one statement, collect the
 * calls of all runs into one batch, send it, apply the answers. Nothing is written; the steps'
 * outcomes stay in the runs until claim.c or journal.c writes them.
 */
#include "postgres.h"

#include "access/xact.h"
#include "db/statement.h"
#include "flow/run.h"
#include "flow/step_kind.h"
#include "utils/timestamp.h"

/*
 * Requests in a row without an answer, until a watcher leaves the calls of a workflow to executors,
 * and for how long.
 */
#define PATIENCE 3
#define TRY_AGAIN_MS 60000

static struct flow_step *
current_step(const struct flow_run *run)
{
	return &run->definition->steps[run->next_step];
}

/* May this process do the run's next step? */
static bool
is_ours(const struct flow_run *run, const struct flow_turn *turn)
{
	const struct flow_step *step = current_step(run);

	if (!turn->executor && !step->kind->in_watcher)
		return false;
	return !step->kind->calls_network || strcmp(step->target.network, turn->network) == 0;
}

/*
 * The runs that are in hand; those that are at their end, or at a step of somebody else, are put
 * down.
 */
static int
collect_running(struct flow_run **out, struct flow_run **runs, int count, struct flow_turn *turn)
{
	int running = 0;

	for (int i = 0; i < count; i++)
	{
		struct flow_run *run = runs[i];

		if (run->state != FLOW_RUNNING)
			continue;
		if (run->next_step >= run->definition->step_count)
			flow_run_finish(run);
		else if (!is_ours(run, turn))
			flow_run_defer(run);
		else
		{
			if (run->step_started_at == 0)
				run->step_started_at = GetCurrentTimestamp();
			out[running++] = run;
		}
	}
	return running;
}

/* Applies a verdict to each run of a group: an error fails the step. */
typedef void (*verdict_function)(struct flow_run *run, const struct flow_evaluation *evaluation);

static void
judge_run_if(struct flow_run *run, const struct flow_evaluation *evaluation)
{
	if (evaluation->nulls[0] || !DatumGetBool(evaluation->values[0]))
		flow_step_skip(run, current_step(run));
}

static void
keep_values(struct flow_run *run, const struct flow_evaluation *evaluation)
{
	run->evaluation = *evaluation;
}

static struct flow_expression *
run_if_of(const struct flow_step *step)
{
	return step->run_if;
}

static struct flow_expression *
values_of(const struct flow_step *step)
{
	return step->values != NULL && step->values->target_count > 0 ? step->values : NULL;
}

/*
 * Evaluates one field of the current steps, each group of runs at the same step of the same
 * version together.
 */
static void
evaluate_groups(struct flow_run **runs, int count,
				struct flow_expression *(*field)(const struct flow_step *),
				verdict_function verdict)
{
	struct flow_run **group = palloc(count * sizeof(struct flow_run *));
	bool *done = palloc0(count * sizeof(bool));

	for (int i = 0; i < count; i++)
	{
		struct flow_step *step = current_step(runs[i]);
		struct flow_expression *expression = field(step);
		struct flow_evaluation *evaluations;
		int size = 0;

		if (done[i] || expression == NULL)
			continue;
		for (int j = i; j < count; j++)
		{
			if (!done[j] && runs[j]->definition == runs[i]->definition &&
				current_step(runs[j]) == step)
			{
				done[j] = true;
				group[size++] = runs[j];
			}
		}
		evaluations = flow_evaluate(runs[i]->definition, expression, group, size);
		for (int j = 0; j < size; j++)
		{
			if (evaluations[j].error != NULL)
				flow_step_fail(group[j], step, flow_error_from_data(evaluations[j].error));
			else
				verdict(group[j], &evaluations[j]);
		}
	}
}

/* Keeps the runs that a wave has not settled, at the step they were at. */
static int
still_running(struct flow_run **runs, int count, const int *steps)
{
	int kept = 0;

	for (int i = 0; i < count; i++)
	{
		if (runs[i]->state == FLOW_RUNNING && runs[i]->next_step == steps[i])
			runs[kept++] = runs[i];
	}
	return kept;
}

static int *
steps_of(struct flow_run **runs, int count)
{
	int *steps = palloc(Max(count, 1) * sizeof(int));

	for (int i = 0; i < count; i++)
		steps[i] = runs[i]->next_step;
	return steps;
}

/* Returns how many runs are left, at the front of the array. */
static int
evaluate_field(struct flow_run **runs, int count,
			   struct flow_expression *(*field)(const struct flow_step *), verdict_function verdict)
{
	int *steps = steps_of(runs, count);

	evaluate_groups(runs, count, field, verdict);
	return still_running(runs, count, steps);
}

static bool
prepare_step(struct flow_run *run, struct flow_turn *turn)
{
	struct flow_step *step = current_step(run);

	if (step->kind->execute != NULL)
		flow_run_defer(
			run); /* its conditions hold: the executor does it in a transaction of its own */
	else
		step->kind->prepare(run, step, turn);
	return rpc_batch_bytes(turn->batch) < RPC_MAX_REQUEST_BYTES / 2;
}

/* False when prepare has settled the step, or put the run down. */
static bool
has_asked(const struct flow_run *run)
{
	return run->state == FLOW_RUNNING && run->next_step == run->prepared_step;
}

static bool
apply_answer(struct flow_run *run, struct flow_turn *turn)
{
	struct flow_step *step = current_step(run);

	if (has_asked(run) && step->kind->apply != NULL)
		step->kind->apply(run, step, turn);
	return true;
}

/* Nobody can be asked now. */
static bool
ask_later(struct flow_run *run, struct flow_turn *turn)
{
	if (has_asked(run))
		flow_step_retry(run, current_step(run), turn->problem, false);
	return true;
}

/*
 * Calls a function for runs from first on, in read transactions, until it returns false; returns
 * the index behind the last one. A run for which it raises fails at its step, and the others go
 * on in another transaction.
 */
static int
guarded(struct flow_run **runs, int count, int first, struct flow_turn *turn,
		bool (*function)(struct flow_run *run, struct flow_turn *turn))
{
	MemoryContext context = CurrentMemoryContext;
	volatile int next = first;
	volatile bool more = true;

	while (next < count && more)
	{
		db_begin("working on steps");
		MemoryContextSwitchTo(context);
		PG_TRY();
		{
			while (next < count && more)
			{
				more = function(runs[next], turn);
				next++;
			}
		}
		PG_CATCH();
		{
			ErrorData *error;

			MemoryContextSwitchTo(context);
			error = flow_catch_error();
			flow_step_fail(runs[next], current_step(runs[next]), flow_error_from_data(error));
			next++;
		}
		PG_END_TRY();
		db_abort();
		MemoryContextSwitchTo(context);
	}
	return next;
}

/* A node may choke on a call. The call is then left to an executor, and others are not held up. */
static bool
leave_to_executor(struct flow_run *run, struct flow_turn *turn)
{
	if (has_asked(run))
		flow_run_defer(run);
	return true;
}

/* Too often nobody answered when its runs asked: after a while one request finds out again. */
static bool
is_left_to_executors(const struct flow_definition *definition, TimestampTz now)
{
	return definition->unanswered >= PATIENCE &&
		!TimestampDifferenceExceeds(definition->asked_in_vain_at, now, TRY_AGAIN_MS);
}

/* Those that were always answered come first; runs of one definition are side by side. */
static int
compare_trust(const void *a, const void *b)
{
	const struct flow_definition *left = (*(struct flow_run *const *) a)->definition;
	const struct flow_definition *right = (*(struct flow_run *const *) b)->definition;

	if (left->unanswered != right->unanswered)
		return left->unanswered < right->unanswered ? -1 : 1;
	return left == right ? 0 : (left < right ? -1 : 1);
}

/*
 * Where the request that begins with a run has to end. Calls that share a request share its fate,
 * so a definition that once was not answered asks by itself.
 */
static int
end_of_request(struct flow_run **runs, int count, int first)
{
	const struct flow_definition *definition = runs[first]->definition;
	int end = first + 1;

	while (end < count &&
		   (definition->unanswered > 0 ? runs[end]->definition == definition
									   : runs[end]->definition->unanswered == 0))
		end++;
	return end;
}

/* Remembers whether the definitions that asked were answered; false: one was not, too often. */
static bool
note_answer(struct flow_run **runs, int first, int next, bool answered)
{
	TimestampTz now = GetCurrentTimestamp();
	bool patient = false;

	for (int i = first; i < next; i++)
	{
		struct flow_definition *definition = runs[i]->definition;

		if (!has_asked(runs[i]))
			continue;
		if (answered)
			definition->unanswered = 0;
		else if (definition->asked_in_vain_at != now)
		{
			definition->unanswered++;
			definition->asked_in_vain_at = now;
		}
		patient = patient || definition->unanswered < PATIENCE;
	}
	return patient;
}

/*
 * Asks for runs that are prepared. False when a watcher is to try all of it again: nobody
 * answered, and it may be that nobody answers anything.
 */
static bool
ask(struct flow_run **runs, int first, int next, struct flow_turn *turn)
{
	bool answered = true;

	if (turn->problem == NULL && rpc_batch_count(turn->batch) > 0)
	{
		answered = rpc_batch_run(turn->batch);
		if (note_answer(runs, first, next, answered) && !answered && !turn->executor)
			return false;
	}
	if (turn->problem != NULL)
		(void) guarded(runs, next, first, turn, turn->executor ? ask_later : leave_to_executor);
	else if (!answered && !turn->executor)
		(void) guarded(runs, next, first, turn, leave_to_executor);
	else
		(void) guarded(runs, next, first, turn, apply_answer);
	/* The endpoint rests now: those behind are not tried. */
	if (!answered)
		turn->problem = pstrdup(rpc_client_error(turn->client));
	return true;
}

/* In a watcher: puts down the runs that executors have to ask for; returns how many are left. */
static int
put_down_distrusted(struct flow_run **runs, int count, const struct flow_turn *turn)
{
	TimestampTz now;
	int kept = 0;

	if (turn->executor || count == 0 || runs[count - 1]->definition->unanswered < PATIENCE)
		return count;
	now = GetCurrentTimestamp();
	for (int i = 0; i < count; i++)
	{
		if (is_left_to_executors(runs[i]->definition, now) &&
			current_step(runs[i])->kind->calls_network)
			flow_run_defer(runs[i]);
		else
			runs[kept++] = runs[i];
	}
	return kept;
}

/* Prepares, calls and applies for all runs, a request at a time. */
static bool
do_steps(struct flow_run **runs, int count, struct flow_turn *turn)
{
	qsort(runs, count, sizeof(struct flow_run *), compare_trust);
	count = put_down_distrusted(runs, count, turn);
	for (int i = 0; i < count; i++)
		runs[i]->prepared_step = runs[i]->next_step;
	for (int first = 0, next; first < count; first = next)
	{
		turn->batch = rpc_batch_create(turn->client);
		next = guarded(runs, end_of_request(runs, count, first), first, turn, prepare_step);
		if (!ask(runs, first, next, turn))
			return false;
		rpc_batch_destroy(turn->batch);
	}
	return true;
}

bool
flow_advance(struct flow_run **runs, int count, struct flow_turn *turn)
{
	struct flow_run **running = palloc(Max(count, 1) * sizeof(struct flow_run *));

	for (;;)
	{
		int size = collect_running(running, runs, count, turn);

		if (size == 0)
			return true;
		size = evaluate_field(running, size, run_if_of, judge_run_if);
		size = evaluate_field(running, size, values_of, keep_values);
		if (!do_steps(running, size, turn))
			return false;
	}
}
