/*
 * queue.h
 *	  The outbox of chain transactions, as those who fill it see it.
 *
 * A send is queued inside the transaction of whoever wants it: either both
 * commit or neither does.  Nothing here talks to a network, knows a key or assigns a nonce.
 */
#ifndef RELAY_QUEUE_H
#define RELAY_QUEUE_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "evm/bytes.h"

/* A transaction that is wanted.  Texts and bytes are borrowed for the call. */
struct relay_send
{
	const char *relayer;
	const char *network;
	int64		chain_id;
	Oid			owner;			/* the role it is sent for */
	const char *idempotency_key;	/* unique per owner, at most RELAY_KEY_MAX_BYTES */
	bool		has_run;
	uint8		run_id[16];
	const char *step;			/* NULL unless a run's step sends */
	bool		creates;		/* recipient does not count: a contract is created */
	struct evm_address recipient;
	struct evm_word value;		/* wei */
	struct evm_bytes data;
	int64		gas_limit;		/* 0: estimated when it is signed */
	bool		has_max_fee;
	struct evm_word max_fee_per_gas;	/* wei; cap of this send */
	const char *wait_for;		/* "none", "sent", "mined", "confirmed" */
	int			confirmations;	/* 0: the network's */
	int64		id;				/* filled: id of the transaction */
	bool		duplicate;		/* filled: the key was there already, with the same body; id is that row's */
};

#define RELAY_KEY_MAX_BYTES 512

/*
 * Queues count sends in the caller's transaction and SPI connection, with kept plans: two statements
 * however many they are.  Fills id and duplicate of each.  A key that exists with another body
 * raises ERRCODE_DUPLICATE_OBJECT.  Grants are the caller's business (relay_may_use).
 * At commit the relayers of this database wake.
 */
extern void relay_queue(struct relay_send *sends, int count, TimestampTz now);

/*
 * May transactions of this relayer be sent for owner?  A superuser may use all of them; anyone
 * else needs a row of rflow.relayer_grants whose grantee's privileges owner has.  False
 * for an unknown relayer and an owner that no longer exists.  Needs an SPI connection.
 */
extern bool relay_may_use(const char *relayer, Oid owner);

/*
 * What a run that waits for a transaction can be told.  The recording transaction inserts
 * ('run', first hex digit of the run id, now, run id) into rflow_private.due when this changes to
 * anything but RELAY_PENDING.
 */
enum relay_verdict
{
	RELAY_PENDING,				/* not there yet */
	RELAY_REACHED,				/* what wait_for asks for is true */
	RELAY_WITHOUT_EFFECT		/* failed, expired, cancelled or replaced: it will not get there */
};

/* From the columns state, wait_for, broadcast_at and mined_at of a row of relayer_transactions. */
extern enum relay_verdict relay_judge(const char *state, const char *wait_for, bool was_accepted);

#endif							/* RELAY_QUEUE_H */
