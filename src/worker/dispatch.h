/*
 * dispatch.h
 *	  From logs to runs: which workflows a log concerns, what it says, and whether their filters
 *	  let it pass.
 */
#ifndef WORKER_DISPATCH_H
#define WORKER_DISPATCH_H

#include "chain/logs.h"
#include "flow/held.h"
#include "flow/run.h"

/* A log that concerns a workflow. */
struct dispatch_candidate
{
	struct flow_run *run;
	const struct chain_log *log;
	const struct evm_abi_value
		*values; /* NULL: the data does not decode; the run has failed then */
};

/* The filters that the workflows' triggers ask a node for; in the current context. */
extern struct chain_filter *worker_dispatch_filters(List *definitions, int *count);

/*
 * The runs that logs[first..last) start, in the order of the logs: decoded, filtered, with their
 * keys, each key once. What does not decode and what a filter or once_per raises for is a run
 * that has failed with that error. A workflow whose filter takes too long, or does nothing but
 * raise, has a detach_reason then. Events of held runs (struct flow_held) start nothing: they are
 * appended to *returned (struct flow_returned), whatever filters say. In the current context;
 * outside a transaction.
 */
extern struct flow_run **worker_dispatch_logs(const struct chain *chain,
											  const struct chain_logs *logs, size_t first,
											  size_t last, List *definitions, List *held,
											  List **returned, struct evm_arena *arena, int *count);

#endif /* WORKER_DISPATCH_H */
