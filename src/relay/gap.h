/*
 * gap.h
 *	  Nonces that the chain waits for and nothing of ours holds.
 *
 * What has a later nonce waits for them for ever.  They come from an account that was adopted with
 * transactions of somebody else in a pool that has forgotten them since, or from a reorganisation.
 */
#ifndef RELAY_GAP_H
#define RELAY_GAP_H

#include "relay/plan.h"
#include "relay/state.h"

/* Reads next nonces and wished gaps of all accounts, in an open transaction. */
extern void relay_load_keys(MemoryContext context, struct relay_process *process);

/* Adds to the candidates a no-op for each gap that is to be filled. */
extern void relay_load_fillers(struct relay_process *process, struct relay_view *view);

/* With the counts of this round: is there a gap, and since when?  Its account says so. */
extern void relay_find_gaps(struct relay_process *process, const struct relay_view *view);

/*
 * In the signing transaction, with the rows of accounts locked: makes the transactions of no-ops
 * that fill gaps.  One whose nonce is held by now has no id then, and is not signed.
 */
extern void relay_make_fillers(struct relay_plan *plan, int64 chain_id);

#endif /* RELAY_GAP_H */
