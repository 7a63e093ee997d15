/*
 * intent.h
 *	  What is wanted of a transaction that is queued already: that it be given up, or cost more.
 *
 * Users want it by a verb, time by an expiry; both come to the same row under its lock, beside the
 * relayer that signs.
 */
#ifndef RELAY_INTENT_H
#define RELAY_INTENT_H

#include "postgres.h"

#include "relay/state.h"

enum relay_intent
{
	RELAY_INTENT_SEND,
	RELAY_INTENT_CANCEL,
	RELAY_INTENT_EXPIRE,
	RELAY_INTENT_REPLACE,
	RELAY_INTENT_ADOPT /* it is held: an outside transaction is what it became (adopt.h) */
};

/* A transaction and what is wanted of it, locked until the end of the transaction. */
struct relay_target
{
	int64 id;
	Oid owner;
	char *relayer;
	char *workflow; /* NULL: not sent by a run */
	enum relay_state state;
	enum relay_intent intent;
	int64 replaces; /* the transaction at whose nonce it is to be mined; 0: none */
	int64 replaced_by;
	bool has_error; /* its payload can never run: a no-op is to take its nonce */
};

/*
 * Waits for the row, and before it for that of the transaction that it replaces: rows are locked in
 * the order of their ids.  False when there is none.  Needs an SPI connection.
 */
extern bool relay_lock_target(struct relay_target *out, int64 id);

/*
 * Gives it up, by CANCEL or EXPIRE: one that is not signed ends at once; of one that is, a no-op is
 * to take the nonce, and what mines there decides.  Returns what it is then: "cancelled",
 * "expired"; "cancelling", "expiring" while a no-op has to come first; its state when it is too
 * late.  What was wanted first stays wanted (one that is to be adopted is held until that is taken
 * back).  With one that is being replaced, its replacement is given up.
 */
extern const char *relay_give_up(const struct relay_target *target, enum relay_intent intent);

/*
 * Wants it signed once more for a higher price, as soon as that is within the caps; max_fee (NULL:
 * as it was) is its own cap from now on.  One that is queued is looked at again at once.  Returns
 * "bumping", or its state where there is nothing to sign again.
 */
extern const char *relay_want_bump(const struct relay_target *target,
								   const struct evm_word *max_fee);

/*
 * Lets a queued send that waits for a time be looked at at once.  False when it is not one, or is
 * held until something happens.
 */
extern bool relay_retry_queued(int64 id);

#endif /* RELAY_INTENT_H */
