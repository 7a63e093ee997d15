/*
 * sign.h
 *	  The transaction that assigns nonces, and stores the bytes that each one owes.
 */
#ifndef RELAY_SIGN_H
#define RELAY_SIGN_H

#include "relay/load.h"
#include "relay/plan.h"

/*
 * Carries out a plan in one transaction that waits for its WAL (rule 3), whatever the
 * configuration says: grants, pauses, caps and intents are checked again under locks, nonces are
 * assigned, payloads signed and stored.  Nothing is broadcast here.  Returns how many payloads were
 * signed, -1 when the worker may not act any more.
 */
extern int relay_sign(struct relay_process *process, struct relay_plan *plan);

/*
 * Signs one payload: fills raw and hash (palloc'd in the current context) and returns NULL, or why
 * it cannot be signed.  The relayer process uses the account's key; the SQL function for isolation
 * tests has none and leaves the signature away.
 */
typedef const char *(*relay_signature)(const struct relay_order *order, uint64 nonce,
									   const struct relay_payload *payload, int64 chain_id,
									   struct evm_bytes *raw, struct evm_hash *hash, void *context);

/* The part inside the transaction: checks, assigns, stores.  Returns how many were signed. */
extern int relay_sign_orders(struct relay_plan *plan, int64 chain_id, int64 head_number,
							 relay_signature sign, void *context);

#endif /* RELAY_SIGN_H */
