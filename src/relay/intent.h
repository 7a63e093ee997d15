/*
 * intent.h
 *	  What is wanted of a transaction that is queued already: that it be given up.
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
	RELAY_INTENT_REPLACE
};

/* A transaction and what is wanted of it, locked until the end of the transaction. */
struct relay_target
{
	int64 id;
	Oid owner;
	enum relay_state state;
	enum relay_intent intent;
};

/* Waits for the row.  False when there is none.  Needs an SPI connection. */
extern bool relay_lock_target(struct relay_target *out, int64 id);

/*
 * Gives it up, by CANCEL or EXPIRE: one that is not signed ends at once; of one that is, a no-op is
 * to take the nonce, and what mines there decides.  Returns what it is then: "cancelled",
 * "expired"; "cancelling", "expiring" while a no-op has to come first; its state when it is too
 * late.  What was wanted first stays wanted.
 */
extern const char *relay_give_up(const struct relay_target *target, enum relay_intent intent);

#endif /* RELAY_INTENT_H */
