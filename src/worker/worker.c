/*
 * worker.c
 *	  What all worker processes have in common: how one starts, waits until it may work,
 *	  and owns things alone.
 *
 * Ownership is kept in the slots and not in session-level locks: PostgreSQL drops the
 * latter whenever a transaction aborts (the default lock method) or when we clean up
 * after user code (the advisory one).
 */
#include "postgres.h"

#include "worker/worker.h"

#include <signal.h>

#include "common/hashfn.h"
#include "db/compat.h"
#include "db/settings.h"
#include "db/statement.h"
#include "db/wait.h"
#include "db/wake.h"
#include "flow/in_hand.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/attach.h"
#include "worker/slots.h"

/* At most one look at the tables in this time when nothing changes. */
#define LOOK_AGAIN_MS 60000
/* How often a worker that waits for its turn asks for it; no statement is run for it. */
#define OWN_RETRY_MS 1000

static emit_log_hook_type next_log_hook = NULL;

static void
terminate(SIGNAL_ARGS)
{
	worker_note_termination();
	flow_note_termination();
	die(postgres_signal_arg);
}

/*
 * Keeps the error that is about to end this process, for the views; says nothing of an end that
 * the parent or a command has asked for.
 */
static void
keep_error(ErrorData *edata)
{
	if (edata->elevel >= ERROR && !LWLockHeldByMe(db_shared->lock))
	{
		if (edata->sqlerrcode != ERRCODE_ADMIN_SHUTDOWN)
			db_report_error("%s", edata->message);
		else if (!worker_is_wanted())
			edata->output_to_server = false;
	}
	if (next_log_hook)
		next_log_hook(edata);
}

static struct worker *
make_worker(int slot, enum worker_kind kind)
{
	struct worker *w = MemoryContextAllocZero(TopMemoryContext, sizeof(*w));

	w->kind = kind;
	w->context =
		AllocSetContextCreate(TopMemoryContext, "rflow worker turn", ALLOCSET_DEFAULT_SIZES);
	/* What identifies a slot does not change while its worker is attached. */
	w->database = db_shared->slots[slot].database;
	w->index = db_shared->slots[slot].index;
	strlcpy(w->network, db_shared->slots[slot].network, sizeof(w->network));
	return w;
}

/* Stronger than what ALTER ROLE and ALTER DATABASE say, weaker than SET LOCAL. */
static void
override(const char *setting, const char *value)
{
	SetConfigOption(setting, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/* An error of a worker reaches the log, and keep_error, whatever is asked for of others. */
static bool
errors_are_silent(void)
{
	return log_min_messages == LOG || log_min_messages > ERROR;
}

static void
set_up_session(enum worker_kind kind)
{
	char name[NAMEDATALEN];

	snprintf(name, sizeof(name), "rflow %s", db_worker_kind_name(kind));
	override("application_name", name);
	if (errors_are_silent())
		override("log_min_messages", "error");
	override("search_path", "pg_catalog, pg_temp");
	override("plan_cache_mode", "force_generic_plan");
	override("jit", "off");
	override("statement_timeout", "0");
	override("lock_timeout", "0");
	override("idle_in_transaction_session_timeout", "0");
	override("default_transaction_read_only", "off");
	override("default_transaction_deferrable", "off");
	override("default_transaction_isolation", "read committed");
	/* Our rights are our own, our triggers fire, and an error is not the end. */
	override("role", "none");
	override("session_replication_role", "origin");
	override("exit_on_error", "off");
	override("datestyle", "ISO, YMD");
	override("intervalstyle", "postgres");
	override("bytea_output", "hex");
	override("extra_float_digits", "1");
}

struct worker *
worker_start(Datum arg, enum worker_kind kind)
{
	struct worker *w;
	uint32 epoch;

	/* See start_process in slots.c. */
	memcpy(&epoch, MyBgworkerEntry->bgw_extra, sizeof(epoch));
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, terminate);
	if (!worker_attach(DatumGetInt32(arg), kind, epoch))
		proc_exit(0);
	next_log_hook = emit_log_hook;
	emit_log_hook = keep_error;
	BackgroundWorkerUnblockSignals();
	/* A SIGHUP that came before its handler was there has been ignored. */
	ConfigReloadPending = true;
	w = make_worker(DatumGetInt32(arg), kind);
	if (OidIsValid(w->database))
		BackgroundWorkerInitializeConnectionByOid(w->database, InvalidOid, 0);
	else
		BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	set_up_session(kind);
	MemoryContextSwitchTo(w->context);
	return w;
}

void
worker_turn(struct worker *w)
{
	MemoryContextSwitchTo(w->context);
	MemoryContextReset(w->context);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

/* The generation comes first: a change that is made meanwhile makes us look again. */
static void
look(struct worker *w)
{
	w->look_again_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LOOK_AGAIN_MS);
	db_begin("looking whether the database may act");
	w->generation = db_settled_generation();
	w->readiness = db_readiness(&w->signing_held);
	db_commit();
	/* What is left of the statistics would else wait until there is work. */
	(void) pgstat_report_stat(true);
}

enum db_readiness
worker_readiness(struct worker *w)
{
	if (w->generation != db_definitions_generation() || GetCurrentTimestamp() >= w->look_again_at)
		look(w);
	if (w->readiness != DB_READY)
	{
		db_report_status("%s", db_readiness_text(w->readiness));
		w->running = false;
	}
	return w->readiness;
}

bool
worker_ready(struct worker *w)
{
	enum db_readiness readiness;

	if (!db_enabled)
	{
		db_report_status("rflow.enabled is off");
		w->running = false;
		return false;
	}
	readiness = worker_readiness(w);
	if (readiness == DB_NO_EXTENSION)
		proc_exit(0);
	if (readiness == DB_READY && !w->running)
	{
		db_report_status("running");
		w->running = true;
	}
	return readiness == DB_READY;
}

bool
worker_wait(struct worker *w, double timeout_ms)
{
	return db_wait(NULL, 0, timeout_ms, "RflowIdle");
}

void
worker_idle(struct worker *w)
{
	(void) worker_wait(w, LOOK_AGAIN_MS);
}

bool
worker_begin(struct worker *w, const char *activity)
{
	db_begin(activity);
	if (db_enabled && db_readiness(&w->signing_held) == DB_READY)
		return true;
	db_commit();
	w->generation = 0;
	return false;
}

/* An account is the same for all databases of the server. */
static uint64
key_of(enum worker_duty duty, const char *key)
{
	Oid database = duty == DUTY_ACCOUNT ? InvalidOid : MyDatabaseId;
	uint64 seed = ((uint64) duty << 32) | database;

	/* 0 marks an unused entry. */
	return hash_bytes_extended((const unsigned char *) key, strlen(key), seed) | 1;
}

bool
worker_try_own(enum worker_duty duty, const char *key, pid_t *holder)
{
	return worker_take_key(key_of(duty, key), holder);
}

void
worker_own(struct worker *w, enum worker_duty duty, const char *key)
{
	pid_t holder;

	while (!worker_try_own(duty, key, &holder))
	{
		if (holder == 0)
			db_report_status("waits: too many accounts are in use by workers");
		else
			db_report_status("waits: another worker (process %d) has %s", (int) holder, key);
		w->running = false;
		(void) worker_wait(w, OWN_RETRY_MS);
	}
}

void
worker_disown(enum worker_duty duty, const char *key)
{
	worker_drop_key(key_of(duty, key));
}
