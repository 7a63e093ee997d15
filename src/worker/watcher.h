/*
 * watcher.h
 *	  What the parts of a watcher share: its state, and the round that turns logs into a commit.
 */
#ifndef WORKER_WATCHER_H
#define WORKER_WATCHER_H

#include "db/allowance.h"
#include "chain/cursor.h"
#include "chain/follow.h"
#include "chain/pace.h"
#include "db/shmem.h"
#include "rpc/client.h"
#include "worker/worker.h"

struct watcher
{
	struct worker *worker;
	struct chain *chain;
	bool chain_loaded;
	struct chain_pace pace;
	int misses;          /* polls since the last new head */
	double stands_since; /* db_now_ms; since then this endpoint has given no new head */

	/* of the network's row */
	MemoryContext network_context;
	int timeout_ms;
	List *urls;
	struct rpc_client *client;
	uint64 identified; /* generation of the client that is known to be on our chain; 0: none */
	int log_range;
	struct db_allowance allowance;
	char *unit_costs; /* NULL: as usual */

	/* of the definitions, as of generation */
	uint64 generation;
	List *definitions; /* struct flow_definition, of enabled workflows */
	MemoryContext cursor_context;
	List *cursors; /* struct chain_cursor, lowest first */
	bool cursors_stale;
	bool with_finality; /* a cursor waits for safe or finalized blocks */

	/* after reorganisations */
	bool halted;     /* the node's chain cannot be followed; until it shows ours again */
	bool reorg_due;  /* there may be detached runs, or what follows retracted ones */
	int64 reorg_tip; /* the head when these were looked at last; -1: look again … */
	double reorg_at; /* … but not before (db_now_ms) */

	/* rounds that could not be completed: the next one waits */
	int failures;
	double hold_until; /* db_now_ms */

	struct worker_report report;
};

/*
 * Does one range of each cursor that can move: fetch, dispatch, advance, claim. True when there
 * is more to do at once. Sets generation to 0 when the definitions have changed meanwhile.
 */
extern bool worker_watcher_round(struct watcher *watcher);

/*
 * What reorganisations have left to do, once for each head: retracts runs whose event did not
 * come back within the grace, after the node has been asked for each of them. watcher_reorg.c.
 */
extern void worker_watcher_settle_reorgs(struct watcher *watcher);

/* Remembers a failure for the views, and lets the next round wait. */
extern void worker_watcher_hold(struct watcher *watcher, const char *why);

#endif /* WORKER_WATCHER_H */
