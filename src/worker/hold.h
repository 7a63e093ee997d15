/*
 * hold.h
 *	  Keeps the workers of a database stopped while a command needs it for itself.
 */
#ifndef WORKER_HOLD_H
#define WORKER_HOLD_H

#include "postgres.h"

/*
 * Stops the workers of a database, keeps them stopped until worker_release, and waits
 * until they have left it.  The caller releases whatever the end of its command.
 */
extern void worker_hold(Oid database);
extern void worker_release(Oid database);

/* With the lock of the slots held. */
extern bool worker_is_held(Oid database);

#endif /* WORKER_HOLD_H */
