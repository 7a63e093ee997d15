/*
 * slots.c
 *	  Slots of workers as parents and workers use them: want, start, attach, stop, hold.
 *
 * A started worker carries the epoch of its start; one that the postmaster starts
 * late, when its slot has been given away or its database is held, does not
 * attach.  A worker detaches after it has left its database (its PGPROC is no
 * longer in the ProcArray), so whoever waits for its slot may drop the database.
 */
#include "postgres.h"

#include "worker/slots.h"

#include <signal.h>

#include "common/hashfn.h"
#include "db/compat.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* A registered worker that has not come by then never will: its fork or its load failed. */
#define START_TIMEOUT_MS 10000
/* When max_worker_processes is used up, something else has to end: it does not tell us. */
#define PROCESS_RETRY_MS 5000
/* Delay of the first restart after an error; doubles with each, up to the longest. */
#define RESTART_MIN_MS 1000
#define RESTART_MAX_MS (5 * 60 * 1000)
/* One that ended by itself is wanted all the same: something changed while it was ending. */
#define RESTART_ENDED_MS 200
/* A worker that ran this long was healthy. */
#define HEALTHY_MS (10 * 60 * 1000)
/* Delays vary by this share, so that what failed together does not come back together. */
#define JITTER_PERCENT 20
/* A command gives up waiting for workers to leave a database; PostgreSQL then says what is in its way. */
#define HOLD_TIMEOUT_MS 10000
#define STOP_POLL_MS 1000

static const struct
{
	const char *name;
	const char *entry_point;	/* exported by src/rflow.map, found by name */
}			kinds[] = {
	[WORKER_NONE] = {"none", NULL},
	[WORKER_LAUNCHER] = {"launcher", "rflow_launcher_main"},
	[WORKER_COORDINATOR] = {"coordinator", "rflow_coordinator_main"},
	[WORKER_WATCHER] = {"watcher", "rflow_watcher_main"},
	[WORKER_RELAYER] = {"relayer", "rflow_relayer_main"},
	[WORKER_EXECUTOR] = {"executor", "rflow_executor_main"},
	[WORKER_COURIER] = {"courier", "rflow_courier_main"},
};

static bool terminated = false;

/* One report of a lack of processes for each time that they lack. */
static bool lack_reported = false;

const char *
slots_kind_name(enum worker_kind kind)
{
	return kinds[kind].name;
}

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

static bool
is_held(Oid database)
{
	for (int i = 0; i < DATABASE_HOLDS; i++)
	{
		if (db_shared->holds[i].database == database)
			return true;
	}
	return false;
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
	uint32		epoch = slot->epoch;

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
slots_unmark(const struct slot_family *family)
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
slots_want(const struct slot_wish *wish)
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

/* Longer after each failure; called with the lock held. */
static void
set_back_off(struct worker_slot *slot, TimestampTz now)
{
	double		delay = RESTART_MIN_MS;
	int			jitter;

	slot->failures++;
	for (int i = 1; i < slot->failures && delay < RESTART_MAX_MS; i++)
		delay *= 2;
	delay = Min(delay, RESTART_MAX_MS);
	jitter = (int) (hash_bytes_uint32((uint32) now) % (2 * JITTER_PERCENT + 1)) - JITTER_PERCENT;
	slot->restart_at = TimestampTzPlusMilliseconds(now, (int64) (delay * (100 + jitter) / 100));
}

/*
 * What one wanted slot needs, with the lock held.  True: start it now (it is marked as started, under a
 * new epoch); else *delay says when to look again.
 */
static bool
needs_start(struct worker_slot *slot, TimestampTz now, double *delay)
{
	double		wait;

	*delay = -1;
	if (slot->state == SLOT_STARTING)
	{
		wait = milliseconds_until(now, TimestampTzPlusMilliseconds(slot->started_at,
																	START_TIMEOUT_MS));
		if (wait > 0)
		{
			*delay = wait;
			return false;
		}
		slot->state = SLOT_WAITING;
		set_status(slot, "did not start");
		set_back_off(slot, now);
	}
	if (slot->state != SLOT_WAITING || is_held(slot->database))
		return false;
	*delay = milliseconds_until(now, slot->restart_at);
	if (*delay > 0)
		return false;
	slot->state = SLOT_STARTING;
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

	snprintf(worker.bgw_type, BGW_MAXLEN, "rflow %s", kinds[slot->kind].name);
	strlcpy(worker.bgw_function_name, kinds[slot->kind].entry_point,
			sizeof(worker.bgw_function_name));
	if (slot->network[0] != '\0')
		snprintf(worker.bgw_name, BGW_MAXLEN, "%s: %s, network %s", worker.bgw_type,
				 slot->database_name, slot->network);
	else
		snprintf(worker.bgw_name, BGW_MAXLEN, "%s: %s", worker.bgw_type, slot->database_name);
	memcpy(worker.bgw_extra, &slot->epoch, sizeof(slot->epoch));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

uint32
slots_epoch(const char *bgw_extra)
{
	uint32		epoch;

	memcpy(&epoch, bgw_extra, sizeof(epoch));
	return epoch;
}

static void
report_lack(const struct worker_slot *slot)
{
	if (lack_reported)
		return;
	lack_reported = true;
	ereport(LOG,
			(errmsg("rflow %s of database \"%s\"%s%s waits for a process",
					kinds[slot->kind].name, slot->database_name,
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
slots_reconcile(const struct slot_family *family)
{
	TimestampTz now = GetCurrentTimestamp();
	double		delay = -1;
	bool		lack = false;

	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
	{
		struct worker_slot copy;
		double		slot_delay = -1;
		bool		start = false;

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
		if (start && !start_slot(slot, &copy))
		{
			slot_delay = PROCESS_RETRY_MS;
			lack = true;
		}
		else if (start)
			slot_delay = START_TIMEOUT_MS;
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
	int			count = 0;

	LWLockAcquire(db_shared->lock, LW_SHARED);
	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
		count += in_family(slot, family) ? 1 : 0;
	LWLockRelease(db_shared->lock);
	return count;
}

void
slots_stop(const struct slot_family *family)
{
	slots_unmark(family);
	ConditionVariablePrepareToSleep(&db_shared->changed);
	for (;;)
	{
		(void) slots_reconcile(family);
		if (count_family(family) == 0)
			break;
		(void) ConditionVariableTimedSleep(&db_shared->changed, STOP_POLL_MS, PG_WAIT_EXTENSION);
	}
	(void) ConditionVariableCancelSleep();
}

void
slots_note_termination(void)
{
	terminated = true;
}

static void
disown_all(int slot)
{
	struct ownership *ownerships = db_ownerships();

	for (int i = 0; i < db_shared->ownership_count; i++)
	{
		if (ownerships[i].key != 0 && ownerships[i].slot == slot)
			ownerships[i].key = 0;
	}
}

/* When may the next process of this slot start?  With the lock held. */
static void
record_end(struct worker_slot *slot, int code)
{
	TimestampTz now = GetCurrentTimestamp();

	slot->pid = 0;
	slot->state = slot->kind == WORKER_LAUNCHER ? SLOT_STARTING : SLOT_WAITING;
	slot->restarts++;
	if (TimestampDifferenceExceeds(slot->started_at, now, HEALTHY_MS))
		slot->failures = 0;
	if (terminated)
	{
		slot->restart_at = now;
		set_status(slot, "terminated");
	}
	else if (code == 0)
	{
		slot->restart_at = TimestampTzPlusMilliseconds(now, RESTART_ENDED_MS);
		set_status(slot, "ended");
	}
	else
	{
		set_back_off(slot, now);
		set_status(slot, "ended after an error; starts again");
	}
}

/*
 * Runs as an on_shmem_exit callback that was registered before the process entered the ProcArray, and so
 * after it has left it; its PGPROC is still there.
 */
static void
detach(int code, Datum arg)
{
	struct worker_slot *slot = &db_shared->slots[DatumGetInt32(arg)];

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	if (slot->state == SLOT_RUNNING && slot->pid == MyProcPid)
	{
		record_end(slot, code);
		disown_all(DatumGetInt32(arg));
	}
	LWLockRelease(db_shared->lock);
	ConditionVariableBroadcast(&db_shared->changed);
	if (slot->kind != WORKER_LAUNCHER)
		db_wake_now(slot->database,
					slot->kind == WORKER_COORDINATOR ? WAKE_LAUNCHER : WAKE_COORDINATOR);
}

static void
attach_to(struct worker_slot *slot)
{
	char		last_error[WORKER_TEXT_BYTES];
	TimestampTz last_error_at = slot->report.last_error_at;

	strlcpy(last_error, slot->report.last_error, WORKER_TEXT_BYTES);
	memset(&slot->report, 0, sizeof(slot->report));
	strlcpy(slot->report.last_error, last_error, WORKER_TEXT_BYTES);
	slot->report.last_error_at = last_error_at;
	slot->report.head_number = -1;
	slot->report.finalized_number = -1;
	set_status(slot, "starts");
	slot->state = SLOT_RUNNING;
	slot->pid = MyProcPid;
	slot->proc_number = MyProcNumber;
	slot->started_at = GetCurrentTimestamp();
}

bool
slots_attach(int number, enum worker_kind kind, uint32 epoch)
{
	struct worker_slot *slot = &db_shared->slots[number];
	bool		meant;

	on_shmem_exit(detach, Int32GetDatum(number));
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	meant = slot->kind == kind &&
		(kind == WORKER_LAUNCHER ||
		 (slot->state == SLOT_STARTING && slot->epoch == epoch && !is_held(slot->database)));
	if (meant)
	{
		attach_to(slot);
		MyWorkerSlot = number;
	}
	LWLockRelease(db_shared->lock);
	return meant;
}

static void
terminate_all(Oid database)
{
	for (struct worker_slot *slot = first_slot(); slot < end_of_slots(); slot++)
	{
		if (slot->database != database)
			continue;
		if (slot->state == SLOT_RUNNING)
			kill(slot->pid, SIGTERM);
		else if (slot->state == SLOT_STARTING)
		{
			slot->state = SLOT_WAITING;
			slot->restart_at = 0;
		}
	}
}

static bool
any_running(Oid database)
{
	bool		found = false;

	LWLockAcquire(db_shared->lock, LW_SHARED);
	for (struct worker_slot *slot = first_slot(); slot < end_of_slots() && !found; slot++)
		found = slot->database == database && slot->state == SLOT_RUNNING;
	LWLockRelease(db_shared->lock);
	return found;
}

static bool
set_hold(Oid database)
{
	for (int i = 0; i < DATABASE_HOLDS; i++)
	{
		if (!OidIsValid(db_shared->holds[i].database))
		{
			db_shared->holds[i].database = database;
			db_shared->holds[i].holder = MyProcPid;
			return true;
		}
	}
	return false;
}

void
slots_hold(Oid database)
{
	TimestampTz give_up = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), HOLD_TIMEOUT_MS);
	bool		held;

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	held = set_hold(database);
	if (held)
		terminate_all(database);
	LWLockRelease(db_shared->lock);
	if (!held)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many commands keep rflow's workers of their databases stopped"),
				 errhint("Try again when some of them have ended.")));
	ConditionVariablePrepareToSleep(&db_shared->changed);
	while (any_running(database) && GetCurrentTimestamp() < give_up)
		(void) ConditionVariableTimedSleep(&db_shared->changed, STOP_POLL_MS, PG_WAIT_EXTENSION);
	(void) ConditionVariableCancelSleep();
}

void
slots_release(Oid database)
{
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < DATABASE_HOLDS; i++)
	{
		if (db_shared->holds[i].database == database && db_shared->holds[i].holder == MyProcPid)
			memset(&db_shared->holds[i], 0, sizeof(db_shared->holds[i]));
	}
	LWLockRelease(db_shared->lock);
	db_wake_now(database, WAKE_LAUNCHER | WAKE_COORDINATOR);
}

bool
slots_try_own(uint64 key, pid_t *holder)
{
	struct ownership *ownerships = db_ownerships();
	struct ownership *unused = NULL;
	struct ownership *owned = NULL;

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < db_shared->ownership_count; i++)
	{
		if (ownerships[i].key == key)
			owned = &ownerships[i];
		else if (ownerships[i].key == 0)
			unused = &ownerships[i];
	}
	if (owned == NULL && unused != NULL)
	{
		owned = unused;
		owned->key = key;
		owned->slot = MyWorkerSlot;
	}
	*holder = owned != NULL ? db_shared->slots[owned->slot].pid : 0;
	LWLockRelease(db_shared->lock);
	return *holder == MyProcPid;
}

void
slots_disown(uint64 key)
{
	struct ownership *ownerships = db_ownerships();

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < db_shared->ownership_count; i++)
	{
		if (ownerships[i].key == key && ownerships[i].slot == MyWorkerSlot)
			ownerships[i].key = 0;
	}
	LWLockRelease(db_shared->lock);
}
