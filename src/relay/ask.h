/*
 * ask.h
 *	  The questions of one round to the node, in at most two batches, with no transaction open.
 */
#ifndef RELAY_ASK_H
#define RELAY_ASK_H

#include "relay/state.h"

struct rpc_batch;

/*
 * Asks what the view needs: chain id and head where they are not known, receipts of all attempts at
 * a new head, nonces and balances of accounts with work, fees, gas.  The answers are in view and
 * process. False when the node did not answer: process->retry_at says when to try again.
 */
extern bool relay_ask(struct relay_process *process, struct relay_view *view);

/*
 * Asks what follows from the receipts: whether their blocks are on the chain, and why a transaction
 * reverted.  Where that cannot be answered, the finding becomes RELAY_UNSURE.
 */
extern bool relay_verify(struct relay_process *process, struct relay_view *view);

/* Sends a batch; a failure sets the pace of the next tries and is shown in the status views. */
extern bool relay_run(struct relay_process *process, struct rpc_batch *batch);

#endif /* RELAY_ASK_H */
