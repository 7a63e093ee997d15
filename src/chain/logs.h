/*
 * logs.h
 *	  Logs of a range of blocks, checked against the header chain.
 */
#ifndef CHAIN_LOGS_H
#define CHAIN_LOGS_H

#include "chain/cursor.h"
#include "chain/follow.h"

/* What triggers want: logs of an address whose first topic is this (any, when it has none). */
struct chain_filter
{
	struct evm_address address;
	bool has_topic0;
	struct evm_hash topic0;
};

enum chain_fetch
{
	CHAIN_FETCHED,
	CHAIN_FETCH_LATER, /* not answered, or not to be believed yet: error says why */
	CHAIN_FETCH_LESS   /* the range is too much for the node: try with half of it */
};

struct chain_logs
{
	enum chain_fetch outcome;
	const char *error;
	struct chain_log *logs; /* sorted, each once, numbered; in the batch's arena */
	size_t count;
	int64 *timestamps;       /* of the block of each log, seconds */
	struct rpc_batch *batch; /* owns the logs: destroy it when they are done with */
	TimestampTz held_at;     /* when the logs were in our hands */
};

/*
 * Fetches from..to for the union of the filters. Logs outside the range, or whose block is not
 * the one of the header chain, make the answer unbelievable. Where a header's bloom says that
 * there may be something for a filter and nothing came, the block is asked again by its hash.
 */
extern struct chain_logs chain_fetch_logs(const struct chain *chain, struct rpc_client *client,
										  const struct chain_filter *filters, int count, int64 from,
										  int64 to);

#endif /* CHAIN_LOGS_H */
