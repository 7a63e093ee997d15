/*
 * definition_triggers.c
 *	  Triggers on networks, contracts and relayers: what a row must hold beyond its constraints.
 */
#include "postgres.h"

#include "api/workflows.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "db/datum.h"
#include "db/identity.h"
#include "db/wake.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(rflow_before_definition_change);
PG_FUNCTION_INFO_V1(rflow_after_definitions_change);
PG_FUNCTION_INFO_V1(rflow_after_contract_change);

/* The ABI of one contract. */
#define ABI_MAX_BYTES (64 * 1024 * 1024)

const TriggerData *
api_trigger(FunctionCallInfo fcinfo)
{
	const TriggerData *trigger = (const TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		RelationGetNamespace(trigger->tg_relation) != get_namespace_oid("rflow", false))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("only triggers of schema rflow call this function")));
	return trigger;
}

Datum
api_row_value(HeapTuple row, TupleDesc desc, const char *column, bool *isnull)
{
	int number = SPI_fnumber(desc, column);

	if (number <= 0)
		elog(ERROR, "there is no column \"%s\"", column);
	return heap_getattr(row, number, desc, isnull);
}

char *
api_row_text(HeapTuple row, TupleDesc desc, const char *column)
{
	bool isnull;
	Datum value = api_row_value(row, desc, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

void
api_check_given(const TriggerData *trigger, HeapTuple row, const char *column)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	bool isnull;

	(void) api_row_value(row, desc, column, &isnull);
	if (isnull)
		ereport(
			ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
					column, RelationGetRelationName(trigger->tg_relation)),
			 errtablecol(trigger->tg_relation, SPI_fnumber(desc, column))));
}

bool
api_column_changed(const TriggerData *trigger, const char *column)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	Form_pg_attribute attribute = TupleDescAttr(desc, SPI_fnumber(desc, column) - 1);
	bool old_null;
	bool new_null;
	Datum old_value = api_row_value(trigger->tg_trigtuple, desc, column, &old_null);
	Datum new_value = api_row_value(trigger->tg_newtuple, desc, column, &new_null);

	if (old_null || new_null)
		return old_null != new_null;
	return !datum_image_eq(old_value, new_value, attribute->attbyval, attribute->attlen);
}

void
api_check_name_stays(const TriggerData *trigger, const char *what)
{
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) && api_column_changed(trigger, "name"))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s \"%s\" cannot be renamed", what,
						api_row_text(trigger->tg_trigtuple, RelationGetDescr(trigger->tg_relation),
									 "name")),
				 errdetail("Occurrence keys and journals carry the name."),
				 errhint("Insert another row under the new name.")));
}

/* What is queued or in flight is for the chain that it was queued for. */
static void
check_network_stays(const TriggerData *trigger)
{
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) && api_column_changed(trigger, "network"))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the network of relayer \"%s\" cannot be changed",
						api_row_text(trigger->tg_trigtuple, RelationGetDescr(trigger->tg_relation),
									 "name")),
				 errdetail("Versions of workflows, queued and signed transactions are for it."),
				 errhint("Insert another relayer; it may have the same signer.")));
}

static void
check_abi(HeapTuple row, TupleDesc desc)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "rflow ABI", ALLOCSET_SMALL_SIZES);
	bool isnull;
	Jsonb *json = DatumGetJsonbP(api_row_value(row, desc, "abi", &isnull));
	char *text = JsonbToCString(NULL, &json->root, VARSIZE(json));
	struct evm_abi abi;
	struct evm_error error;

	if (evm_abi_parse_json(db_arena_create(context, ABI_MAX_BYTES), &abi, NULL, text, strlen(text),
						   &error) != EVM_OK)
		db_raise(&error, psprintf("ABI of contract \"%s\"", api_row_text(row, desc, "name")));
	MemoryContextDelete(context);
}

static void
check_urls(HeapTuple row, TupleDesc desc)
{
	bool isnull;
	ArrayType *urls = DatumGetArrayTypeP(api_row_value(row, desc, "rpc_urls", &isnull));
	Datum *values;
	int count;

	deconstruct_array(urls, TEXTOID, -1, false, TYPALIGN_INT, &values, NULL, &count);
	for (int i = 0; i < count; i++)
	{
		char *url = TextDatumGetCString(values[i]);

		/* The URL may hold a secret: it is not shown. */
		if (pg_strncasecmp(url, "http://", 7) != 0 && pg_strncasecmp(url, "https://", 8) != 0 &&
			strncmp(url, "${env:RFLOW_", 12) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("network \"%s\": rpc_urls[%d] is not an http:// or https:// URL",
							api_row_text(row, desc, "name"), i + 1)));
	}
}

Datum
rflow_before_definition_change(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = api_trigger(fcinfo);
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	const char *table = RelationGetRelationName(trigger->tg_relation);
	HeapTuple row =
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;

	if (strcmp(table, "networks") == 0)
	{
		api_check_name_stays(trigger, "network");
		api_check_given(trigger, row, "rpc_urls");
		check_urls(row, desc);
	}
	else if (strcmp(table, "contracts") == 0)
	{
		api_check_name_stays(trigger, "contract");
		api_check_given(trigger, row, "abi");
		check_abi(row, desc);
	}
	else
	{
		api_check_name_stays(trigger, "relayer");
		check_network_stays(trigger);
	}
	return PointerGetDatum(row);
}

Datum
rflow_after_definitions_change(PG_FUNCTION_ARGS)
{
	(void) api_trigger(fcinfo);
	if (db_is_armed())
		db_definitions_changed();
	return PointerGetDatum(NULL);
}

Datum
rflow_after_contract_change(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = api_trigger(fcinfo);

	if (db_is_armed() &&
		(api_column_changed(trigger, "network") || api_column_changed(trigger, "address") ||
		 api_column_changed(trigger, "abi")))
		api_remake_versions(
			api_row_text(trigger->tg_newtuple, RelationGetDescr(trigger->tg_relation), "name"));
	return PointerGetDatum(NULL);
}
