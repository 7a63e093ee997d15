/*
 * statement.c
 *	  SPI statements that are prepared once, kept, and run many times.
 *
 * A kept plan survives transactions and replans by itself after DDL.  Transactions
 * are opened and closed here, so that activity, statistics and the memory context
 * of the caller are treated alike everywhere.
 */
#include "postgres.h"

#include "db/statement.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/queryenvironment.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* What the planner believes of every tuplestore: plans stay the same for one row and for many. */
#define REGISTERED_ROWS_ESTIMATE 100

/* The context to go back to when the transaction ends; PostgreSQL leaves another one. */
static MemoryContext context_at_begin;
static TimestampTz committed_at = 0;

void
db_begin(const char *activity)
{
	Assert(!IsTransactionState());
	context_at_begin = CurrentMemoryContext;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, activity);
}

void
db_commit(void)
{
	SPI_finish();
	PopActiveSnapshot();
	db_wake_keep_back();
	CommitTransactionCommand();
	committed_at = GetCurrentTimestamp();
	db_wake_kept_back();
	MemoryContextSwitchTo(context_at_begin);
	(void) pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
}

TimestampTz
db_committed_at(void)
{
	return committed_at;
}

void
db_abort(void)
{
	AbortCurrentTransaction();
	MemoryContextSwitchTo(context_at_begin);
	(void) pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
}

void
db_synchronous_commit(bool wait)
{
	/* remote_write and local are weaker than on; remote_apply is stronger and stays. */
	if (wait ? (synchronous_commit >= SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
			 : (synchronous_commit == SYNCHRONOUS_COMMIT_OFF))
		return;
	(void) set_config_option("synchronous_commit", wait ? "on" : "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
}

static void
prepare(struct db_statement *statement)
{
	SPIPlanPtr plan;

	Assert(statement->count <= DB_STATEMENT_MAX_PARAMETERS);
	plan = SPI_prepare(statement->sql, statement->count, statement->types);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s: %s", SPI_result_code_string(SPI_result),
			 statement->sql);
	if (SPI_keepplan(plan) != 0)
		elog(ERROR, "SPI_keepplan failed: %s", statement->sql);
	statement->plan = plan;
}

uint64
db_execute(struct db_statement *statement, Datum *values, const char *nulls)
{
	MemoryContext context = CurrentMemoryContext;
	int result;

	if (statement->plan == NULL)
		prepare(statement);
	result = SPI_execute_plan(statement->plan, values, nulls, false, 0);
	/* SPI leaves its own procedure context, which ends with the connection. */
	MemoryContextSwitchTo(context);
	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s: %s", SPI_result_code_string(result),
			 statement->sql);
	return SPI_processed;
}

void
db_execute_exactly(struct db_statement *statement, Datum *values, const char *nulls,
				   uint64 expected, const char *what)
{
	uint64 touched = db_execute(statement, values, nulls);

	if (touched != expected)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("%s has changed meanwhile", what),
				 errdetail("%llu rows were expected, %llu were found.",
						   (unsigned long long) expected, (unsigned long long) touched)));
}

Datum
db_value(uint64 row, int column, bool *isnull)
{
	bool null;
	Datum value;

	if (SPI_tuptable == NULL || row >= SPI_tuptable->numvals)
		elog(ERROR, "the result has no row %llu", (unsigned long long) row);
	value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &null);
	if (isnull != NULL)
		*isnull = null;
	else if (null)
		elog(ERROR, "column %d of row %llu is null", column, (unsigned long long) row);
	return value;
}

char *
db_text(uint64 row, int column)
{
	bool isnull;
	Datum value = db_value(row, column, &isnull);

	if (isnull)
		return NULL;
	switch (SPI_gettypeid(SPI_tuptable->tupdesc, column))
	{
		case TEXTOID:
		case VARCHAROID:
			return TextDatumGetCString(value);
		default:
			return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
	}
}

int64
db_int64(uint64 row, int column)
{
	Datum value = db_value(row, column, NULL);

	switch (SPI_gettypeid(SPI_tuptable->tupdesc, column))
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return DatumGetInt64(value);
		default:
			elog(ERROR, "column %d is not an integer", column);
	}
}

void
db_register(const char *name, TupleDesc desc, Tuplestorestate *rows)
{
	EphemeralNamedRelation relation = palloc0(sizeof(*relation));
	int result;

	relation->md.name = pstrdup(name);
	relation->md.reliddesc = InvalidOid;
	relation->md.tupdesc = desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->md.enrtuples = REGISTERED_ROWS_ESTIMATE;
	relation->reldata = rows;
	result = SPI_register_relation(relation);
	if (result != SPI_OK_REL_REGISTER)
		elog(ERROR, "SPI_register_relation failed: %s: %s", SPI_result_code_string(result), name);
}

void
db_unregister(const char *name)
{
	int result = SPI_unregister_relation(name);

	if (result != SPI_OK_REL_UNREGISTER)
		elog(ERROR, "SPI_unregister_relation failed: %s: %s", SPI_result_code_string(result), name);
}
