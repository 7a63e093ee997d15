/*
 * policy_triggers.c
 *	  Trigger on rflow.policies: a field that does not hold is refused where it is written.
 *
 * While the database is disarmed the check is parsed but not analysed, and owner and search_path
 * stay as given: dumps restore in any order.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "api/workflows.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/identity.h"
#include "evm/address.h"
#include "fmgr.h"
#include "relay/policy_check.h"
#include "relay/policy_load.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(rflow_before_policy_change);

typedef bool (*entry_check)(const char *entry, struct evm_error *error);

static bool
is_contract(const char *entry, struct evm_error *error)
{
	struct evm_address address;

	/* A name: whether there is such a contract is another trigger's business. */
	if (strncmp(entry, "0x", 2) != 0)
		return true;
	return evm_address_parse(&address, entry, strlen(entry), error) == EVM_OK;
}

static bool
is_function(const char *entry, struct evm_error *error)
{
	uint8 selector[RELAY_SELECTOR_BYTES];
	bool receive;

	return relay_selector_of(selector, &receive, entry, error);
}

static void
check_entries(HeapTuple row, TupleDesc desc, const char *column, entry_check is_good)
{
	bool isnull;
	Datum value = api_row_value(row, desc, column, &isnull);
	Datum *entries;
	bool *nulls;
	int count;

	if (isnull)
		return;
	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &entries, &nulls,
					  &count);
	for (int i = 0; i < count; i++)
	{
		struct evm_error error = {0};
		char *entry = nulls[i] ? NULL : TextDatumGetCString(entries[i]);

		/* The constraint of the column refuses NULL. */
		if (entry != NULL && !is_good(entry, &error))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("policy \"%s\": %s[%d] \"%s\": %s", api_row_text(row, desc, "name"),
							column, i + 1, entry, error.message)));
	}
}

static bool
changes_check(const TriggerData *trigger)
{
	return TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
		api_column_changed(trigger, "check_expression") || api_column_changed(trigger, "owner") ||
		api_column_changed(trigger, "search_path");
}

/* Fills in owner and search_path; a path that is given (by a dump, or by an UPDATE of it) stays. */
static HeapTuple
set_owner_and_path(const TriggerData *trigger, HeapTuple row)
{
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	bool given =
		TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || api_column_changed(trigger, "search_path");
	const char *path = given ? api_row_text(row, desc, "search_path") : NULL;
	int columns[2] = {SPI_fnumber(desc, "owner"), SPI_fnumber(desc, "search_path")};
	bool nulls[2] = {false, false};
	Datum values[2];
	bool isnull;
	Datum owner = api_row_value(row, desc, "owner", &isnull);

	values[0] = ObjectIdGetDatum(
		api_decide_owner(trigger, isnull ? InvalidOid : DatumGetObjectId(owner), "policy"));
	values[1] = CStringGetTextDatum(api_safe_path(path != NULL ? path : namespace_search_path));
	return heap_modify_tuple_by_cols(row, desc, 2, columns, values, nulls);
}

static void
check_expression(HeapTuple row, TupleDesc desc)
{
	struct relay_policy policy = {0};
	bool isnull;

	policy.name = api_row_text(row, desc, "name");
	policy.check = api_row_text(row, desc, "check_expression");
	policy.owner = DatumGetObjectId(api_row_value(row, desc, "owner", &isnull));
	policy.search_path = api_row_text(row, desc, "search_path");
	if (policy.check != NULL)
		relay_policy_check_text(&policy, db_is_armed());
}

Datum
rflow_before_policy_change(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = api_trigger(fcinfo);
	TupleDesc desc = RelationGetDescr(trigger->tg_relation);
	HeapTuple row =
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;

	api_check_name_stays(trigger, "policy");
	check_entries(row, desc, "allowed_contracts", is_contract);
	check_entries(row, desc, "allowed_functions", is_function);
	if (changes_check(trigger))
	{
		row = set_owner_and_path(trigger, row);
		check_expression(row, desc);
	}
	return PointerGetDatum(row);
}
