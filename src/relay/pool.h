/*
 * pool.h
 *	  Pools of relayers: which member a send is given to.
 *
 * A pool is a row of rflow.relayer_pools; where a relayer is named, 'pool:NAME' stands for one of
 * its members.  The choice is made when the send is queued, from what is committed then, and stored
 * with it.
 */
#ifndef RELAY_POOL_H
#define RELAY_POOL_H

#include "postgres.h"

#include "evm/bytes.h"
#include "relay/queue.h"

struct relay_member
{
	char *relayer;
	bool paused;
	bool unusable; /* the caller's: not to be chosen while another one can send */
	bool known;    /* address is set */
	struct evm_address address;
	bool observed; /* balance is set: as last seen on chain */
	struct evm_word balance;
	struct evm_word outstanding; /* what is signed and not mined, or queued, may cost the account */
	bool has_fee;
	struct evm_word fee; /* per gas, as the relayer last offered */
	int64 load;          /* sends of the account that are in flight or queued */
	struct relay_grants grants;
};

struct relay_pool
{
	char *name;
	char *network;
	int64 chain_id;
	bool enabled; /* the network is */
	struct relay_member *members;
	int count;
};

/* What a choice is made for. */
struct relay_need
{
	Oid owner;
	struct evm_word value;
	int64 gas_limit; /* 0: not known yet */
	bool has_cap;
	struct evm_word cap; /* of the fee per gas */
};

/* The name of the pool in "pool:NAME"; NULL for the name of a relayer. */
extern const char *relay_pool_name(const char *relayer);

/*
 * Reads a pool and what its members have to do, in one statement; NULL when there is none.
 * Palloc'd in the current context.  Needs an SPI connection.
 */
extern struct relay_pool *relay_read_pool(const char *name);

/*
 * The member that the send goes to: one that its owner may use, is not paused and has the balance
 * for it beside what is outstanding, and of these the one with the fewest sends in flight and
 * queued; the first in the pool where that is equal.  *qualifies is false where there is none such:
 * the result is then the one with most room, and the send waits.  NULL when the owner may use none
 * of them.
 */
extern struct relay_member *relay_pool_choose(struct relay_pool *pool,
											  const struct relay_need *need, bool *qualifies);

/* Counts the send among what its account has to do. */
extern void relay_pool_take(struct relay_pool *pool, const struct relay_member *member,
							const struct relay_need *need);

/* Why no member can send it now, for the reason of the send. */
extern char *relay_pool_reason(const struct relay_pool *pool, const struct relay_need *need,
							   const struct relay_member *chosen);

/* Chooses, counts, and fills relayer, pool and reason of the send.  False: none may be used. */
extern bool relay_pool_assign(struct relay_pool *pool, struct relay_send *send,
							  const struct relay_member **chosen);

/* Does the role have a grant for each of them?  Otherwise the name of the first without. */
extern const char *relay_pool_denied(const struct relay_pool *pool, Oid owner);

#endif /* RELAY_POOL_H */
