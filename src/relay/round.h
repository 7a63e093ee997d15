/*
 * round.h
 *	  One turn of a relayer: load, ask, settle, sign, broadcast, record.
 */
#ifndef RELAY_ROUND_H
#define RELAY_ROUND_H

#include "relay/state.h"

/* A new process's memory, in the current context.  The caller fills begin, own and context. */
extern struct relay_process *relay_create(const char *network);

/*
 * Does what is due.  The current context is the round's: the caller empties it.  No transaction may
 * be open.  Afterwards process->wake_at says when the next round is due without a wake; 0: only
 * then.
 */
extern void relay_round(struct relay_process *process, bool signing_held);

#endif /* RELAY_ROUND_H */
