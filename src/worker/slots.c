/*
 * slots.c
 *	  Slots of workers as parents use them: want, start, stop.
 *
 * A started worker carries the epoch of its start; one that the postmaster starts
 * late, when its slot has been given away or its database is held, does not
 * attach.
 */
#include "postgres.h"

#include "worker/slots.h"

#include <signal.h>

#include "common/hashfn.h"
#include "postmaster/bgworker.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
#include "worker/hold.h"

/* A registered worker that has not come by then never will: its fork or its load failed. */
#define START_TIMEOUT_MS 10000
/* When max_worker_processes is used up, something else has to end: it does not tell us. */
#define PROCESS_RETRY_MS 5000
/* Delay of the first restart after an error; doubles with each, up to the longest. */
#define RESTART_MIN_MS 1000
#define RESTART_MAX_MS (5 * 60 * 1000)
/* Delays vary by this share, so that what failed together does not come back together. */
#define JITTER_PERCENT 20
/* Between two looks at workers that are told to stop, should a wake be lost. */
#define STOP_POLL_MS 1000

/* Exported by src/rflow.map and found by name when the postmaster starts the process. */
static const char *const entry_points[] = {
	[WORKER_COORDINATOR] = "rflow_coordinator_main",
	[WORKER_WATCHER] = "rflow_watcher_main",
	[WORKER_RELAYER] = "rflow_relayer_main",
	[WORKER_EXECUTOR] = "rflow_executor_main",
};

/* One report of a lack of processes for each time that they lack. */
static bool lack_reported = false;

static struct worker_slot *
first_slot(void)
{
	return &db_shared->slots[LAUNCHER_SLOT + 1];
}

static struct worker_slot *
end_of_slots(void)
{
	return &db_shared->slots[db_shared->slot_count];
}

static bool
in_family(const struct worker_slot *slot, const struct slot_family *family)
{
	if (slot->state == SLOT_FREE)
		return false;
	if (family->coordinators)
		return slot->kind == WORKER_COORDINATOR;
	return slot->kind != WORKER_COORDINATOR && slot->database == family->database;
}

static void
set_status(struct worker_slot *slot, const char *status)
{
	strlcpy(slot->report.status, status, WORKER_TEXT_BYTES);
}

/* The epoch stays, so that a late worker of the former owner is told apart. */
static void
free_slot(struct worker_slot *slot)
{
	uint32 epoch = slot->epoch;

	memset(slot, 0, sizeof(*slot));
	slot->epoch = epoch + 1;
}

static bool
fulfils(const struct worker_slot *slot, const struct slot_wish *wish)
{
	return slot->kind == wish->kind && slot->database == wish->database &&
		slot->index == wish->index && strcmp(slot->network, wish->network) == 0;
}

static struct worker_slot *
find_or_take(const struct slot_wish *wish)
{
	struct worker_slot *unused = NULL;

	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
	{
		if (slot->state == SLOT_FREE)
			unused = unused == NULL ? slot : unused;
		else if (fulfils(slot, wish))
			return slot;
	}
	if (unused == NULL)
		return NULL;
	free_slot(unused);
	unused->state = SLOT_WAITING;
	unused->kind = wish->kind;
	unused->database = wish->database;
	unused->index = wish->index;
	strlcpy(unused->network, wish->network, sizeof(unused->network));
	set_status(unused, "starts");
	return unused;
}

void
worker_unwant_all(const struct slot_family *family)
{
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
	{
		if (in_family(slot, family))
			slot->wanted = false;
	}
	LWLockRelease(db_shared->lock);
}

bool
worker_want(const struct slot_wish *wish)
{
	struct worker_slot *slot;

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	slot = find_or_take(wish);
	if (slot != NULL)
	{
		slot->wanted = true;
		strlcpy(slot->database_name, wish->database_name, sizeof(slot->database_name));
	}
	LWLockRelease(db_shared->lock);
	return slot != NULL;
}

/* Milliseconds from now until then, 0 when it has passed. */
static double
milliseconds_until(TimestampTz now, TimestampTz then)
{
	return then <= now ? 0 : (double) (then - now) / 1000 + 1;
}

static double
sooner(double a, double b)
{
	return a < 0 ? b : (b < 0 ? a : Min(a, b));
}

void
worker_back_off(struct worker_slot *slot, TimestampTz now)
{
	double delay = RESTART_MIN_MS;
	int jitter;

	slot->failures++;
	for (int i = 1; i < slot->failures && delay < RESTART_MAX_MS; i++)
		delay *= 2;
	delay = Min(delay, RESTART_MAX_MS);
	jitter = (int) (hash_bytes_uint32((uint32) now) % (2 * JITTER_PERCENT + 1)) - JITTER_PERCENT;
	slot->restart_at = TimestampTzPlusMilliseconds(now, (int64) (delay * (100 + jitter) / 100));
}

/*
 * What one wanted slot needs, with the lock held.  True: start it now (it is marked as
 * started, under a new epoch); else *delay says when to look again.
 */
static bool
needs_start(struct worker_slot *slot, TimestampTz now, double *delay)
{
	double wait;

	*delay = -1;
	if (slot->state == SLOT_STARTING)
	{
		wait = milliseconds_until(now,
								  TimestampTzPlusMilliseconds(slot->started_at, START_TIMEOUT_MS));
		if (wait > 0)
		{
			*delay = wait;
			return false;
		}
		slot->state = SLOT_WAITING;
		set_status(slot, "did not start");
		worker_back_off(slot, now);
	}
	if (slot->state != SLOT_WAITING || worker_is_held(slot->database))
		return false;
	*delay = milliseconds_until(now, slot->restart_at);
	if (*delay > 0)
		return false;
	slot->state = SLOT_STARTING;
	slot->lacks_process = false;
	slot->epoch++;
	slot->started_at = now;
	return true;
}

/* Unwanted: ended, or freed when it has; with the lock held. */
static void
retire(struct worker_slot *slot)
{
	if (slot->state == SLOT_RUNNING)
		kill(slot->pid, SIGTERM);
	else
		free_slot(slot);
}

/* Asks the postmaster for the process; the slot is a copy. */
static bool
start_process(int number, const struct worker_slot *slot)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "rflow",
		.bgw_main_arg = Int32GetDatum(number),
	};

	snprintf(worker.bgw_type, BGW_MAXLEN, "rflow %s", db_worker_kind_name(slot->kind));
	strlcpy(worker.bgw_function_name, entry_points[slot->kind], sizeof(worker.bgw_function_name));
	if (slot->network[0] != '\0')
		snprintf(worker.bgw_name, BGW_MAXLEN, "%s: %s, network %s", worker.bgw_type,
				 slot->database_name, slot->network);
	else
		snprintf(worker.bgw_name, BGW_MAXLEN, "%s: %s", worker.bgw_type, slot->database_name);
	memcpy(worker.bgw_extra, &slot->epoch, sizeof(slot->epoch));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

static void
report_lack(const struct worker_slot *slot)
{
	if (lack_reported)
		return;
	lack_reported = true;
	ereport(LOG,
			(errmsg("rflow %s of database \"%s\"%s%s waits for a process",
					db_worker_kind_name(slot->kind), slot->database_name,
					slot->network[0] != '\0' ? ", network " : "", slot->network),
			 errhint("Increase max_worker_processes.")));
}

/* A slot that was marked as started; takes the mark back when there is no process for it. */
static bool
start_slot(struct worker_slot *slot, const struct worker_slot *copy)
{
	if (start_process(slot - db_shared->slots, copy))
		return true;
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	if (slot->epoch == copy->epoch && slot->state == SLOT_STARTING)
	{
		slot->state = SLOT_WAITING;
		slot->lacks_process = true;
		slot->restart_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PROCESS_RETRY_MS);
		set_status(slot, "waits for a process: max_worker_processes is too small");
	}
	LWLockRelease(db_shared->lock);
	report_lack(copy);
	return false;
}

/* Workers whose database has no coordinator any more have the launcher as their parent. */
static bool
is_orphan(const struct worker_slot *slot)
{
	if (slot->state == SLOT_FREE || slot->kind == WORKER_COORDINATOR)
		return false;
	for (struct worker_slot *other = first_slot(); other < end_of_slots(); other++)
	{
		if (other->kind == WORKER_COORDINATOR && other->database == slot->database)
			return false;
	}
	return true;
}

static void
retire_orphans(void)
{
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
	{
		if (is_orphan(slot))
			retire(slot);
	}
	LWLockRelease(db_shared->lock);
}

double
worker_reconcile(const struct slot_family *family)
{
	TimestampTz now = GetCurrentTimestamp();
	double delay = -1;
	bool lack = false;

	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
	{
		struct worker_slot copy;
		double slot_delay = -1;
		bool start = false;

		LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
		if (in_family(slot, family))
		{
			if (slot->wanted)
				start = needs_start(slot, now, &slot_delay);
			else
				retire(slot);
		}
		copy = *slot;
		LWLockRelease(db_shared->lock);
		if (start)
			slot_delay = start_slot(slot, &copy) ? START_TIMEOUT_MS : PROCESS_RETRY_MS;
		lack = lack || (in_family(slot, family) && slot->lacks_process);
		delay = sooner(delay, slot_delay);
	}
	if (family->coordinators)
		retire_orphans();
	lack_reported = lack_reported && lack;
	return delay;
}

static int
count_family(const struct slot_family *family)
{
	int count = 0;

	LWLockAcquire(db_shared->lock, LW_SHARED);
	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
		count += in_family(slot, family) ? 1 : 0;
	LWLockRelease(db_shared->lock);
	return count;
}

void
worker_stop_all(const struct slot_family *family)
{
	worker_unwant_all(family);
	ConditionVariablePrepareToSleep(&db_shared->changed);
	for (;;)
	{
		(void) worker_reconcile(family);
		if (count_family(family) == 0)
			break;
		(void) ConditionVariableTimedSleep(&db_shared->changed, STOP_POLL_MS, PG_WAIT_EXTENSION);
	}
	(void) ConditionVariableCancelSleep();
}
