/*
 * held.h
 *	  Runs that a reorganisation has left without their block: found again, re-attached, retracted.
 *
 * sql/55_reorgs.sql has the transitions, each a function over the tables; here is who calls them,
 * with what from the chain.
 */
#ifndef FLOW_HELD_H
#define FLOW_HELD_H

#include "postgres.h"

#include "flow/run.h"

/* A run whose block was replaced. */
struct flow_held
{
	char id[37];
	uint8 first_run[16]; /* id of its first incarnation: what an occurrence key begins with */
	char *workflow;
	struct evm_hash transaction_hash;
	struct evm_address address;
	Jsonb *event; /* NULL when it did not decode */
};

/* Its event is on the chain, here. */
struct flow_returned
{
	char id[37];
	struct flow_log log;
};

/*
 * Has a network detached runs, ones that wait for an incarnation before them, or sends that are
 * still held?  Needs SPI.
 */
extern bool flow_has_held(const char *network);

/* The detached runs of a network (struct flow_held), in the current context.  Needs SPI. */
extern List *flow_load_held(const char *network);

/*
 * The one that the occurrence of a fresh run has started, or NULL. run->key is that of its log;
 * where the definition has once_per, event (NULL where the log does not decode) tells it.
 */
extern const struct flow_held *flow_find_held(List *held, const struct flow_run *run,
											  const struct evm_abi_value *values);

/* Re-attaches runs (struct flow_returned), in the caller's transaction.  Needs SPI. */
extern void flow_reattach(List *returned);

/* A detached run whose grace is over. */
struct flow_retractable
{
	char id[37];
	uint8 first_run[16];
	char *workflow;
	bool has_once_per;
	int64 block_number;
	struct evm_hash block_hash;
	struct evm_hash transaction_hash;
	struct evm_address address;
};

/* At most limit of them, in the current context.  Needs SPI. */
extern List *flow_load_retractable(const char *network, int limit);

/* Retracts a run, in the caller's transaction; false when that has to wait.  Needs SPI. */
extern bool flow_retract(const struct flow_retractable *run, const char *network);

/* Sends to hold or to release, incarnations to start: wakes who goes on with them. Needs SPI. */
extern void flow_settle_held(const char *network);

#endif /* FLOW_HELD_H */
