/*
 * executor.c
 *	  Goes on with runs that exist: what they waited for has happened, or a step is not for
 *	  watchers.
 *
 * The story of a turn: read what is due, load these runs, look at what they waited for; take them
 * as far as they go, with no transaction open while a node is asked; write what has become of
 * them. Runs belong to executors by the first hex digit of their id, so no two processes have one
 * in hand.
 */
#include "postgres.h"

#include "db/crash.h"
#include "db/datum.h"
#include "db/settings.h"
#include "db/statement.h"
#include "flow/in_hand.h"
#include "flow/step_kind.h"
#include "flow/versions.h"
#include "miscadmin.h"
#include "relay/policy_check.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/executor.h"
#include "worker/executor_network.h"

/* Runs that are taken in one turn, of each bucket at most. */
#define TAKE_LIMIT 50
/* Call data and restored values of one turn. */
#define TURN_MAX_BYTES ((size_t) 256 * 1024 * 1024)
/* Somebody else has locked what a run waits for. */
#define LOCK_TIMEOUT "1s"
/* Steps that run users' statements end a turn after this time, so that other runs are looked at. */
#define EXECUTE_BUDGET_MS 250
/* Without a wake, the tables are looked at this often. */
#define IDLE_LOOK_MS 60000

/* What is taken in one transaction. */
struct taking
{
	struct executor *executor;
	struct flow_due *due;
	int due_count;
	struct evm_arena *arena;
	List *running; /* of these runs, those that go on */
};

/* ---- taking ------------------------------------------------------------------------- */

/* What has ended before, and what still waits, is not due any more. */
static bool
is_unchanged(const struct flow_run *run)
{
	return run->journal == NIL && run->state != FLOW_RUNNING;
}

static void
take(void *arg)
{
	struct taking *taking = arg;
	struct flow_run **runs;
	struct flow_run **settled;
	List *done = NIL;
	int settled_count = 0;
	int count;

	MemoryContextSwitchTo(taking->executor->worker->context);
	(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
	taking->running = NIL;
	runs = flow_load_runs(taking->due, taking->due_count, taking->arena, &count, &done);
	flow_resume_runs(runs, count);
	settled = palloc(Max(count, 1) * sizeof(struct flow_run *));
	for (int i = 0; i < count; i++)
	{
		if (is_unchanged(runs[i]))
			done = list_concat(done, runs[i]->due);
		else if (runs[i]->state == FLOW_RUNNING)
			taking->running = lappend(taking->running, runs[i]);
		else
			settled[settled_count++] = runs[i];
	}
	flow_delete_due(done);
	flow_write_runs(settled, settled_count, GetCurrentTimestamp());
	worker_executor_close_incidents(taking->executor, runs, count);
	DB_CRASH_POINT("executor-before-commit");
	db_commit();
	DB_CRASH_POINT("executor-after-commit");
}

static bool
same_run(const struct flow_due *a, const struct flow_due *b)
{
	return strcmp(a->run_id, b->run_id) == 0;
}

static void
postpone_rows(struct executor *executor, struct flow_due *due, int count, const ErrorData *error)
{
	List *rows = NIL;

	for (int i = 0; i < count; i++)
		rows = lappend(rows, &due[i]);
	worker_executor_postpone(executor, rows, error);
}

static int
compare_run_ids(const void *a, const void *b)
{
	return strcmp(((const struct flow_due *) a)->run_id, ((const struct flow_due *) b)->run_id);
}

/* One of them cannot be taken: each alone, so that the others go on. */
static bool
take_singly(struct taking *all)
{
	List *running = NIL;
	bool ready = true;
	int next;

	qsort(all->due, all->due_count, sizeof(struct flow_due), compare_run_ids);
	for (int first = 0; first < all->due_count && ready; first = next)
	{
		struct taking one = *all;
		ErrorData *error;

		for (next = first + 1; next < all->due_count; next++)
		{
			if (!same_run(&all->due[first], &all->due[next]))
				break;
		}
		one.due = &all->due[first];
		one.due_count = next - first;
		error = worker_executor_try(all->executor, "taking a run", take, &one, &ready);
		if (error != NULL)
			postpone_rows(all->executor, one.due, one.due_count, error);
		else if (ready)
			running = list_concat(running, one.running);
	}
	all->running = running;
	return ready;
}

struct look
{
	struct executor *executor;
	struct flow_due_list due;
};

static void
look(void *arg)
{
	struct look *look = arg;
	struct executor *executor = look->executor;

	MemoryContextSwitchTo(executor->worker->context);
	flow_versions_trim();
	flow_read_due(&look->due, executor->worker->index, executor->shares, GetCurrentTimestamp(),
				  TAKE_LIMIT);
	db_commit();
}

/* ---- going on ----------------------------------------------------------------------- */

static struct flow_step *
next_step(const struct flow_run *run)
{
	return run->next_step < run->definition->step_count ? &run->definition->steps[run->next_step]
														: NULL;
}

/*
 * Put down by flow_advance for somebody else: another network's turn, or a transaction of its
 * own.
 */
static bool
is_deferred(const struct flow_run *run)
{
	return run->state == FLOW_READY && run->wake_at == 0;
}

static bool
wants_execution(const struct flow_run *run)
{
	return is_deferred(run) && next_step(run)->kind->execute != NULL;
}

/*
 * The network that the first of the running runs needs, "" when none of them needs one; NULL when
 * none runs.
 */
static const char *
choose_network(struct flow_run **runs, int count)
{
	const char *chosen = NULL;

	for (int i = 0; i < count; i++)
	{
		const struct flow_step *step = next_step(runs[i]);

		if (runs[i]->state != FLOW_RUNNING)
			continue;
		if (step != NULL && step->kind->calls_network)
			return step->target.network;
		chosen = "";
	}
	return chosen;
}

/*
 * After a request that nobody answered: those that are to be tried again wait as long as the
 * network's failures say.
 */
static void
slow_down(struct flow_run **runs, int count, const struct executor_network *network)
{
	TimestampTz until =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									(int64) worker_executor_network_pause_ms(network));

	for (int i = 0; i < count; i++)
	{
		if (runs[i]->state == FLOW_READY && runs[i]->wake_at != 0)
			runs[i]->wake_at = Max(runs[i]->wake_at, until);
	}
}

static uint64
requests_of(struct rpc_client *client)
{
	struct rpc_statistics statistics;

	if (client == NULL)
		return 0;
	rpc_client_statistics(client, &statistics);
	return statistics.requests;
}

/* Only runs that are running are touched. */
static void
advance_with(struct executor_network *network, struct flow_run **runs, int count,
			 struct flow_turn *turn)
{
	struct flow_run **running = palloc(count * sizeof(struct flow_run *));
	uint64 requests;
	int size = 0;

	turn->network = network != NULL ? network->name : "";
	turn->client = network != NULL ? network->client : NULL;
	turn->problem = network != NULL && network->problem[0] != '\0' ? network->problem : NULL;
	requests = requests_of(turn->client);
	for (int i = 0; i < count; i++)
	{
		if (runs[i]->state == FLOW_RUNNING)
			running[size++] = runs[i];
	}
	(void) flow_advance(running, size, turn);
	if (requests_of(turn->client) != requests)
		worker_executor_network_note(network);
	if (turn->problem != NULL || (network != NULL && network->failures > 0))
		slow_down(running, size, network);
}

/*
 * Takes runs as far as they go, a network at a time. False when the worker may not act any more.
 */
static bool
advance(struct executor *executor, struct flow_run **runs, int count, struct flow_turn *turn)
{
	const char *name;

	while ((name = choose_network(runs, count)) != NULL)
	{
		struct executor_network *network = NULL;

		if (name[0] != '\0')
		{
			network = worker_executor_network_find(executor->worker, name);
			if (network == NULL)
				return false;
		}
		advance_with(network, runs, count, turn);
		for (int i = 0; i < count; i++)
		{
			if (is_deferred(runs[i]) && !wants_execution(runs[i]))
				runs[i]->state = FLOW_RUNNING;
		}
	}
	return true;
}

/* Moves the runs that a condition holds for to the front; returns how many they are. */
static int
partition(struct flow_run **runs, int count, bool (*condition)(const struct flow_run *run))
{
	int front = 0;

	for (int i = 0; i < count; i++)
	{
		struct flow_run *run = runs[i];

		if (condition(run))
		{
			runs[i] = runs[front];
			runs[front++] = run;
		}
	}
	return front;
}

static bool
is_running(const struct flow_run *run)
{
	return run->state == FLOW_RUNNING;
}

/* Executes steps until the time is over; returns how many were. */
static int
execute_steps(struct executor *executor, struct flow_run **runs, int count)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), EXECUTE_BUDGET_MS);
	int executed = 0;

	while (executed < count && GetCurrentTimestamp() < end)
	{
		CHECK_FOR_INTERRUPTS();
		worker_executor_execute(executor, runs[executed++]);
	}
	return executed;
}

static void
go_on(struct executor *executor, List *running)
{
	struct flow_turn turn = {.executor = true};
	struct flow_run **runs = palloc(Max(list_length(running), 1) * sizeof(struct flow_run *));
	int count = 0;
	ListCell *cell;

	foreach (cell, running)
		runs[count++] = lfirst(cell);
	while (count > 0 && advance(executor, runs, count, &turn))
	{
		int executable = partition(runs, count, wants_execution);
		int executed;

		worker_executor_write(executor, runs + executable, count - executable);
		executed = execute_steps(executor, runs, executable);
		worker_executor_write(executor, runs + executed, executable - executed);
		count = partition(runs, executed, is_running);
	}
}

bool
worker_executor_turn(struct executor *executor)
{
	struct look looking = {.executor = executor};
	struct taking taking = {.executor = executor};
	bool ready;
	ErrorData *error;

	error = worker_executor_try(executor, "looking for runs", look, &looking, &ready);
	if (error != NULL)
		ReThrowError(error);
	if (!ready)
		return true;
	executor->next_at = looking.due.next_at;
	if (looking.due.count == 0)
		return false;
	taking.due = looking.due.rows;
	taking.due_count = looking.due.count;
	taking.arena = db_arena_create(executor->worker->context, TURN_MAX_BYTES);
	error = worker_executor_try(executor, "taking runs", take, &taking, &ready);
	if (error != NULL)
		ready = take_singly(&taking);
	if (ready)
		go_on(executor, taking.running);
	executor->report.rounds++;
	return true;
}

/* ---- the loop ----------------------------------------------------------------------- */

static double
idle_ms(const struct executor *executor)
{
	TimestampTz now = GetCurrentTimestamp();

	if (executor->next_at <= now)
		return 0;
	return Min((double) (executor->next_at - now) / 1000 + 1, IDLE_LOOK_MS);
}

/* User code could not be stopped: the process ends, and the runs it was for have failed. */
static void
fail_at_exit(struct flow_run **runs, int count, void *arg)
{
	worker_executor_write(arg, runs, count);
}

void
rflow_executor_main(Datum arg)
{
	struct executor *executor = MemoryContextAllocZero(TopMemoryContext, sizeof(struct executor));
	struct worker *w = worker_start(arg, WORKER_EXECUTOR);
	char share[32];

	executor->worker = w;
	executor->shares = db_executors;
	executor->started_at = GetCurrentTimestamp();
	executor->has_incidents = true;
	executor->report.head_number = -1;
	executor->report.finalized_number = -1;
	snprintf(share, sizeof(share), "share %d of %d of the runs", w->index + 1, executor->shares);
	worker_own(w, DUTY_RUNS, share);
	relay_policy_mark_at_exit();
	flow_mark_at_exit(fail_at_exit, executor);
	for (;;)
	{
		worker_turn(w);
		if (!worker_ready(w))
		{
			worker_idle(w);
			continue;
		}
		if (!worker_executor_turn(executor))
			(void) worker_wait(w, idle_ms(executor));
		db_report(&executor->report);
	}
}
