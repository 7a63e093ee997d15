/*
 * shmem.c
 *	  What workers know of each other: a slot per worker, in shared memory.
 *
 * Everything here is lost with a crash of the server, and nothing in it is needed
 * afterwards: the launcher and the coordinators find out again what should run.
 */
#include "postgres.h"

#include "db/shmem.h"

#include "db/compat.h"
#include "db/settings.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

#define LOCKS 2

struct db_shared *db_shared = NULL;
int MyWorkerSlot = -1;

static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;

static const char *const kind_names[] = {
	[WORKER_NONE] = "none",
	[WORKER_LAUNCHER] = "launcher",
	[WORKER_COORDINATOR] = "coordinator",
	[WORKER_WATCHER] = "watcher",
	[WORKER_RELAYER] = "relayer",
	[WORKER_EXECUTOR] = "executor",
	[WORKER_COURIER] = "courier",
};

const char *
db_worker_kind_name(enum worker_kind kind)
{
	return kind_names[kind];
}

static int
slot_count(void)
{
	return db_max_workers + 1;
}

static Size
shared_size(void)
{
	Size size = offsetof(struct db_shared, slots);

	size = add_size(size, mul_size(slot_count(), sizeof(struct worker_slot)));
	return add_size(size, mul_size(slot_count() * OWNERSHIPS_PER_WORKER, sizeof(struct ownership)));
}

struct ownership *
db_ownerships(void)
{
	return (struct ownership *) &db_shared->slots[db_shared->slot_count];
}

static void
request(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche("rflow", LOCKS);
}

static void
initialize(void)
{
	LWLockPadded *locks = GetNamedLWLockTranche("rflow");

	memset(db_shared, 0, shared_size());
	db_shared->lock = &locks[0].lock;
	db_shared->ring_lock = &locks[1].lock;
	ConditionVariableInit(&db_shared->changed);
	pg_atomic_init_u64(&db_shared->generation, 1);
	for (int i = 0; i < ALLOWANCES; i++)
		SpinLockInit(&db_shared->allowances[i].mutex);
	db_shared->slot_count = slot_count();
	db_shared->ownership_count = slot_count() * OWNERSHIPS_PER_WORKER;
	db_shared->slots[LAUNCHER_SLOT].kind = WORKER_LAUNCHER;
	db_shared->slots[LAUNCHER_SLOT].state = SLOT_STARTING;
}

static void
startup(void)
{
	bool found;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	db_shared = ShmemInitStruct("rflow", shared_size(), &found);
	if (!found)
		initialize();
	LWLockRelease(AddinShmemInitLock);
}

void
db_request_shared_memory(void)
{
	DB_REQUEST_SHMEM_BY(request, next_request_hook);
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}

void
db_report(const struct worker_report *report)
{
	struct worker_report *mine;
	struct worker_report kept;

	if (MyWorkerSlot < 0)
		return;
	mine = &db_shared->slots[MyWorkerSlot].report;
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	kept = *mine;
	*mine = *report;
	if (report->status[0] == '\0')
		strlcpy(mine->status, kept.status, WORKER_TEXT_BYTES);
	if (report->last_error_at == 0)
	{
		strlcpy(mine->last_error, kept.last_error, WORKER_TEXT_BYTES);
		mine->last_error_at = kept.last_error_at;
	}
	LWLockRelease(db_shared->lock);
}

void
db_report_status(const char *format, ...)
{
	char text[WORKER_TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (MyWorkerSlot < 0)
		return;
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	strlcpy(db_shared->slots[MyWorkerSlot].report.status, text, WORKER_TEXT_BYTES);
	LWLockRelease(db_shared->lock);
}

void
db_report_error(const char *format, ...)
{
	char text[WORKER_TEXT_BYTES];
	va_list arguments;
	struct worker_report *mine;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (MyWorkerSlot < 0)
		return;
	mine = &db_shared->slots[MyWorkerSlot].report;
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	strlcpy(mine->last_error, text, WORKER_TEXT_BYTES);
	mine->last_error_at = GetCurrentTimestamp();
	LWLockRelease(db_shared->lock);
}

void
db_record_commit(const uint8 *run_id, TimestampTz committed_at)
{
	struct commit_sample *sample;

	LWLockAcquire(db_shared->ring_lock, LW_EXCLUSIVE);
	sample = &db_shared->ring[db_shared->ring_next++ % COMMIT_SAMPLE_RING];
	sample->database = MyDatabaseId;
	memcpy(sample->run_id, run_id, sizeof(sample->run_id));
	sample->committed_at = committed_at;
	LWLockRelease(db_shared->ring_lock);
}

int
db_commit_samples(struct commit_sample *out)
{
	int count = 0;
	uint64 oldest;

	LWLockAcquire(db_shared->ring_lock, LW_SHARED);
	oldest =
		db_shared->ring_next > COMMIT_SAMPLE_RING ? db_shared->ring_next - COMMIT_SAMPLE_RING : 0;
	for (uint64 i = oldest; i < db_shared->ring_next; i++)
	{
		struct commit_sample *sample = &db_shared->ring[i % COMMIT_SAMPLE_RING];

		if (sample->database == MyDatabaseId)
			out[count++] = *sample;
	}
	LWLockRelease(db_shared->ring_lock);
	return count;
}
