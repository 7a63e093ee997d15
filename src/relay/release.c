/*
 * release.c
 *	  Looks again at what waits for a window or a pause, once policies or pauses are others.
 *
 * Without it a limit that was raised would help only when the old one's time has come.  What is
 * still not allowed is held anew; what a reorganisation holds (until infinity) is none of it.
 * Rows that somebody has locked stay until their time.
 */
#include "postgres.h"

#include "relay/release.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/statement.h"

static struct db_statement release_held = {
	.sql =
		"WITH held AS MATERIALIZED ("
		"    SELECT t.id, t.relayer, t.due_at"
		"      FROM rflow_private.due d"
		"      JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint"
		"     WHERE d.kind = 'send' AND d.owner = ANY ($1) AND d.wake_at > $2"
		"       AND d.wake_at < 'infinity' AND t.state = 'queued' AND t.due_at = d.wake_at"
		"     ORDER BY t.id"
		"       FOR UPDATE OF t SKIP LOCKED), "
		"gone AS ("
		"    DELETE FROM rflow_private.due d"
		"     USING held h"
		"     WHERE d.kind = 'send' AND d.owner = h.relayer AND d.wake_at = h.due_at"
		"       AND d.id = pg_catalog.lpad(h.id::text, 19, '0')), "
		"added AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', relayer, '-infinity', pg_catalog.lpad(id::text, 19, '0')"
		"      FROM held) "
		"UPDATE rflow_private.relayer_transactions t"
		"   SET due_at = '-infinity'"
		"  FROM held h"
		" WHERE t.id = h.id",
	.types = {TEXTARRAYOID, TIMESTAMPTZOID},
	.count = 2,
};

bool
relay_release_held(struct relay_process *process)
{
	Datum *names = palloc(sizeof(Datum) * (process->account_count + 1));
	Datum parameters[2];
	int i;

	if (process->rules == process->released_rules)
		return true;
	if (!process->begin(process->context, "relayer: rules have changed"))
		return false;
	for (i = 0; i < process->account_count; i++)
		names[i] = CStringGetTextDatum(process->accounts[i].name);
	parameters[0] = PointerGetDatum(
		construct_array(names, process->account_count, TEXTOID, -1, false, TYPALIGN_INT));
	parameters[1] = TimestampTzGetDatum(GetCurrentTimestamp());
	(void) db_execute(&release_held, parameters, NULL);
	db_commit();
	process->released_rules = process->rules;
	return true;
}
