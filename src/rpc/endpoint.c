/*
 * endpoint.c
 *	  The endpoints of one network: which is in use, which rest after a failure.
 */
#include "rpc/endpoint.h"

/* A node that restarts is back in a moment; one that is down is asked six times a minute. */
#define REST_FIRST_MS 100.0
#define REST_MAX_MS 10000.0
/* What a node may ask for; a hostile or broken header cannot stop a network for longer. */
#define RETRY_AFTER_MAX_MS (5 * 60 * 1000.0)
/* Rests are spread by a quarter either way, so that many workers do not come back at once. */
#define JITTER 0.25

/*
 * One that has failed is not kept, even when it has rested: a worker that comes back more rarely
 * than the endpoint rests would ask no other one.
 */
struct rpc_endpoint *
rpc_endpoints_choose(struct rpc_endpoints *endpoints, double now_ms)
{
	struct rpc_endpoint *current = &endpoints->list[endpoints->current];
	bool is_ready = current->rests_until_ms <= now_ms;

	if (is_ready && current->failures == 0)
		return current;
	for (int i = 0; i < endpoints->count; i++)
	{
		if (i != endpoints->current && endpoints->list[i].rests_until_ms <= now_ms)
		{
			endpoints->current = i;
			endpoints->generation++;
			return &endpoints->list[i];
		}
	}
	return is_ready ? current : NULL;
}

double
rpc_endpoints_ready_at(const struct rpc_endpoints *endpoints, double now_ms)
{
	double soonest = endpoints->list[0].rests_until_ms;

	for (int i = 1; i < endpoints->count; i++)
	{
		if (endpoints->list[i].rests_until_ms < soonest)
			soonest = endpoints->list[i].rests_until_ms;
	}
	return soonest > now_ms ? soonest : 0;
}

void
rpc_endpoint_worked(struct rpc_endpoint *endpoint)
{
	endpoint->failures = 0;
	endpoint->rests_until_ms = 0;
}

/* Between 1 - JITTER and 1 + JITTER (Knuth's linear congruential generator, MMIX). */
static double
jitter(struct rpc_endpoints *endpoints)
{
	endpoints->random = endpoints->random * 6364136223846793005u + 1442695040888963407u;
	return 1 - JITTER + 2 * JITTER * (double) (endpoints->random >> 40) / (double) (1 << 24);
}

void
rpc_endpoint_failed(struct rpc_endpoints *endpoints, struct rpc_endpoint *endpoint, double now_ms,
					double at_least_ms)
{
	double rest = REST_FIRST_MS;

	for (unsigned i = 0; i < endpoint->failures && rest < REST_MAX_MS; i++)
		rest *= 2;
	if (rest > REST_MAX_MS)
		rest = REST_MAX_MS;
	rest *= jitter(endpoints);
	if (at_least_ms > RETRY_AFTER_MAX_MS)
		at_least_ms = RETRY_AFTER_MAX_MS;
	if (rest < at_least_ms)
		rest = at_least_ms;
	endpoint->failures++;
	endpoint->rests_until_ms = now_ms + rest;
}
