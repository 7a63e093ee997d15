/*
 * hold.c
 *	  Keeps the workers of a database stopped while a command needs it for itself.
 *
 * A worker detaches from its slot after it has left its database (its PGPROC is no
 * longer in the ProcArray), so when no slot of the database is running any more, the
 * command finds nobody in its way.
 */
#include "postgres.h"

#include "worker/hold.h"

#include <signal.h>

#include "db/shmem.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* Then PostgreSQL says what is in the command's way. */
#define HOLD_TIMEOUT_MS 10000
/* Between two looks, should a wake be lost. */
#define HOLD_POLL_MS 1000

bool
worker_is_held(Oid database)
{
	for (int i = 0; i < DATABASE_HOLDS; i++)
	{
		if (db_shared->holds[i].database == database)
			return true;
	}
	return false;
}

static void
terminate_all(Oid database)
{
	for (int i = LAUNCHER_SLOT + 1; i < db_shared->slot_count; i++)
	{
		struct worker_slot *slot = &db_shared->slots[i];

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
	bool found = false;

	LWLockAcquire(db_shared->lock, LW_SHARED);
	for (int i = LAUNCHER_SLOT + 1; i < db_shared->slot_count && !found; i++)
		found =
			db_shared->slots[i].database == database && db_shared->slots[i].state == SLOT_RUNNING;
	LWLockRelease(db_shared->lock);
	return found;
}

/*
 * When so many commands are under way that there is no room, the workers are stopped but
 * may come back too early, and the command may fail: better than to refuse it.
 */
static void
take_hold(Oid database)
{
	for (int i = 0; i < DATABASE_HOLDS; i++)
	{
		if (!OidIsValid(db_shared->holds[i].database))
		{
			db_shared->holds[i].database = database;
			db_shared->holds[i].holder = MyProcPid;
			return;
		}
	}
}

void
worker_hold(Oid database)
{
	TimestampTz give_up = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), HOLD_TIMEOUT_MS);

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	take_hold(database);
	terminate_all(database);
	LWLockRelease(db_shared->lock);
	ConditionVariablePrepareToSleep(&db_shared->changed);
	while (any_running(database) && GetCurrentTimestamp() < give_up)
		(void) ConditionVariableTimedSleep(&db_shared->changed, HOLD_POLL_MS, PG_WAIT_EXTENSION);
	(void) ConditionVariableCancelSleep();
}

void
worker_release(Oid database)
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
