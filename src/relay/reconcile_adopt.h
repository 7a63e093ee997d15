/*
 * reconcile_adopt.h
 *	  What was found on the chain becomes the state of the sends that it is.
 */
#ifndef RELAY_RECONCILE_ADOPT_H
#define RELAY_RECONCILE_ADOPT_H

#include "relay/reconcile.h"

/*
 * In an open transaction: matches what was found of an account and is not explained
 * (progress->found) with its sends, and adopts what matches: the send has that nonce and payload
 * from now on, as if it had been signed here.  Rows that somebody else holds are left for the next
 * round.  Returns how many were explained.
 */
extern int relay_adopt_found(struct relay_process *process,
							 struct relay_account_progress *progress);

/*
 * In an open transaction, with the row of its transaction locked: what has used this nonce does
 * the same as its own payloads, so it is one of them that was lost, or that somebody has sent by
 * hand.  True when so, and then it is adopted: it has not failed, and must not be sent again.
 */
extern bool relay_adopt_user(struct relay_process *process, const struct relay_nonce *nonce);

#endif /* RELAY_RECONCILE_ADOPT_H */
