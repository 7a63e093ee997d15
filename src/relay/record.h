/*
 * record.h
 *	  The transitions of a transaction, each a function over the tables, inside an open transaction.
 *
 * Each checks the state that it leaves, under a row lock; false when the row is not in it any
 * more, and then nothing has been written.  Runs that wait are told in the same transaction.
 */
#ifndef RELAY_RECORD_H
#define RELAY_RECORD_H

#include "relay/state.h"

/* Why something failed, for the column error; data may be empty. */
struct relay_failure
{
	const char *kind; /* "reverted", "never_valid", "denied", "displaced", … */
	const char *message;
	struct evm_bytes data;
};

/* A transaction that is to be changed, and what it is like once it is locked. */
struct relay_lock
{
	int64 id;    /* 0: none */
	bool locked; /* false: somebody else holds it, or it is gone */
	enum relay_state state;
	bool wanted; /* intent is 'send', it has not expired, nothing says that it can never run */
	bool paused; /* its relayer or network is, or everything; while it is queued, its workflow */
	bool held;   /* the block of the event that caused it was replaced: not to be signed first */
};

/*
 * Locks them until the end of the transaction, but for those that others hold: users lock rows for
 * as long as they like, and one row must not stop an account.  Fills all but the ids.
 */
extern void relay_lock_transactions(struct relay_lock *locks, int count);

/*
 * queued → failed, cancelled or expired: no nonce was assigned.  Takes it out of the queue; what it
 * was to replace goes on.
 */
extern bool relay_end_queued(int64 id, enum relay_state state, const char *reason,
							 const struct relay_failure *failure);

/* A queued send waits until then: why, and when it is looked at again. */
extern void relay_hold_queued(int64 id, const char *reason, TimestampTz until);

/* Says why it is where it is, when that has changed. */
extern void relay_record_reason(int64 id, const char *reason);

/* signed → broadcast: a node has it. */
extern bool relay_record_accepted(int64 id);

/*
 * signed, broadcast, mined → mined, in this block.  Also false when the watcher's headers have
 * another block at that height.
 */
extern bool relay_record_mined(int64 id, const struct evm_hash *hash,
							   const struct relay_receipt *receipt, const char *reason,
							   const struct relay_failure *failure);

/* mined, confirmed → broadcast: its block is not on the chain any more. */
extern bool relay_record_unmined(int64 id, const char *reason);

/* mined → confirmed, or failed where it reverted; its nonce is settled. */
extern bool relay_record_deep(int64 id, const struct relay_key *key, int64 chain_id, uint64 nonce);

/*
 * signed, broadcast → failed, expired, cancelled: something else has taken its nonce for good (a
 * no-op of ours, whose receipt is given, or a transaction that is not).  What failed before keeps
 * its error.
 */
extern bool relay_record_superseded(int64 id, const struct relay_receipt *receipt,
									const char *reason, const struct relay_failure *failure);

/* It ended before, and what ended it is in another block now. */
extern void relay_record_block(int64 id, const struct relay_receipt *receipt);

/* Its payload can never run: a no-op is to take the nonce. */
extern bool relay_record_never(int64 id, const struct relay_failure *failure);

extern void relay_settle_nonce(int64 chain_id, const struct evm_address *address, uint64 nonce);
/* Tracks again what was settled from this nonce on; returns how many that are. */
extern uint64 relay_reopen_nonces(int64 chain_id, const struct evm_address *address, uint64 from);

/* What a node said to an attempt; code is that of a JSON-RPC error, 0: there was none. */
extern void relay_record_answer(int64 chain_id, const struct evm_address *address, uint64 nonce,
								int attempt, enum relay_class class, int64 code,
								const char *answer);

/*
 * What cannot go on by itself; shown in rflow.stuck until it is resolved.  Once per subject.
 * network may be NULL.
 */
extern void relay_record_incident(const char *kind, const char *network, const char *subject,
								  const char *reason, const char *what_to_do);
extern void relay_resolve_incident(const char *kind, const char *subject);

/*
 * An address as text, for statements that cast it: they keep no OID of a type that CREATE
 * EXTENSION makes.
 */
extern Datum relay_address_datum(const struct evm_address *address);

#endif /* RELAY_RECORD_H */
