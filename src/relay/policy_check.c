/*
 * policy_check.c
 *	  Evaluates check_expression of policies.
 *
 * The text is parsed alone before it becomes part of a statement, so it cannot change what
 * surrounds it; what it says about the transaction are parameters of a sub-select called send.
 */
#include "postgres.h"

#include "relay/policy_check.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "commands/prepare.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

#include "db/datum.h"
#include "db/owner.h"
#include "db/settings.h"
#include "db/statement.h"
#include "db/wake.h"
#include "relay/policy_scope.h"
#include "relay/record.h"

#define WHY "its check_expression went on after its time limit (rflow.statement_timeout)"

/* Of the policy whose check is running. */
static const char *in_hand = NULL;

/* Errors of a check name it. */
static void
name_policy(ErrorData *error, const struct relay_policy *policy)
{
	error->message = psprintf("policy \"%s\" (check_expression): %s", policy->name, error->message);
}

/* SELECT, one expression without a name, and nothing else. */
static bool
is_one_expression(List *statements)
{
	SelectStmt *select = list_length(statements) == 1
		? (SelectStmt *) linitial_node(RawStmt, statements)->stmt
		: NULL;
	ResTarget *target;

	if (select == NULL || !IsA(select, SelectStmt) || select->op != SETOP_NONE ||
		select->distinctClause != NIL || select->intoClause != NULL || select->fromClause != NIL ||
		select->whereClause != NULL || select->groupClause != NIL || select->havingClause != NULL ||
		select->windowClause != NIL || select->valuesLists != NIL || select->sortClause != NIL ||
		select->limitOffset != NULL || select->limitCount != NULL || select->lockingClause != NIL ||
		select->withClause != NULL || list_length(select->targetList) != 1)
		return false;
	target = linitial_node(ResTarget, select->targetList);
	return target->name == NULL &&
		!(IsA(target->val, ColumnRef) && IsA(llast(((ColumnRef *) target->val)->fields), A_Star));
}

static void
check_shape(const struct relay_policy *policy)
{
	List *statements = raw_parser(psprintf("SELECT %s", policy->check), RAW_PARSE_DEFAULT);

	if (!is_one_expression(statements))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR), errmsg("it must be one expression"),
				 errdetail("It reads: %s", policy->check),
				 errhint("Put a whole query in parentheses: (SELECT …).")));
}

static void
check_query(const Query *query)
{
	const TargetEntry *target = linitial_node(TargetEntry, query->targetList);

	if (query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("it cannot contain aggregate, window or set-returning functions"),
				 errhint("They are allowed inside a sub-select: (SELECT …).")));
	if (exprType((Node *) target->expr) != BOOLOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("it must be of type boolean, not %s",
						format_type_be(exprType((Node *) target->expr)))));
}

/* As the owner. */
static SPIPlanPtr
prepare(const struct relay_policy *policy)
{
	Oid types[RELAY_SCOPE_COLUMNS];
	CachedPlanSource *source;
	SPIPlanPtr plan;

	check_shape(policy);
	relay_scope_types(types);
	plan = SPI_prepare(psprintf("SELECT (%s\n) FROM (SELECT %s) AS send", policy->check,
								relay_scope_columns()),
					   RELAY_SCOPE_COLUMNS, types);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	source = linitial(SPI_plan_get_plan_sources(plan));
	check_query(linitial_node(Query, source->query_list));
	return plan;
}

/*
 * In a user's session the plan is the user's. The relayer's own statements are planned by key
 * alone (src/worker/relayer.c), which need not suit other tables.
 */
static void
plan_as_usual(void)
{
	static const char *const settings[] = {"enable_seqscan", "enable_hashjoin", "enable_mergejoin"};

	for (size_t i = 0; i < lengthof(settings); i++)
		(void) set_config_option(settings[i], "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
}

static void
act_as_owner(struct db_identity_frame *frame, const struct relay_policy *policy)
{
	if (!OidIsValid(policy->owner) ||
		!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(policy->owner)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the owner of the policy does not exist any more"),
				 errhint("Write its check_expression again: it then belongs to whoever does.")));
	db_act_as(frame, policy->owner, policy->search_path, true);
}

static bool
evaluate_as_owner(struct relay_policy *policy, const struct relay_scope *scope)
{
	struct db_identity_frame identity;
	bool isnull = true;
	bool allowed = false;

	XactReadOnly = true;
	act_as_owner(&identity, policy);
	if (MyBgworkerEntry != NULL)
	{
		plan_as_usual();
		db_user_limits_start(db_statement_timeout_ms);
	}
	if (policy->plan == NULL)
	{
		SPIPlanPtr plan = prepare(policy);

		if (SPI_keepplan(plan) != 0)
			elog(ERROR, "SPI_keepplan failed");
		policy->plan = plan;
	}
	if (SPI_execute_plan(policy->plan, (Datum *) scope->values, scope->nulls, false, 0) !=
			SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "a check gave no row");
	allowed = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	if (MyBgworkerEntry != NULL)
		db_user_limits_stop();
	db_leave(&identity);
	return allowed && !isnull;
}

/* What a worker's session keeps after a rollback; in a user's session it is the user's. */
static void
clean_up(void)
{
	if (MyBgworkerEntry == NULL)
		return;
	db_user_limits_stop();
	DropAllPreparedStatements();
	LockReleaseAll(USER_LOCKMETHOD, true);
}

/* False with *error set when it raises. */
static bool
evaluate(struct relay_policy *policy, const struct relay_scope *scope, ErrorData **error)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner resources = CurrentResourceOwner;
	volatile bool allowed = false;

	in_hand = policy->name;
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		allowed = evaluate_as_owner(policy, scope);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		*error = CopyErrorData();
		FlushErrorState();
		name_policy(*error, policy);
	}
	PG_END_TRY();
	clean_up();
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = resources;
	in_hand = NULL;
	return allowed;
}

static void
check_one(struct relay_checked *out, struct relay_policy *policy, const struct relay_scope *scope)
{
	if (policy->suspended)
		out->hold =
			psprintf("policy \"%s\" (check_expression): " WHY ", and is suspended", policy->name);
	else if (!evaluate(policy, scope, &out->error) && out->error == NULL)
		out->refusal =
			psprintf("policy \"%s\" (check_expression): it is not true of this one", policy->name);
	if (out->error != NULL)
		out->hold = out->error->message;
}

void
relay_policy_check(struct relay_checked *out, struct relay_policies *policies,
				   const struct relay_subject *subject)
{
	struct relay_scope scope;
	bool filled = false;
	int i;

	memset(out, 0, sizeof(*out));
	if (policies == NULL || !policies->has_checks)
		return;
	for (i = 0; i < policies->count && out->refusal == NULL && out->error == NULL; i++)
	{
		struct relay_policy *policy = &policies->policies[i];

		if (policy->check == NULL || !relay_policy_applies(policy, subject))
			continue;
		if (!filled)
			relay_scope_fill(&scope, policies->network, subject);
		filled = true;
		check_one(out, policy, &scope);
	}
}

char *
relay_policy_denial(struct relay_policies *policies, const struct relay_subject *subject)
{
	char *refusal = relay_policy_refusal(policies, subject);
	struct relay_checked checked;

	if (refusal != NULL)
		return refusal;
	relay_policy_check(&checked, policies, subject);
	if (checked.error != NULL)
		ReThrowError(checked.error);
	return checked.refusal;
}

static void
analyse_as_owner(const struct relay_policy *policy)
{
	struct db_identity_frame identity;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	act_as_owner(&identity, policy);
	(void) prepare(policy);
	db_leave(&identity);
	SPI_finish();
}

void
relay_policy_check_text(const struct relay_policy *policy, bool analyse)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		check_shape(policy);
		if (analyse)
			analyse_as_owner(policy);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		name_policy(error, policy);
		ReThrowError(error);
	}
	PG_END_TRY();
}

static void
mark(int code, Datum arg)
{
	char *policy;

	if (in_hand == NULL || !db_user_limit_exceeded())
		return;
	policy = MemoryContextStrdup(TopMemoryContext, in_hand);
	in_hand = NULL;
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(TopMemoryContext);
	ereport(LOG, (errmsg("policy \"%s\": " WHY ", and the process had to end", policy)));
	db_begin("suspending a policy");
	relay_record_incident("policy", NULL, policy, WHY ", and the process had to end",
						  "Correct check_expression of the policy: until then what comes under it "
						  "waits.");
	db_definitions_changed();
	db_commit();
}

void
relay_policy_mark_at_exit(void)
{
	db_user_limits_register();
	before_shmem_exit(mark, (Datum) 0);
}
