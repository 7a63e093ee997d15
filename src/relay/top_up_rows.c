/*
 * top_up_rows.c
 *	  What the tables say of top-ups, and the transaction that queues their transfers.
 *
 * A transfer and the row that says so are one commit: a crash before it leaves nothing, one after
 * it finds the transfer outstanding.  Whether a transfer is final is not told by whoever settles
 * it: it is looked up here, so that settling stays as it is.
 */
#include "postgres.h"

#include "relay/top_up.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/crash.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/word.h"
#include "relay/load.h"
#include "relay/queue.h"
#include "relay/record.h"

static struct db_statement load_definitions = {
	.sql =
		"SELECT u.name, u.source, u.relayer, u.recipient, u.token, u.below, u.amount, u.up_to,"
		"       u.max_per_day"
		"  FROM rflow.top_ups u"
		"  JOIN rflow.relayers r ON r.name = u.source"
		" WHERE r.network = $1 AND u.enabled"
		" ORDER BY u.name",
	.types = {TEXTOID},
	.count = 1,
};

/* A reorganisation deeper than the confirmations makes one outstanding again. */
static struct db_statement refresh_outstanding = {
	.sql =
		"UPDATE rflow_private.top_up_transfers p"
		"   SET outstanding = NOT p.outstanding"
		"  FROM (SELECT q.id,"
		"               COALESCE((SELECT t.state IN ('queued', 'signed', 'broadcast', 'mined')"
		"                           FROM rflow_private.relayer_transactions t"
		"                          WHERE t.id = q.transaction_id), false) AS live"
		"          FROM rflow_private.top_up_transfers q"
		"         WHERE q.network = $1"
		"           AND (q.outstanding"
		"                OR q.created_at > pg_catalog.clock_timestamp() - interval '1 day')) n"
		" WHERE p.id = n.id AND p.outstanding <> n.live"
		"   AND (p.outstanding"
		"        OR NOT EXISTS (SELECT"
		"                         FROM rflow_private.top_up_transfers o"
		"                        WHERE o.chain_id = p.chain_id AND o.target = p.target"
		"                          AND o.asset = p.asset AND (o.outstanding OR o.id > p.id)))",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement load_transfers = {
	.sql =
		"SELECT EXISTS (SELECT"
		"                 FROM rflow_private.top_up_transfers p"
		"                WHERE p.chain_id = $1 AND p.target = $3::rflow.address"
		"                  AND p.asset = $4::rflow.address AND p.outstanding),"
		"       (SELECT pg_catalog.max((SELECT t.block_number"
		"                                 FROM rflow_private.relayer_transactions t"
		"                                WHERE t.id = n.transaction_id))"
		"          FROM (SELECT p.transaction_id"
		"                  FROM rflow_private.top_up_transfers p"
		"                 WHERE p.chain_id = $1 AND p.target = $3::rflow.address"
		"                   AND p.asset = $4::rflow.address"
		"                 ORDER BY p.id DESC"
		"                 LIMIT 10) n),"
		"       (SELECT COALESCE(pg_catalog.sum(p.amount), 0)"
		"          FROM rflow_private.top_up_transfers p"
		"         WHERE p.top_up = $2"
		"           AND p.created_at > pg_catalog.clock_timestamp() - interval '1 day'"
		"           AND (SELECT t.state NOT IN ('failed', 'expired', 'cancelled', 'replaced')"
		"                  FROM rflow_private.relayer_transactions t"
		"                 WHERE t.id = p.transaction_id)),"
		"       rflow_private.account_debts($1, $5::rflow.address, $6),"
		"       (SELECT COALESCE(pg_catalog.sum(p.amount), 0)"
		"          FROM rflow_private.top_up_transfers p"
		"         WHERE p.chain_id = $1 AND p.source = $5::rflow.address"
		"           AND p.asset = $4::rflow.address AND p.outstanding"
		"           AND (SELECT t.state <> 'mined'"
		"                  FROM rflow_private.relayer_transactions t"
		"                 WHERE t.id = p.transaction_id)),"
		"       (SELECT pg_catalog.format('its last transfer, transaction %s, is %s: %s', n.id,"
		"                                 n.state, n.reason)"
		"          FROM (SELECT p.transaction_id"
		"                  FROM rflow_private.top_up_transfers p"
		"                 WHERE p.chain_id = $1 AND p.target = $3::rflow.address"
		"                   AND p.asset = $4::rflow.address"
		"                 ORDER BY p.id DESC"
		"                 LIMIT 1) p"
		"          JOIN rflow_private.relayer_transactions n ON n.id = p.transaction_id"
		"         WHERE n.state IN ('failed', 'expired', 'cancelled', 'replaced')"
		"           AND n.state_since > pg_catalog.clock_timestamp() - interval '10 minutes')",
	.types = {INT8OID, TEXTOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID},
	.count = 6,
};

static struct db_statement insert_transfer = {
	.sql =
		"INSERT INTO rflow_private.top_up_transfers"
		"       (top_up, network, chain_id, source, target, asset, amount, created_at)"
		"VALUES ($1, $2, $3, $4::rflow.address, $5::rflow.address, $6::rflow.address, $7, $8)"
		"    ON CONFLICT DO NOTHING"
		" RETURNING id",
	.types = {TEXTOID, TEXTOID, INT8OID, TEXTOID, TEXTOID, TEXTOID, NUMERICOID, TIMESTAMPTZOID},
	.count = 8,
};

static struct db_statement set_transaction = {
	.sql =
		"UPDATE rflow_private.top_up_transfers"
		"   SET transaction_id = $2"
		" WHERE id = $1",
	.types = {INT8OID, INT8OID},
	.count = 2,
};

static struct db_statement write_state = {
	.sql =
		"INSERT INTO rflow_private.top_up_states AS s"
		"       (top_up, target, balance, block_number, problem, problem_since, observed_at)"
		"VALUES ($1, $2::rflow.address, $3, $4, $5, CASE WHEN $5 IS NOT NULL THEN $6 END, $6)"
		"    ON CONFLICT (top_up) DO UPDATE"
		"   SET target = EXCLUDED.target, balance = COALESCE(EXCLUDED.balance, s.balance),"
		"       block_number = COALESCE(EXCLUDED.block_number, s.block_number),"
		"       problem = EXCLUDED.problem,"
		"       problem_since = CASE"
		"                         WHEN s.problem IS NOT NULL AND EXCLUDED.problem IS NOT NULL"
		"                         THEN s.problem_since"
		"                         ELSE EXCLUDED.problem_since"
		"                       END,"
		"       observed_at = EXCLUDED.observed_at",
	.types = {TEXTOID, TEXTOID, NUMERICOID, INT8OID, TEXTOID, TIMESTAMPTZOID},
	.count = 6,
};

/* False when NULL. */
static bool
word_at(struct evm_word *out, uint64 row, int column)
{
	bool isnull;
	bool negative;
	Datum value = db_value(row, column, &isnull);

	*out = evm_word_zero;
	if (!isnull && (!db_numeric_word(out, &negative, value) || negative))
		memset(out, 0xff, sizeof(*out));
	return !isnull;
}

static bool
address_at(struct evm_address *out, uint64 row, int column)
{
	bool isnull;
	Datum value = db_value(row, column, &isnull);

	if (!isnull)
		*out = *db_datum_address(value);
	return !isnull;
}

void
relay_load_top_ups(struct relay_process *process)
{
	Datum parameters[1];
	uint64 rows;
	uint64 row;

	parameters[0] = CStringGetTextDatum(process->network);
	rows = relay_fetch(process->config_context, &load_definitions, parameters);
	process->top_ups = palloc0(sizeof(struct relay_top_up) * (rows + 1));
	process->top_up_count = (int) rows;
	for (row = 0; row < rows; row++)
	{
		struct relay_top_up *top_up = &process->top_ups[row];

		top_up->name = db_text(row, 1);
		top_up->source = db_text(row, 2);
		top_up->relayer = db_text(row, 3);
		(void) address_at(&top_up->recipient, row, 4);
		top_up->is_token = address_at(&top_up->token, row, 5);
		(void) word_at(&top_up->below, row, 6);
		top_up->has_amount = word_at(&top_up->amount, row, 7);
		if (!top_up->has_amount)
			(void) word_at(&top_up->amount, row, 8);
		top_up->has_limit = word_at(&top_up->limit, row, 9);
	}
}

static void
load_transfers_of(struct relay_process *process, struct relay_top_up *top_up)
{
	Datum parameters[6];
	bool isnull;
	char *failure;

	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[1] = CStringGetTextDatum(top_up->name);
	parameters[2] = relay_address_datum(&top_up->target);
	parameters[3] = relay_address_datum(&top_up->token);
	parameters[4] = relay_address_datum(&top_up->from->key->address);
	parameters[5] = CStringGetTextDatum(process->network);
	if (db_execute(&load_transfers, parameters, NULL) != 1)
		elog(ERROR, "no row of transfers");
	top_up->open = DatumGetBool(db_value(0, 1, NULL));
	(void) db_value(0, 2, &isnull);
	top_up->last_block = isnull ? -1 : db_int64(0, 2);
	(void) word_at(&top_up->sent, 0, 3);
	(void) word_at(&top_up->debts, 0, 4);
	(void) word_at(&top_up->promised, 0, 5);
	failure = db_text(0, 6);
	if (failure != NULL)
		strlcpy(top_up->problem, failure, sizeof(top_up->problem));
}

bool
relay_load_transfers(struct relay_process *process)
{
	Datum parameters[1];
	int i;

	if (!process->begin(process->context, "relayer: top-ups"))
		return false;
	db_synchronous_commit(false);
	parameters[0] = CStringGetTextDatum(process->network);
	(void) db_execute(&refresh_outstanding, parameters, NULL);
	for (i = 0; i < process->top_up_count; i++)
		if (process->top_ups[i].problem[0] == '\0')
			load_transfers_of(process, &process->top_ups[i]);
	db_commit();
	return true;
}

/* transfer(address,uint256) of the token, or value; as wide as the longest one. */
static struct evm_bytes
transfer_data(const struct relay_top_up *top_up)
{
	static const uint8 selector[4] = {0xa9, 0x05, 0x9c, 0xbb};
	uint8 *data = palloc0(4 + 32 + 32);
	struct evm_bytes bytes = {data, 4 + 32 + 32};

	memcpy(data, selector, sizeof(selector));
	memcpy(data + 4 + 12, top_up->target.b, sizeof(top_up->target.b));
	evm_word_to_be(data + 4 + 32, &top_up->transfer);
	return bytes;
}

/* Owned by the server itself: the table of top-ups is what allows it. */
static void
queue_transfer(const struct relay_process *process, const struct relay_top_up *top_up, int64 id,
			   TimestampTz now)
{
	struct relay_send send = {0};
	Datum parameters[2];

	send.relayer = top_up->source;
	send.network = process->network;
	send.chain_id = process->chain_id;
	send.owner = BOOTSTRAP_SUPERUSERID;
	send.idempotency_key = psprintf("top-up:%s:%lld", top_up->name, (long long) id);
	send.recipient = top_up->is_token ? top_up->token : top_up->target;
	send.value = top_up->is_token ? evm_word_zero : top_up->transfer;
	if (top_up->is_token)
		send.data = transfer_data(top_up);
	send.gas_limit = top_up->gas_limit;
	send.wait_for = "none";
	relay_queue(&send, 1, now);
	parameters[0] = Int64GetDatum(id);
	parameters[1] = Int64GetDatum(send.id);
	(void) db_execute(&set_transaction, parameters, NULL);
}

static void
make_transfer(const struct relay_process *process, const struct relay_top_up *top_up)
{
	TimestampTz now = GetCurrentTimestamp();
	Datum parameters[8];

	parameters[0] = CStringGetTextDatum(top_up->name);
	parameters[1] = CStringGetTextDatum(process->network);
	parameters[2] = Int64GetDatum(process->chain_id);
	parameters[3] = relay_address_datum(&top_up->from->key->address);
	parameters[4] = relay_address_datum(&top_up->target);
	parameters[5] = relay_address_datum(&top_up->token);
	parameters[6] = db_word_numeric(&top_up->transfer, false);
	parameters[7] = TimestampTzGetDatum(now);
	/* Another row of rflow.top_ups may have been faster. */
	if (db_execute(&insert_transfer, parameters, NULL) == 1)
		queue_transfer(process, top_up, db_int64(0, 1), now);
}

static bool
has_changed(const struct relay_top_up *top_up)
{
	/* Nothing was learned. */
	if (top_up->told && top_up->silent > 0 && top_up->problem[0] == '\0')
		return false;
	return !top_up->told || strcmp(top_up->told_problem, top_up->problem) != 0 ||
		(top_up->answered &&
		 (!top_up->told_balance ||
		  evm_word_compare(&top_up->told_balance_is, &top_up->balance) != 0));
}

static void
write_top_up(struct relay_top_up *top_up, int64 block_number)
{
	Datum parameters[6] = {0};
	char nulls[] = "      ";

	parameters[0] = CStringGetTextDatum(top_up->name);
	if (top_up->from == NULL)
		nulls[1] = 'n';
	else
		parameters[1] = relay_address_datum(&top_up->target);
	if (top_up->answered)
		parameters[2] = db_word_numeric(&top_up->balance, false);
	else
		nulls[2] = nulls[3] = 'n';
	parameters[3] = Int64GetDatum(block_number);
	if (top_up->problem[0] == '\0')
		nulls[4] = 'n';
	else
		parameters[4] = CStringGetTextDatum(top_up->problem);
	parameters[5] = TimestampTzGetDatum(GetCurrentTimestamp());
	(void) db_execute(&write_state, parameters, nulls);
	top_up->told = true;
	strlcpy(top_up->told_problem, top_up->problem, sizeof(top_up->told_problem));
	if (top_up->answered)
	{
		top_up->told_balance = true;
		top_up->told_balance_is = top_up->balance;
	}
}

static bool
begin_writing(struct relay_process *process, bool transfers)
{
	if (!process->begin(process->context, "relayer: top-ups"))
		return false;
	if (!transfers)
	{
		db_synchronous_commit(false);
		return true;
	}
	/* The rows of rflow.top_ups, and who is paused, are still what was decided by. */
	db_lock_definitions();
	if (db_definitions_generation() == process->generation)
		return true;
	db_abort();
	return false;
}

bool
relay_write_top_ups(struct relay_process *process, int64 block_number)
{
	bool transfers = false;
	bool changes = false;
	int i;

	for (i = 0; i < process->top_up_count; i++)
	{
		transfers = transfers || process->top_ups[i].wanted;
		changes = changes || has_changed(&process->top_ups[i]);
	}
	if (!transfers && !changes)
		return true;
	if (!begin_writing(process, transfers))
		return false;
	for (i = 0; i < process->top_up_count; i++)
	{
		if (process->top_ups[i].wanted)
			make_transfer(process, &process->top_ups[i]);
		if (has_changed(&process->top_ups[i]))
			write_top_up(&process->top_ups[i], block_number);
	}
	if (transfers)
		DB_CRASH_POINT("top-up-before-commit");
	db_commit();
	if (transfers)
		DB_CRASH_POINT("top-up-after-commit");
	return true;
}
