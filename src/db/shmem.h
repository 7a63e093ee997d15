/*
 * shmem.h
 *	  What workers know of each other: a slot per worker, in shared memory.
 *
 * A slot is taken by the parent that wants a worker and freed by it; the worker
 * fills in its pid and what it reports.  Slots hold OIDs, pids, numbers and short
 * texts, never pointers or descriptors.  One LWLock guards all of them.
 */
#ifndef DB_SHMEM_H
#define DB_SHMEM_H

#include "postgres.h"

#include "datatype/timestamp.h"

enum worker_kind
{
	WORKER_NONE = 0,			/* the slot is free */
	WORKER_LAUNCHER,
	WORKER_COORDINATOR,
	WORKER_WATCHER,
	WORKER_RELAYER,
	WORKER_EXECUTOR,
	WORKER_COURIER
};

#define WORKER_TEXT_BYTES 256

/* What a worker shows of itself in rflow.workers, network_status and relayer_status. */
struct worker_report
{
	char		status[WORKER_TEXT_BYTES];	/* "running", or why it is idle: "waits for a slot", "another genesis", … */
	char		last_error[WORKER_TEXT_BYTES];
	TimestampTz last_error_at;
	char		endpoint[WORKER_TEXT_BYTES];	/* scheme and host only */
	int64		head_number;	/* -1: none seen yet */
	TimestampTz head_at;		/* timestamp of that block */
	TimestampTz head_seen_at;
	int64		finalized_number;
	double		rpc_latency_ms;
	int64		rpc_requests;
	int64		rpc_calls;
	int64		rpc_failures;
	int64		polls;			/* head polls */
	int64		blocks;			/* blocks adopted */
	int64		rounds;			/* turns of the loop that did work */
};

/* The calling worker's slot; -1 in a client backend. */
extern int	MyWorkerSlot;

/* Copies into the caller's slot; cheap (no system call), so call it each round. */
extern void db_report(const struct worker_report *report);
extern void db_report_status(const char *format,...) pg_attribute_printf(1, 2);
extern void db_report_error(const char *format,...) pg_attribute_printf(1, 2);

/*
 * Ring of the last claim → queued measurements of a watcher, in the slot's
 * database: the clock after CommitTransactionCommand, which no row can hold.
 */
struct commit_sample
{
	uint8		run_id[16];
	TimestampTz committed_at;
};
#define COMMIT_SAMPLE_RING 4096
extern void db_record_commit(const uint8 *run_id, TimestampTz committed_at);

#endif							/* DB_SHMEM_H */
