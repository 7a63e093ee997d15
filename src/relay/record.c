/*
 * record.c
 *	  The transitions of a transaction, each a function over the tables.
 *
 * The statements carry the state that they leave in their WHERE; the README beside this file has
 * the diagram.  A transition that runs may wait for tells them in the same transaction: a row of
 * rflow_private.due for those that parked, the run's column after for sends with wait_for none.
 */
#include "postgres.h"

#include "relay/record.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/hex.h"

/* Is there a run that is to hear of it?  Most transactions do not make one wait. */
#define RETURNING_TELL \
	" RETURNING run_id IS NOT NULL AND rflow_private.relay_verdict(state, reverted," \
	"    CASE wait_for WHEN 'none' THEN 'confirmed' ELSE wait_for END) <> 'pending'"

static struct db_statement lock_transactions = {
	.sql =
		"SELECT t.id, t.state,"
		"       t.intent = 'send' AND t.error IS NULL"
		"       AND (t.valid_until IS NULL OR t.valid_until > pg_catalog.clock_timestamp()),"
		"       COALESCE(r.paused, true)"
		"       OR EXISTS (SELECT"
		"                    FROM rflow_private.pauses p"
		"                   WHERE p.kind = 'all' OR (p.kind = 'network' AND p.name = t.network)"
		"                      OR (p.kind = 'workflow' AND p.name = t.workflow"
		"                          AND t.state = 'queued')),"
		"       COALESCE(t.due_at = 'infinity', false) OR w.detached_at IS NOT NULL"
		"  FROM rflow_private.relayer_transactions t"
		"  LEFT JOIN rflow.relayers r ON r.name = t.relayer"
		"  LEFT JOIN rflow_private.workflow_runs w ON w.id = t.run_id"
		" WHERE t.id = ANY ($1)"
		" ORDER BY t.id"
		"   FOR UPDATE OF t SKIP LOCKED",
	.types = {INT8ARRAYOID},
	.count = 1,
};

static struct db_statement end_queued = {
	.sql =
		"WITH ended AS ("
		"    UPDATE rflow_private.relayer_transactions t"
		"       SET state = $2, reason = $3, state_since = $4,"
		"           error = rflow_private.relay_failure($5, $6, $7)"
		"     WHERE id = $1 AND state = 'queued'"
		"    RETURNING relayer, due_at, id, replaces), "
		"taken AS ("
		"    DELETE FROM rflow_private.due d"
		"     USING ended e"
		"     WHERE d.kind = 'send' AND d.owner = e.relayer AND d.wake_at = e.due_at"
		"       AND d.id = pg_catalog.lpad(e.id::text, 19, '0')) "
		"SELECT replaces FROM ended",
	.types = {INT8OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID},
	.count = 7,
};

/* What was to be replaced by one that is not to be any more goes on as it was. */
static struct db_statement stop_replacing = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET intent = 'send', replaced_by = NULL,"
		"       reason = CASE WHEN state IN ('signed', 'broadcast') THEN NULL ELSE reason END"
		" WHERE id = $1 AND intent = 'replace' AND replaced_by = $2",
	.types = {INT8OID, INT8OID},
	.count = 2,
};

static struct db_statement hold_queued = {
	.sql =
		"WITH held AS ("
		"    DELETE FROM rflow_private.due d"
		"     USING rflow_private.relayer_transactions t"
		"     WHERE t.id = $1 AND t.state = 'queued' AND d.kind = 'send' AND d.owner = t.relayer"
		"       AND d.wake_at = t.due_at AND d.id = pg_catalog.lpad($1::text, 19, '0')"
		"    RETURNING d.owner, d.id), "
		"moved AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', owner, $2, id FROM held) "
		"UPDATE rflow_private.relayer_transactions"
		"   SET due_at = CASE WHEN replaces IS NULL THEN $2 END, reason = $3"
		" WHERE id = $1 AND state = 'queued'",
	.types = {INT8OID, TIMESTAMPTZOID, TEXTOID},
	.count = 3,
};

static struct db_statement set_reason = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET reason = $2"
		" WHERE id = $1 AND reason IS DISTINCT FROM $2",
	.types = {INT8OID, TEXTOID},
	.count = 2,
};

static struct db_statement set_accepted = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET state = 'broadcast', state_since = $2, broadcast_at = $2,"
		"       reason = CASE WHEN intent <> 'send' OR error IS NOT NULL THEN reason END"
		" WHERE id = $1 AND state = 'signed'" RETURNING_TELL,
	.types = {INT8OID, TIMESTAMPTZOID},
	.count = 2,
};

static struct db_statement set_mined = {
	.sql =
		"UPDATE rflow_private.relayer_transactions t"
		"   SET state = 'mined', transaction_hash = $2::rflow.hex, block_number = $3,"
		"       block_hash = $4::rflow.hex, reverted = $5, gas_used = $6, effective_gas_price = $7,"
		"       reason = $8, state_since = $9, mined_at = $9,"
		"       broadcast_at = COALESCE(broadcast_at, $9), error = CASE WHEN $10 IS NOT NULL"
		"       THEN rflow_private.relay_failure($10, $11, $12) END"
		" WHERE id = $1 AND state IN ('signed', 'broadcast', 'mined')"
		"   AND COALESCE((SELECT b.hash = $4::rflow.hex"
		"                   FROM rflow_private.blocks b"
		"                  WHERE b.network = t.network AND b.number = $3), true)" RETURNING_TELL,
	.types = {INT8OID, BYTEAOID, INT8OID, BYTEAOID, BOOLOID, INT8OID, NUMERICOID, TEXTOID,
			  TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID},
	.count = 12,
};

/* Its time may be over since: then nobody offers it, and a no-op has to take its nonce. */
static struct db_statement set_unmined = {
	.sql =
		"WITH expires AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'expire', network, valid_until, pg_catalog.lpad(id::text, 19, '0')"
		"      FROM rflow_private.relayer_transactions"
		"     WHERE id = $1 AND valid_until IS NOT NULL AND state IN ('mined', 'confirmed')"
		"        ON CONFLICT DO NOTHING) "
		"UPDATE rflow_private.relayer_transactions"
		"   SET state = 'broadcast', reason = $2, state_since = $3, block_number = NULL,"
		"       block_hash = NULL, reverted = NULL, gas_used = NULL, effective_gas_price = NULL,"
		"       error = NULL, mined_at = NULL, confirmed_at = NULL"
		" WHERE id = $1 AND state IN ('mined', 'confirmed')",
	.types = {INT8OID, TEXTOID, TIMESTAMPTZOID},
	.count = 3,
};

static struct db_statement set_deep = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET state = CASE WHEN reverted THEN 'failed' ELSE 'confirmed' END, state_since = $2,"
		"       confirmed_at = CASE WHEN reverted THEN NULL ELSE $2 END"
		" WHERE id = $1 AND state = 'mined'" RETURNING_TELL,
	.types = {INT8OID, TIMESTAMPTZOID},
	.count = 2,
};

static struct db_statement set_superseded = {
	.sql =
		"UPDATE rflow_private.relayer_transactions t"
		"   SET state = CASE"
		"                 WHEN error IS NOT NULL OR $4 IS NOT NULL THEN 'failed'"
		"                 WHEN intent = 'expire' THEN 'expired'"
		"                 WHEN intent = 'replace' THEN 'replaced'"
		"                 ELSE 'cancelled'"
		"               END,"
		"       reason = CASE WHEN error IS NULL THEN $2 ELSE reason END, state_since = $3,"
		"       block_number = $7, block_hash = $8::rflow.hex,"
		"       error = COALESCE(error, rflow_private.relay_failure($4, $5, $6))"
		" WHERE id = $1 AND state IN ('signed', 'broadcast')",
	.types = {INT8OID, TEXTOID, TIMESTAMPTZOID, TEXTOID, TEXTOID, TEXTOID, INT8OID, BYTEAOID},
	.count = 8,
};

static struct db_statement set_block = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET block_number = $2, block_hash = $3::rflow.hex"
		" WHERE id = $1",
	.types = {INT8OID, INT8OID, BYTEAOID},
	.count = 3,
};

static struct db_statement set_never = {
	.sql =
		"UPDATE rflow_private.relayer_transactions t"
		"   SET reason = $3, error = rflow_private.relay_failure($2, $3, $4)"
		" WHERE id = $1 AND state IN ('signed', 'broadcast') AND error IS NULL",
	.types = {INT8OID, TEXTOID, TEXTOID, TEXTOID},
	.count = 4,
};

static struct db_statement settle = {
	.sql =
		"UPDATE rflow_private.nonces"
		"   SET settled = true"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND nonce = $3 AND NOT settled",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement reopen = {
	.sql =
		"UPDATE rflow_private.nonces"
		"   SET settled = false"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND nonce >= $3 AND settled",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement set_answer = {
	.sql =
		"UPDATE rflow_private.relayer_attempts"
		"   SET answer_class = $5, answer = $6, answered_at = $7, answer_code = $9,"
		"       refusals = refusals + CASE WHEN $8 THEN 0 ELSE 1 END,"
		"       broadcast_at = CASE WHEN $8 THEN COALESCE(broadcast_at, $7) ELSE broadcast_at END"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND nonce = $3 AND attempt = $4",
	.types = {INT8OID, TEXTOID, INT8OID, INT4OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, BOOLOID,
			  INT8OID},
	.count = 9,
};

/* Those that are parked look again; a repeated hint does no harm. */
static struct db_statement tell_parked = {
	.sql =
		"INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"SELECT 'run', pg_catalog.left(run_id::text, 1), $2, run_id::text"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1 AND run_id IS NOT NULL AND wait_for <> 'none'"
		"   AND rflow_private.relay_verdict(state, reverted, wait_for) <> 'pending'"
		"    ON CONFLICT DO NOTHING",
	.types = {INT8OID, TIMESTAMPTZOID},
	.count = 2,
};

static struct db_statement tell_gone_on = {
	.sql =
		"UPDATE rflow_private.workflow_runs r"
		"   SET after = pg_catalog.concat_ws(': ', t.step, t.state, t.reason)"
		"  FROM rflow_private.relayer_transactions t"
		" WHERE t.id = $1 AND t.wait_for = 'none' AND r.id = t.run_id"
		"   AND (t.state <> 'replaced' OR t.replaced_by IS NULL)"
		"   AND rflow_private.relay_verdict(t.state, t.reverted, 'confirmed') = 'without_effect'",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement add_incident = {
	.sql =
		"INSERT INTO rflow_private.incidents (kind, network, subject, reason, what_to_do)"
		"VALUES ($1, $2, $3, $4, $5)"
		"    ON CONFLICT (kind, subject) DO UPDATE"
		"   SET reason = EXCLUDED.reason, what_to_do = EXCLUDED.what_to_do, resolved_at = NULL,"
		"       since = CASE"
		"                 WHEN incidents.resolved_at IS NULL THEN incidents.since"
		"                 ELSE EXCLUDED.since"
		"               END",
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID},
	.count = 5,
};

static struct db_statement resolve_incident = {
	.sql =
		"UPDATE rflow_private.incidents"
		"   SET resolved_at = $3"
		" WHERE kind = $1 AND subject = $2 AND resolved_at IS NULL",
	.types = {TEXTOID, TEXTOID, TIMESTAMPTZOID},
	.count = 3,
};

/* NULL is passed for a text that is NULL. */
static Datum
text_or_null(char *null, const char *text)
{
	*null = text == NULL ? 'n' : ' ';
	return text == NULL ? (Datum) 0 : CStringGetTextDatum(text);
}

/* Three parameters: kind, message, data. */
static void
put_failure(Datum *parameters, char *nulls, const struct relay_failure *failure)
{
	char *data = NULL;

	if (failure != NULL && failure->data.len > 0)
	{
		data = palloc(2 * failure->data.len + 3);
		strcpy(data, "0x");
		evm_hex_digits(data + 2, failure->data.data, failure->data.len);
		data[2 * failure->data.len + 2] = '\0';
	}
	parameters[0] = text_or_null(&nulls[0], failure == NULL ? NULL : failure->kind);
	parameters[1] = text_or_null(&nulls[1], failure == NULL ? NULL : failure->message);
	parameters[2] = text_or_null(&nulls[2], data);
}

Datum
relay_address_datum(const struct evm_address *address)
{
	char text[2 + 2 * sizeof(address->b) + 1] = "0x";

	evm_hex_digits(text + 2, address->b, sizeof(address->b));
	text[sizeof(text) - 1] = '\0';
	return CStringGetTextDatum(text);
}

static Datum
now_datum(void)
{
	return TimestampTzGetDatum(GetCurrentTimestamp());
}

static void
tell_runs(int64 id)
{
	Datum parameters[2];

	parameters[0] = Int64GetDatum(id);
	parameters[1] = now_datum();
	if (db_execute(&tell_parked, parameters, NULL) > 0)
		db_wake_at_commit(WAKE_EXECUTORS);
	(void) db_execute(&tell_gone_on, parameters, NULL);
}

static void
tell_waiting(int64 id)
{
	if (DatumGetBool(db_value(0, 1, NULL)))
		tell_runs(id);
}

void
relay_lock_transactions(struct relay_lock *locks, int count)
{
	Datum *ids = palloc(sizeof(Datum) * (count + 1));
	Datum parameters[1];
	uint64 rows;
	uint64 row;
	int wanted = 0;
	int i;

	for (i = 0; i < count; i++)
	{
		locks[i].locked = false;
		if (locks[i].id != 0)
			ids[wanted++] = Int64GetDatum(locks[i].id);
	}
	parameters[0] = PointerGetDatum(
		construct_array(ids, wanted, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	rows = db_execute(&lock_transactions, parameters, NULL);
	for (row = 0; row < rows; row++)
	{
		int64 id = db_int64(row, 1);

		for (i = 0; i < count; i++)
		{
			if (locks[i].id != id)
				continue;
			locks[i].locked = true;
			locks[i].state = relay_state_from_name(db_text(row, 2));
			locks[i].wanted = DatumGetBool(db_value(row, 3, NULL));
			locks[i].paused = DatumGetBool(db_value(row, 4, NULL));
			locks[i].held = DatumGetBool(db_value(row, 5, NULL));
		}
	}
}

bool
relay_end_queued(int64 id, enum relay_state state, const char *reason,
				 const struct relay_failure *failure)
{
	Datum parameters[7];
	char nulls[] = "       ";
	bool isnull;

	parameters[0] = Int64GetDatum(id);
	parameters[1] = CStringGetTextDatum(relay_state_name(state));
	parameters[2] = text_or_null(&nulls[2], reason);
	parameters[3] = now_datum();
	put_failure(&parameters[4], &nulls[4], failure);
	if (db_execute(&end_queued, parameters, nulls) == 0)
		return false;
	(void) db_value(0, 1, &isnull);
	if (!isnull)
	{
		parameters[0] = Int64GetDatum(db_int64(0, 1));
		parameters[1] = Int64GetDatum(id);
		(void) db_execute(&stop_replacing, parameters, NULL);
		db_wake_at_commit(WAKE_RELAYERS);
	}
	tell_runs(id);
	return true;
}

void
relay_hold_queued(int64 id, const char *reason, TimestampTz until)
{
	Datum parameters[3];

	parameters[0] = Int64GetDatum(id);
	parameters[1] = TimestampTzGetDatum(until);
	parameters[2] = CStringGetTextDatum(reason);
	(void) db_execute(&hold_queued, parameters, NULL);
}

void
relay_record_reason(int64 id, const char *reason)
{
	Datum parameters[2];
	char nulls[] = "  ";

	parameters[0] = Int64GetDatum(id);
	parameters[1] = text_or_null(&nulls[1], reason);
	(void) db_execute(&set_reason, parameters, nulls);
}

bool
relay_record_accepted(int64 id)
{
	Datum parameters[2];

	parameters[0] = Int64GetDatum(id);
	parameters[1] = now_datum();
	if (db_execute(&set_accepted, parameters, NULL) == 0)
		return false;
	tell_waiting(id);
	return true;
}

bool
relay_record_mined(int64 id, const struct evm_hash *hash, const struct relay_receipt *receipt,
				   const char *reason, const struct relay_failure *failure)
{
	Datum parameters[12];
	char nulls[] = "            ";

	parameters[0] = Int64GetDatum(id);
	parameters[1] = db_hex_datum(hash->b, sizeof(hash->b));
	parameters[2] = Int64GetDatum(receipt->block_number);
	parameters[3] = db_hex_datum(receipt->block_hash.b, sizeof(receipt->block_hash.b));
	parameters[4] = BoolGetDatum(receipt->reverted);
	parameters[5] = Int64GetDatum((int64) receipt->gas_used);
	if (receipt->has_price)
		parameters[6] = db_word_numeric(&receipt->price, false);
	else
		nulls[6] = 'n';
	parameters[7] = text_or_null(&nulls[7], reason);
	parameters[8] = now_datum();
	put_failure(&parameters[9], &nulls[9], failure);
	if (db_execute(&set_mined, parameters, nulls) == 0)
		return false;
	tell_waiting(id);
	return true;
}

bool
relay_record_unmined(int64 id, const char *reason)
{
	Datum parameters[3];

	parameters[0] = Int64GetDatum(id);
	parameters[1] = CStringGetTextDatum(reason);
	parameters[2] = now_datum();
	return db_execute(&set_unmined, parameters, NULL) > 0;
}

bool
relay_record_deep(int64 id, const struct relay_key *key, int64 chain_id, uint64 nonce)
{
	Datum parameters[2];

	parameters[0] = Int64GetDatum(id);
	parameters[1] = now_datum();
	if (db_execute(&set_deep, parameters, NULL) == 0)
		return false;
	tell_waiting(id);
	relay_settle_nonce(chain_id, &key->address, nonce);
	return true;
}

bool
relay_record_superseded(int64 id, const struct relay_receipt *receipt, const char *reason,
						const struct relay_failure *failure)
{
	Datum parameters[8];
	char nulls[] = "        ";

	parameters[0] = Int64GetDatum(id);
	parameters[1] = CStringGetTextDatum(reason);
	parameters[2] = now_datum();
	put_failure(&parameters[3], &nulls[3], failure);
	if (receipt == NULL)
		nulls[6] = nulls[7] = 'n';
	else
	{
		parameters[6] = Int64GetDatum(receipt->block_number);
		parameters[7] = db_hex_datum(receipt->block_hash.b, sizeof(receipt->block_hash.b));
	}
	if (db_execute(&set_superseded, parameters, nulls) == 0)
		return false;
	tell_runs(id);
	return true;
}

void
relay_record_block(int64 id, const struct relay_receipt *receipt)
{
	Datum parameters[3];

	parameters[0] = Int64GetDatum(id);
	parameters[1] = Int64GetDatum(receipt->block_number);
	parameters[2] = db_hex_datum(receipt->block_hash.b, sizeof(receipt->block_hash.b));
	(void) db_execute(&set_block, parameters, NULL);
}

bool
relay_record_never(int64 id, const struct relay_failure *failure)
{
	Datum parameters[4];
	char nulls[] = "    ";

	parameters[0] = Int64GetDatum(id);
	put_failure(&parameters[1], &nulls[1], failure);
	return db_execute(&set_never, parameters, nulls) > 0;
}

static void
put_nonce(Datum *parameters, int64 chain_id, const struct evm_address *address, uint64 nonce)
{
	parameters[0] = Int64GetDatum(chain_id);
	parameters[1] = relay_address_datum(address);
	parameters[2] = Int64GetDatum((int64) nonce);
}

void
relay_settle_nonce(int64 chain_id, const struct evm_address *address, uint64 nonce)
{
	Datum parameters[3];

	put_nonce(parameters, chain_id, address, nonce);
	(void) db_execute(&settle, parameters, NULL);
}

uint64
relay_reopen_nonces(int64 chain_id, const struct evm_address *address, uint64 from)
{
	Datum parameters[3];

	put_nonce(parameters, chain_id, address, from);
	return db_execute(&reopen, parameters, NULL);
}

void
relay_record_answer(int64 chain_id, const struct evm_address *address, uint64 nonce, int attempt,
					enum relay_class class, int64 code, const char *answer)
{
	Datum parameters[9];
	char nulls[] = "         ";

	put_nonce(parameters, chain_id, address, nonce);
	parameters[3] = Int32GetDatum(attempt);
	parameters[4] = CStringGetTextDatum(relay_class_name(class));
	parameters[5] = text_or_null(&nulls[5], answer);
	parameters[6] = now_datum();
	parameters[7] = BoolGetDatum(class == RELAY_ACCEPTED || class == RELAY_KNOWN);
	parameters[8] = Int64GetDatum(code);
	nulls[8] = code == 0 ? 'n' : ' ';
	(void) db_execute(&set_answer, parameters, nulls);
}

void
relay_record_incident(const char *kind, const char *network, const char *subject,
					  const char *reason, const char *what_to_do)
{
	Datum parameters[5];
	char nulls[] = "     ";

	parameters[0] = CStringGetTextDatum(kind);
	parameters[1] = text_or_null(&nulls[1], network);
	parameters[2] = CStringGetTextDatum(subject);
	parameters[3] = CStringGetTextDatum(reason);
	parameters[4] = CStringGetTextDatum(what_to_do);
	(void) db_execute(&add_incident, parameters, nulls);
}

void
relay_resolve_incident(const char *kind, const char *subject)
{
	Datum parameters[3];

	parameters[0] = CStringGetTextDatum(kind);
	parameters[1] = CStringGetTextDatum(subject);
	parameters[2] = now_datum();
	(void) db_execute(&resolve_incident, parameters, NULL);
}
