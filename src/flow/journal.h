/*
 * journal.h
 *	  Runs that exist: loaded from their rows, gone on with, and written back.
 */
#ifndef FLOW_JOURNAL_H
#define FLOW_JOURNAL_H

#include "flow/due.h"
#include "flow/run.h"

/*
 * Loads the runs of these rows, in the current context: scope, outputs of settled steps, and
 * where they stand. A run is FLOW_RUNNING when it can go on, FLOW_WAITING when it waits for its
 * transaction or, being detached, for its event to come back (whoever re-attaches it makes it due),
 * and final when it has ended. Rows whose run does not exist (any more) are appended
 * to *orphans. Needs SPI, in the caller's transaction; values of the arena are not used after the
 * call.
 */
extern struct flow_run **flow_load_runs(struct flow_due *due, int due_count,
										struct evm_arena *arena, int *count, List **orphans);

/*
 * Looks at what waiting runs wait for, locking it FOR SHARE until the transaction ends: those whose
 * step has settled are FLOW_RUNNING or final afterwards, the others still wait.  Needs SPI.
 */
extern void flow_resume_runs(struct flow_run **runs, int count);

/*
 * Writes what has become of runs: journal, outbox, due rows and the run itself, and deletes the
 * due rows they were taken from. One that is still FLOW_RUNNING keeps them, so that it is found
 * again after a crash. Raises ERRCODE_T_R_SERIALIZATION_FAILURE when any of them has changed
 * meanwhile: nothing must be committed then. Needs SPI.
 */
extern void flow_write_runs(struct flow_run **runs, int count, TimestampTz now);

/* After the commit: what was written is not written again. */
extern void flow_runs_written(struct flow_run **runs, int count);

extern bool flow_run_is_final(const struct flow_run *run);

#endif /* FLOW_JOURNAL_H */
