/*
 * row_shape.h
 *	  Rows that statements read from tuplestores: their columns, and how they are filled.
 */
#ifndef FLOW_ROW_SHAPE_H
#define FLOW_ROW_SHAPE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "db/statement.h"
#include "utils/jsonb.h"
#include "utils/tuplestore.h"

#define ROW_SHAPE_MAX_COLUMNS 24

/* Placeholders for types whose OIDs are known only in the database. */
#define HEX_COLUMN ((Oid) 1)
#define ADDRESS_COLUMN ((Oid) 2)

/* A relation that a statement reads: its columns, and the descriptor made of them once. */
struct row_shape
{
	const char *name;
	struct
	{
		const char *name;
		Oid type; /* of ours: HEX_COLUMN or ADDRESS_COLUMN */
	} columns[ROW_SHAPE_MAX_COLUMNS];
	int count;
	TupleDesc desc; /* NULL until flow_rows_begin */
	Oid made_for;   /* db_types()->hex when desc was made */
};

/*
 * An empty store for rows of the shape, in the current context. Inside a transaction: the
 * descriptor is made then, and made again when the extension has been.
 */
extern Tuplestorestate *flow_rows_begin(struct row_shape *shape);

/* Runs a statement that reads the rows under the shape's name, and frees them; as db_execute. */
extern uint64 flow_rows_execute(struct db_statement *statement, struct row_shape *shape,
								Tuplestorestate *rows);

/* Set a column that was null. */
extern void flow_row_put(Datum *values, bool *nulls, int column, Datum value);
extern void flow_row_put_jsonb(Datum *values, bool *nulls, int column, Jsonb *json);

#endif /* FLOW_ROW_SHAPE_H */
