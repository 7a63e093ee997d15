/*
 * worker.h
 *	  What all worker processes have in common: how one starts, waits until it may work,
 *	  and owns things alone.
 *
 *	void rflow_watcher_main(Datum arg) {
 *		struct worker *w = worker_start(arg, WORKER_WATCHER);
 *
 *		for (;;) {
 *			worker_turn(w); if (!worker_ready(w)) {
 *				worker_idle(w); continue;
 *			} ... one round ...
 *			rpc_wait(client, ms);		or worker_wait(w, ms)
 *		}
 *	}
 *
 * An ERROR that leaves the main function is logged, shown as last_error, and ends the
 * process with code 1; the parent starts another one, later each time.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include "postgres.h"

#include "db/identity.h"
#include "db/shmem.h"

struct worker
{
	enum worker_kind kind;
	Oid database;                       /* InvalidOid: the launcher */
	char network[WORKER_NETWORK_BYTES]; /* "" unless it serves one */
	int index;                          /* of executors, from 0 */
	MemoryContext context;              /* of one turn: current in it, emptied by worker_turn */
	bool signing_held;                  /* the timeline is another one than that of arming */

	/* of worker_readiness and worker_ready */
	enum db_readiness readiness;
	bool running;
	uint64 generation; /* that readiness belongs to; 0: look again */
	TimestampTz look_again_at;
};

/*
 * Takes over the slot that the parent has prepared, connects to its database as the
 * bootstrap superuser and sets the session up: search_path pg_catalog, pg_temp; generic
 * plans; no JIT; no timeouts; read committed.  Exits with code 0 when nobody wants it any
 * more.  Lives until the process ends.
 */
extern struct worker *worker_start(Datum arg, enum worker_kind kind);

/*
 * The worker's database may act, or why not; sets the status when not.  Looks at the
 * tables when the definitions have changed, and once a minute.
 */
extern enum db_readiness worker_readiness(struct worker *w);

/* Begins a turn of the loop: empties its memory, makes it current, serves interrupts. */
extern void worker_turn(struct worker *w);

/*
 * True when the worker may act: rflow.enabled is on and worker_readiness is DB_READY.
 * Otherwise its status says why not; call worker_idle and ask again.  Exits with code 0
 * when the extension is gone.  When it becomes true the status is "running", until the
 * worker says something else.
 */
extern bool worker_ready(struct worker *w);

/* Sleeps until something wakes the worker, or until it is time to look again. */
extern void worker_idle(struct worker *w);

/*
 * Sleeps until the latch is set or the time has passed (negative: for ever); true when the
 * latch was set.
 */
extern bool worker_wait(struct worker *w, double timeout_ms);

/*
 * As db_begin, in a worker's transaction: takes the lock on the extension and checks that
 * the worker may still act.  False, and no transaction, when it may not any more: go back
 * to worker_ready.
 */
extern bool worker_begin(struct worker *w, const char *activity);

/* What one worker at a time may do. */
enum worker_duty
{
	DUTY_NETWORK_WATCH, /* follow a network of this database; key: its name */
	DUTY_NETWORK_RELAY, /* send on a network of this database; key: its name */
	DUTY_RUNS,          /* go on with a share of the runs of this database; key: "share of all" */
	DUTY_ACCOUNT        /* use nonces of an account, server-wide; key: "chain id:0x…" */
};

/*
 * Makes this process the only one of the server with this duty, until it exits or gives
 * it up.  False when another worker has it: what is that worker's pid then.  Having it
 * already is fine.
 */
extern bool worker_try_own(enum worker_duty duty, const char *key, pid_t *holder);
/* The same, but waits its turn with the status "another worker (pid) has …"; interruptible. */
extern void worker_own(struct worker *w, enum worker_duty duty, const char *key);
extern void worker_disown(enum worker_duty duty, const char *key);

/* Entry points, found by name when the postmaster starts a worker. */
extern PGDLLEXPORT void rflow_launcher_main(Datum arg);
extern PGDLLEXPORT void rflow_coordinator_main(Datum arg);
extern PGDLLEXPORT void rflow_watcher_main(Datum arg);
extern PGDLLEXPORT void rflow_relayer_main(Datum arg);
extern PGDLLEXPORT void rflow_executor_main(Datum arg);

#endif /* WORKER_WORKER_H */
