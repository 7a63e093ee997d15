/*
 * executor.h
 *	  What the parts of an executor share.
 */
#ifndef WORKER_EXECUTOR_H
#define WORKER_EXECUTOR_H

#include "db/shmem.h"
#include "flow/due.h"
#include "flow/journal.h"
#include "worker/worker.h"

struct executor
{
	struct worker *worker;
	int shares; /* rflow.executors: this one has the buckets of its index */
	TimestampTz started_at;
	TimestampTz next_at; /* when the first run is due that was not when we last looked */
	bool has_incidents;  /* runs may have open ones */
	struct worker_report report;
};

/*
 * Takes runs that are due and goes on with them as far as they go. True when there may be more to
 * do at once; false when nothing was due, and next_at says when something will be.
 */
extern bool worker_executor_turn(struct executor *executor);

/* The parts of a turn that executor_write.c does, each in transactions of its own: */

/*
 * Calls work(arg), which ends with a commit, in a transaction. NULL when it went well, else the
 * error, in the turn's context, and nothing is left of the transaction. *ready is set to false,
 * and nothing called, when the worker may not act any more.
 */
extern ErrorData *worker_executor_try(struct executor *executor, const char *activity,
									  void (*work)(void *arg), void *arg, bool *ready);

/*
 * Writes runs, together if that goes; one that has changed meanwhile is dropped and will be read
 * again.
 */
extern void worker_executor_write(struct executor *executor, struct flow_run **runs, int count);

/*
 * Does the step of a run that wants a transaction of its own, and writes both. The run is
 * FLOW_RUNNING afterwards when it can go on, and written otherwise.
 */
extern void worker_executor_execute(struct executor *executor, struct flow_run *run);

/* Something is wrong with a run itself: its rows are due again later, and an incident says why. */
extern void worker_executor_postpone(struct executor *executor, List *due, const ErrorData *error);

/* What kept these runs from going on is over.  In a transaction. */
extern void worker_executor_close_incidents(struct executor *executor, struct flow_run **runs,
											int count);

#endif /* WORKER_EXECUTOR_H */
