/*
 * row_shape.c
 *	  Rows that statements read from tuplestores: their columns, and how they are filled.
 */
#include "postgres.h"

#include "db/datum.h"
#include "flow/row_shape.h"
#include "miscadmin.h"
#include "utils/memutils.h"

static Oid
column_type(Oid type)
{
	if (type == HEX_COLUMN)
		return db_types()->hex;
	if (type == ADDRESS_COLUMN)
		return db_types()->address;
	return type;
}

static void
describe(struct row_shape *shape)
{
	MemoryContext old;

	if (shape->desc != NULL && shape->made_for == db_types()->hex)
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	shape->desc = CreateTemplateTupleDesc(shape->count);
	for (int i = 0; i < shape->count; i++)
		TupleDescInitEntry(shape->desc, i + 1, shape->columns[i].name,
						   column_type(shape->columns[i].type), -1, 0);
	shape->made_for = db_types()->hex;
	MemoryContextSwitchTo(old);
}

Tuplestorestate *
flow_rows_begin(struct row_shape *shape)
{
	describe(shape);
	return tuplestore_begin_heap(false, false, work_mem);
}

uint64
flow_rows_execute(struct db_statement *statement, struct row_shape *shape, Tuplestorestate *rows)
{
	uint64 touched;

	db_register(shape->name, shape->desc, rows);
	touched = db_execute(statement, NULL, NULL);
	db_unregister(shape->name);
	tuplestore_end(rows);
	return touched;
}

void
flow_row_put(Datum *values, bool *nulls, int column, Datum value)
{
	values[column] = value;
	nulls[column] = false;
}

void
flow_row_put_jsonb(Datum *values, bool *nulls, int column, Jsonb *json)
{
	if (json != NULL)
		flow_row_put(values, nulls, column, JsonbPGetDatum(json));
}
