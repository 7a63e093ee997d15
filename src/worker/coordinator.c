/*
 * coordinator.c
 *	  One per database: starts and stops the other workers from what the tables say.
 *
 * It compares what should run with what does whenever it is woken: by a change of
 * the definitions, or by the end of one of its workers.  It runs no statement
 * otherwise, but one a minute.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "db/crash.h"
#include "db/settings.h"
#include "db/statement.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/slots.h"
#include "worker/worker.h"

/* At most one look at the tables in this time when nothing changes. */
#define LOOK_AGAIN_MS 60000
/* When all slots are taken, one may be freed without a wake. */
#define SLOT_RETRY_MS 5000

/* Workers of each enabled network. */
static const enum worker_kind network_kinds[] = {WORKER_WATCHER, WORKER_RELAYER};

/* What the tables said when last looked at. */
struct plan
{
	MemoryContext context;
	char *database_name;
	List *networks; /* of char * */
	uint64 generation;
	TimestampTz look_again_at;
};

static struct db_statement enabled_networks = {
	.sql =
		"SELECT name "
		"  FROM rflow.networks "
		" WHERE enabled "
		" ORDER BY name",
};

static struct db_statement accept_timeline = {
	.sql = "SELECT rflow_private.accept_timeline()",
};

static bool slots_reported = false;

static void
read_plan(struct plan *plan)
{
	uint64 count;
	MemoryContext saved;

	db_lock_definitions();
	plan->generation = db_definitions_generation();
	plan->look_again_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LOOK_AGAIN_MS);
	count = db_execute(&enabled_networks, NULL, NULL);
	MemoryContextReset(plan->context);
	saved = MemoryContextSwitchTo(plan->context);
	plan->database_name = get_database_name(MyDatabaseId);
	plan->networks = NIL;
	for (uint64 row = 0; row < count; row++)
		plan->networks = lappend(plan->networks, db_text(row, 1));
	MemoryContextSwitchTo(saved);
}

static bool
is_stale(const struct plan *plan)
{
	return plan->generation != db_definitions_generation() ||
		GetCurrentTimestamp() >= plan->look_again_at;
}

static void
report_slots(const struct slot_wish *wish)
{
	bool network = wish->network[0] != '\0';

	db_report_status("%s%s%s waits for a slot: rflow.max_workers is too small",
					 db_worker_kind_name(wish->kind), network ? " of network " : "", wish->network);
	if (slots_reported)
		return;
	slots_reported = true;
	ereport(LOG,
			(errmsg("rflow %s of database \"%s\"%s%s waits for a slot",
					db_worker_kind_name(wish->kind), wish->database_name,
					network ? ", network " : "", wish->network),
			 errhint("Increase rflow.max_workers.")));
}

static bool
want(const struct plan *plan, enum worker_kind kind, const char *network, int index)
{
	struct slot_wish wish = {
		.kind = kind,
		.database = MyDatabaseId,
		.database_name = plan->database_name,
		.network = network,
		.index = index,
	};

	if (worker_want(&wish))
		return true;
	report_slots(&wish);
	return false;
}

static bool
want_all(const struct plan *plan)
{
	ListCell *lc;

	foreach (lc, plan->networks)
	{
		for (int i = 0; i < lengthof(network_kinds); i++)
		{
			if (!want(plan, network_kinds[i], lfirst(lc), 0))
				return false;
		}
	}
	for (int i = 0; i < db_executors; i++)
	{
		if (!want(plan, WORKER_EXECUTOR, "", i))
			return false;
	}
	return true;
}

/*
 * A promotion or restore: signing is held by a row from now on, which has the newest block of the
 * restored database.  No watcher has run on the new timeline yet, so that is what the table has.
 */
static void
note_timeline(struct worker *w)
{
	if (!worker_begin(w, "recording the new timeline"))
		return;
	(void) db_execute(&accept_timeline, NULL, NULL);
	db_commit();
}

/* Says which workers are wanted.  False when one of them has no slot. */
static bool
want_workers(struct worker *w, struct plan *plan, const struct slot_family *family)
{
	bool ready = worker_ready(w);
	bool enough;

	if (ready && w->signing_held)
		note_timeline(w);
	if (ready && is_stale(plan))
	{
		ready = worker_begin(w, "reading the definitions");
		if (ready)
		{
			read_plan(plan);
			db_commit();
		}
	}
	worker_unwant_all(family);
	enough = !ready || want_all(plan);
	if (!enough)
		w->running = false;
	slots_reported = slots_reported && !enough;
	return enough;
}

/*
 * Without the extension nothing is left to do: the launcher remembers it, unless something
 * has changed since we looked.
 */
static void
end_without_extension(struct worker *w, const struct slot_family *family)
{
	struct worker_slot *slot = &db_shared->slots[MyWorkerSlot];

	worker_stop_all(family);
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	slot->absent = w->generation == db_definitions_generation();
	LWLockRelease(db_shared->lock);
	proc_exit(0);
}

static void
note_extension(void)
{
	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	db_shared->slots[MyWorkerSlot].has_extension = true;
	LWLockRelease(db_shared->lock);
	/* The launcher starts only a few coordinators that have not found it. */
	db_wake_now(MyDatabaseId, WAKE_LAUNCHER);
}

void
rflow_coordinator_main(Datum arg)
{
	struct worker *w = worker_start(arg, WORKER_COORDINATOR);
	struct slot_family family = {.coordinators = false, .database = MyDatabaseId};
	struct plan plan = {0};

	plan.context =
		AllocSetContextCreate(TopMemoryContext, "rflow coordinator plan", ALLOCSET_SMALL_SIZES);
	if (worker_readiness(w) != DB_NO_EXTENSION)
		note_extension();
	for (;;)
	{
		bool enough;
		double delay;

		worker_turn(w);
		DB_CRASH_POINT("coordinator-turn");
		if (worker_readiness(w) == DB_NO_EXTENSION)
			end_without_extension(w, &family);
		enough = want_workers(w, &plan, &family);
		delay = worker_reconcile(&family);
		if (delay < 0 || delay > LOOK_AGAIN_MS)
			delay = LOOK_AGAIN_MS;
		(void) worker_wait(w, enough ? delay : Min(delay, SLOT_RETRY_MS));
	}
}
