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

#endif /* RELAY_RECONCILE_ADOPT_H */
