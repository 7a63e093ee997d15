/*
 * launcher.c
 *	  The only static worker: finds the databases that have the extension, and keeps a
 *	  coordinator in each.
 *
 * Whether a database has the extension can only be seen from inside it, so a coordinator
 * is started in each and exits when there is none.  The launcher remembers that until
 * something happens in the database (a wake names it). It compares what should run with
 * what does at every wake, so that no single lost event leaves a database without
 * workers.
 */
#include "postgres.h"

#include "worker/launcher.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "db/compat.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "worker/slots.h"
#include "worker/worker.h"

/* After it ended; PostgreSQL itself waits as long for its logical replication launcher. */
#define LAUNCHER_RESTART_S 5
/*
 * Coordinators that have not yet found the extension, at the same time: they take slots
 * from others.
 */
#define PROBES_AT_ONCE 4
/* A database that was made by means that do not wake us is found by then. */
#define LOOK_AGAIN_MS 60000
/* When all slots are taken, one may be freed without a wake. */
#define SLOT_RETRY_MS 5000
/* PostgreSQL's mark of a database whose DROP was interrupted. */
#define INVALID_DATABASE_CONNLIMIT (-2)

struct database
{
	Oid oid;
	char name[NAMEDATALEN];
};

static const struct slot_family coordinators = {.coordinators = true};

/* Databases that a coordinator has found without the extension; in TopMemoryContext. */
static List *absent = NIL;

static bool slots_reported = false;

void
worker_register_launcher(void)
{
	BackgroundWorker worker = {
		.bgw_name = "rflow launcher",
		.bgw_type = "rflow launcher",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = LAUNCHER_RESTART_S,
		.bgw_library_name = "rflow",
		.bgw_function_name = "rflow_launcher_main",
		.bgw_main_arg = Int32GetDatum(LAUNCHER_SLOT),
	};

	if (!IsBinaryUpgrade)
		RegisterBackgroundWorker(&worker);
}

static void
add_database(List **databases, HeapTuple tuple, MemoryContext context)
{
	Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);
	MemoryContext saved;
	struct database *database;

	if (form->datistemplate || !form->datallowconn ||
		form->datconnlimit == INVALID_DATABASE_CONNLIMIT)
		return;
	saved = MemoryContextSwitchTo(context);
	database = palloc(sizeof(*database));
	database->oid = form->oid;
	strlcpy(database->name, NameStr(form->datname), sizeof(database->name));
	*databases = lappend(*databases, database);
	MemoryContextSwitchTo(saved);
}

/* All databases that one can connect to; in the current context. */
static List *
read_databases(void)
{
	MemoryContext context = CurrentMemoryContext;
	List *databases = NIL;
	Relation rel;
	TableScanDesc scan;
	HeapTuple tuple;

	SetCurrentStatementStartTimestamp();
	pgstat_report_activity(STATE_RUNNING, "looking for databases");
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
		add_database(&databases, tuple, context);
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	pgstat_report_activity(STATE_IDLE, NULL);
	return databases;
}

static void
set_absent(List *list)
{
	MemoryContext saved = MemoryContextSwitchTo(TopMemoryContext);
	List *copy = list_copy(list);

	MemoryContextSwitchTo(saved);
	list_free(absent);
	absent = copy;
}

/* Takes in what has happened: databases that were woken are no longer known to be without it. */
static void
take_wakes(void)
{
	List *known = list_copy(absent);

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	if (db_shared->woken_count > WOKEN_DATABASES)
		known = NIL;
	for (int i = 0; i < Min(db_shared->woken_count, WOKEN_DATABASES); i++)
		known = list_delete_oid(known, db_shared->woken[i]);
	db_shared->woken_count = 0;
	LWLockRelease(db_shared->lock);
	set_absent(known);
}

/* Takes in what coordinators have found; returns how many are still looking. */
static int
take_findings(void)
{
	List *known = list_copy(absent);
	int probes = 0;

	LWLockAcquire(db_shared->lock, LW_EXCLUSIVE);
	for (int i = LAUNCHER_SLOT + 1; i < db_shared->slot_count; i++)
	{
		struct worker_slot *slot = &db_shared->slots[i];

		if (slot->kind != WORKER_COORDINATOR)
			continue;
		if (slot->absent)
			known = list_append_unique_oid(known, slot->database);
		else if (!slot->has_extension)
			probes++;
	}
	LWLockRelease(db_shared->lock);
	set_absent(known);
	return probes;
}

static bool
wanted(const struct database *database, int *probes)
{
	bool known = false;

	if (list_member_oid(absent, database->oid))
		return false;
	for (int i = LAUNCHER_SLOT + 1; i < db_shared->slot_count && !known; i++)
		known = db_shared->slots[i].kind == WORKER_COORDINATOR &&
			db_shared->slots[i].database == database->oid;
	if (known)
		return true;
	return (*probes)++ < PROBES_AT_ONCE;
}

static void
report_slots(const struct database *database)
{
	db_report_status("database \"%s\" waits for a slot: rflow.max_workers is too small",
					 database->name);
	if (slots_reported)
		return;
	slots_reported = true;
	ereport(LOG,
			(errmsg("rflow coordinator of database \"%s\" waits for a slot", database->name),
			 errhint("Increase rflow.max_workers.")));
}

/* Says which coordinators are wanted.  False when one of them has no slot. */
static bool
want_coordinators(List *databases, int probes)
{
	bool enough = true;
	ListCell *lc;

	worker_unwant_all(&coordinators);
	foreach (lc, databases)
	{
		struct database *database = lfirst(lc);
		struct slot_wish wish = {
			.kind = WORKER_COORDINATOR,
			.database = database->oid,
			.database_name = database->name,
			.network = "",
		};

		if (!wanted(database, &probes) || worker_want(&wish))
			continue;
		report_slots(database);
		enough = false;
		break;
	}
	slots_reported = slots_reported && !enough;
	return enough;
}

void
rflow_launcher_main(Datum arg)
{
	struct worker *w = worker_start(arg, WORKER_LAUNCHER);

	for (;;)
	{
		int probes;
		bool enough;
		double delay;

		worker_turn(w);
		/* In this order: what was woken after its coordinator looked is looked at again. */
		probes = take_findings();
		take_wakes();
		enough = want_coordinators(read_databases(), probes);
		if (enough)
			db_report_status("running");
		delay = worker_reconcile(&coordinators);
		if (delay < 0 || delay > LOOK_AGAIN_MS)
			delay = LOOK_AGAIN_MS;
		(void) worker_wait(w, enough ? delay : Min(delay, SLOT_RETRY_MS));
	}
}
