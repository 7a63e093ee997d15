/*
 * identity.c
 *	  SQL functions about whether this database may act: see sql/60_identity.sql.
 */
#include "postgres.h"

#include "db/compat.h"
#include "db/identity.h"
#include "db/wake.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#define IDENTITY_COLUMNS 4

PG_FUNCTION_INFO_V1(rflow_current_identity);
PG_FUNCTION_INFO_V1(rflow_readiness);
PG_FUNCTION_INFO_V1(rflow_definitions_changed);

/* rflow_private.current_identity(): what this server and database are. */
Datum
rflow_current_identity(PG_FUNCTION_ARGS)
{
	struct db_identity identity;
	Datum values[IDENTITY_COLUMNS];
	bool nulls[IDENTITY_COLUMNS] = {false};
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	db_current_identity(&identity);
	values[0] = Int64GetDatum((int64) identity.system_identifier);
	values[1] = ObjectIdGetDatum(identity.database);
	values[2] = Int32GetDatum((int32) identity.timeline);
	values[3] = CStringGetTextDatum(identity.instance_id);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* rflow.readiness(): whether workers act in this database, or why not. */
Datum
rflow_readiness(PG_FUNCTION_ARGS)
{
	bool signing_held;
	enum db_readiness readiness = db_readiness(&signing_held);

	if (readiness == DB_READY && signing_held)
		PG_RETURN_TEXT_P(
			cstring_to_text("ready, but nothing is signed: the server continues on "
							"another timeline than the one that was armed"));
	PG_RETURN_TEXT_P(cstring_to_text(db_readiness_text(readiness)));
}

/* rflow_private.definitions_changed(): at commit, workers look at the definitions again. */
Datum
rflow_definitions_changed(PG_FUNCTION_ARGS)
{
	db_definitions_changed();
	PG_RETURN_VOID();
}
