/*
 * move.h
 *	  Queued sends of a pool, from a member that cannot sign to one that can.
 */
#ifndef RELAY_MOVE_H
#define RELAY_MOVE_H

#include "relay/state.h"

/*
 * In transactions of its own: looks for members of pools that are paused, have no key or lack funds
 * while sends are queued for them, and gives these to others.  True when something was moved.
 * Nothing is read where the network has no pool.
 */
extern bool relay_move_queued(struct relay_process *process, TimestampTz now);

/*
 * The part inside a transaction: sends that are queued for these relayers and were queued for a
 * pool go to another member, where one can send them.  Sends that somebody else has locked stay
 * where they are.  Returns how many were moved; *left: how many were not.
 */
extern int relay_move_from(const char *const *relayers, int count, int *left);

/*
 * In the transaction that signs, which holds the row: its owner may not use its relayer any more.
 * Gives it to a relayer of its pool that the owner may use; false where there is none.
 */
extern bool relay_move_denied(int64 id);

#endif /* RELAY_MOVE_H */
