/*
 * allowance.c
 *	  What all workers of a network together may ask of its nodes, in compute units per second.
 */
#include "postgres.h"

#include "db/allowance.h"

#include "db/wait.h"
#include "miscadmin.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#define US_PER_MS 1000.0
/* A bucket that nobody has used for so long may be given to another network. */
#define UNUSED_MS (60 * 60 * 1000.0)

static bool
is_of(const struct shared_allowance *shared, const char *network)
{
	return shared->database == MyDatabaseId && strcmp(shared->network, network) == 0;
}

/* The bucket of the network, or a free one for it; -1 when there is none. */
static int
find_bucket(const char *network, double now_ms)
{
	int unused = -1;

	for (int i = 0; i < ALLOWANCES; i++)
	{
		const struct shared_allowance *shared = &db_shared->allowances[i];

		if (is_of(shared, network))
			return i;
		if (unused < 0 &&
			(!OidIsValid(shared->database) || now_ms - shared->bucket.filled_at_ms > UNUSED_MS))
			unused = i;
	}
	return unused;
}

static void
claim_bucket(struct db_allowance *allowance)
{
	double now_ms = db_now_ms();
	struct shared_allowance *shared;

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	allowance->index = find_bucket(allowance->network, now_ms);
	allowance->is_shared = allowance->index >= 0;
	if (allowance->is_shared)
	{
		shared = &db_shared->allowances[allowance->index];
		SpinLockAcquire(&shared->mutex);
		if (!is_of(shared, allowance->network))
			memset(&shared->bucket, 0, sizeof(shared->bucket));
		shared->database = MyDatabaseId;
		strlcpy(shared->network, allowance->network, sizeof(shared->network));
		db_bucket_set(&shared->bucket, allowance->per_second, now_ms);
		SpinLockRelease(&shared->mutex);
	}
	else
		db_bucket_set(&allowance->own, allowance->per_second, now_ms);
	LWLockRelease(db_shared->lock);
}

static double
take(struct db_allowance *allowance, double units, enum db_priority priority)
{
	struct shared_allowance *shared;
	double wait_ms = 0;
	bool is_ours;

	if (!allowance->is_shared)
		return db_bucket_take(&allowance->own, units, priority, db_now_ms());
	shared = &db_shared->allowances[allowance->index];
	SpinLockAcquire(&shared->mutex);
	is_ours = is_of(shared, allowance->network);
	if (is_ours)
		wait_ms = db_bucket_take(&shared->bucket, units, priority, db_now_ms());
	SpinLockRelease(&shared->mutex);
	if (!is_ours)
		claim_bucket(allowance);
	return wait_ms;
}

/*
 * Waiting is over when a request need not wait at all: one that gets through after a while is
 * followed by others.  The slot is written by its own process only; readers look at it under the
 * lock.
 */
static void
note_wait(struct db_allowance *allowance, double wait_ms)
{
	TimestampTz since = allowance->waits_since;
	struct worker_slot *slot;

	if (MyWorkerSlot < 0)
		return;
	slot = &db_shared->slots[MyWorkerSlot];
	if (wait_ms == 0 && since == 0 && slot->limited_since == 0)
		return;
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	if (wait_ms == 0 && since == 0)
		slot->limited_since = 0;
	else if (wait_ms == 0)
		slot->limited_ms += (double) (GetCurrentTimestamp() - since) / US_PER_MS;
	else if (slot->limited_since == 0)
		slot->limited_since = GetCurrentTimestamp();
	LWLockRelease(db_shared->lock);
	if (wait_ms == 0)
		allowance->waits_since = 0;
	else if (since == 0)
		allowance->waits_since = GetCurrentTimestamp();
}

void
db_allowance_open(struct db_allowance *allowance, const char *network, double per_second)
{
	memset(allowance, 0, sizeof(*allowance));
	strlcpy(allowance->network, network, sizeof(allowance->network));
	allowance->per_second = per_second;
	if (per_second > 0)
		claim_bucket(allowance);
	else
		note_wait(allowance, 0);
}

double
db_allowance_spend(void *context, double units, int priority)
{
	struct db_allowance *allowance = context;
	double wait_ms;

	if (allowance->per_second <= 0)
		return 0;
	wait_ms = take(allowance, units, (enum db_priority) priority);
	note_wait(allowance, wait_ms);
	return wait_ms;
}
