/*
 * attach.c
 *	  A worker's slot as the worker uses it: it attaches, owns things alone, and leaves
 *	  it at its end.
 */
#include "postgres.h"

#include "worker/attach.h"

#include "db/compat.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"
#include "worker/hold.h"
#include "worker/slots.h"

/* One that ended by itself is wanted all the same: something changed while it was ending. */
#define RESTART_ENDED_MS 200
/* A worker that ran this long was healthy. */
#define HEALTHY_MS (10 * 60 * 1000)

static bool terminated = false;

static void
set_status(struct worker_slot *slot, const char *status)
{
	strlcpy(slot->report.status, status, WORKER_TEXT_BYTES);
}

void
worker_note_termination(void)
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
		worker_back_off(slot, now);
		set_status(slot, "ended after an error; starts again");
	}
}

/*
 * Runs as an on_shmem_exit callback that was registered before the process entered the
 * ProcArray, and so after it has left it; its PGPROC is still there.
 */
static void
detach(int code, Datum arg)
{
	struct worker_slot *slot = &db_shared->slots[DatumGetInt32(arg)];
	enum worker_kind kind = WORKER_NONE;
	Oid database = InvalidOid;

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	if (slot->state == SLOT_RUNNING && slot->pid == MyProcPid)
	{
		kind = slot->kind;
		database = slot->database;
		record_end(slot, code);
		disown_all(DatumGetInt32(arg));
	}
	LWLockRelease(db_shared->lock);
	ConditionVariableBroadcast(&db_shared->changed);
	/* Its parent may start another one. */
	if (kind == WORKER_COORDINATOR)
		db_wake_now(database, WAKE_LAUNCHER);
	else if (kind != WORKER_NONE && kind != WORKER_LAUNCHER)
		db_wake_now(database, WAKE_COORDINATOR);
}

static void
attach_to(struct worker_slot *slot)
{
	char last_error[WORKER_TEXT_BYTES];
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
worker_attach(int number, enum worker_kind kind, uint32 epoch)
{
	struct worker_slot *slot = &db_shared->slots[number];
	bool meant;

	on_shmem_exit(detach, Int32GetDatum(number));
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	meant = slot->kind == kind &&
		(kind == WORKER_LAUNCHER ||
		 (slot->state == SLOT_STARTING && slot->epoch == epoch && !worker_is_held(slot->database)));
	if (meant)
	{
		attach_to(slot);
		MyWorkerSlot = number;
	}
	LWLockRelease(db_shared->lock);
	return meant;
}

bool
worker_is_wanted(void)
{
	struct worker_slot *slot = &db_shared->slots[MyWorkerSlot];
	bool wanted;

	LWLockAcquire(db_shared->lock, LW_SHARED);
	wanted = slot->kind == WORKER_LAUNCHER || (slot->wanted && !worker_is_held(slot->database));
	LWLockRelease(db_shared->lock);
	return wanted;
}

bool
worker_take_key(uint64 key, pid_t *holder)
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
worker_drop_key(uint64 key)
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
