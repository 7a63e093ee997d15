/*
 * wake.c
 *	  Waking workers when a transaction commits that leaves them work.
 *
 * The callback is registered once per process and looks at two variables, so a
 * transaction that has nothing to do with rflow pays a few instructions.  A wake
 * that is undone by a rollback to a savepoint stays: it costs a look at the tables.
 */
#include "postgres.h"

#include "db/wake.h"

#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "db/compat.h"
#include "db/shmem.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"

/* An object of the extensions' class that no extension is: its OID is 0. */
#define DEFINITIONS_SUBOBJECT 1

static int kinds_at_commit = 0;
static bool definitions_changed = false;
static bool keep_back = false;
static int kinds_kept_back = 0;

static int
mask_of(enum worker_kind kind)
{
	switch (kind)
	{
		case WORKER_NONE:
			return 0;
		case WORKER_LAUNCHER:
			return WAKE_LAUNCHER;
		case WORKER_COORDINATOR:
			return WAKE_COORDINATOR;
		case WORKER_WATCHER:
			return WAKE_WATCHERS;
		case WORKER_RELAYER:
			return WAKE_RELAYERS | WAKE_FOR_HEAD;
		case WORKER_EXECUTOR:
			return WAKE_EXECUTORS;
		case WORKER_COURIER:
			return WAKE_COURIER;
	}
	return 0;
}

/*
 * The lock is held while latches are set, so that no slot changes hands meanwhile.  A latch
 * of a process that has just ended is one that somebody else may use by
 * now: being woken for nothing is something every process copes with.
 */
static void
wake_slots(Oid database, int kinds)
{
	for (int i = 0; i < db_shared->slot_count; i++)
	{
		struct worker_slot *slot = &db_shared->slots[i];

		if (slot->state == SLOT_RUNNING && (mask_of(slot->kind) & kinds) != 0 &&
			(slot->database == database || slot->kind == WORKER_LAUNCHER))
		{
			/* Before the latch, which is a barrier: who sees the latch set sees this. */
			if ((kinds & WAKE_RELAYERS) != 0)
				slot->pressed = true;
			SetLatch(&GetPGProcByNumber(slot->proc_number)->procLatch);
		}
	}
}

bool
db_was_pressed(void)
{
	volatile bool *pressed;
	bool was;

	if (MyWorkerSlot < 0)
		return true;
	pressed = &db_shared->slots[MyWorkerSlot].pressed;
	was = *pressed;
	/* What is set in between is lost here, and not its latch: the next wait ends at once. */
	*pressed = false;
	return was;
}

static void
remember_woken(Oid database)
{
	for (int i = 0; i < Min(db_shared->woken_count, WOKEN_DATABASES); i++)
	{
		if (db_shared->woken[i] == database)
			return;
	}
	if (db_shared->woken_count < WOKEN_DATABASES)
		db_shared->woken[db_shared->woken_count] = database;
	db_shared->woken_count++;
}

void
db_wake_now(Oid database, int kinds)
{
	LWLockAcquire(db_shared->lock, LW_SHARED);
	wake_slots(database, kinds);
	LWLockRelease(db_shared->lock);
}

/* A commit for the launcher: the extension may be in this database since now. */
static void
wake_after_commit(int kinds)
{
	if ((kinds & WAKE_LAUNCHER) != 0)
	{
		LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
		remember_woken(MyDatabaseId);
		LWLockRelease(db_shared->lock);
	}
	db_wake_now(MyDatabaseId, kinds);
}

void
db_wake_at_commit(int kinds)
{
	kinds_at_commit |= kinds;
}

static void
definitions_tag(LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, ExtensionRelationId, 0, DEFINITIONS_SUBOBJECT);
}

void
db_definitions_changed(void)
{
	definitions_changed = true;
}

bool
db_definitions_changed_here(void)
{
	return definitions_changed;
}

void
db_lock_definitions(void)
{
	LOCKTAG tag;

	definitions_tag(&tag);
	(void) LockAcquire(&tag, ShareLock, false, false);
}

uint64
db_definitions_generation(void)
{
	return pg_atomic_read_u64(&db_shared->generation);
}

uint64
db_settled_generation(void)
{
	LOCKTAG tag;
	uint64 generation;

	definitions_tag(&tag);
	(void) LockAcquire(&tag, ShareLock, false, false);
	generation = db_definitions_generation();
	(void) LockRelease(&tag, ShareLock, false);
	return generation;
}

/* Who has the lock shared after us reads the new generation, and our rows with it. */
static void
before_commit(void)
{
	LOCKTAG tag;

	if (!definitions_changed)
		return;
	definitions_tag(&tag);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	pg_atomic_fetch_add_u64(&db_shared->generation, 1);
	kinds_at_commit |= WAKE_ALL;
}

static void
before_prepare(void)
{
	if (definitions_changed)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has changed definitions of rflow"),
				 errdetail("Until it ended, no workflow could start.")));
}

static void
at_end_of_transaction(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			before_commit();
			break;
		case XACT_EVENT_PRE_PREPARE:
			before_prepare();
			break;
		case XACT_EVENT_COMMIT:
			if (keep_back)
				kinds_kept_back |= kinds_at_commit;
			else if (kinds_at_commit != 0)
				wake_after_commit(kinds_at_commit);
			kinds_at_commit = 0;
			keep_back = false;
			definitions_changed = false;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			kinds_at_commit = 0;
			keep_back = false;
			definitions_changed = false;
			break;
		default:
			break;
	}
}

void
db_wake_keep_back(void)
{
	keep_back = true;
}

void
db_wake_kept_back(void)
{
	int kinds = kinds_kept_back;

	kinds_kept_back = 0;
	if (kinds != 0)
		wake_after_commit(kinds);
}

void
db_register_wake(void)
{
	RegisterXactCallback(at_end_of_transaction, NULL);
}
