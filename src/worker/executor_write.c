/*
 * executor_write.c
 *	  Writes what has become of runs, and does the steps that are written in the transaction they
 *	  run in.
 *
 * What cannot be written together is written one by one, so that a run that somebody has
 * cancelled meanwhile, or one that is broken, does not keep the others from going on.
 */
#include "postgres.h"

#include "db/crash.h"
#include "db/owner.h"
#include "db/statement.h"
#include "flow/in_hand.h"
#include "flow/incident.h"
#include "flow/step_kind.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/executor.h"

/*
 * A run that cannot be loaded or written is looked at again after this, the first time and when a
 * lock was in the way …
 */
#define POSTPONE_SHORT_MS 1000
/* … and after this when the cause stays. */
#define POSTPONE_LONG_MS 60000

/* A step that runs users' statements is begun so often. */
#define EXECUTE_MAX_ATTEMPTS 5
/* After its start an executor expects that its predecessor was brought down by a statement. */
#define CAREFUL_MS 60000

#define RUN_INCIDENT "run"

ErrorData *
worker_executor_try(struct executor *executor, const char *activity, void (*work)(void *arg),
					void *arg, bool *ready)
{
	MemoryContext context = executor->worker->context;
	ErrorData *volatile error = NULL;

	*ready = worker_begin(executor->worker, activity);
	if (!*ready)
		return NULL;
	PG_TRY();
	{
		work(arg);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = flow_catch_error();
		flow_put_down();
		db_abort();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	return error;
}

/* ---- writing ------------------------------------------------------------------------ */

struct writing
{
	struct executor *executor;
	struct flow_run **runs;
	int count;
};

void
worker_executor_close_incidents(struct executor *executor, struct flow_run **runs, int count)
{
	List *ids = NIL;

	if (!executor->has_incidents)
		return;
	for (int i = 0; i < count; i++)
		ids = lappend(ids, runs[i]->id_text);
	flow_close_incidents(RUN_INCIDENT, ids);
	executor->has_incidents = flow_has_incidents(RUN_INCIDENT);
}

static void
write_runs(void *arg)
{
	struct writing *writing = arg;

	flow_write_runs(writing->runs, writing->count, GetCurrentTimestamp());
	worker_executor_close_incidents(writing->executor, writing->runs, writing->count);
	DB_CRASH_POINT("executor-before-commit");
	db_commit();
	DB_CRASH_POINT("executor-after-commit");
	flow_runs_written(writing->runs, writing->count);
}

static bool
has_changed_meanwhile(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_T_R_SERIALIZATION_FAILURE;
}

static void
write_singly(struct executor *executor, struct flow_run **runs, int count)
{
	bool ready = true;

	for (int i = 0; i < count && ready; i++)
	{
		struct writing one = {executor, &runs[i], 1};
		ErrorData *error = worker_executor_try(executor, "writing a run", write_runs, &one, &ready);

		if (error != NULL && !has_changed_meanwhile(error))
			worker_executor_postpone(executor, runs[i]->due, error);
	}
}

void
worker_executor_write(struct executor *executor, struct flow_run **runs, int count)
{
	struct writing writing = {executor, runs, count};
	bool ready;

	if (count == 0)
		return;
	if (worker_executor_try(executor, "writing runs", write_runs, &writing, &ready) != NULL)
		write_singly(executor, runs, count);
}

struct postponing
{
	List *due;
	const ErrorData *error;
};

static void
postpone(void *arg)
{
	struct postponing *postponing = arg;
	const struct flow_due *due = linitial(postponing->due);
	bool locked = postponing->error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
	bool is_new;

	is_new = flow_open_incident(
		RUN_INCIDENT, NULL, due->run_id, postponing->error->message,
		locked ? "End the transaction that holds the lock; the run then goes on by itself."
			   : "Remove the cause; the run is tried again every minute.");
	flow_postpone_due(postponing->due,
					  TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												  is_new || locked ? POSTPONE_SHORT_MS
																   : POSTPONE_LONG_MS));
	db_commit();
}

void
worker_executor_postpone(struct executor *executor, List *due, const ErrorData *error)
{
	struct postponing postponing = {due, error};
	bool ready;
	ErrorData *second;

	ereport(LOG,
			(errmsg("run %s cannot go on: %s", ((const struct flow_due *) linitial(due))->run_id,
					error->message),
			 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0));
	executor->has_incidents = true;
	second = worker_executor_try(executor, "postponing a run", postpone, &postponing, &ready);
	if (second != NULL)
		ReThrowError(second);
}

/* ---- steps in a transaction of their own -------------------------------------------- */

struct executing
{
	struct executor *executor;
	struct flow_run *run;
	bool settled; /* the step is over; what failed was to write it */
};

/*
 * What has been done so far is written, and that the step begins: the server may end while it
 * runs, by its doing even. What is lost of this commit is done again, so it need not be flushed;
 * but a statement that brings the server down at once would then do so for ever, so for a while
 * after the start it is.
 */
static void
begin_step(void *arg)
{
	struct executing *executing = arg;
	struct flow_run *run = executing->run;

	MemoryContextSwitchTo(executing->executor->worker->context);
	run->state = FLOW_RUNNING;
	flow_step_begin(run, &run->definition->steps[run->next_step]);
	db_synchronous_commit(GetCurrentTimestamp() <
						  TimestampTzPlusMilliseconds(executing->executor->started_at, CAREFUL_MS));
	flow_write_runs(&run, 1, GetCurrentTimestamp());
	db_commit();
	flow_runs_written(&run, 1);
}

/* Statement, journal and run in one commit, which happens in the name of the owner. */
static void
execute(void *arg)
{
	struct executing *executing = arg;
	struct flow_run *run = executing->run;
	struct flow_step *step = &run->definition->steps[run->next_step];

	MemoryContextSwitchTo(executing->executor->worker->context);
	step->kind->execute(run, step);
	executing->settled = true;
	flow_write_runs(&run, 1, GetCurrentTimestamp());
	worker_executor_close_incidents(executing->executor, &run, 1);
	DB_CRASH_POINT("execute-before-commit");
	db_commit_as(run->definition->owner);
	DB_CRASH_POINT("execute-after-commit");
	flow_runs_written(&run, 1);
}

/*
 * What may go well when it is done once more: a deadlock, a conflict of serializable
 * transactions.
 */
static bool
is_transient(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TRANSACTION_ROLLBACK;
}

static void
settle_failure(struct executor *executor, struct flow_run *run, const ErrorData *error)
{
	struct flow_step *step = &run->definition->steps[run->next_step];

	if (is_transient(error) && run->attempt < EXECUTE_MAX_ATTEMPTS)
		flow_step_retry(run, step, error->message, true);
	else
		flow_step_fail(run, step, flow_error_from_data(error));
	worker_executor_write(executor, &run, 1);
}

/*
 * User code of one owner leaves nothing behind for that of another. An error here ends the
 * process: what is left of the session ends with it.
 */
static void
clean_session(struct executor *executor)
{
	db_begin("cleaning the session");
	db_reset_session();
	db_commit();
	MemoryContextSwitchTo(executor->worker->context);
}

static void
give_up(struct executor *executor, struct flow_run *run)
{
	flow_step_fail(
		run, &run->definition->steps[run->next_step],
		flow_error(
			ERRCODE_OPERATOR_INTERVENTION,
			"given up after %d attempts: each time the process ended while the statement ran",
			EXECUTE_MAX_ATTEMPTS));
	worker_executor_write(executor, &run, 1);
}

/* An error of a write that is not the step's. */
static void
handle_write_error(struct executor *executor, struct flow_run *run, const ErrorData *error)
{
	run->state = FLOW_READY; /* put down */
	if (!has_changed_meanwhile(error))
		worker_executor_postpone(executor, run->due, error);
}

void
worker_executor_execute(struct executor *executor, struct flow_run *run)
{
	struct executing executing = {executor, run, false};
	struct flow_run before;
	ErrorData *error;
	bool ready;

	if (run->attempt > EXECUTE_MAX_ATTEMPTS)
	{
		give_up(executor, run);
		return;
	}
	error = worker_executor_try(executor, "beginning a step", begin_step, &executing, &ready);
	if (error != NULL)
		handle_write_error(executor, run, error);
	if (error != NULL || !ready)
		return;
	before = *run;
	error = worker_executor_try(executor, run->definition->workflow, execute, &executing, &ready);
	if (!ready)
	{
		run->state = FLOW_READY; /* put down */
		return;
	}
	clean_session(executor);
	if (error == NULL)
		return;
	*run = before;
	if (executing.settled)
		handle_write_error(executor, run, error);
	else
		settle_failure(executor, run, error);
}
