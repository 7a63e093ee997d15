/*
 * foreign.h
 *	  Which transaction has used a nonce, when none of ours has a receipt.
 */
#ifndef RELAY_FOREIGN_H
#define RELAY_FOREIGN_H

#include "relay/state.h"

/*
 * For nonces that are used at depth while none of our payloads has a receipt: looks for the block
 * that used them, and whether one of our payloads is in it.  An answer that is missing proves
 * nothing, so a transaction is only given up when the block is known that holds another one.  The
 * answers are in nonce->use; network, no transaction open.  False when the node did not answer.
 */
extern bool relay_find_users(struct relay_process *process, struct relay_view *view);

#endif /* RELAY_FOREIGN_H */
