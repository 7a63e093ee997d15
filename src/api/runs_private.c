/*
 * runs_private.c
 *	  The transactions of watchers and executors that carry their guarantees, callable from SQL by
 *	  superusers.
 *
 * They are the functions that the workers run, so that isolation tests can interleave them with
 * each other and with what users do. No step is done here: a claimed run is left to an executor.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "chain/cursor.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "flow/claim.h"
#include "flow/journal.h"
#include "flow/versions.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Values of one run. */
#define RUN_MAX_BYTES ((size_t) 64 * 1024 * 1024)

static struct db_statement due_of_run = {
	.sql =
		"SELECT d.owner, d.wake_at "
		"  FROM rflow_private.due d "
		" WHERE d.kind = 'run' AND d.owner = pg_catalog.left($1::text, 1) AND d.id = $1::text",
	.types = {UUIDOID},
	.count = 1,
};

PG_FUNCTION_INFO_V1(rflow_claim_log);
PG_FUNCTION_INFO_V1(rflow_settle_run);

static struct flow_definition *
version_of(const char *workflow, int version)
{
	struct flow_definition *definition = flow_version(workflow, version);

	if (definition == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("workflow \"%s\" has no version %d", workflow, version)));
	return definition;
}

static void
read_key(uint8 out[32], Datum value)
{
	struct evm_bytes bytes = db_datum_hex(value);

	if (bytes.len != 32)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a key has 32 bytes, not %zu", bytes.len)));
	memcpy(out, bytes.data, bytes.len);
}

/*
 * claim_log(cursor, revision, workflow, version, key, block_number): one occurrence, and the
 * cursor behind its block; true when the key is new.
 */
Datum
rflow_claim_log(PG_FUNCTION_ARGS)
{
	struct chain_cursor cursor = {.id = PG_GETARG_INT64(0), .revision = PG_GETARG_INT64(1)};
	struct flow_log log = {.block_number = PG_GETARG_INT64(5)};
	MemoryContext context = CurrentMemoryContext;
	TimestampTz now = GetCurrentTimestamp();
	struct flow_run *run;
	uint8 key[32];
	int won;

	read_key(key, PG_GETARG_DATUM(4));
	SPI_connect();
	MemoryContextSwitchTo(context);
	db_lock_definitions();
	chain_advance_cursor(&cursor, log.block_number + 1, 0);
	run = flow_run_create(version_of(text_to_cstring(PG_GETARG_TEXT_PP(2)), PG_GETARG_INT32(3)),
						  key, now);
	flow_run_set_log(run, &log);
	flow_run_defer(run);
	won = flow_claim(&run, 1, run->definition->trigger.target.network, now);
	SPI_finish();
	PG_RETURN_BOOL(won == 1);
}

static struct flow_due *
read_due(pg_uuid_t *id, int *count)
{
	Datum value = UUIDPGetDatum(id);
	struct flow_due *due;

	*count = (int) db_execute(&due_of_run, &value, NULL);
	due = palloc((*count + 1) * sizeof(struct flow_due));
	for (int i = 0; i < *count; i++)
	{
		due[i].bucket = db_text(i, 1)[0];
		due[i].wake_at = DatumGetTimestampTz(db_value(i, 2, NULL));
		strlcpy(due[i].run_id, DatumGetCString(DirectFunctionCall1(uuid_out, value)),
				sizeof(due[i].run_id));
	}
	return due;
}

/* As an executor takes it: what has not changed is not due any more, what has is written. */
static void
write_back(struct flow_run *run)
{
	if (run->journal == NIL && run->state != FLOW_RUNNING)
		flow_delete_due(run->due);
	else
		flow_write_runs(&run, 1, GetCurrentTimestamp());
}

/*
 * settle_run(id): looks at what a run waits for and writes what that makes of it; its state, NULL
 * when it is not due
 */
Datum
rflow_settle_run(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	const char *state = NULL;
	List *orphans = NIL;
	struct flow_run **runs = NULL;
	struct flow_due *due;
	int due_count;
	int count = 0;

	SPI_connect();
	MemoryContextSwitchTo(context);
	due = read_due(PG_GETARG_UUID_P(0), &due_count);
	if (due_count > 0)
	{
		runs = flow_load_runs(due, due_count, db_arena_create(context, RUN_MAX_BYTES), &count,
							  &orphans);
		flow_delete_due(orphans);
	}
	if (count > 0)
	{
		flow_resume_runs(runs, count);
		write_back(runs[0]);
		state = flow_state_name(runs[0]->state);
	}
	SPI_finish();
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(state));
}
