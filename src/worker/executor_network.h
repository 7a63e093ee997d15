/*
 * executor_network.h
 *	  The networks that an executor calls: a client each, made on first use and kept.
 */
#ifndef WORKER_EXECUTOR_NETWORK_H
#define WORKER_EXECUTOR_NETWORK_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "db/allowance.h"
#include "rpc/client.h"
#include "worker/worker.h"

struct executor_network
{
	char name[WORKER_NETWORK_BYTES];
	MemoryContext context; /* of what depends on the definitions */
	uint64 generation;     /* of the definitions that it was read from */
	bool usable;           /* the row exists and is enabled */
	int64 chain_id;
	struct rpc_client *client;       /* NULL: not usable, or its URLs are not */
	uint64 identified;               /* generation of the client that is known to be on the chain */
	struct db_allowance allowance;   /* what its nodes may be asked */
	char problem[WORKER_TEXT_BYTES]; /* why no step can call it; "" when one can */
	int failures;                    /* requests in a row without an answer */
};

/*
 * The network by name, ready to be called: its client exists and talks to the chain that the row
 * names. Otherwise problem says why not. Outside a transaction; NULL when the worker may not act
 * any more.
 */
extern struct executor_network *worker_executor_network_find(struct worker *w, const char *name);

/* Notes whether the last request was answered. */
extern void worker_executor_network_note(struct executor_network *network);

/* How long steps that found it without an answer wait: longer after each failure in a row. */
extern double worker_executor_network_pause_ms(const struct executor_network *network);

#endif /* WORKER_EXECUTOR_NETWORK_H */
