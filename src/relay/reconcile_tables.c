/*
 * reconcile_tables.c
 *	  What a reconciliation keeps in tables: progress, and what was found.
 */
#include "postgres.h"

#include "relay/reconcile_tables.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "relay/load.h"
#include "relay/record.h"

static struct db_statement load_holds = {
	.sql =
		"SELECT address"
		"  FROM rflow_private.account_reconciliations"
		" WHERE network = $1 AND finished_at IS NOT NULL",
	.types = {TEXTOID},
	.count = 1,
};

/* Its row is that of the first moment at which the relayer had the account. */
static struct db_statement begin_account = {
	.sql =
		"INSERT INTO rflow_private.account_reconciliations"
		"       (network, address, chain_id, restored_nonce, first_nonce,"
		"        scanned_from, scanned_to)"
		"SELECT r.network, $2::rflow.address, $3, k.next_nonce, k.next_nonce, r.from_block,"
		"       r.from_block"
		"  FROM rflow_private.reconciliations r"
		"  LEFT JOIN rflow_private.relayer_keys k"
		"    ON k.chain_id = $3 AND k.address = $2::rflow.address"
		" WHERE r.network = $1 AND r.finished_at IS NULL"
		"    ON CONFLICT DO NOTHING",
	.types = {TEXTOID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement load_account = {
	.sql =
		"SELECT first_nonce, scanned_from, scanned_to"
		"  FROM rflow_private.account_reconciliations"
		" WHERE network = $1 AND address = $2::rflow.address",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

static struct db_statement load_found = {
	.sql =
		"SELECT o.nonce, o.block_number, o.verdict = 'unmatched', o.recipient, o.value,"
		"       CASE WHEN o.verdict = 'unmatched' THEN o.data END, n.transaction_id"
		"  FROM rflow_private.outside_transactions o"
		"  LEFT JOIN rflow_private.nonces n USING (chain_id, address, nonce)"
		" WHERE o.chain_id = $1 AND o.address = $2::rflow.address"
		"   AND (o.nonce >= COALESCE($3, 0) OR o.verdict = 'unmatched'"
		"        OR NOT COALESCE(n.settled, true))"
		" ORDER BY o.nonce",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement store_first = {
	.sql =
		"UPDATE rflow_private.account_reconciliations"
		"   SET first_nonce = $3"
		" WHERE network = $1 AND address = $2::rflow.address AND first_nonce IS NULL",
	.types = {TEXTOID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement store_scanned = {
	.sql =
		"UPDATE rflow_private.account_reconciliations"
		"   SET scanned_to = $3"
		" WHERE network = $1 AND address = $2::rflow.address AND scanned_to < $3",
	.types = {TEXTOID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement look_back = {
	.sql =
		"UPDATE rflow_private.account_reconciliations"
		"   SET scanned_from = $3, scanned_to = $3"
		" WHERE network = $1 AND address = $2::rflow.address AND scanned_from > $3",
	.types = {TEXTOID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement skip_nonces = {
	.sql =
		"UPDATE rflow_private.account_reconciliations"
		"   SET first_nonce = $3"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND finished_at IS NULL",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement dismiss_below = {
	.sql =
		"UPDATE rflow_private.outside_transactions"
		"   SET verdict = 'dismissed', decided_at = $4, decided_by = session_user,"
		"       note = 'the account was adopted'"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND nonce < $3"
		"   AND verdict = 'unmatched'",
	.types = {INT8OID, TEXTOID, INT8OID, TIMESTAMPTZOID},
	.count = 4,
};

/* What is ours by its hash is tracked; what is below what was known and not live is over. */
static struct db_statement store_found = {
	.sql =
		"INSERT INTO rflow_private.outside_transactions"
		"       (chain_id, address, nonce, network, transaction_hash, block_number, recipient,"
		"        value, data, raw, gas_limit, gas_price, max_fee_per_gas,"
		"        max_priority_fee_per_gas)"
		"SELECT $1, $2::rflow.address, $3, $4, $5::rflow.hex, $6, $7::rflow.address, $8,"
		"       $9::rflow.hex, $10::rflow.hex, $11, $12, $13, $14"
		" WHERE NOT EXISTS (SELECT"
		"                     FROM rflow_private.relayer_attempts a"
		"                    WHERE a.chain_id = $1 AND a.address = $2::rflow.address"
		"                      AND a.nonce = $3 AND a.transaction_hash = $5::rflow.hex)"
		"   AND ($3 >= COALESCE($15, 0)"
		"        OR EXISTS (SELECT"
		"                     FROM rflow_private.nonces n"
		"                    WHERE n.chain_id = $1 AND n.address = $2::rflow.address"
		"                      AND n.nonce = $3 AND NOT n.settled))"
		"    ON CONFLICT DO NOTHING",
	.types = {INT8OID, TEXTOID, INT8OID, TEXTOID, BYTEAOID, INT8OID, TEXTOID, NUMERICOID, BYTEAOID,
			  BYTEAOID, INT8OID, NUMERICOID, NUMERICOID, NUMERICOID, INT8OID},
	.count = 15,
};

static struct db_statement store_status = {
	.sql =
		"UPDATE rflow_private.account_reconciliations"
		"   SET status = $3"
		" WHERE network = $1 AND address = $2::rflow.address AND status IS DISTINCT FROM $3",
	.types = {TEXTOID, TEXTOID, TEXTOID},
	.count = 3,
};

/* What a trigger sees when block b is the newest is what lies below its ceiling. */
static struct db_statement find_behind = {
	.sql =
		"SELECT"
		"  FROM rflow_private.subscriptions s"
		"  JOIN rflow.workflows w ON w.name = s.workflow AND w.enabled"
		"  LEFT JOIN rflow_private.cursors c ON c.id = s.cursor_id"
		" WHERE s.network = $1"
		"   AND (c.id IS NULL"
		"        OR c.next_block <= $2 - CASE"
		"                                  WHEN c.ceiling ~ '^[0-9]+$' THEN c.ceiling::bigint"
		"                                  ELSE 0"
		"                                END)"
		" LIMIT 1",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static struct db_statement finish_account = {
	.sql =
		"UPDATE rflow_private.account_reconciliations"
		"   SET finished_at = $4, status = NULL"
		" WHERE network = $1 AND address = $2::rflow.address AND finished_at IS NULL"
		"   AND NOT EXISTS (SELECT"
		"                     FROM rflow_private.outside_transactions"
		"                    WHERE chain_id = $3 AND address = $2::rflow.address"
		"                      AND verdict = 'unmatched')",
	.types = {TEXTOID, TEXTOID, INT8OID, TIMESTAMPTZOID},
	.count = 4,
};

static struct db_statement raise_nonce = {
	.sql =
		"UPDATE rflow_private.relayer_keys"
		"   SET next_nonce = $3"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND next_nonce < $3",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement finish_network = {
	.sql =
		"UPDATE rflow_private.reconciliations"
		"   SET finished_at = $2"
		" WHERE network = $1 AND finished_at IS NULL",
	.types = {TEXTOID, TIMESTAMPTZOID},
	.count = 2,
};

static struct db_statement look_again = {
	.sql =
		"UPDATE rflow_private.account_reconciliations a"
		"   SET finished_at = NULL, first_nonce = k.next_nonce"
		"  FROM rflow_private.relayer_keys k"
		" WHERE a.network = $1 AND a.address = $2::rflow.address AND a.restored_nonce > $4"
		"   AND a.finished_at IS NOT NULL AND k.chain_id = $3 AND k.address = a.address"
		"   AND NOT EXISTS (SELECT"
		"                     FROM rflow_private.outside_transactions o"
		"                    WHERE o.chain_id = $3 AND o.address = a.address AND o.nonce = $4)",
	.types = {TEXTOID, TEXTOID, INT8OID, INT8OID},
	.count = 4,
};

static struct db_statement reopen_network = {
	.sql =
		"UPDATE rflow_private.reconciliations"
		"   SET finished_at = NULL"
		" WHERE network = $1",
	.types = {TEXTOID},
	.count = 1,
};

/* The first two parameters of most statements. */
static void
put_account(Datum *parameters, const struct relay_process *process, const struct relay_key *key)
{
	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = relay_address_datum(&key->address);
}

bool
relay_load_holds(struct relay_process *process)
{
	MemoryContext round = CurrentMemoryContext;
	Datum parameters[1];
	uint64 rows;
	uint64 row;
	int i;

	if (!process->begin(process->context, "relayer: which accounts are reconciled"))
		return false;
	for (i = 0; i < process->key_count; i++)
		process->keys[i]->held = true;
	parameters[0] = CStringGetTextDatum(process->network);
	rows = relay_fetch(round, &load_holds, parameters);
	for (row = 0; row < rows; row++)
	{
		struct relay_key *key = relay_find_key(process, db_datum_address(db_value(row, 1, NULL)));

		if (key != NULL)
			key->held = false;
	}
	db_commit();
	return true;
}

static void
read_account(struct relay_account_progress *progress)
{
	bool isnull;

	(void) db_value(0, 1, &isnull);
	progress->has_first = !isnull;
	progress->first_nonce = isnull ? 0 : (uint64) db_int64(0, 1);
	progress->scanned_from = db_int64(0, 2);
	progress->scanned_to = db_int64(0, 3);
}

void
relay_read_act(struct relay_act *act, uint64 row, int first_column)
{
	bool isnull;
	bool negative;
	Datum recipient = db_value(row, first_column, &isnull);

	memset(act, 0, sizeof(*act));
	act->creates = isnull;
	if (!isnull)
		act->recipient = *db_datum_address(recipient);
	if (!db_numeric_word(&act->value, &negative, db_value(row, first_column + 1, NULL)))
		elog(ERROR, "column %d is not an amount", first_column + 1);
	act->data = relay_copy_bytes(db_datum_hex(db_value(row, first_column + 2, NULL)));
}

static void
read_found(struct relay_account_progress *progress, uint64 row)
{
	struct relay_found *found;
	bool isnull;

	progress->known[progress->known_count++] = (uint64) db_int64(row, 1);
	progress->highest_block = Max(progress->highest_block, db_int64(row, 2));
	if (!DatumGetBool(db_value(row, 3, NULL)))
		return;
	found = &progress->found[progress->found_count++];
	found->nonce = (uint64) db_int64(row, 1);
	found->block_number = db_int64(row, 2);
	relay_read_act(&found->act, row, 4);
	(void) db_value(row, 7, &isnull);
	found->holder = isnull ? 0 : db_int64(row, 7);
}

void
relay_read_progress(MemoryContext context, const struct relay_process *process,
					struct relay_account_progress *progress, struct relay_key *key)
{
	Datum parameters[3];
	char nulls[] = "   ";
	uint64 rows;
	uint64 row;

	memset(progress, 0, sizeof(*progress));
	progress->key = key;
	progress->highest_block = -1;
	put_account(parameters, process, key);
	parameters[2] = Int64GetDatum(process->chain_id);
	(void) db_execute(&begin_account, parameters, NULL);
	if (relay_fetch(context, &load_account, parameters) != 1)
		elog(ERROR, "the reconciliation of network \"%s\" has ended meanwhile", process->network);
	read_account(progress);
	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[2] = Int64GetDatum((int64) progress->first_nonce);
	nulls[2] = progress->has_first ? ' ' : 'n';
	rows = db_execute(&load_found, parameters, nulls);
	MemoryContextSwitchTo(context);
	progress->known = palloc(sizeof(uint64) * (rows + 1));
	progress->found = palloc0(sizeof(struct relay_found) * (rows + 1));
	for (row = 0; row < rows; row++)
		read_found(progress, row);
}

void
relay_store_first_nonce(const struct relay_process *process,
						const struct relay_account_progress *progress, uint64 nonce)
{
	Datum parameters[3];

	put_account(parameters, process, progress->key);
	parameters[2] = Int64GetDatum((int64) nonce);
	(void) db_execute(&store_first, parameters, NULL);
}

void
relay_store_scanned(const struct relay_process *process,
					const struct relay_account_progress *progress, int64 block)
{
	Datum parameters[3];

	put_account(parameters, process, progress->key);
	parameters[2] = Int64GetDatum(block);
	(void) db_execute(&store_scanned, parameters, NULL);
}

void
relay_store_look_back(const struct relay_process *process,
					  const struct relay_account_progress *progress, int64 block)
{
	Datum parameters[3];

	put_account(parameters, process, progress->key);
	parameters[2] = Int64GetDatum(block);
	(void) db_execute(&look_back, parameters, NULL);
}

void
relay_skip_outside(int64 chain_id, const struct evm_address *address, uint64 next_nonce)
{
	Datum parameters[4];

	parameters[0] = Int64GetDatum(chain_id);
	parameters[1] = relay_address_datum(address);
	parameters[2] = Int64GetDatum((int64) next_nonce);
	parameters[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	(void) db_execute(&skip_nonces, parameters, NULL);
	(void) db_execute(&dismiss_below, parameters, NULL);
}

bool
relay_store_found(const struct relay_process *process,
				  const struct relay_account_progress *progress, int64 block,
				  const struct relay_block_transaction *transaction)
{
	const struct relay_act *act = &transaction->act;
	Datum parameters[15] = {0};
	char nulls[] = "               ";

	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[1] = relay_address_datum(&progress->key->address);
	parameters[2] = Int64GetDatum((int64) transaction->nonce);
	parameters[3] = CStringGetTextDatum(process->network);
	parameters[4] = db_hex_datum(transaction->hash.b, sizeof(transaction->hash.b));
	parameters[5] = Int64GetDatum(block);
	nulls[6] = act->creates ? 'n' : ' ';
	parameters[6] = relay_address_datum(&act->recipient);
	parameters[7] = db_word_numeric(&act->value, false);
	parameters[8] = db_hex_datum(act->data.data, act->data.len);
	nulls[9] = transaction->raw.len == 0 ? 'n' : ' ';
	parameters[9] = db_hex_datum(transaction->raw.data, transaction->raw.len);
	parameters[10] = Int64GetDatum((int64) Min(transaction->gas_limit, (uint64) PG_INT64_MAX));
	nulls[11] = transaction->dynamic ? 'n' : ' ';
	nulls[12] = nulls[13] = transaction->dynamic ? ' ' : 'n';
	parameters[11] = parameters[12] = db_word_numeric(&transaction->max_fee, false);
	parameters[13] = db_word_numeric(&transaction->priority, false);
	nulls[14] = progress->has_first ? ' ' : 'n';
	parameters[14] = Int64GetDatum((int64) progress->first_nonce);
	return db_execute(&store_found, parameters, nulls) > 0;
}

void
relay_store_status(const struct relay_process *process,
				   const struct relay_account_progress *progress, const char *status)
{
	Datum parameters[3];

	put_account(parameters, process, progress->key);
	parameters[2] = CStringGetTextDatum(status);
	(void) db_execute(&store_status, parameters, NULL);
}

bool
relay_watcher_has_passed(const struct relay_process *process, int64 block)
{
	Datum parameters[2];

	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = Int64GetDatum(block);
	return db_execute(&find_behind, parameters, NULL) == 0;
}

bool
relay_store_finished(const struct relay_process *process,
					 const struct relay_account_progress *progress)
{
	Datum parameters[4];

	put_account(parameters, process, progress->key);
	parameters[2] = Int64GetDatum(process->chain_id);
	parameters[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (db_execute(&finish_account, parameters, NULL) == 0)
		return false;
	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[2] = Int64GetDatum((int64) progress->key->latest);
	(void) db_execute(&raise_nonce, parameters, NULL);
	return true;
}

bool
relay_end_reconciliation(struct relay_process *process)
{
	Datum parameters[2];

	if (!process->begin(process->context, "relayer: reconciled"))
		return false;
	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (db_execute(&finish_network, parameters, NULL) > 0)
		db_definitions_changed();
	db_commit();
	ereport(LOG,
			(errmsg("rflow: the accounts of network \"%s\" are reconciled with the chain",
					process->network)));
	return true;
}

bool
relay_look_for_nonce(struct relay_process *process, struct relay_key *key, uint64 nonce)
{
	Datum parameters[4];

	put_account(parameters, process, key);
	parameters[2] = Int64GetDatum(process->chain_id);
	parameters[3] = Int64GetDatum((int64) nonce);
	if (db_execute(&look_again, parameters, NULL) == 0)
		return false;
	(void) db_execute(&reopen_network, parameters, NULL);
	db_definitions_changed();
	return true;
}
