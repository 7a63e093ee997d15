/*
 * statement.h
 *	  SPI statements that are prepared once, kept, and run many times.
 *
 *	static struct db_statement advance_cursor = {
 *		.sql = "UPDATE rflow_private.cursors "
 *			   "   SET next_block = $2 "
 *			   " WHERE id = $1",
 *		.types = {INT8OID, INT8OID},
 *		.count = 2
 *	};
 *
 * A statement may read ephemeral named relations (tuplestores): they are
 * registered with db_register before it runs, in the same SPI connection.
 */
#ifndef DB_STATEMENT_H
#define DB_STATEMENT_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "utils/tuplestore.h"

#define DB_STATEMENT_MAX_PARAMETERS 24

struct db_statement
{
	const char *sql;
	Oid types[DB_STATEMENT_MAX_PARAMETERS];
	int count;
	SPIPlanPtr plan; /* kept for the life of the process */
};

/*
 * A transaction of our own: begin sets the timestamps, starts the transaction, connects
 * SPI, pushes a snapshot, and reports activity; commit and abort undo it and switch to
 * the memory context that was current at begin.  Results of statements live until then.
 */
extern void db_begin(const char *activity);
extern void db_commit(void);
extern void db_abort(void);
/* The clock when the commit of the last db_commit had returned, before anybody was woken for it. */
extern TimestampTz db_committed_at(void);
/*
 * Makes this commit wait for the WAL flush (true) or not (false), whatever the
 * configuration says.
 */
extern void db_synchronous_commit(bool wait);

/*
 * Runs the statement, and leaves the current memory context as it is; returns
 * SPI_processed, rows in SPI_tuptable.  Raises on any SPI failure.  nulls as for
 * SPI_execute_plan ('n' per NULL), or NULL when nothing is.
 */
extern uint64 db_execute(struct db_statement *statement, Datum *values, const char *nulls);

/*
 * As db_execute, but raises ERRCODE_SERIALIZATION_FAILURE "… has changed meanwhile"
 * unless exactly expected rows were touched: rule 2, every revision check that matches no
 * row aborts the transaction.
 */
extern void db_execute_exactly(struct db_statement *statement, Datum *values, const char *nulls,
							   uint64 expected, const char *what);

/* Column (1-based) of row of the last result; *isnull may be NULL when it cannot be. */
extern Datum db_value(uint64 row, int column, bool *isnull);
extern char *db_text(uint64 row, int column); /* NULL when NULL; palloc'd in the current context */
extern int64 db_int64(uint64 row, int column);

/* Offers rows under a name in the current SPI connection; constant estimate, so plans stay. */
extern void db_register(const char *name, TupleDesc desc, Tuplestorestate *rows);
extern void db_unregister(const char *name);

#endif /* DB_STATEMENT_H */
