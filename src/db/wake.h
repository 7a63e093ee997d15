/*
 * wake.h
 *	  Waking workers when a transaction commits that leaves them work.
 *
 * A backend marks what it woke in a local mask; one transaction callback,
 * registered once per process, sets the latches of the matching workers of this
 * database at commit, and forgets the mask at abort.  A wake is a hint: a worker
 * that wakes asks the tables what is due.
 */
#ifndef DB_WAKE_H
#define DB_WAKE_H

#include "postgres.h"

#define WAKE_LAUNCHER (1 << 0)
#define WAKE_COORDINATOR (1 << 1)
#define WAKE_WATCHERS (1 << 2)
#define WAKE_RELAYERS (1 << 3)
#define WAKE_EXECUTORS (1 << 4)
#define WAKE_COURIER (1 << 5)
#define WAKE_ALL 0x3f
/* The relayers too, but only for a new head: they let the watcher go first (see db_was_pressed). */
#define WAKE_FOR_HEAD (1 << 6)

/*
 * At commit of the current transaction, wakes these kinds of workers in this database.
 * WAKE_LAUNCHER makes the launcher look whether the extension is here, if it believed
 * that it is not.
 */
extern void db_wake_at_commit(int kinds);

/*
 * True when the calling relayer has been woken for more than a new head since it last asked.  A new
 * head wakes it at the moment at which the watcher and the node have most to do for what is
 * not even queued yet; receipts can wait until that is over.
 */
extern bool db_was_pressed(void);

/* Wakes them now, whatever becomes of the current transaction. */
extern void db_wake_now(Oid database, int kinds);

/*
 * At commit, definitions (networks, contracts, relayers, grants, workflows) have changed:
 * raises the generation that watchers re-check inside their claim, and wakes all kinds.
 *
 * The exclusive definition lock is taken just before the commit becomes visible and held
 * until it is; a claim holds it shared from its check to its commit.  So a claim that was
 * made with the old definitions has either committed before the new ones, or sees the new
 * generation and starts over.
 *
 * Such a transaction cannot be prepared (PREPARE TRANSACTION raises): it would keep that
 * lock, and with it the chain, for as long as it is.
 */
extern void db_definitions_changed(void);

/* Takes the definition lock shared until the end of the transaction. */
extern void db_lock_definitions(void);

/*
 * The generation of the definitions, from shared memory.  Load definitions and check a
 * claim in the same order: lock, then read the generation, then (in a statement, and so
 * with a snapshot, that comes later) the tables.  It starts from 1 and is common to all
 * databases of the server, so it may rise without a change in this one.
 */
extern uint64 db_definitions_generation(void);

/*
 * The generation as it is when no commit is under way that has raised it and cannot be
 * seen yet: what is read afterwards belongs to it.  Waits for such a commit, and holds
 * nothing when it returns.
 */
extern uint64 db_settled_generation(void);

/*
 * Around a commit of a worker (db_commit does it): wakes are kept back, and given once the commit
 * has returned.  Who is woken takes the processor at once, and would else hold up the transaction
 * that has just become visible, with its locks.
 */
extern void db_wake_keep_back(void);
extern void db_wake_kept_back(void);

/* True when the current transaction has called db_definitions_changed. */
extern bool db_definitions_changed_here(void);

/* Called once from _PG_init. */
extern void db_register_wake(void);

#endif /* DB_WAKE_H */
