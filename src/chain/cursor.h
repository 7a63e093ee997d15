/*
 * cursor.h
 *	  Where each group of triggers continues on the chain.
 *
 * Triggers of one network and ceiling that have caught up share a cursor; one that is behind has
 * its own until it has caught up, and is then merged. Every advance checks the revision.
 */
#ifndef CHAIN_CURSOR_H
#define CHAIN_CURSOR_H

#include "postgres.h"

#include "chain/follow.h"
#include "nodes/pg_list.h"

struct chain_cursor
{
	int64 id;
	const char *ceiling; /* "head", a number of confirmations, "safe", "finalized" */
	int64 next_block;
	int next_log;
	int64 revision;
	int range;       /* blocks of the next eth_getLogs; shrinks when a node refuses, grows again */
	List *workflows; /* names (char *) */
};

/*
 * The cursors of a network that enabled workflows use, lowest first, in the current memory
 * context. Workflows without one are adopted: by the shared cursor of their ceiling, or where
 * there is none yet by a new one at the first block that is not older than their subscription.
 * Cursors that stand where the shared one does are merged into it, unused ones deleted. In the
 * caller's transaction; the chain must have a tip.
 */
extern List *chain_load_cursors(const struct chain *chain, int log_range);

/* Highest block that a cursor may read now; -1: none yet. */
extern int64 chain_ceiling(const struct chain *chain, const struct chain_cursor *cursor);

/* Moves it, in the caller's transaction; raises when its revision is not the stored one. */
extern void chain_advance_cursor(struct chain_cursor *cursor, int64 next_block, int next_log);

#endif /* CHAIN_CURSOR_H */
