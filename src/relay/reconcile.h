/*
 * reconcile.h
 *	  After a promotion or a restore: what have our accounts sent that this database does not know?
 *
 * While an account is not reconciled nothing is signed for it (key->held).  A round of it: which
 * nonces are used on the chain and unknown here; a range of blocks is read, and what is found in
 * it stored; what was found is matched with sends (match.h) and adopted; and when nothing is open,
 * the account goes on.
 */
#ifndef RELAY_RECONCILE_H
#define RELAY_RECONCILE_H

#include "relay/match.h"
#include "relay/state.h"

/* One account of a round, loaded from the tables. */
struct relay_account_progress
{
	struct relay_key *key;
	bool has_first;
	uint64 first_nonce; /* the chain's nonces from here on are unknown unless they were found */
	int64 scanned_from; /* blocks after this one are read … */
	int64 scanned_to;   /* … and have been up to this one */

	uint64 *known; /* nonces that were found, whatever their verdict; sorted */
	int known_count;
	int64 highest_block;       /* of what was found; -1: nothing was */
	struct relay_found *found; /* those that nothing explains yet; sorted by nonce */
	int found_count;

	bool complete; /* every nonce that the chain counts is known */
	bool behind;   /* the watcher has not passed what was found */
};

/* Which accounts are held.  In a transaction of its own; false when the worker may not act. */
extern bool relay_load_holds(struct relay_process *process);

/*
 * A step forward with each account that is held and whose counts are fresh.  Between transactions
 * it talks to the node.  False when the node did not answer or the worker may not act.
 */
extern bool relay_reconcile(struct relay_process *process, struct relay_view *view);

/* Ends it for the network when no account of it is held; in a transaction of its own. */
extern bool relay_end_reconciliation(struct relay_process *process);

/*
 * In an open transaction: the nonce was live in the restored database, is used on the chain by
 * nothing that is known, and was not looked for.  Holds the account again until it is found; true
 * when so.
 */
extern bool relay_look_for_nonce(struct relay_process *process, struct relay_key *key,
								 uint64 nonce);

/*
 * In an open transaction: an operator has taken the account over from this nonce on.  What lies
 * below and nothing explains is dealt with.
 */
extern void relay_skip_outside(int64 chain_id, const struct evm_address *address,
							   uint64 next_nonce);

/* Is some account of this process held? */
extern bool relay_any_held(const struct relay_process *process);

/* What is in the way of every relayer of the account. */
extern void relay_say_held(struct relay_process *process, const struct relay_key *key,
						   const char *status);

#endif /* RELAY_RECONCILE_H */
