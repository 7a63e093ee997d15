/*
 * publish.c
 *	  Compiles workflows into versions, and gives them their place on the chain.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/owner.h"
#include "db/statement.h"
#include "flow/expression.h"
#include "flow/publish.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

static struct db_statement insert_version = {
	.sql =
		"INSERT INTO rflow.workflow_versions (workflow, version, definition, owner, search_path) "
		"VALUES ($1, $2, $3, $4, $5)",
	.types = {TEXTOID, INT4OID, JSONBOID, REGROLEOID, TEXTOID},
	.count = 5,
};

static struct db_statement next_version = {
	.sql =
		"SELECT coalesce(max(v.version), 0) + 1 "
		"  FROM rflow.workflow_versions v "
		" WHERE v.workflow = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement current_place = {
	.sql =
		"SELECT s.network, c.ceiling "
		"  FROM rflow_private.subscriptions s "
		"  LEFT JOIN rflow_private.cursors c ON c.id = s.cursor_id "
		" WHERE s.workflow = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement upsert_subscription = {
	.sql =
		"INSERT INTO rflow_private.subscriptions (workflow, network, cursor_id, since) "
		"VALUES ($1, $2, $3, pg_catalog.clock_timestamp()) "
		"    ON CONFLICT (workflow) DO UPDATE "
		"   SET network = excluded.network, cursor_id = excluded.cursor_id, since = excluded.since",
	.types = {TEXTOID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement insert_cursor = {
	.sql =
		"INSERT INTO rflow_private.cursors (network, ceiling, next_block) "
		"VALUES ($1, $2, $3) RETURNING id",
	.types = {TEXTOID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement delete_subscription = {
	.sql = "DELETE FROM rflow_private.subscriptions WHERE workflow = $1",
	.types = {TEXTOID},
	.count = 1,
};

/* A cursor of its own, at the place of the one it shared. */
static struct db_statement detach_cursor = {
	.sql =
		"WITH own AS ("
		"    INSERT INTO rflow_private.cursors (network, ceiling, next_block, next_log) "
		"    SELECT c.network, c.ceiling, c.next_block, c.next_log "
		"      FROM rflow_private.subscriptions s "
		"      JOIN rflow_private.cursors c ON c.id = s.cursor_id "
		"     WHERE s.workflow = $1 "
		"    RETURNING id) "
		"UPDATE rflow_private.subscriptions s SET cursor_id = own.id FROM own WHERE s.workflow = "
		"$1",
	.types = {TEXTOID},
	.count = 1,
};

/* The same place under another ceiling; one that waits to be adopted keeps waiting. */
static struct db_statement move_cursor = {
	.sql =
		"WITH own AS ("
		"    INSERT INTO rflow_private.cursors (network, ceiling, next_block, next_log) "
		"    SELECT c.network, $2, c.next_block, c.next_log "
		"      FROM rflow_private.subscriptions s "
		"      JOIN rflow_private.cursors c ON c.id = s.cursor_id "
		"     WHERE s.workflow = $1 "
		"    RETURNING id) "
		"UPDATE rflow_private.subscriptions s SET cursor_id = own.id FROM own WHERE s.workflow = "
		"$1",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

static struct db_statement skip_to_head = {
	.sql =
		"WITH skipped AS ("
		"    SELECT s.workflow, s.network, c.next_block, "
		"           (SELECT max(b.number) FROM rflow_private.blocks b WHERE b.network = "
		"s.network) AS head "
		"      FROM rflow_private.subscriptions s "
		"      JOIN rflow_private.cursors c ON c.id = s.cursor_id "
		"     WHERE s.workflow = $1), "
		"noted AS ("
		"    INSERT INTO rflow_private.incidents (kind, network, workflow, subject, reason, "
		"what_to_do, "
		"                                         resolved_at) "
		"    SELECT 'skipped', k.network, k.workflow, "
		"           pg_catalog.format('%s: blocks %s to %s', k.workflow, k.next_block, k.head), "
		"           'rflow.enable(…, resume => ''head'') was called', "
		"           'nothing: the blocks were skipped on purpose', pg_catalog.clock_timestamp() "
		"      FROM skipped k WHERE k.head >= k.next_block "
		"        ON CONFLICT (kind, subject) DO NOTHING) "
		"UPDATE rflow_private.subscriptions s "
		"   SET cursor_id = NULL, since = pg_catalog.clock_timestamp() "
		" WHERE s.workflow = $1",
	.types = {TEXTOID},
	.count = 1,
};

static void
name_workflow(void *arg)
{
	errcontext("workflow \"%s\"", ((const struct flow_workflow *) arg)->name);
}

Jsonb *
flow_compile(const struct flow_workflow *workflow)
{
	ErrorContextCallback callback = {0};
	struct db_identity_frame frame;
	struct flow_definition *definition;
	bool read_only = XactReadOnly;
	Jsonb *compiled;

	callback.previous = error_context_stack;
	callback.callback = name_workflow;
	callback.arg = unconstify(struct flow_workflow *, workflow);
	error_context_stack = &callback;
	db_act_as_superuser(&frame);
	compiled = flow_resolve(workflow->trigger, workflow->filter, workflow->once_per,
							workflow->steps, workflow->vars, workflow->owner);
	db_leave(&frame);
	error_context_stack =
		callback.previous; /* errors of expressions name the workflow themselves */

	definition = flow_load(CurrentMemoryContext, workflow->name, workflow->version, compiled,
						   workflow->owner, workflow->search_path);
	/*
	 * Input functions of constants run already here; an error sets XactReadOnly back as the end
	 * of a (sub)transaction does.
	 */
	XactReadOnly = true;
	db_act_as(&frame, workflow->owner, workflow->search_path, true);
	flow_check_expressions(definition);
	db_leave(&frame);
	XactReadOnly = read_only;
	flow_free(definition);
	return compiled;
}

void
flow_store_version(const struct flow_workflow *workflow, Jsonb *definition)
{
	Datum values[5];

	values[0] = CStringGetTextDatum(workflow->name);
	values[1] = Int32GetDatum(workflow->version);
	values[2] = JsonbPGetDatum(definition);
	values[3] = ObjectIdGetDatum(workflow->owner);
	values[4] = CStringGetTextDatum(workflow->search_path);
	db_execute_exactly(&insert_version, values, NULL, 1, "workflow");
}

int
flow_next_version(const char *name)
{
	Datum value = CStringGetTextDatum(name);

	(void) db_execute(&next_version, &value, NULL);
	return (int) db_int64(0, 1);
}

/* NULL for 'now': the watcher decides.  Otherwise a cursor of its own. */
static bool
start_cursor(const struct flow_workflow *workflow, const struct flow_definition *definition,
			 int64 *cursor)
{
	Datum values[3];
	int64 block = 0;

	if (strcmp(workflow->start_at, "now") == 0)
		return false;
	if (strcmp(workflow->start_at, "earliest") != 0)
		block = pg_strtoint64(workflow->start_at);
	values[0] = CStringGetTextDatum(definition->trigger.target.network);
	values[1] = CStringGetTextDatum(definition->trigger.ceiling);
	values[2] = Int64GetDatum(block);
	(void) db_execute(&insert_cursor, values, NULL);
	*cursor = db_int64(0, 1);
	return true;
}

/*
 * On the network it was on it stays where it is: nothing is skipped. False when it is new there.
 */
static bool
stay_in_place(const struct flow_workflow *workflow, const struct flow_definition *definition)
{
	const char *wanted = definition->trigger.ceiling;
	const char *ceiling;
	Datum values[2];

	values[0] = CStringGetTextDatum(workflow->name);
	values[1] = CStringGetTextDatum(wanted);
	if (db_execute(&current_place, values, NULL) != 1 ||
		strcmp(db_text(0, 1), definition->trigger.target.network) != 0)
		return false;
	ceiling = db_text(0, 2);
	if (ceiling != NULL && strcmp(ceiling, wanted) != 0)
		(void) db_execute(&move_cursor, values, NULL);
	return true;
}

void
flow_subscribe(const struct flow_workflow *workflow, Jsonb *compiled, bool keep)
{
	struct flow_definition *definition =
		flow_load(CurrentMemoryContext, workflow->name, workflow->version, compiled,
				  workflow->owner, workflow->search_path);
	Datum values[3];
	int64 cursor = 0;
	bool has_cursor;

	if (definition->trigger.kind != FLOW_ON_EVENT)
		flow_unsubscribe(workflow->name);
	else if (!keep || !stay_in_place(workflow, definition))
	{
		has_cursor = start_cursor(workflow, definition, &cursor);
		values[0] = CStringGetTextDatum(workflow->name);
		values[1] = CStringGetTextDatum(definition->trigger.target.network);
		values[2] = Int64GetDatum(cursor);
		db_execute_exactly(&upsert_subscription, values, has_cursor ? NULL : "  n", 1, "workflow");
	}
	flow_free(definition);
}

void
flow_unsubscribe(const char *name)
{
	Datum value = CStringGetTextDatum(name);

	(void) db_execute(&delete_subscription, &value, NULL);
}

void
flow_detach_cursor(const char *name)
{
	Datum value = CStringGetTextDatum(name);

	(void) db_execute(&detach_cursor, &value, NULL);
}

void
flow_skip_to_head(const char *name)
{
	Datum value = CStringGetTextDatum(name);

	(void) db_execute(&skip_to_head, &value, NULL);
}
