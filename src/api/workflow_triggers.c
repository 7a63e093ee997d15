/*
 * workflow_triggers.c
 *	  Triggers on rflow.workflows: a row that does not hold is refused where it is written.
 *
 * While the database is disarmed only the shape is checked, and owner, search_path and version
 * stay as given: dumps restore in any order. rflow.arm() then checks every workflow.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "api/workflows.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "db/identity.h"
#include "db/owner.h"
#include "db/statement.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(rflow_before_workflow_change);
PG_FUNCTION_INFO_V1(rflow_after_workflow_change);

bool api_own_change = false;

static struct db_statement unfinished_runs = {
	.sql =
		"SELECT count(*) FROM rflow_private.workflow_runs r "
		" WHERE r.workflow = $1 AND r.state IN ('queued', 'ready', 'waiting')",
	.types = {TEXTOID},
	.count = 1,
};

static void
read_row(struct flow_workflow *out, HeapTuple row, TupleDesc desc)
{
	bool isnull;
	Datum owner = api_row_value(row, desc, "owner", &isnull);

	out->owner = isnull ? InvalidOid : DatumGetObjectId(owner);
	out->name = api_row_text(row, desc, "name");
	out->trigger = DatumGetJsonbP(api_row_value(row, desc, "trigger", &isnull));
	out->filter = api_row_text(row, desc, "filter");
	out->once_per = api_row_text(row, desc, "once_per");
	out->steps = DatumGetJsonbP(api_row_value(row, desc, "steps", &isnull));
	out->vars = DatumGetJsonbP(api_row_value(row, desc, "vars", &isnull));
	out->start_at = api_row_text(row, desc, "start_at");
	out->search_path = api_row_text(row, desc, "search_path");
	out->version = 0;
}

static bool
changes_definition(const TriggerData *trigger)
{
	return TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || api_column_changed(trigger, "trigger") ||
		api_column_changed(trigger, "filter") || api_column_changed(trigger, "once_per") ||
		api_column_changed(trigger, "steps") || api_column_changed(trigger, "vars") ||
		api_column_changed(trigger, "start_at") || api_column_changed(trigger, "owner") ||
		api_column_changed(trigger, "search_path");
}

static void
check_enabling(const TriggerData *trigger)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	bool isnull;

	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) && api_column_changed(trigger, "enabled") &&
		DatumGetBool(api_row_value(trigger->tg_newtuple, desc, "enabled", &isnull)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("workflow \"%s\" cannot be enabled by UPDATE",
						api_row_text(trigger->tg_newtuple, desc, "name")),
				 errdetail("It has to be said where it goes on."),
				 errhint("Use rflow.enable(workflow, resume => 'cursor') or resume => 'head'.")));
}

/* The number leads to a stored definition and its owner, who may be somebody else. */
static void
check_version_stays(const TriggerData *trigger)
{
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) && api_column_changed(trigger, "version"))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("version of workflow \"%s\" cannot be set",
					api_row_text(trigger->tg_newtuple, RelationGetDescr(trigger->tg_relation),
								 "name")),
			 errdetail("It is counted up when the definition changes."),
			 errhint(
				 "To go back to a former definition, write it anew; rflow.workflow_versions has "
				 "it.")));
}

static HeapTuple
set_columns(HeapTuple row, TupleDesc desc, const struct flow_workflow *workflow, bool with_version)
{
	int columns[3] = {
		SPI_fnumber(desc, "owner"),
		SPI_fnumber(desc, "search_path"),
		SPI_fnumber(desc, "version"),
	};
	Datum values[3] = {
		ObjectIdGetDatum(workflow->owner),
		CStringGetTextDatum(workflow->search_path),
		Int32GetDatum(workflow->version),
	};
	bool nulls[3] = {false, false, false};

	return heap_modify_tuple_by_cols(row, desc, with_version ? 3 : 2, columns, values, nulls);
}

/* Fills in owner and search_path; a path that is given (by a dump, or by an UPDATE of it) stays. */
static HeapTuple
set_owner_and_path(const TriggerData *trigger, HeapTuple row)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	bool given =
		TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || api_column_changed(trigger, "search_path");
	struct flow_workflow workflow;

	read_row(&workflow, row, desc);
	workflow.owner = api_decide_owner(trigger, workflow.owner, "workflow");
	if (workflow.search_path == NULL || !given)
		workflow.search_path = namespace_search_path;
	workflow.search_path = api_safe_path(workflow.search_path);
	return set_columns(row, desc, &workflow, false);
}

/* The definition must hold; the row gets the number of the version that will be stored. */
static HeapTuple
check_workflow_row(const TriggerData *trigger, HeapTuple row)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	struct flow_workflow workflow;
	struct db_identity_frame frame;

	read_row(&workflow, row, desc);
	SPI_connect();
	db_act_as_superuser(&frame);
	workflow.version = flow_next_version(workflow.name);
	db_leave(&frame);
	(void) flow_compile(&workflow);
	SPI_finish();
	return set_columns(row, desc, &workflow, true);
}

static void
check_deletion(const TriggerData *trigger)
{
	char *name =
		api_row_text(trigger->tg_trigtuple, RelationGetDescr(trigger->tg_relation), "name");
	Datum value = CStringGetTextDatum(name);
	struct db_identity_frame frame;
	int64 unfinished;

	SPI_connect();
	db_act_as_superuser(&frame);
	(void) db_execute(&unfinished_runs, &value, NULL);
	unfinished = db_int64(0, 1);
	db_leave(&frame);
	SPI_finish();
	if (unfinished > 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("workflow \"%s\" has " INT64_FORMAT " runs that are not finished", name,
						unfinished),
				 errhint("Call rflow.disable() and delete it when they are.")));
}

/* What has no NULL and is not filled in by the trigger itself. */
static const char *const READ_COLUMNS[] = {"name", "trigger", "steps", "vars", "start_at"};

Datum
rflow_before_workflow_change(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = api_trigger(fcinfo);
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	HeapTuple row =
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	bool ours = api_own_change;
	bool isnull;

	/* For this row alone: checking it may run code of its owner, whose changes are not ours. */
	api_own_change = false;
	if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
	{
		check_deletion(trigger);
		return PointerGetDatum(row);
	}
	api_check_name_stays(trigger, "workflow");
	for (int i = 0; i < (int) lengthof(READ_COLUMNS); i++)
		api_check_given(trigger, row, READ_COLUMNS[i]);
	flow_check_trigger_shape(DatumGetJsonbP(api_row_value(row, desc, "trigger", &isnull)));
	flow_check_steps_shape(DatumGetJsonbP(api_row_value(row, desc, "steps", &isnull)));
	if (!ours)
		check_version_stays(trigger);
	if (!ours && changes_definition(trigger))
		row = set_owner_and_path(trigger, row);
	if (!db_is_armed())
		return PointerGetDatum(row);
	if (!ours)
		check_enabling(trigger);
	if (changes_definition(trigger) || (ours && api_column_changed(trigger, "version")))
		row = check_workflow_row(trigger, row);
	return PointerGetDatum(row);
}

static bool
was_disabled(const TriggerData *trigger)
{
	bool isnull;

	return TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) && api_column_changed(trigger, "enabled") &&
		!DatumGetBool(api_row_value(trigger->tg_newtuple, RelationGetDescr(trigger->tg_relation),
									"enabled", &isnull));
}

static void
store_version(const TriggerData *trigger, HeapTuple row)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	bool is_update = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
	struct flow_workflow workflow;
	struct db_identity_frame frame;
	Jsonb *definition;
	bool isnull;

	if (is_update && !api_column_changed(trigger, "version"))
		return;
	read_row(&workflow, row, desc);
	workflow.version = DatumGetInt32(api_row_value(row, desc, "version", &isnull));
	definition = flow_compile(&workflow);
	db_act_as_superuser(&frame);
	flow_store_version(&workflow, definition);
	flow_subscribe(&workflow, definition, is_update && !api_column_changed(trigger, "start_at"));
	db_leave(&frame);
}

Datum
rflow_after_workflow_change(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = api_trigger(fcinfo);
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	HeapTuple row =
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	struct db_identity_frame frame;

	if (!db_is_armed())
		return PointerGetDatum(NULL);
	SPI_connect();
	if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
	{
		db_act_as_superuser(&frame);
		flow_unsubscribe(api_row_text(row, desc, "name"));
		db_leave(&frame);
	}
	else
	{
		store_version(trigger, row);
		if (was_disabled(trigger))
		{
			db_act_as_superuser(&frame);
			flow_detach_cursor(api_row_text(row, desc, "name"));
			db_leave(&frame);
		}
	}
	SPI_finish();
	return PointerGetDatum(NULL);
}
