/*
 * reconcile_adopt.h
 *	  What was found on the chain becomes the state of the sends that it is.
 */
#ifndef RELAY_RECONCILE_ADOPT_H
#define RELAY_RECONCILE_ADOPT_H

#include "relay/reconcile.h"
#include "relay/record.h"

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

/*
 * In an open transaction: locks the account, whose row begins with this nonce where there is none.
 */
extern void relay_lock_account(const struct relay_process *process, const struct relay_key *key,
							   uint64 nonce);

/*
 * In an open transaction, with the account and then the transaction locked, and nothing of ours
 * live at the nonce but this transaction: what was found in this block, and is stored, is what it
 * became, whatever it does.
 */
extern void relay_adopt_as(struct relay_process *process, struct relay_key *key,
						   const struct relay_lock *lock, uint64 nonce, int64 block_number);

#endif /* RELAY_RECONCILE_ADOPT_H */
