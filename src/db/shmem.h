/*
 * shmem.h
 *	  What workers know of each other: a slot per worker, in shared memory.
 *
 * A slot is taken by the parent that wants a worker and freed by it; the worker
 * fills in its pid and what it reports (src/worker/slots.h).  Slots hold OIDs, pids,
 * numbers and short texts, never pointers or descriptors.  One LWLock guards all of them.
 */
#ifndef DB_SHMEM_H
#define DB_SHMEM_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "db/bucket.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/s_lock.h"

enum worker_kind
{
	WORKER_NONE = 0, /* the slot is free */
	WORKER_LAUNCHER,
	WORKER_COORDINATOR,
	WORKER_WATCHER,
	WORKER_RELAYER,
	WORKER_EXECUTOR,
	WORKER_COURIER
};

/* "watcher", … */
extern const char *db_worker_kind_name(enum worker_kind kind);

#define WORKER_TEXT_BYTES 256

/* What a worker shows of itself in rflow.workers, network_status and relayer_status. */
struct worker_report
{
	char status[WORKER_TEXT_BYTES]; /* "running", or why it is idle */
	char last_error[WORKER_TEXT_BYTES];
	TimestampTz last_error_at;
	char endpoint[WORKER_TEXT_BYTES]; /* scheme and host only */
	int64 head_number;                /* -1: none seen yet */
	TimestampTz head_at;              /* timestamp of that block */
	TimestampTz head_seen_at;
	int64 finalized_number;
	double rpc_latency_ms;
	int64 rpc_requests;
	int64 rpc_calls;
	int64 rpc_failures;
	int64 rpc_units;
	int64 polls;  /* head polls */
	int64 blocks; /* blocks adopted */
	int64 rounds; /* turns of the loop that did work */
};

/* The calling worker's slot; -1 in a client backend. */
extern int MyWorkerSlot;

/*
 * Copies into the caller's slot; cheap (no system call), so call it each round.  An empty
 * status, and a last_error_at of 0, leave what db_report_status and db_report_error have
 * said.
 */
extern void db_report(const struct worker_report *report);
extern void db_report_status(const char *format, ...) pg_attribute_printf(1, 2);
extern void db_report_error(const char *format, ...) pg_attribute_printf(1, 2);

/*
 * Ring of the last claim → queued measurements of all watchers of the server: the
 * clock after CommitTransactionCommand, which no row can hold.
 */
struct commit_sample
{
	Oid database;
	uint8 run_id[16];
	TimestampTz committed_at;
};
#define COMMIT_SAMPLE_RING 8192
extern void db_record_commit(const uint8 *run_id, TimestampTz committed_at);
/*
 * Copies this database's samples, oldest first, into room for COMMIT_SAMPLE_RING; returns
 * how many.
 */
extern int db_commit_samples(struct commit_sample *out);

/* --- for supervision (src/worker) and the views; other code needs none of it --- */

#define WORKER_NETWORK_BYTES 64 /* of a network's name with its end */

/*
 *	SLOT_FREE		nobody wants it						→ SLOT_WAITING (taken by a parent)
 *	SLOT_WAITING	wanted, not started yet: backs off,
 *					or lacks a process					→ SLOT_STARTING, SLOT_FREE
 *	SLOT_STARTING	registered with the postmaster		→ SLOT_RUNNING, SLOT_WAITING (never came)
 *	SLOT_RUNNING	has a pid							→ SLOT_WAITING (ended)
 */
enum slot_state
{
	SLOT_FREE,
	SLOT_WAITING,
	SLOT_STARTING,
	SLOT_RUNNING
};

struct worker_slot
{
	enum worker_kind kind;
	enum slot_state state;
	uint32 epoch; /* raised at each start: a worker of an earlier one does not attach */
	Oid database; /* InvalidOid: the launcher */
	char database_name[NAMEDATALEN];
	char network[WORKER_NETWORK_BYTES]; /* "" unless it serves one */
	int index;                          /* of executors */
	pid_t pid;                          /* 0 unless running */
	int proc_number;                    /* whose latch wakes it */
	volatile bool pressed;              /* see db_was_pressed in db/wake.h; without the lock */
	bool has_extension;                 /* a coordinator has found the extension in its database */
	bool absent;                        /* a coordinator ended because there is none */
	bool lacks_process;                 /* max_worker_processes was used up at its last start */
	bool wanted;                        /* mark of the parent's reconciling */
	TimestampTz started_at;
	int failures; /* in a row */
	int64 restarts;
	TimestampTz restart_at;    /* SLOT_WAITING: not before */
	TimestampTz limited_since; /* waits for its network's allowance; 0: does not */
	double limited_ms;         /* how long it has waited for it, all together */
	struct worker_report report;
};

/* The launcher's slot; the others are numbered from 1 to rflow.max_workers. */
#define LAUNCHER_SLOT 0

/* A database whose workers are kept stopped by a command of a backend. */
struct database_hold
{
	Oid database; /* InvalidOid: unused */
	pid_t holder;
};
#define DATABASE_HOLDS 32 /* such commands at the same time */

/* Databases in which the extension has appeared since the launcher last looked. */
#define WOKEN_DATABASES 64 /* more: the launcher looks at all of them */

/* What one worker at a time may do. */
struct ownership
{
	uint64 key; /* 0: unused */
	int slot;
};
#define OWNERSHIPS_PER_WORKER 16

/* What the workers of a network may ask of its nodes: see db/allowance.h. */
struct shared_allowance
{
	Oid database; /* InvalidOid: unused; changes under the lock of all and the mutex */
	char network[WORKER_NETWORK_BYTES];
	slock_t mutex;
	struct db_bucket bucket;
};
#define ALLOWANCES 64 /* networks with a limit, of all databases */

struct db_shared
{
	LWLock *lock; /* slots, holds, woken, ownerships */
	LWLock *ring_lock;
	ConditionVariable changed; /* a worker ended, or gave up an ownership, or a hold was released */
	pg_atomic_uint64 generation; /* see db/wake.h */
	int slot_count;
	int ownership_count;
	struct database_hold holds[DATABASE_HOLDS];
	Oid woken[WOKEN_DATABASES];
	int woken_count; /* may exceed the array */
	struct shared_allowance allowances[ALLOWANCES];
	uint64 ring_next; /* samples recorded so far */
	struct commit_sample ring[COMMIT_SAMPLE_RING];
	struct worker_slot slots[FLEXIBLE_ARRAY_MEMBER]; /* the ownerships follow */
};

extern struct db_shared *db_shared;
extern struct ownership *db_ownerships(void);

/* Called once from _PG_init: asks for the memory and makes it when the server starts. */
extern void db_request_shared_memory(void);

#endif /* DB_SHMEM_H */
