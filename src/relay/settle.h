/*
 * settle.h
 *	  What the answers of a round make of live nonces, recorded in one transaction.
 */
#ifndef RELAY_SETTLE_H
#define RELAY_SETTLE_H

#include "relay/state.h"

/*
 * Records mined, confirmed and failed transactions, blocks that vanished, nonces that something
 * else has used, and nonces that a deep reorganisation has given back.  The view is brought up to
 * date where the rest of the round depends on it.  False when the worker may not act any more.
 */
extern bool relay_settle(struct relay_process *process, struct relay_view *view);

#endif /* RELAY_SETTLE_H */
