/*
 * reconcile_tables.h
 *	  What a reconciliation keeps in tables: progress, and what was found.
 */
#ifndef RELAY_RECONCILE_TABLES_H
#define RELAY_RECONCILE_TABLES_H

#include "relay/parse_block.h"
#include "relay/reconcile.h"

/*
 * All of these in an open transaction.  Reads, or begins, the progress of an account; into the
 * context, which becomes the current one.
 */
extern void relay_read_progress(MemoryContext context, const struct relay_process *process,
								struct relay_account_progress *progress, struct relay_key *key);

/* Recipient, value and data from three columns of a row, copied into the current context. */
extern void relay_read_act(struct relay_act *act, uint64 row, int first_column);

/* The chain's count at the restored block. */
extern void relay_store_first_nonce(const struct relay_process *process,
									const struct relay_account_progress *progress, uint64 nonce);

/* Blocks up to here have been read. */
extern void relay_store_scanned(const struct relay_process *process,
								const struct relay_account_progress *progress, int64 block);

/* Blocks after this one, which is an older one than before, are read, all of them anew. */
extern void relay_store_look_back(const struct relay_process *process,
								  const struct relay_account_progress *progress, int64 block);

/* One of a block, unless it is ours or was found already; true when it is new. */
extern bool relay_store_found(const struct relay_process *process,
							  const struct relay_account_progress *progress, int64 block,
							  const struct relay_block_transaction *transaction);

extern void relay_store_status(const struct relay_process *process,
							   const struct relay_account_progress *progress, const char *status);

/* Has the watcher handed out everything that may have led to a transaction in this block? */
extern bool relay_watcher_has_passed(const struct relay_process *process, int64 block);

/*
 * The account goes on, from the chain's count where that is higher.  False when something
 * unexplained is left after all.
 */
extern bool relay_store_finished(const struct relay_process *process,
								 const struct relay_account_progress *progress);

#endif /* RELAY_RECONCILE_TABLES_H */
