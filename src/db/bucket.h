/*
 * bucket.h
 *	  A token bucket: what may be spent per second, with priorities.
 *
 * Plain C with the clock passed in.  It holds what a second allows.  Who is more urgent may take
 * more: bulk leaves a quarter for others, what is urgent goes into debt by up to a second.
 */
#ifndef DB_BUCKET_H
#define DB_BUCKET_H

enum db_priority
{
	DB_BULK,
	DB_NORMAL,
	DB_URGENT
};

struct db_bucket
{
	double per_second; /* 0: no limit */
	double tokens;     /* negative: a debt */
	double filled_at_ms;
};

/* A new limit; what is there is kept, within it. */
extern void db_bucket_set(struct db_bucket *bucket, double per_second, double now_ms);

/*
 * Takes the cost, and returns 0; or takes nothing, and returns the milliseconds until it might.
 * What costs more than a second allows is taken from a full bucket, and paid for by those who come
 * after it.
 */
extern double db_bucket_take(struct db_bucket *bucket, double cost, enum db_priority priority,
							 double now_ms);

#endif /* DB_BUCKET_H */
