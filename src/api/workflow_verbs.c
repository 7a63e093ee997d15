/*
 * workflow_verbs.c
 *	  What is done with workflows: check, enable, disable, start.
 */
#include "postgres.h"

#include "api/workflows.h"
#include "catalog/pg_type.h"
#include "db/identity.h"
#include "db/owner.h"
#include "db/statement.h"
#include "db/wake.h"
#include "fmgr.h"
#include "flow/claim.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(rflow_check_workflow);
PG_FUNCTION_INFO_V1(rflow_enable_workflow);
PG_FUNCTION_INFO_V1(rflow_disable_workflow);
PG_FUNCTION_INFO_V1(rflow_start);

/* Long enough for any identifier of another system. */
#define START_KEY_MAX_BYTES 512

static struct db_statement workflow_by_name = {
	.sql =
		"SELECT w.trigger, w.filter, w.once_per, w.steps, w.vars, w.start_at, w.owner, "
		"w.search_path, "
		"       coalesce(w.version, 0), v.definition, w.enabled "
		"  FROM rflow.workflows w "
		"  LEFT JOIN rflow.workflow_versions v ON v.workflow = w.name AND v.version = w.version "
		" WHERE w.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

/* One that is disabled is compiled again when it is enabled. */
static struct db_statement workflows_of_contract = {
	.sql =
		"SELECT w.name "
		"  FROM rflow.workflows w "
		" WHERE w.enabled AND "
		"       (w.trigger->>'contract' = $1 OR "
		"        EXISTS (SELECT FROM pg_catalog.jsonb_array_elements(w.steps) s WHERE "
		"s->>'contract' = $1)) "
		" ORDER BY w.name",
	.types = {TEXTOID},
	.count = 1,
};

/* The triggers number and store the version. */
static struct db_statement raise_version = {
	.sql = "UPDATE rflow.workflows w SET version = coalesce(w.version, 0) + 1 WHERE w.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement set_enabled = {
	.sql = "UPDATE rflow.workflows w SET enabled = $2 WHERE w.name = $1 AND w.enabled <> $2",
	.types = {TEXTOID, BOOLOID},
	.count = 2,
};

static struct db_statement resolve_detached = {
	.sql =
		"UPDATE rflow_private.incidents i "
		"   SET resolved_at = pg_catalog.clock_timestamp() "
		" WHERE i.kind = 'detached' AND i.subject = $1 AND i.resolved_at IS NULL",
	.types = {TEXTOID},
	.count = 1,
};

struct workflow_row
{
	struct flow_workflow workflow;
	Jsonb *definition; /* of its newest version, or NULL */
	bool enabled;
};

static Jsonb *
jsonb_or_null(int column)
{
	bool isnull;
	Datum value = db_value(0, column, &isnull);

	return isnull ? NULL : DatumGetJsonbPCopy(value);
}

/* As a user that may; raises when there is no such workflow. */
static void
read_workflow(struct workflow_row *out, const char *name)
{
	Datum value = CStringGetTextDatum(name);
	struct flow_workflow *workflow = &out->workflow;

	if (db_execute(&workflow_by_name, &value, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("workflow \"%s\" does not exist", name)));
	workflow->name = name;
	workflow->trigger = jsonb_or_null(1);
	workflow->filter = db_text(0, 2);
	workflow->once_per = db_text(0, 3);
	workflow->steps = jsonb_or_null(4);
	workflow->vars = jsonb_or_null(5);
	workflow->start_at = db_text(0, 6);
	workflow->owner = DatumGetObjectId(db_value(0, 7, NULL));
	workflow->search_path = db_text(0, 8);
	workflow->version = (int) db_int64(0, 9);
	out->definition = jsonb_or_null(10);
	out->enabled = DatumGetBool(db_value(0, 11, NULL));
}

static void
update_as_ourselves(struct db_statement *statement, Datum *values)
{
	api_own_change = true;
	PG_TRY();
	{
		(void) db_execute(statement, values, NULL);
	}
	PG_FINALLY();
	{
		api_own_change = false;
	}
	PG_END_TRY();
}

/* Compiles it again, and makes a version when the outcome is another one. */
static void
renew(const char *name)
{
	struct workflow_row row;
	Datum value = CStringGetTextDatum(name);
	Jsonb *definition;

	read_workflow(&row, name);
	definition = flow_compile(&row.workflow);
	if (row.definition == NULL ||
		compareJsonbContainers(&row.definition->root, &definition->root) != 0)
		update_as_ourselves(&raise_version, &value);
}

static char **
names_of_contract(const char *contract, int *count)
{
	Datum value = CStringGetTextDatum(contract);
	char **names;

	*count = (int) db_execute(&workflows_of_contract, &value, NULL);
	names = palloc(Max(*count, 1) * sizeof(char *));
	for (int i = 0; i < *count; i++)
		names[i] = db_text(i, 1);
	return names;
}

void
api_remake_versions(const char *contract)
{
	struct db_identity_frame frame;
	char **names;
	int count;

	SPI_connect();
	db_act_as_superuser(&frame);
	names = names_of_contract(contract, &count);
	for (int i = 0; i < count; i++)
		renew(names[i]);
	db_leave(&frame);
	SPI_finish();
}

Datum
rflow_check_workflow(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	struct db_identity_frame frame;

	SPI_connect();
	db_act_as_superuser(&frame);
	renew(name);
	db_leave(&frame);
	SPI_finish();
	PG_RETURN_VOID();
}

static void
require_armed(void)
{
	if (!db_is_armed())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("rflow is not armed in this database"),
				 errhint("Call rflow.arm() first.")));
}

/* The owner, a member of it, or an operator. */
static void
require_control(const struct workflow_row *row)
{
	Oid user = GetUserId();

	if (has_privs_of_role(user, row->workflow.owner) ||
		has_privs_of_role(user, get_role_oid("rflow_operator", false)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for workflow \"%s\"", row->workflow.name),
			 errdetail("It belongs to role \"%s\".", GetUserNameFromId(row->workflow.owner, true)),
			 errhint("Its owner, and members of rflow_operator, can do this.")));
}

static void
read_controlled(struct workflow_row *row, const char *name)
{
	struct db_identity_frame frame;

	require_armed();
	db_act_as_superuser(&frame);
	read_workflow(row, name);
	db_leave(&frame);
	require_control(row);
}

Datum
rflow_enable_workflow(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char *resume = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool skip = strcmp(resume, "head") == 0;
	Datum values[2] = {CStringGetTextDatum(name), BoolGetDatum(true)};
	struct db_identity_frame frame;
	struct workflow_row row;

	if (!skip && strcmp(resume, "cursor") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("resume cannot be \"%s\"", resume),
				 errhint(
					 "'cursor' goes on where it stopped, 'head' skips what has happened since.")));
	SPI_connect();
	read_controlled(&row, name);
	db_act_as_superuser(&frame);
	renew(name);
	if (skip)
		flow_skip_to_head(name);
	update_as_ourselves(&set_enabled, values);
	(void) db_execute(&resolve_detached, values, NULL);
	db_definitions_changed();
	db_leave(&frame);
	SPI_finish();
	PG_RETURN_VOID();
}

Datum
rflow_disable_workflow(PG_FUNCTION_ARGS)
{
	char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Datum values[2] = {CStringGetTextDatum(name), BoolGetDatum(false)};
	struct db_identity_frame frame;
	struct workflow_row row;

	SPI_connect();
	read_controlled(&row, name);
	db_act_as_superuser(&frame);
	update_as_ourselves(&set_enabled, values);
	db_leave(&frame);
	SPI_finish();
	PG_RETURN_VOID();
}

static char *
start_key(FunctionCallInfo fcinfo)
{
	char *key;

	if (PG_ARGISNULL(2))
		return DatumGetCString(
			DirectFunctionCall1(uuid_out, DirectFunctionCall1(gen_random_uuid, (Datum) 0)));
	key = text_to_cstring(PG_GETARG_TEXT_PP(2));
	if (strlen(key) > START_KEY_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("key is longer than %d bytes", START_KEY_MAX_BYTES)));
	return key;
}

static void
check_startable(const struct workflow_row *row)
{
	if (!row->enabled || row->definition == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("workflow \"%s\" is disabled", row->workflow.name),
				 errhint("Call rflow.enable() first.")));
}

Datum
rflow_start(PG_FUNCTION_ARGS)
{
	pg_uuid_t *id = palloc(sizeof(pg_uuid_t));
	TimestampTz now = GetCurrentTimestamp();
	struct db_identity_frame frame;
	struct flow_definition *definition;
	struct workflow_row row;
	struct flow_run *run;
	MemoryContext context = CurrentMemoryContext;
	uint8 key[32];

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("workflow is NULL")));
	SPI_connect();
	read_controlled(&row, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	check_startable(&row);
	flow_start_key(key, row.workflow.name, start_key(fcinfo));
	memcpy(id->data, key, UUID_LEN);

	definition = flow_load(context, row.workflow.name, row.workflow.version, row.definition,
						   row.workflow.owner, row.workflow.search_path);
	if (definition->trigger.kind != FLOW_ON_START)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("workflow \"%s\" is started by its trigger", row.workflow.name),
				 errhint("A workflow with trigger rflow.on_start() is started by hand.")));
	run = flow_run_create(definition, key, now);
	flow_run_set_input(run, PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1));
	flow_run_defer(run);
	db_act_as_superuser(&frame);
	(void) flow_claim(&run, 1, NULL, now);
	db_leave(&frame);
	flow_free(definition);
	SPI_finish();
	PG_RETURN_UUID_P(id);
}
