/*
 * slots.h
 *	  Slots of workers as parents and workers use them: want, start, attach, stop, hold.
 *
 * A parent (the launcher, a coordinator) says what it wants and then reconciles:
 *
 *		slots_unmark(family);
 *		for each wanted worker: slots_want(...);
 *		delay = slots_reconcile(family);
 *
 * Nothing here depends on a parent's memory: one that dies leaves its
 * workers running, and the next one finds them in their slots.
 */
#ifndef WORKER_SLOTS_H
#define WORKER_SLOTS_H

#include "postgres.h"

#include "db/shmem.h"

/* The slots of one parent: coordinators of all databases, or the other workers of one database. */
struct slot_family
{
	bool		coordinators;
	Oid			database;		/* of the others */
};

struct slot_wish
{
	enum worker_kind kind;
	Oid			database;
	const char *database_name;
	const char *network;		/* "" unless it serves one */
	int			index;			/* of executors */
};

/* "watcher", … */
extern const char *slots_kind_name(enum worker_kind kind);

/* Forgets what the parent wanted. */
extern void slots_unmark(const struct slot_family *family);

/* Wants a worker, taking a slot for it unless it has one; false when rflow.max_workers are taken. */
extern bool slots_want(const struct slot_wish *wish);

/*
 * Starts what is wanted and due, stops what is not wanted, and frees its slot once it is gone.  Returns milliseconds
 * until something is due, -1 when nothing is; the end of a worker sets its parent's latch.
 */
extern double slots_reconcile(const struct slot_family *family);

/* Stops all workers of the family, and waits until they are gone and their slots free. */
extern void slots_stop(const struct slot_family *family);

/*
 * The worker's side: attaches the calling process to a slot; false when it is not meant any more.
 * The end of the process is recorded by a callback.
 */
extern bool slots_attach(int slot, enum worker_kind kind, uint32 epoch);
/* The epoch that the parent has put into bgw_extra. */
extern uint32 slots_epoch(const char *bgw_extra);
/* The process ends because somebody wants it to: another one may start at once. */
extern void slots_note_termination(void);

/*
 * Keeps the workers of a database stopped until slots_release, and waits until they have left it.  The caller
 * releases whatever the end of its command.
 */
extern void slots_hold(Oid database);
extern void slots_release(Oid database);

/*
 * Makes the caller's slot the only one that owns a key; false when another one does (*holder is its pid).
 * All are given up when the process ends.
 */
extern bool slots_try_own(uint64 key, pid_t *holder);
extern void slots_disown(uint64 key);

#endif							/* WORKER_SLOTS_H */
