/*
 * attach.h
 *	  A worker's slot as the worker uses it: it attaches, owns things alone, and leaves
 *	  it at its end.
 */
#ifndef WORKER_ATTACH_H
#define WORKER_ATTACH_H

#include "postgres.h"

#include "db/shmem.h"

/*
 * Attaches the calling process to a slot; false when it is not meant any more.  epoch is
 * that of the start. The end of the process is recorded by a callback.
 */
extern bool worker_attach(int slot, enum worker_kind kind, uint32 epoch);

/* False when the caller's parent, or a command on its database, wants it to end. */
extern bool worker_is_wanted(void);

/* The process ends because somebody wants it to: another one may start at once. */
extern void worker_note_termination(void);

/*
 * Makes the caller's slot the only one that owns a key; false when another one does
 * (*holder is its pid, 0 when there is no room for the key).  All are given up when the
 * process ends.
 */
extern bool worker_take_key(uint64 key, pid_t *holder);
extern void worker_drop_key(uint64 key);

#endif /* WORKER_ATTACH_H */
