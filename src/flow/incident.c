/*
 * incident.c
 *	  Rows of rflow_private.incidents: what cannot go on by itself, why, since when, and what to do.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/statement.h"
#include "flow/incident.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

static struct db_statement open_incident = {
	.sql =
		"INSERT INTO rflow_private.incidents AS i (kind, workflow, subject, reason, what_to_do, "
		"since) "
		"VALUES ($1, $2, $3, $4, $5, $6) "
		"    ON CONFLICT (kind, subject) DO UPDATE "
		"   SET reason = excluded.reason, what_to_do = excluded.what_to_do, "
		"       since = CASE WHEN i.resolved_at IS NULL THEN i.since ELSE excluded.since END, "
		"       resolved_at = NULL "
		"RETURNING i.since = $6",
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID},
	.count = 6,
};

static struct db_statement close_incidents = {
	.sql =
		"UPDATE rflow_private.incidents i "
		"   SET resolved_at = pg_catalog.clock_timestamp() "
		" WHERE i.kind = $1 AND i.subject = ANY ($2) AND i.resolved_at IS NULL",
	.types = {TEXTOID, TEXTARRAYOID},
	.count = 2,
};

static struct db_statement any_incident = {
	.sql =
		"SELECT FROM rflow_private.incidents i WHERE i.kind = $1 AND i.resolved_at IS NULL LIMIT 1",
	.types = {TEXTOID},
	.count = 1,
};

bool
flow_open_incident(const char *kind, const char *workflow, const char *subject, const char *reason,
				   const char *what_to_do)
{
	Datum values[6];
	char nulls[] = "      ";

	values[0] = CStringGetTextDatum(kind);
	if (workflow != NULL)
		values[1] = CStringGetTextDatum(workflow);
	else
		nulls[1] = 'n';
	values[2] = CStringGetTextDatum(subject);
	values[3] = CStringGetTextDatum(reason);
	values[4] = CStringGetTextDatum(what_to_do);
	values[5] = TimestampTzGetDatum(GetCurrentTimestamp());
	(void) db_execute(&open_incident, values, nulls);
	return DatumGetBool(db_value(0, 1, NULL));
}

void
flow_close_incidents(const char *kind, List *subjects)
{
	Datum *texts = palloc(Max(list_length(subjects), 1) * sizeof(Datum));
	Datum values[2];
	int count = 0;
	ListCell *cell;

	foreach (cell, subjects)
		texts[count++] = CStringGetTextDatum((const char *) lfirst(cell));
	values[0] = CStringGetTextDatum(kind);
	values[1] = PointerGetDatum(construct_array(texts, count, TEXTOID, -1, false, TYPALIGN_INT));
	(void) db_execute(&close_incidents, values, NULL);
}

bool
flow_has_incidents(const char *kind)
{
	Datum value = CStringGetTextDatum(kind);

	return db_execute(&any_incident, &value, NULL) > 0;
}
