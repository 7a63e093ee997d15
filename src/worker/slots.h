/*
 * slots.h
 *	  Slots of workers as parents use them: want, start, stop.
 *
 * A parent (the launcher, a coordinator) says what it wants and then reconciles:
 *
 *		worker_unwant_all(family);
 *		for each wanted worker: worker_want(...);
 *		delay = worker_reconcile(family);
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
	bool coordinators;
	Oid database; /* of the others */
};

struct slot_wish
{
	enum worker_kind kind;
	Oid database;
	const char *database_name;
	const char *network; /* "" unless it serves one */
	int index;           /* of executors */
};

/* Forgets what the parent wanted. */
extern void worker_unwant_all(const struct slot_family *family);

/*
 * Wants a worker, taking a slot for it unless it has one; false when rflow.max_workers are
 * taken.
 */
extern bool worker_want(const struct slot_wish *wish);

/*
 * Starts what is wanted and due, stops what is not wanted, and frees its slot once it is
 * gone.  Returns milliseconds until something is due, -1 when nothing is; the end of a
 * worker sets its parent's latch.
 */
extern double worker_reconcile(const struct slot_family *family);

/* Stops all workers of the family, and waits until they are gone and their slots free. */
extern void worker_stop_all(const struct slot_family *family);

/*
 * Sets when a slot's worker may start again: later after each failure in a row.  Called
 * with the lock held.
 */
extern void worker_back_off(struct worker_slot *slot, TimestampTz now);

#endif /* WORKER_SLOTS_H */
