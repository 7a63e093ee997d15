/*
 * cursor.c
 *	  Reads, adopts, merges and advances cursors.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "chain/cursor.h"
#include "db/statement.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

static struct db_statement cursors_in_use = {
	.sql =
		"SELECT c.id, c.ceiling, c.next_block, c.next_log, c.revision, s.workflow "
		"  FROM rflow_private.subscriptions s "
		"  JOIN rflow.workflows w ON w.name = s.workflow AND w.enabled "
		"  JOIN rflow_private.cursors c ON c.id = s.cursor_id "
		" WHERE s.network = $1 "
		" ORDER BY c.next_block, c.next_log, c.id, s.workflow",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement homeless = {
	.sql =
		"SELECT s.workflow, v.definition->'trigger'->>'ceiling', s.since "
		"  FROM rflow_private.subscriptions s "
		"  JOIN rflow.workflows w ON w.name = s.workflow AND w.enabled "
		"  JOIN rflow.workflow_versions v ON v.workflow = w.name AND v.version = w.version "
		" WHERE s.network = $1 AND s.cursor_id IS NULL "
		" ORDER BY s.since",
	.types = {TEXTOID},
	.count = 1,
};

/*
 * The shared cursor of a ceiling is the furthest one; that of a disabled workflow is kept for it
 * alone.
 */
static struct db_statement shared_cursor = {
	.sql =
		"SELECT c.id FROM rflow_private.cursors c "
		"  JOIN rflow_private.subscriptions s ON s.cursor_id = c.id "
		"  JOIN rflow.workflows w ON w.name = s.workflow AND w.enabled "
		" WHERE c.network = $1 AND c.ceiling = $2 "
		" ORDER BY c.next_block DESC, c.next_log DESC, c.id LIMIT 1",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

static struct db_statement new_cursor = {
	.sql =
		"INSERT INTO rflow_private.cursors (network, ceiling, next_block) "
		"VALUES ($1, $2, $3) RETURNING id",
	.types = {TEXTOID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement adopt = {
	.sql = "UPDATE rflow_private.subscriptions SET cursor_id = $2 WHERE workflow = $1",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static struct db_statement merge = {
	.sql =
		"WITH live AS ("
		"    SELECT DISTINCT c.id, c.ceiling, c.next_block, c.next_log "
		"      FROM rflow_private.cursors c "
		"      JOIN rflow_private.subscriptions s ON s.cursor_id = c.id "
		"      JOIN rflow.workflows w ON w.name = s.workflow AND w.enabled "
		"     WHERE c.network = $1), "
		"shared AS ("
		"    SELECT l.ceiling, l.next_block, l.next_log, min(l.id) AS id "
		"      FROM live l GROUP BY l.ceiling, l.next_block, l.next_log) "
		"UPDATE rflow_private.subscriptions s "
		"   SET cursor_id = shared.id "
		"  FROM live, shared "
		" WHERE live.id = s.cursor_id AND live.id <> shared.id AND live.ceiling = shared.ceiling "
		"AND "
		"       live.next_block = shared.next_block AND live.next_log = shared.next_log",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement delete_unused = {
	.sql =
		"DELETE FROM rflow_private.cursors c "
		" WHERE c.network = $1 AND "
		"       NOT EXISTS (SELECT FROM rflow_private.subscriptions s WHERE s.cursor_id = c.id)",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement advance = {
	.sql =
		"UPDATE rflow_private.cursors "
		"   SET next_block = $3, next_log = $4, revision = revision + 1 "
		" WHERE id = $1 AND revision = $2",
	.types = {INT8OID, INT8OID, INT8OID, INT4OID},
	.count = 4,
};

/*
 * The first block of the window that is not older than a moment; block times are whole seconds.
 *
 * The chain's clock is not ours: where it is ahead (a development chain that was moved in time, a
 * server that is slow) blocks of long ago would look new. So a block must also be no older,
 * counted back from the newest one, than the moment is by our own clock.
 */
static int64
first_block_since(const struct chain *chain, TimestampTz since)
{
	TimestampTz tip_time = chain_timestamp(chain_header_at(chain, chain->tip)->timestamp);
	TimestampTz age = Max(GetCurrentTimestamp() - since, 0);
	TimestampTz threshold = Max(since, tip_time - age) - USECS_PER_SEC;
	int64 number = chain->tip + 1;

	while (number > chain->first &&
		   chain_timestamp(chain_header_at(chain, number - 1)->timestamp) > threshold)
		number--;
	return number;
}

static int64
find_shared_cursor(const struct chain *chain, const char *ceiling, TimestampTz since)
{
	Datum values[3] = {CStringGetTextDatum(chain->network), CStringGetTextDatum(ceiling)};

	if (db_execute(&shared_cursor, values, NULL) == 1)
		return db_int64(0, 1);
	values[2] = Int64GetDatum(first_block_since(chain, since));
	(void) db_execute(&new_cursor, values, NULL);
	return db_int64(0, 1);
}

struct homeless_workflow
{
	char *name;
	char *ceiling;
	TimestampTz since;
};

static void
adopt_homeless(const struct chain *chain)
{
	Datum network = CStringGetTextDatum(chain->network);
	int count = (int) db_execute(&homeless, &network, NULL);
	struct homeless_workflow *workflows = palloc(Max(count, 1) * sizeof(*workflows));

	for (int i = 0; i < count; i++)
	{
		workflows[i].name = db_text(i, 1);
		workflows[i].ceiling = db_text(i, 2);
		workflows[i].since = DatumGetTimestampTz(db_value(i, 3, NULL));
	}
	for (int i = 0; i < count; i++)
	{
		Datum values[2];

		values[0] = CStringGetTextDatum(workflows[i].name);
		values[1] =
			Int64GetDatum(find_shared_cursor(chain, workflows[i].ceiling, workflows[i].since));
		(void) db_execute(&adopt, values, NULL);
	}
}

List *
chain_load_cursors(const struct chain *chain, int log_range)
{
	Datum network = CStringGetTextDatum(chain->network);
	struct chain_cursor *cursor = NULL;
	List *cursors = NIL;
	uint64 count;

	adopt_homeless(chain);
	(void) db_execute(&merge, &network, NULL);
	(void) db_execute(&delete_unused, &network, NULL);
	count = db_execute(&cursors_in_use, &network, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		if (cursor == NULL || cursor->id != db_int64(i, 1))
		{
			cursor = palloc0(sizeof(struct chain_cursor));
			cursor->id = db_int64(i, 1);
			cursor->ceiling = db_text(i, 2);
			cursor->next_block = db_int64(i, 3);
			cursor->next_log = (int) db_int64(i, 4);
			cursor->revision = db_int64(i, 5);
			cursor->range = log_range;
			cursors = lappend(cursors, cursor);
		}
		cursor->workflows = lappend(cursor->workflows, db_text(i, 6));
	}
	return cursors;
}

int64
chain_ceiling(const struct chain *chain, const struct chain_cursor *cursor)
{
	if (strcmp(cursor->ceiling, "head") == 0)
		return chain->tip;
	if (strcmp(cursor->ceiling, "safe") == 0)
		return Min(chain->safe, chain->tip);
	if (strcmp(cursor->ceiling, "finalized") == 0)
		return Min(chain->finalized, chain->tip);
	return chain->tip - atoi(cursor->ceiling);
}

void
chain_advance_cursor(struct chain_cursor *cursor, int64 next_block, int next_log)
{
	Datum values[4];

	values[0] = Int64GetDatum(cursor->id);
	values[1] = Int64GetDatum(cursor->revision);
	values[2] = Int64GetDatum(next_block);
	values[3] = Int32GetDatum(next_log);
	db_execute_exactly(&advance, values, NULL, 1, psprintf("cursor " INT64_FORMAT, cursor->id));
	cursor->revision++;
	cursor->next_block = next_block;
	cursor->next_log = next_log;
}
