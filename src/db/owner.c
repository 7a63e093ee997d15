/*
 * owner.c
 *	  Switches user, security context and search_path together, and the limit on user statements.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/namespace.h"
#include "commands/async.h"
#include "commands/prepare.h"
#include "commands/sequence.h"
#include "db/owner.h"
#include "db/statement.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/syscache.h"
#include "utils/timeout.h"

/* The second limit is this many times the first, and this much more. */
#define HARD_LIMIT_FACTOR 2
#define HARD_LIMIT_GRACE_MS 1000

static TimeoutId hard_limit = MAX_TIMEOUTS; /* none */
static volatile sig_atomic_t exceeded = false;

static void
enter(struct db_identity_frame *frame, Oid user, const char *search_path, int flags)
{
	GetUserIdAndSecContext(&frame->saved_user, &frame->saved_context);
	frame->guc_level = NewGUCNestLevel();
	(void) set_config_option("search_path", search_path, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	SetUserIdAndSecContext(user, frame->saved_context | flags);
}

void
db_act_as(struct db_identity_frame *frame, Oid owner, const char *search_path, bool restricted)
{
	if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(owner)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the owner of the workflow, role with OID %u, does not exist any more",
						owner),
				 errhint("Update the workflow: it then belongs to whoever does.")));
	enter(frame, owner, search_path,
		  SECURITY_LOCAL_USERID_CHANGE | (restricted ? SECURITY_RESTRICTED_OPERATION : 0));
}

void
db_act_as_superuser(struct db_identity_frame *frame)
{
	enter(frame, BOOTSTRAP_SUPERUSERID, "pg_catalog, pg_temp", SECURITY_LOCAL_USERID_CHANGE);
}

void
db_leave(struct db_identity_frame *frame)
{
	AtEOXact_GUC(false, frame->guc_level);
	SetUserIdAndSecContext(frame->saved_user, frame->saved_context);
}

/* In the signal handler.  As SIGTERM: no user code can catch what comes of it. */
static void
end_process(void)
{
	exceeded = true;
	ProcDiePending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

void
db_user_limits_register(void)
{
	if (hard_limit == MAX_TIMEOUTS)
		hard_limit = RegisterTimeout(USER_TIMEOUT, end_process);
}

void
db_user_limits_start(int timeout_ms)
{
	enable_timeout_after(STATEMENT_TIMEOUT, timeout_ms);
	if (hard_limit != MAX_TIMEOUTS)
		enable_timeout_after(hard_limit, timeout_ms * HARD_LIMIT_FACTOR + HARD_LIMIT_GRACE_MS);
}

void
db_user_limits_stop(void)
{
	if (hard_limit != MAX_TIMEOUTS)
		disable_timeout(hard_limit, false);
	disable_timeout(STATEMENT_TIMEOUT, true);
	/* It may have fired after the last look at interrupts: what comes now is ours. */
	if (get_timeout_indicator(STATEMENT_TIMEOUT, true))
		QueryCancelPending = false;
}

bool
db_user_limit_exceeded(void)
{
	return exceeded;
}

void
db_abort_user_transaction(void)
{
	MemoryContext context = CurrentMemoryContext;

	db_user_limits_stop();
	AbortCurrentTransaction();
	DropAllPreparedStatements();
	LockReleaseAll(USER_LOCKMETHOD, true);
	MemoryContextSwitchTo(context);
}

void
db_commit_as(Oid owner)
{
	Oid user;
	int context;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE);
	db_commit();
	SetUserIdAndSecContext(user, context);
}

/* What DISCARD ALL does, short of plans. */
void
db_reset_session(void)
{
	PortalHashTableDeleteAll();
	ResetAllOptions();
	DropAllPreparedStatements();
	Async_UnlistenAll();
	LockReleaseAll(USER_LOCKMETHOD, true);
	ResetTempTableNamespace();
	ResetSequenceCaches();
}
