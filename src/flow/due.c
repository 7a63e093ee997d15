/*
 * due.c
 *	  Runs that are due: rows of rflow_private.due of kind 'run'.
 *
 * Rows are inserted and deleted, never updated, and deleted by their whole key: a row that
 * somebody adds while a run is in hand stays, and makes the run be looked at once more.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "flow/due.h"
#include "flow/row_shape.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* One statement: what is due, and of each bucket when the first of the others will be. */
static struct db_statement read_due = {
	.sql =
		"SELECT d.owner, d.wake_at, d.id "
		"  FROM unnest($1) AS b(owner) "
		" CROSS JOIN LATERAL ( "
		"       SELECT o.owner, o.wake_at, o.id "
		"         FROM rflow_private.due o "
		"        WHERE o.kind = 'run' AND o.owner = b.owner AND o.wake_at <= $2 "
		"        ORDER BY o.wake_at, o.id "
		"        LIMIT $3) d "
		" UNION ALL "
		"SELECT d.owner, d.wake_at, NULL "
		"  FROM unnest($1) AS b(owner) "
		" CROSS JOIN LATERAL ( "
		"       SELECT o.owner, o.wake_at "
		"         FROM rflow_private.due o "
		"        WHERE o.kind = 'run' AND o.owner = b.owner AND o.wake_at > $2 "
		"        ORDER BY o.wake_at "
		"        LIMIT 1) d "
		" ORDER BY 2, 3",
	.types = {TEXTARRAYOID, TIMESTAMPTZOID, INT4OID},
	.count = 3,
};

static struct row_shape taken_shape = {
	.name = "rflow taken",
	.columns = {{"owner", TEXTOID}, {"wake_at", TIMESTAMPTZOID}, {"id", TEXTOID}},
	.count = 3,
};

static struct db_statement delete_taken = {
	.sql =
		"DELETE FROM rflow_private.due d USING \"rflow taken\" t "
		" WHERE d.kind = 'run' AND d.owner = t.owner AND d.wake_at = t.wake_at AND d.id = t.id",
};

static struct db_statement postpone = {
	.sql =
		"INSERT INTO rflow_private.due (kind, owner, wake_at, id) "
		"SELECT DISTINCT 'run', t.owner, t.wake_at, t.id FROM \"rflow taken\" t "
		"    ON CONFLICT DO NOTHING",
};

static Datum
bucket_array(int index, int count)
{
	static const char digits[FLOW_BUCKETS + 1] = "0123456789abcdef";
	Datum buckets[FLOW_BUCKETS];
	int size = 0;

	for (int i = index; i < FLOW_BUCKETS; i += count)
		buckets[size++] = PointerGetDatum(cstring_to_text_with_len(&digits[i], 1));
	return PointerGetDatum(construct_array(buckets, size, TEXTOID, -1, false, TYPALIGN_INT));
}

void
flow_read_due(struct flow_due_list *out, int index, int count, TimestampTz now, int limit)
{
	Datum values[3];
	uint64 rows;

	values[0] = bucket_array(index, count);
	values[1] = TimestampTzGetDatum(now);
	values[2] = Int32GetDatum(limit);
	rows = db_execute(&read_due, values, NULL);
	out->rows = palloc(Max(rows, 1) * sizeof(struct flow_due));
	out->count = 0;
	TIMESTAMP_NOEND(out->next_at);
	for (uint64 i = 0; i < rows; i++)
	{
		TimestampTz wake_at = DatumGetTimestampTz(db_value(i, 2, NULL));
		char *id = db_text(i, 3);
		struct flow_due *due = &out->rows[out->count];

		if (id == NULL)
		{
			out->next_at = Min(out->next_at, wake_at);
			continue;
		}
		due->bucket = db_text(i, 1)[0];
		due->wake_at = wake_at;
		strlcpy(due->run_id, id, sizeof(due->run_id));
		out->count++;
	}
}

static Tuplestorestate *
rows_of(List *due, const TimestampTz *wake_at)
{
	Tuplestorestate *rows = flow_rows_begin(&taken_shape);
	ListCell *cell;

	foreach (cell, due)
	{
		const struct flow_due *row = lfirst(cell);
		bool nulls[3] = {false, false, false};
		Datum values[3];

		values[0] = PointerGetDatum(cstring_to_text_with_len(&row->bucket, 1));
		values[1] = TimestampTzGetDatum(wake_at != NULL ? *wake_at : row->wake_at);
		values[2] = CStringGetTextDatum(row->run_id);
		tuplestore_putvalues(rows, taken_shape.desc, values, nulls);
	}
	return rows;
}

void
flow_delete_due(List *due)
{
	if (due != NIL)
		(void) flow_rows_execute(&delete_taken, &taken_shape, rows_of(due, NULL));
}

void
flow_postpone_due(List *due, TimestampTz wake_at)
{
	flow_delete_due(due);
	if (due != NIL)
		(void) flow_rows_execute(&postpone, &taken_shape, rows_of(due, &wake_at));
}
