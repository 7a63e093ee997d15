/*
 * journal.c
 *	  Runs that exist: loaded from their rows, gone on with, and written back.
 *
 * A run in hand is not locked. Its row has a revision that every write checks and raises: whoever
 * changes the run meanwhile (a cancel, say) makes the write fail, and what was computed is thrown
 * away.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "evm/hex.h"
#include "flow/claim.h"
#include "flow/journal.h"
#include "flow/row_shape.h"
#include "flow/step_kind.h"
#include "flow/versions.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

static struct db_statement read_runs = {
	.sql =
		"SELECT r.id, r.workflow, r.version, r.incarnation, r.state, r.next_step, r.revision, "
		"       r.block_number, r.block_hash, r.block_timestamp, r.transaction_hash, "
		"       r.transaction_index, r.log_index, r.address, r.event, r.input, r.created_at, "
		"       r.detached_at IS NOT NULL "
		"  FROM rflow_private.workflow_runs r "
		" WHERE r.id = ANY ($1)",
	.types = {UUIDARRAYOID},
	.count = 1,
};

static struct db_statement read_steps = {
	.sql =
		"SELECT s.run_id, s.step, s.state, s.attempt, s.result, s.transaction_id, s.started_at, "
		"       s.error IS NULL "
		"  FROM rflow_private.step_runs s "
		" WHERE s.run_id = ANY ($1)",
	.types = {UUIDARRAYOID},
	.count = 1,
};

enum
{
	ADVANCE_ID,
	ADVANCE_REVISION,
	ADVANCE_STATE,
	ADVANCE_NEXT_STEP,
	ADVANCE_ERROR,
	ADVANCE_FINISHED_AT,
	ADVANCE_COLUMNS
};

static struct row_shape advance_shape = {.name = "rflow advance",
										 .columns = {{"id", UUIDOID},
													 {"revision", INT4OID},
													 {"state", TEXTOID},
													 {"next_step", INT4OID},
													 {"error", JSONBOID},
													 {"finished_at", TIMESTAMPTZOID}},
										 .count = ADVANCE_COLUMNS};

static struct db_statement update_runs = {
	.sql =
		"UPDATE rflow_private.workflow_runs r "
		"   SET state = a.state, next_step = a.next_step, revision = r.revision + 1, "
		"       error = a.error, finished_at = a.finished_at "
		"  FROM \"rflow advance\" a "
		" WHERE r.id = a.id AND r.revision = a.revision AND r.state IN ('ready', 'waiting')",
};

/* A row of workflow_runs, before its version is known. */
struct run_row
{
	pg_uuid_t id;
	const char *workflow;
	int version;
	int incarnation;
	const char *state;
	int next_step;
	int revision;
	bool has_log;
	struct flow_log log;
	Jsonb *event;
	Jsonb *input;
	TimestampTz created_at;
	bool detached;
};

bool
flow_run_is_final(const struct flow_run *run)
{
	return run->state == FLOW_SUCCEEDED || run->state == FLOW_FAILED;
}

/* ---- loading ------------------------------------------------------------------------ */

static Datum
id_array(const struct flow_due *due, int count)
{
	Datum *ids = palloc(count * sizeof(Datum));

	for (int i = 0; i < count; i++)
		ids[i] = DirectFunctionCall1(uuid_in, CStringGetDatum(due[i].run_id));
	return PointerGetDatum(construct_array(ids, count, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR));
}

static void
read_hash(struct evm_hash *out, uint64 row, int column)
{
	struct evm_bytes bytes = db_datum_hex(db_value(row, column, NULL));

	if (bytes.len != sizeof(out->b))
		elog(ERROR, "a run has a hash of %zu bytes", bytes.len);
	memcpy(out->b, bytes.data, sizeof(out->b));
}

static void
read_log(struct flow_log *out, uint64 row)
{
	out->block_number = db_int64(row, 8);
	read_hash(&out->block_hash, row, 9);
	out->block_timestamp = DatumGetTimestampTz(db_value(row, 10, NULL));
	read_hash(&out->transaction_hash, row, 11);
	out->transaction_index = (int) db_int64(row, 12);
	out->log_index = (int) db_int64(row, 13);
	out->address = *db_datum_address(db_value(row, 14, NULL));
}

static Jsonb *
read_jsonb(uint64 row, int column)
{
	bool isnull;
	Datum value = db_value(row, column, &isnull);

	return isnull ? NULL : DatumGetJsonbPCopy(value);
}

static void
read_run(struct run_row *out, uint64 row)
{
	bool isnull;

	memcpy(out->id.data, DatumGetUUIDP(db_value(row, 1, NULL))->data, UUID_LEN);
	out->workflow = db_text(row, 2);
	out->version = (int) db_int64(row, 3);
	out->incarnation = (int) db_int64(row, 4);
	out->state = db_text(row, 5);
	out->next_step = (int) db_int64(row, 6);
	out->revision = (int) db_int64(row, 7);
	(void) db_value(row, 8, &isnull);
	out->has_log = !isnull;
	if (out->has_log)
		read_log(&out->log, row);
	out->event = read_jsonb(row, 15);
	out->input = read_jsonb(row, 16);
	out->created_at = DatumGetTimestampTz(db_value(row, 17, NULL));
	out->detached = DatumGetBool(db_value(row, 18, NULL));
}

static void
restore_event(struct flow_run *run, Jsonb *event, struct evm_arena *arena)
{
	const struct evm_abi_item *item = run->definition->trigger.target.item;

	if (event != NULL && item != NULL)
		flow_run_set_event(run,
						   db_abi_params_from_jsonb(arena, item->inputs, item->input_count, event,
													"event"));
}

static enum flow_state
state_from_name(const char *name)
{
	if (strcmp(name, "ready") == 0)
		return FLOW_RUNNING;
	if (strcmp(name, "succeeded") == 0)
		return FLOW_SUCCEEDED;
	if (strcmp(name, "failed") == 0 || strcmp(name, "cancelled") == 0)
		return FLOW_FAILED;
	return FLOW_WAITING;
}

static struct flow_run *
make_run(const struct run_row *row, struct evm_arena *arena)
{
	struct flow_definition *definition = flow_version(row->workflow, row->version);
	uint8 key[32] = {0};
	struct flow_run *run;

	if (definition == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("workflow \"%s\" has no version %d", row->workflow, row->version)));
	memcpy(key, row->id.data, UUID_LEN);
	run = flow_run_create(definition, key, row->created_at);
	run->incarnation = row->incarnation;
	run->state = state_from_name(row->state);
	run->held = row->detached;
	if (run->held && run->state == FLOW_RUNNING)
		run->state = FLOW_WAITING;
	run->next_step = row->next_step;
	run->revision = row->revision;
	if (row->has_log)
		flow_run_set_log(run, &row->log);
	restore_event(run, row->event, arena);
	flow_run_set_input(run, row->input);
	return run;
}

static struct flow_run *
find_run(struct flow_run **runs, int count, const uint8 *id)
{
	for (int i = 0; i < count; i++)
	{
		if (memcmp(runs[i]->key, id, UUID_LEN) == 0)
			return runs[i];
	}
	return NULL;
}

/* A settled step gives its outputs; the one the run stands at says which try it is. */
static void
restore_step(struct flow_run *run, uint64 row, struct evm_arena *arena)
{
	int index = flow_find_step(run->definition, db_text(row, 2));
	const char *state = db_text(row, 3);
	Jsonb *result = read_jsonb(row, 5);
	struct flow_step *step;
	bool isnull;
	Datum transaction;

	if (index < 0)
		return;
	step = &run->definition->steps[index];
	if (strcmp(state, "succeeded") == 0 && result != NULL && step->kind->restore != NULL)
		step->kind->restore(run, step, result, arena);
	if (index != run->next_step || strcmp(state, "waiting") != 0)
		return;
	run->attempt = (int) db_int64(row, 4);
	transaction = db_value(row, 6, &isnull);
	run->transaction_id = isnull ? 0 : DatumGetInt64(transaction);
	run->step_started_at = DatumGetTimestampTz(db_value(row, 7, NULL));
	/* Begun, and nothing was heard of it: its process has ended. */
	if (step->kind->execute != NULL && DatumGetBool(db_value(row, 8, NULL)))
		run->attempt++;
}

static void
restore_steps(struct flow_run **runs, int count, Datum ids, struct evm_arena *arena)
{
	uint64 rows = db_execute(&read_steps, &ids, NULL);

	for (uint64 i = 0; i < rows; i++)
	{
		struct flow_run *run = find_run(runs, count, DatumGetUUIDP(db_value(i, 1, NULL))->data);

		if (run != NULL)
			restore_step(run, i, arena);
	}
}

/* Each run gets the rows that made it due. */
static void
assign_due(struct flow_run **runs, int count, struct flow_due *due, int due_count, List **orphans)
{
	for (int i = 0; i < due_count; i++)
	{
		int j = 0;

		while (j < count && strcmp(runs[j]->id_text, due[i].run_id) != 0)
			j++;
		if (j < count)
			runs[j]->due = lappend(runs[j]->due, &due[i]);
		else
			*orphans = lappend(*orphans, &due[i]);
	}
}

struct flow_run **
flow_load_runs(struct flow_due *due, int due_count, struct evm_arena *arena, int *count,
			   List **orphans)
{
	Datum ids = id_array(due, due_count);
	int found = (int) db_execute(&read_runs, &ids, NULL);
	struct run_row *rows = palloc0(Max(found, 1) * sizeof(struct run_row));
	struct flow_run **runs = palloc(Max(found, 1) * sizeof(struct flow_run *));

	for (int i = 0; i < found; i++)
		read_run(&rows[i], i);
	for (int i = 0; i < found; i++)
		runs[i] = make_run(&rows[i], arena);
	restore_steps(runs, found, ids, arena);
	assign_due(runs, found, due, due_count, orphans);
	*count = found;
	return runs;
}

/* ---- waiting ------------------------------------------------------------------------ */

/* Everybody locks transactions in the order of their ids. */
static int
compare_awaited(const void *a, const void *b)
{
	int64 left = (*(struct flow_run *const *) a)->transaction_id;
	int64 right = (*(struct flow_run *const *) b)->transaction_id;

	return left < right ? -1 : left > right;
}

void
flow_resume_runs(struct flow_run **runs, int count)
{
	qsort(runs, count, sizeof(struct flow_run *), compare_awaited);
	for (int i = 0; i < count; i++)
	{
		struct flow_run *run = runs[i];
		struct flow_step *step;

		if (run->state != FLOW_WAITING || run->held)
			continue;
		if (run->transaction_id == 0)
			elog(ERROR, "run %s waits for nothing", run->id_text);
		step = &run->definition->steps[run->next_step];
		step->kind->resume(run, step);
	}
}

/* ---- writing ------------------------------------------------------------------------ */

static void
put_advance(Tuplestorestate *rows, const struct flow_run *run, TimestampTz now)
{
	int id = run->definition->scope.run_first + 1;
	Datum values[ADVANCE_COLUMNS];
	bool nulls[ADVANCE_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	flow_row_put(values, nulls, ADVANCE_ID, run->values[id]);
	flow_row_put(values, nulls, ADVANCE_REVISION, Int32GetDatum(run->revision));
	flow_row_put(values, nulls, ADVANCE_STATE, CStringGetTextDatum(flow_state_name(run->state)));
	flow_row_put(values, nulls, ADVANCE_NEXT_STEP, Int32GetDatum(run->next_step));
	flow_row_put_jsonb(values, nulls, ADVANCE_ERROR, run->error);
	if (flow_run_is_final(run))
		flow_row_put(values, nulls, ADVANCE_FINISHED_AT, TimestampTzGetDatum(now));
	tuplestore_putvalues(rows, advance_shape.desc, values, nulls);
}

static int
compare_ids(const void *a, const void *b)
{
	return memcmp((*(struct flow_run *const *) a)->key, (*(struct flow_run *const *) b)->key,
				  UUID_LEN);
}

/* Everybody locks runs in the order of their ids, too. */
static void
update_rows(struct flow_run **runs, int count, TimestampTz now)
{
	Tuplestorestate *rows = flow_rows_begin(&advance_shape);
	struct flow_run **ordered = palloc(count * sizeof(struct flow_run *));
	uint64 touched;

	memcpy(ordered, runs, count * sizeof(struct flow_run *));
	qsort(ordered, count, sizeof(struct flow_run *), compare_ids);
	for (int i = 0; i < count; i++)
		put_advance(rows, ordered[i], now);
	touched = flow_rows_execute(&update_runs, &advance_shape, rows);
	if (touched != (uint64) count)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("a run has changed meanwhile"),
				 errdetail("%d runs were to be written, %llu were as they had been read.", count,
						   (unsigned long long) touched)));
}

void
flow_write_runs(struct flow_run **runs, int count, TimestampTz now)
{
	List *taken = NIL;

	if (count == 0)
		return;
	update_rows(runs, count, now);
	for (int i = 0; i < count; i++)
	{
		if (runs[i]->state != FLOW_RUNNING)
			taken = list_concat(taken, runs[i]->due);
	}
	flow_delete_due(taken);
	flow_write_sends(runs, count, now);
	flow_write_journal(runs, count);
	flow_write_due(runs, count, now);
}

void
flow_runs_written(struct flow_run **runs, int count)
{
	for (int i = 0; i < count; i++)
	{
		runs[i]->revision++;
		runs[i]->journal = NIL;
		runs[i]->sends = NIL;
	}
}
