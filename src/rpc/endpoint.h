/*
 * endpoint.h
 *	  The endpoints of one network: which is in use, which rest after a failure.
 *
 * Plain C with the clock passed in.  Only failures of the transport count; a node that
 * refuses a call has worked.
 */
#ifndef RPC_ENDPOINT_H
#define RPC_ENDPOINT_H

#include "rpc/url.h"

struct rpc_endpoint
{
	struct rpc_url url;
	unsigned failures;     /* in a row */
	double rests_until_ms; /* not asked before; 0: no rest */
	size_t batch_limit;    /* calls in one request; smaller once a batch was refused */
};

struct rpc_endpoints
{
	struct rpc_endpoint *list;
	int count; /* at least 1 */
	int current;
	uint64_t generation; /* grows whenever another endpoint is taken into use */
	uint64_t random;     /* state of the jitter; any seed */
};

/*
 * The endpoint to ask now: the current one while it works; when it has failed the first other one
 * that does not rest.  NULL when all of them rest.
 */
extern struct rpc_endpoint *rpc_endpoints_choose(struct rpc_endpoints *endpoints, double now_ms);

/* When the next endpoint has rested, 0 when one is ready. */
extern double rpc_endpoints_ready_at(const struct rpc_endpoints *endpoints, double now_ms);

extern void rpc_endpoint_worked(struct rpc_endpoint *endpoint);

/*
 * The endpoint rests: longer with each failure in a row, with jitter, and at least as long as the
 * node asked (Retry-After, RFC 9110 section 10.2.3), within bounds.
 */
extern void rpc_endpoint_failed(struct rpc_endpoints *endpoints, struct rpc_endpoint *endpoint,
								double now_ms, double at_least_ms);

#endif /* RPC_ENDPOINT_H */
