/*
 * held.c
 *	  Runs that a reorganisation has left without their block: found again, re-attached, retracted.
 *
 * An event that is on the chain again is recognised by what it is, before any filter: a filter may
 * look at what the run has done since, and would then deny the event that the run is for.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "flow/held.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

static struct db_statement has_held = {
	.sql =
		"SELECT FROM rflow_private.workflow_runs r "
		" WHERE r.network = $1 AND (r.detached_at IS NOT NULL OR r.follows IS NOT NULL) "
		"   AND (r.detached_at IS NOT NULL OR r.state = 'queued') "
		" UNION ALL "
		"SELECT FROM rflow.relayers l "
		"  JOIN rflow_private.due d "
		"    ON d.kind = 'send' AND d.owner = l.name AND d.wake_at = 'infinity' "
		"  JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint "
		"  JOIN rflow_private.workflow_runs r ON r.id = t.run_id "
		" WHERE r.network = $1 "
		" LIMIT 1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement load_held = {
	.sql =
		"SELECT r.id::text, coalesce(r.origin, r.id), r.workflow, r.transaction_hash, r.address, "
		"       r.event "
		"  FROM rflow_private.workflow_runs r "
		" WHERE r.network = $1 AND r.detached_at IS NOT NULL",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement load_retractable = {
	.sql =
		"SELECT r.id::text, r.first_run, r.workflow, "
		"       v.definition ? 'once_per', r.block_number, r.block_hash, r.transaction_hash, "
		"       r.address "
		"  FROM rflow_private.retractable_runs r "
		"  JOIN rflow_private.workflow_runs w ON w.id = r.id "
		"  JOIN rflow.workflow_versions v ON v.workflow = w.workflow AND v.version = w.version "
		" WHERE r.network = $1 "
		" ORDER BY r.id "
		" LIMIT $2",
	.types = {TEXTOID, INT4OID},
	.count = 2,
};

static struct db_statement reattach_run = {
	.sql = "SELECT rflow_private.reattach_run($1::uuid, $2, $3::rflow.hex, $4, $5, $6)",
	.types = {TEXTOID, INT8OID, BYTEAOID, TIMESTAMPTZOID, INT4OID, INT4OID},
	.count = 6,
};

static struct db_statement retract_run = {
	.sql = "SELECT rflow_private.retract_run($1::uuid, $2)",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

static struct db_statement settle = {
	.sql = "SELECT rflow_private.settle_reorgs($1)",
	.types = {TEXTOID},
	.count = 1,
};

bool
flow_has_held(const char *network)
{
	Datum value = CStringGetTextDatum(network);

	return db_execute(&has_held, &value, NULL) > 0;
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
read_uuid(uint8 *out, uint64 row, int column)
{
	memcpy(out, DatumGetUUIDP(db_value(row, column, NULL))->data, UUID_LEN);
}

List *
flow_load_held(const char *network)
{
	Datum value = CStringGetTextDatum(network);
	uint64 count = db_execute(&load_held, &value, NULL);
	List *result = NIL;

	for (uint64 i = 0; i < count; i++)
	{
		struct flow_held *held = palloc0(sizeof(struct flow_held));
		bool isnull;
		Datum event = db_value(i, 6, &isnull);

		strlcpy(held->id, db_text(i, 1), sizeof(held->id));
		read_uuid(held->first_run, i, 2);
		held->workflow = db_text(i, 3);
		read_hash(&held->transaction_hash, i, 4);
		held->address = *db_datum_address(db_value(i, 5, NULL));
		held->event = isnull ? NULL : DatumGetJsonbPCopy(event);
		result = lappend(result, held);
	}
	return result;
}

/* The same log by its contents: equal ones of a transaction are interchangeable. */
static bool
is_same_event(const struct flow_held *held, const struct flow_run *run,
			  const struct evm_abi_value *values)
{
	const struct evm_abi_item *item = run->definition->trigger.target.item;
	Jsonb *event;

	if (memcmp(held->transaction_hash.b, run->log.transaction_hash.b, 32) != 0 ||
		memcmp(held->address.b, run->log.address.b, 20) != 0 ||
		(held->event == NULL) != (values == NULL))
		return false;
	if (values == NULL)
		return true;
	event = db_abi_params_to_jsonb(item->inputs, item->input_count, values);
	return compareJsonbContainers(&held->event->root, &event->root) == 0;
}

const struct flow_held *
flow_find_held(List *held, const struct flow_run *run, const struct evm_abi_value *values)
{
	const struct flow_definition *definition = run->definition;
	ListCell *cell;

	foreach (cell, held)
	{
		const struct flow_held *candidate = lfirst(cell);

		if (strcmp(candidate->workflow, definition->workflow) != 0)
			continue;
		if (definition->once_per == NULL ? memcmp(candidate->first_run, run->key, UUID_LEN) == 0
										 : is_same_event(candidate, run, values))
			return candidate;
	}
	return NULL;
}

void
flow_reattach(List *returned)
{
	ListCell *cell;

	foreach (cell, returned)
	{
		const struct flow_returned *run = lfirst(cell);
		Datum values[6];

		values[0] = CStringGetTextDatum(run->id);
		values[1] = Int64GetDatum(run->log.block_number);
		values[2] = db_hex_datum(run->log.block_hash.b, sizeof(run->log.block_hash.b));
		values[3] = TimestampTzGetDatum(run->log.block_timestamp);
		values[4] = Int32GetDatum(run->log.transaction_index);
		values[5] = Int32GetDatum(run->log.log_index);
		(void) db_execute(&reattach_run, values, NULL);
	}
	db_wake_at_commit(WAKE_EXECUTORS | WAKE_RELAYERS);
}

List *
flow_load_retractable(const char *network, int limit)
{
	Datum values[2] = {CStringGetTextDatum(network), Int32GetDatum(limit)};
	uint64 count = db_execute(&load_retractable, values, NULL);
	List *result = NIL;

	for (uint64 i = 0; i < count; i++)
	{
		struct flow_retractable *run = palloc0(sizeof(struct flow_retractable));

		strlcpy(run->id, db_text(i, 1), sizeof(run->id));
		read_uuid(run->first_run, i, 2);
		run->workflow = db_text(i, 3);
		run->has_once_per = DatumGetBool(db_value(i, 4, NULL));
		run->block_number = db_int64(i, 5);
		read_hash(&run->block_hash, i, 6);
		read_hash(&run->transaction_hash, i, 7);
		run->address = *db_datum_address(db_value(i, 8, NULL));
		result = lappend(result, run);
	}
	return result;
}

bool
flow_retract(const struct flow_retractable *run, const char *network)
{
	Datum values[2];

	values[0] = CStringGetTextDatum(run->id);
	values[1] = CStringGetTextDatum(psprintf("retracted: block " INT64_FORMAT
											 " of network \"%s\" was replaced, and its "
											 "event is not in the blocks that came instead",
											 run->block_number, network));
	(void) db_execute(&retract_run, values, NULL);
	db_wake_at_commit(WAKE_RELAYERS);
	return DatumGetBool(db_value(0, 1, NULL));
}

void
flow_settle_held(const char *network)
{
	Datum value = CStringGetTextDatum(network);

	(void) db_execute(&settle, &value, NULL);
	if (db_int64(0, 1) > 0)
		db_wake_at_commit(WAKE_EXECUTORS | WAKE_RELAYERS);
}
