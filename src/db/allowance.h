/*
 * allowance.h
 *	  What all workers of a network together may ask of its nodes, in compute units per second.
 *
 * The buckets are in shared memory, one for each network with a limit.  A server with more such
 * networks than ALLOWANCES limits each process of the others by itself.
 */
#ifndef DB_ALLOWANCE_H
#define DB_ALLOWANCE_H

#include "db/bucket.h"
#include "db/shmem.h"

struct db_allowance
{
	char network[WORKER_NETWORK_BYTES];
	struct db_bucket own; /* where shared memory has no room */
	bool is_shared;
	int index;
	double per_second;
	TimestampTz waits_since; /* the request that waits now; 0: none does */
};

/* Sets the limit of a network of this database; 0: none. */
extern void db_allowance_open(struct db_allowance *allowance, const char *network,
							  double per_second);

/*
 * Takes units, or says in how many milliseconds to try again (0: they are taken).  The caller's
 * slot says since when it has to wait, and how long it has.  The type is that of rpc_options.spend:
 * context is the allowance, priority an enum db_priority.
 */
extern double db_allowance_spend(void *context, double units, int priority);

#endif /* DB_ALLOWANCE_H */
