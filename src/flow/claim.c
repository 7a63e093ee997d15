/*
 * claim.c
 *	  Writes what flow_advance has found out: one statement per table, rows from tuplestores.
 *
 * The statements read ephemeral named relations instead of arrays of parameters: their plans are
 * made once, they carry NULLs and our own types, and a row costs the same in a claim of one and
 * of 256.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "flow/claim.h"
#include "flow/row_shape.h"
#include "flow/step_kind.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

enum
{
	RUN_KEY,
	RUN_ID,
	RUN_WORKFLOW,
	RUN_VERSION,
	RUN_INCARNATION,
	RUN_OWNER,
	RUN_STATE,
	RUN_NEXT_STEP,
	RUN_NETWORK,
	RUN_BLOCK_NUMBER,
	RUN_BLOCK_HASH,
	RUN_BLOCK_TIMESTAMP,
	RUN_TRANSACTION_HASH,
	RUN_TRANSACTION_INDEX,
	RUN_LOG_INDEX,
	RUN_ADDRESS,
	RUN_EVENT,
	RUN_INPUT,
	RUN_ERROR,
	RUN_CREATED_AT,
	RUN_FINISHED_AT,
	RUN_COLUMNS
};

static struct row_shape run_shape = {.name = "rflow claim",
									 .columns = {{"key", HEX_COLUMN},
												 {"id", UUIDOID},
												 {"workflow", TEXTOID},
												 {"version", INT4OID},
												 {"incarnation", INT4OID},
												 {"owner", REGROLEOID},
												 {"state", TEXTOID},
												 {"next_step", INT4OID},
												 {"network", TEXTOID},
												 {"block_number", INT8OID},
												 {"block_hash", HEX_COLUMN},
												 {"block_timestamp", TIMESTAMPTZOID},
												 {"transaction_hash", HEX_COLUMN},
												 {"transaction_index", INT4OID},
												 {"log_index", INT4OID},
												 {"address", ADDRESS_COLUMN},
												 {"event", JSONBOID},
												 {"input", JSONBOID},
												 {"error", JSONBOID},
												 {"created_at", TIMESTAMPTZOID},
												 {"finished_at", TIMESTAMPTZOID}},
									 .count = RUN_COLUMNS};

static struct db_statement insert_runs = {
	.sql =
		"WITH won AS ("
		"    INSERT INTO rflow_private.occurrences (key, network, block_number) "
		"    SELECT c.key, coalesce(c.network, ''), coalesce(c.block_number, 0) FROM \"rflow "
		"claim\" c "
		"        ON CONFLICT (key) DO NOTHING "
		"    RETURNING key) "
		"INSERT INTO rflow_private.workflow_runs "
		"       (id, workflow, version, incarnation, owner, state, next_step, network, "
		"block_number, "
		"        block_hash, block_timestamp, transaction_hash, transaction_index, log_index, "
		"address, "
		"        event, input, error, created_at, finished_at) "
		"SELECT c.id, c.workflow, c.version, c.incarnation, c.owner, c.state, c.next_step, "
		"c.network, "
		"       c.block_number, c.block_hash, c.block_timestamp, c.transaction_hash, "
		"       c.transaction_index, c.log_index, c.address, c.event, c.input, c.error, "
		"c.created_at, "
		"       c.finished_at "
		"  FROM \"rflow claim\" c "
		"  JOIN won w ON w.key = c.key "
		"RETURNING id",
};

enum
{
	STEP_RUN_ID,
	STEP_STEP,
	STEP_POSITION,
	STEP_KIND,
	STEP_STATE,
	STEP_ATTEMPT,
	STEP_RESULT,
	STEP_ERROR,
	STEP_TRANSACTION_ID,
	STEP_STARTED_AT,
	STEP_FINISHED_AT,
	STEP_COLUMNS
};

static struct row_shape step_shape = {.name = "rflow journal",
									  .columns = {{"run_id", UUIDOID},
												  {"step", TEXTOID},
												  {"position", INT4OID},
												  {"kind", TEXTOID},
												  {"state", TEXTOID},
												  {"attempt", INT4OID},
												  {"result", JSONBOID},
												  {"error", JSONBOID},
												  {"transaction_id", INT8OID},
												  {"started_at", TIMESTAMPTZOID},
												  {"finished_at", TIMESTAMPTZOID}},
									  .count = STEP_COLUMNS};

#define INSERT_STEPS \
	"INSERT INTO rflow_private.step_runs " \
	"       (run_id, step, position, kind, state, attempt, result, error, transaction_id, " \
	"        started_at, finished_at) " \
	"SELECT j.run_id, j.step, j.position, j.kind, j.state, j.attempt, j.result, j.error, " \
	"       j.transaction_id, j.started_at, j.finished_at " \
	"  FROM \"rflow journal\" j "

/* Of runs that have just been inserted: no row can be there, and looking for one is not cheap. */
static struct db_statement insert_steps = {
	.sql = INSERT_STEPS,
};

static struct db_statement write_steps = {
	.sql = INSERT_STEPS
	"    ON CONFLICT (run_id, step, iteration) DO UPDATE "
	"   SET state = excluded.state, attempt = excluded.attempt, result = excluded.result, "
	"       error = excluded.error, "
	"       transaction_id = coalesce(excluded.transaction_id, step_runs.transaction_id), "
	"       finished_at = excluded.finished_at",
};

static struct row_shape due_shape = {
	.name = "rflow due",
	.columns = {{"owner", TEXTOID}, {"wake_at", TIMESTAMPTZOID}, {"id", TEXTOID}},
	.count = 3,
};

static struct db_statement insert_due = {
	.sql =
		"INSERT INTO rflow_private.due (kind, owner, wake_at, id) "
		"SELECT 'run', d.owner, d.wake_at, d.id FROM \"rflow due\" d "
		"    ON CONFLICT DO NOTHING",
};

static void
put_scope(Datum *values, bool *nulls, int column, const struct flow_run *run, int scope_column)
{
	values[column] = run->values[scope_column + 1];
	nulls[column] = run->nulls[scope_column + 1];
}

const char *
flow_state_name(enum flow_state state)
{
	switch (state)
	{
		case FLOW_RUNNING:
		case FLOW_READY:
			return "ready";
		case FLOW_WAITING:
			return "waiting";
		case FLOW_SUCCEEDED:
			return "succeeded";
		case FLOW_FAILED:
			return "failed";
	}
	return NULL;
}

static const char *
step_state_name(enum flow_step_state state)
{
	static const char *const names[] = {"waiting", "succeeded", "failed", "skipped"};

	return names[state];
}

static bool
is_final(const struct flow_run *run)
{
	return run->state == FLOW_SUCCEEDED || run->state == FLOW_FAILED;
}

static void
put_run(Tuplestorestate *rows, const struct flow_run *run, const char *network, TimestampTz now)
{
	const struct flow_definition *definition = run->definition;
	Datum values[RUN_COLUMNS];
	bool nulls[RUN_COLUMNS];
	int log = definition->scope.log_first;

	memset(nulls, true, sizeof(nulls));
	flow_row_put(values, nulls, RUN_KEY, db_hex_datum(run->key, sizeof(run->key)));
	put_scope(values, nulls, RUN_ID, run, definition->scope.run_first);
	put_scope(values, nulls, RUN_WORKFLOW, run, definition->scope.run_first + 1);
	flow_row_put(values, nulls, RUN_VERSION, Int32GetDatum(definition->version));
	flow_row_put(values, nulls, RUN_INCARNATION, Int32GetDatum(run->incarnation));
	flow_row_put(values, nulls, RUN_OWNER, ObjectIdGetDatum(definition->owner));
	flow_row_put(values, nulls, RUN_STATE, CStringGetTextDatum(flow_state_name(run->state)));
	flow_row_put(values, nulls, RUN_NEXT_STEP, Int32GetDatum(run->next_step));
	if (network != NULL)
		flow_row_put(values, nulls, RUN_NETWORK, CStringGetTextDatum(network));
	for (int i = 0; run->has_log && i <= RUN_ADDRESS - RUN_BLOCK_NUMBER; i++)
		put_scope(values, nulls, RUN_BLOCK_NUMBER + i, run, log + i);
	flow_row_put_jsonb(values, nulls, RUN_EVENT, run->event);
	flow_row_put_jsonb(values, nulls, RUN_INPUT, run->input);
	flow_row_put_jsonb(values, nulls, RUN_ERROR, run->error);
	flow_row_put(values, nulls, RUN_CREATED_AT, TimestampTzGetDatum(run->created_at));
	if (is_final(run))
		flow_row_put(values, nulls, RUN_FINISHED_AT, TimestampTzGetDatum(now));
	tuplestore_putvalues(rows, run_shape.desc, values, nulls);
}

/* Of occurrences whose key is known: those whose run stands no more. */
static struct db_statement return_runs = {
	.sql =
		"SELECT rflow_private.return_run(c.id, c.version, c.block_number, c.block_hash, "
		"                                c.block_timestamp, c.transaction_hash, "
		"                                c.transaction_index, c.log_index, c.address, c.event, "
		"                                c.created_at) "
		"  FROM \"rflow claim\" c "
		" CROSS JOIN LATERAL rflow_private.newest_incarnation(c.id) f "
		" WHERE f.detached_at IS NOT NULL OR f.retracted_at IS NOT NULL",
};

/* Puts the winners to the front of the array, in their order. */
static int
keep_winners(struct flow_run **runs, int count, int won)
{
	int kept = 0;

	if (won == count)
		return count;
	for (int i = 0; i < count; i++)
	{
		bool found = false;

		for (int j = 0; j < won && !found; j++)
			found = memcmp(DatumGetUUIDP(db_value(j, 1, NULL))->data, runs[i]->key, UUID_LEN) == 0;
		if (found)
			runs[kept++] = runs[i];
	}
	return kept;
}

void
flow_write_sends(struct flow_run **runs, int count, TimestampTz now)
{
	struct relay_send *sends;
	int total = 0;
	int next = 0;
	ListCell *cell;

	for (int i = 0; i < count; i++)
		total += list_length(runs[i]->sends);
	if (total == 0)
		return;
	sends = palloc(total * sizeof(struct relay_send));
	for (int i = 0; i < count; i++)
	{
		foreach (cell, runs[i]->sends)
			sends[next++] = *(struct relay_send *) lfirst(cell);
	}
	relay_queue(sends, total, now);
	next = 0;
	for (int i = 0; i < count; i++)
	{
		foreach (cell, runs[i]->sends)
			*(struct relay_send *) lfirst(cell) = sends[next++];
	}
}

static void
put_entry(Tuplestorestate *rows, const struct flow_run *run, const struct flow_entry *entry)
{
	int64 transaction_id = entry->send != NULL ? entry->send->id : entry->transaction_id;
	Datum values[STEP_COLUMNS];
	bool nulls[STEP_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	put_scope(values, nulls, STEP_RUN_ID, run, run->definition->scope.run_first);
	flow_row_put(values, nulls, STEP_STEP, CStringGetTextDatum(entry->step->name));
	flow_row_put(values, nulls, STEP_POSITION, Int32GetDatum(entry->step->index));
	flow_row_put(values, nulls, STEP_KIND, CStringGetTextDatum(entry->step->kind->name));
	flow_row_put(values, nulls, STEP_STATE, CStringGetTextDatum(step_state_name(entry->state)));
	flow_row_put(values, nulls, STEP_ATTEMPT, Int32GetDatum(entry->attempt));
	flow_row_put_jsonb(values, nulls, STEP_RESULT, entry->result);
	flow_row_put_jsonb(values, nulls, STEP_ERROR, entry->error);
	if (transaction_id != 0)
		flow_row_put(values, nulls, STEP_TRANSACTION_ID, Int64GetDatum(transaction_id));
	flow_row_put(values, nulls, STEP_STARTED_AT, TimestampTzGetDatum(entry->started_at));
	if (entry->finished_at != 0)
		flow_row_put(values, nulls, STEP_FINISHED_AT, TimestampTzGetDatum(entry->finished_at));
	tuplestore_putvalues(rows, step_shape.desc, values, nulls);
}

static void
execute_journal(struct db_statement *statement, struct flow_run **runs, int count)
{
	Tuplestorestate *rows = flow_rows_begin(&step_shape);
	bool any = false;
	ListCell *cell;

	for (int i = 0; i < count; i++)
	{
		foreach (cell, runs[i]->journal)
		{
			put_entry(rows, runs[i], lfirst(cell));
			any = true;
		}
	}
	if (any)
		(void) flow_rows_execute(statement, &step_shape, rows);
	else
		tuplestore_end(rows);
}

void
flow_write_journal(struct flow_run **runs, int count)
{
	execute_journal(&write_steps, runs, count);
}

/*
 * Is an executor to look at it, and from when? What was in the outbox before may have settled
 * before: then nobody tells the run any more.
 */
static bool
is_due(const struct flow_run *run)
{
	ListCell *cell;

	if (run->state == FLOW_READY)
		return true;
	if (run->state != FLOW_WAITING)
		return false;
	foreach (cell, run->sends)
	{
		if (((const struct relay_send *) lfirst(cell))->duplicate)
			return true;
	}
	return false;
}

void
flow_write_due(struct flow_run **runs, int count, TimestampTz now)
{
	Tuplestorestate *rows = NULL;

	for (int i = 0; i < count; i++)
	{
		Datum values[3];
		bool nulls[3] = {false, false, false};
		char bucket[2] = {runs[i]->id_text[0], '\0'};

		if (!is_due(runs[i]))
			continue;
		if (rows == NULL)
			rows = flow_rows_begin(&due_shape);
		values[0] = CStringGetTextDatum(bucket);
		values[1] = TimestampTzGetDatum(runs[i]->wake_at != 0 ? runs[i]->wake_at : now);
		values[2] = CStringGetTextDatum(runs[i]->id_text);
		tuplestore_putvalues(rows, due_shape.desc, values, nulls);
	}
	if (rows == NULL)
		return;
	(void) flow_rows_execute(&insert_due, &due_shape, rows);
	db_wake_at_commit(WAKE_EXECUTORS);
}

int
flow_claim(struct flow_run **runs, int count, const char *network, TimestampTz now)
{
	Tuplestorestate *rows = flow_rows_begin(&run_shape);
	int won;

	for (int i = 0; i < count; i++)
		put_run(rows, runs[i], network, now);
	db_register(run_shape.name, run_shape.desc, rows);
	won = (int) db_execute(&insert_runs, NULL, NULL);
	won = keep_winners(runs, count, won);
	if (won < count && db_execute(&return_runs, NULL, NULL) > 0)
		db_wake_at_commit(WAKE_EXECUTORS | WAKE_RELAYERS);
	db_unregister(run_shape.name);
	tuplestore_end(rows);
	flow_write_sends(runs, won, now);
	execute_journal(&insert_steps, runs, won);
	flow_write_due(runs, won, now);
	return won;
}
