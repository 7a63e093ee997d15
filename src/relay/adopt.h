/*
 * adopt.h
 *	  Outside transactions that operators say are what sends became (rflow.adopt_transaction()).
 *
 * The verb holds the send: its intent is adopt, and it has a row in rflow_private.adoptions.  Here
 * the transaction is looked for by its hash, and read in its block, at the depth of confirmations:
 * then the send takes its nonce and payload, as with what is found after a restore.  Until then,
 * and whatever is wrong with the wish, the send stays held and its reason says why.
 */
#ifndef RELAY_ADOPT_H
#define RELAY_ADOPT_H

#include "relay/state.h"

/* Is there a wish, and is it time to look again?  Else makes sure of the next round. */
extern bool relay_wishes_are_due(struct relay_process *process, TimestampTz now);

/*
 * Looks for what is wished, and adopts what is found; nothing where there is no wish.  Between
 * transactions it talks to the node.  False when the node did not answer or the worker may not act.
 */
extern bool relay_adopt_wished(struct relay_process *process);

#endif /* RELAY_ADOPT_H */
