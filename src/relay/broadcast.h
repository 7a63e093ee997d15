/*
 * broadcast.h
 *	  Stored bytes to the node, and what it said to them.
 */
#ifndef RELAY_BROADCAST_H
#define RELAY_BROADCAST_H

#include "relay/state.h"

/* Has a nonce of the view bytes that are due to go out (again)?  Sets when the next ones are. */
extern bool relay_has_broadcasts(struct relay_process *process, const struct relay_view *view);

/*
 * Reads intent and pause once more, sends the newest payload of each nonce that is due, in the
 * order of nonces, and records the answers.  False when the node did not answer or the worker may
 * not act any more; what was sent then has an unknown outcome, and goes out again.
 */
extern bool relay_broadcast(struct relay_process *process, const struct relay_view *view);

#endif /* RELAY_BROADCAST_H */
