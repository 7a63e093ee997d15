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
	const char *pool; /* whose member the relayer is; NULL: it was named itself */
	const char *network;
	int64 chain_id;
	Oid owner;                   /* the role it is sent for */
	const char *idempotency_key; /* unique per owner, at most RELAY_KEY_MAX_BYTES */
	bool has_run;
	uint8 run_id[16];
	const char *workflow; /* NULL unless a run's step sends, and so step */
	const char *step;
	bool creates; /* recipient does not count: a contract is created */
	struct evm_address recipient;
	struct evm_word value; /* wei */
	struct evm_bytes data;
	int64 gas_limit; /* 0: estimated when it is signed */
	bool has_max_fee;
	struct evm_word max_fee_per_gas; /* wei; cap of this send */
	const char *reason;              /* why it will have to wait; NULL: none is known */
	const char *wait_for;            /* "none", "sent", "mined", "confirmed" */
	int confirmations;               /* 0: the network's */
	TimestampTz valid_until;         /* it expires then; 0: never */
	int64 id;                        /* filled: id of the transaction */
	bool duplicate; /* filled: the key was there already, with the same body; id and relayer are
					   that row's */
};

#define RELAY_KEY_MAX_BYTES 512

/*
 * Queues count sends in the caller's transaction and SPI connection, with kept plans: two
 * statements however many they are.  Fills id and duplicate of each.  A key that exists with
 * another body raises ERRCODE_DUPLICATE_OBJECT.  Grants are the caller's business (relay_may_use).
 * At commit the relayers of this database wake.
 */
extern void relay_queue(struct relay_send *sends, int count, TimestampTz now);

/* Is there a transaction of this owner with this key already?  Needs an SPI connection. */
extern bool relay_has_key(Oid owner, const char *idempotency_key);

/* Who may use a relayer, and what else the tables say of it. */
struct relay_grants
{
	bool exists; /* the relayer */
	int count;
	Oid *grantees;
	Interval *expires_in; /* of what names no time itself; NULL: never */
};

/* Fills expires_in from a column of the last result. */
extern void relay_read_expiry(struct relay_grants *grants, uint64 row, int column);
/* Is it longer than no time? */
extern bool relay_is_ahead(const Interval *interval);
/*
 * When a send that is queued now expires: after expires_in, or when that is NULL after what the
 * relayer says (grants may be NULL: it is not known yet).  0: never.
 */
extern TimestampTz relay_valid_until(const Interval *expires_in, const struct relay_grants *grants);

/*
 * Reads them, palloc'd in the current context.  They change with the definitions (db/wake.h).
 * Needs an SPI connection.
 */
extern struct relay_grants *relay_read_grants(const char *relayer);
/* As relay_may_use; membership of roles is looked up each time, in the catalog caches. */
extern bool relay_grants_allow(const struct relay_grants *grants, Oid owner);

/*
 * May transactions of this relayer be sent for owner?  A superuser may use all of them; anyone
 * else needs a row of rflow.relayer_grants whose grantee's privileges owner has.  False
 * for an unknown relayer and an owner that no longer exists.  Needs an SPI connection.
 */
extern bool relay_may_use(const char *relayer, Oid owner);

/*
 * What a run that waits for a transaction is told.  The transaction that makes this anything but
 * RELAY_PENDING inserts ('run', first hex digit of the run id, now, run id) into rflow_private.due
 * and wakes the executors.
 */
enum relay_verdict
{
	RELAY_PENDING,       /* not there yet */
	RELAY_REACHED,       /* what wait_for asks for is true */
	RELAY_WITHOUT_EFFECT /* failed, expired, cancelled or replaced: it will not get there */
};

struct relay_outcome
{
	enum relay_verdict verdict;
	const char *state;
	const char *reason; /* NULL when there is none */
	const char *error;  /* jsonb text: kind, message, data; NULL when there is none */
	bool has_hash;
	struct evm_hash hash; /* of the attempt that was mined, else the newest */
	bool has_block;
	int64 block_number;
	struct evm_hash block_hash;
	int64 gas_used;        /* 0 until it is mined */
	TimestampTz signed_at; /* 0 until then, and so below */
	TimestampTz broadcast_at;
	TimestampTz mined_at;
	TimestampTz confirmed_at;
};

/*
 * Reads a transaction and locks it FOR SHARE until the end of the caller's transaction, so that a
 * run parks on what is still true when it commits.  False when there is no such row.  Texts are
 * palloc'd in the current context.  Needs an SPI connection.
 */
extern bool relay_look(int64 id, struct relay_outcome *out);

#endif /* RELAY_QUEUE_H */
