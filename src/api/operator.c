/*
 * operator.c
 *	  What has failed and somebody has dealt with: it leaves rflow.stuck.
 *
 * Nothing of the failure itself is changed: a row of rflow_private.dealt_with beside it, or the
 * incident's resolved_at, says that it needs nobody any more.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "api/relay.h"
#include "db/statement.h"
#include "relay/operator_log.h"

/* $1: subject, $2: the caller, $3: does it operate on everything. */
static struct db_statement mark_transaction = {
	.sql =
		"INSERT INTO rflow_private.dealt_with (kind, subject)"
		"SELECT 'transaction', t.id::text"
		"  FROM rflow_private.relayer_transactions t"
		" WHERE t.id = $1::bigint AND t.state IN ('failed', 'expired')"
		"   AND ($3 OR pg_catalog.pg_has_role($2, t.owner, 'USAGE'))"
		"    ON CONFLICT DO NOTHING",
	.types = {TEXTOID, OIDOID, BOOLOID},
	.count = 3,
};

static struct db_statement mark_transactions = {
	.sql =
		"INSERT INTO rflow_private.dealt_with (kind, subject)"
		"SELECT 'transaction', t.id::text"
		"  FROM rflow_private.relayer_transactions t"
		" WHERE t.relayer = $1 AND t.state IN ('failed', 'expired')"
		"   AND t.state_since > pg_catalog.clock_timestamp() - interval '1 day'"
		"   AND ($3 OR pg_catalog.pg_has_role($2, t.owner, 'USAGE'))"
		"    ON CONFLICT DO NOTHING",
	.types = {TEXTOID, OIDOID, BOOLOID},
	.count = 3,
};

static struct db_statement mark_run = {
	.sql =
		"INSERT INTO rflow_private.dealt_with (kind, subject)"
		"SELECT 'run', r.id::text"
		"  FROM rflow_private.workflow_runs r"
		" WHERE r.id = $1::uuid AND r.state = 'failed'"
		"   AND ($3 OR pg_catalog.pg_has_role($2, r.owner, 'USAGE'))"
		"    ON CONFLICT DO NOTHING",
	.types = {TEXTOID, OIDOID, BOOLOID},
	.count = 3,
};

static struct db_statement mark_runs = {
	.sql =
		"INSERT INTO rflow_private.dealt_with (kind, subject)"
		"SELECT 'run', r.id::text"
		"  FROM rflow_private.workflow_runs r"
		" WHERE r.workflow = $1 AND r.state = 'failed'"
		"   AND r.finished_at > pg_catalog.clock_timestamp() - interval '1 day'"
		"   AND ($3 OR pg_catalog.pg_has_role($2, r.owner, 'USAGE'))"
		"    ON CONFLICT DO NOTHING",
	.types = {TEXTOID, OIDOID, BOOLOID},
	.count = 3,
};

/* $4: the kind. Incidents of no workflow are the operators' alone. */
static struct db_statement resolve_incident = {
	.sql =
		"UPDATE rflow_private.incidents i"
		"   SET resolved_at = pg_catalog.clock_timestamp()"
		" WHERE i.kind = $4 AND i.subject = $1 AND i.resolved_at IS NULL"
		"   AND ($3 OR EXISTS (SELECT"
		"                        FROM rflow.workflows w"
		"                       WHERE w.name = i.workflow"
		"                         AND pg_catalog.pg_has_role($2, w.owner, 'USAGE')))",
	.types = {TEXTOID, OIDOID, BOOLOID, TEXTOID},
	.count = 4,
};

static struct db_statement resolve_by_id = {
	.sql =
		"UPDATE rflow_private.incidents i"
		"   SET resolved_at = pg_catalog.clock_timestamp()"
		" WHERE i.id = $1 AND i.resolved_at IS NULL"
		" RETURNING i.kind, i.subject",
	.types = {INT8OID},
	.count = 1,
};

/* Every sort of thing that fails for good, by its kind in rflow.stuck. */
static const struct
{
	const char *kind;
	struct db_statement *mark;
} failures[] = {
	{"transaction", &mark_transaction},
	{"failed transactions", &mark_transactions},
	{"run", &mark_run},
	{"failed runs", &mark_runs},
};

PG_FUNCTION_INFO_V1(rflow_mark_dealt_with);
PG_FUNCTION_INFO_V1(rflow_resolve_incident);

static struct db_statement *
statement_for(const char *kind)
{
	int i;

	for (i = 0; i < lengthof(failures); i++)
		if (strcmp(failures[i].kind, kind) == 0)
			return failures[i].mark;
	return &resolve_incident;
}

/* Ids of another shape than the column's name nothing. */
static bool
is_id(const char *kind, const char *subject)
{
	if (strcmp(kind, "transaction") == 0)
		return subject[0] != '\0' && strlen(subject) < 19 &&
			strspn(subject, "0123456789") == strlen(subject);
	if (strcmp(kind, "run") == 0)
		return strlen(subject) == 36 && strspn(subject, "0123456789abcdefABCDEF-") == 36;
	return true;
}

/* mark_dealt_with(kind, subject, reason) */
Datum
rflow_mark_dealt_with(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_verb entry = {0};
	Datum parameters[4];
	uint64 marked = 0;
	char *subject;
	char *kind;

	api_need_argument(fcinfo, 0, "kind");
	api_need_argument(fcinfo, 1, "subject");
	kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
	subject = text_to_cstring(PG_GETARG_TEXT_PP(1));
	entry.caller = GetUserId();
	parameters[0] = CStringGetTextDatum(subject);
	parameters[1] = ObjectIdGetDatum(entry.caller);
	parameters[2] = BoolGetDatum(api_is_operator());
	parameters[3] = CStringGetTextDatum(kind);
	api_begin_private(&frame);
	if (is_id(kind, subject))
		marked = db_execute(statement_for(kind), parameters, NULL);
	entry.verb = "mark_dealt_with";
	entry.subject = psprintf("%s %s", kind, subject);
	entry.reason = api_text_or_null(fcinfo, 2);
	entry.outcome = psprintf(UINT64_FORMAT " marked", marked);
	relay_log_verb(&entry);
	api_end_private(&frame);
	PG_RETURN_INT64((int64) marked);
}

/* resolve_incident(id, reason); who may call it is a matter of grants */
Datum
rflow_resolve_incident(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_verb entry = {0};
	Datum parameters[1];
	bool found = false;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	entry.verb = "resolve_incident";
	entry.caller = GetUserId();
	entry.reason = api_text_or_null(fcinfo, 1);
	entry.outcome = "resolved";
	parameters[0] = PG_GETARG_DATUM(0);
	api_begin_private(&frame);
	if (db_execute(&resolve_by_id, parameters, NULL) == 1)
	{
		entry.subject = psprintf("%s %s", db_text(0, 1), db_text(0, 2));
		relay_log_verb(&entry);
		found = true;
	}
	api_end_private(&frame);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(true);
}
