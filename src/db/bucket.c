/*
 * bucket.c
 *	  A token bucket: what may be spent per second, with priorities.
 */
#include "db/bucket.h"

#define MS_PER_SECOND 1000.0
/* What must be left behind, as a share of what a second allows. */
#define BULK_LEAVES 0.25
#define URGENT_OWES (-1.0)

static void
fill(struct db_bucket *bucket, double now_ms)
{
	if (now_ms > bucket->filled_at_ms)
		bucket->tokens += (now_ms - bucket->filled_at_ms) / MS_PER_SECOND * bucket->per_second;
	if (bucket->tokens > bucket->per_second)
		bucket->tokens = bucket->per_second;
	bucket->filled_at_ms = now_ms;
}

void
db_bucket_set(struct db_bucket *bucket, double per_second, double now_ms)
{
	if (bucket->per_second == per_second)
		return;
	if (bucket->per_second == 0)
		bucket->tokens = per_second;
	else
		fill(bucket, now_ms);
	bucket->per_second = per_second;
	bucket->filled_at_ms = now_ms;
	if (bucket->tokens > per_second)
		bucket->tokens = per_second;
}

/* What has to be in the bucket for it. */
static double
needed(const struct db_bucket *bucket, double cost, enum db_priority priority)
{
	double full = bucket->per_second;
	double leave = 0;

	if (priority == DB_BULK)
		leave = full * BULK_LEAVES;
	else if (priority == DB_URGENT)
		leave = full * URGENT_OWES;
	cost += leave;
	return cost < full ? cost : full;
}

double
db_bucket_take(struct db_bucket *bucket, double cost, enum db_priority priority, double now_ms)
{
	double least;

	if (bucket->per_second <= 0)
		return 0;
	fill(bucket, now_ms);
	least = needed(bucket, cost, priority);
	if (bucket->tokens < least)
		return (least - bucket->tokens) / bucket->per_second * MS_PER_SECOND;
	bucket->tokens -= cost;
	return 0;
}
