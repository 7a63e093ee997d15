/*
 * relay_private.c
 *	  The transactions of the relayer that carry its guarantees, callable from SQL by superusers.
 *
 * They are the functions that the relayer process runs, so that isolation tests can interleave them
 * with what users do.  No key is read in a client's session: payloads are stored with an empty
 * signature, which is why a database that is armed refuses to sign here.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/identity.h"
#include "db/statement.h"
#include "evm/keccak.h"
#include "evm/word.h"
#include "relay/move.h"
#include "relay/record.h"
#include "relay/sign.h"

/* What every payload of a test offers: 1 gwei, and gas for a transfer. */
#define TEST_FEE_WEI UINT64CONST(1000000000)
#define TEST_GAS 21000

static struct db_statement find_queue = {
	.sql =
		"SELECT t.id, t.owner, t.chain_id, t.recipient, t.value, t.workflow"
		"  FROM rflow_private.due d"
		"  JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint"
		" WHERE d.kind = 'send' AND d.owner = $1"
		" ORDER BY t.id",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement find_live = {
	.sql =
		"SELECT chain_id, from_address, nonce"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement find_replacement = {
	.sql =
		"SELECT p.id, p.owner, t.chain_id, p.recipient, t.relayer, t.from_address, t.nonce,"
		"       t.state, n.attempt"
		"  FROM rflow_private.relayer_transactions t"
		"  JOIN rflow_private.relayer_transactions p ON p.id = t.replaced_by"
		" CROSS JOIN LATERAL (SELECT pg_catalog.max(a.attempt) AS attempt"
		"                       FROM rflow_private.relayer_attempts a"
		"                      WHERE a.chain_id = t.chain_id AND a.address = t.from_address"
		"                        AND a.nonce = t.nonce) n"
		" WHERE t.id = $1",
	.types = {INT8OID},
	.count = 1,
};

PG_FUNCTION_INFO_V1(rflow_relay_sign);
PG_FUNCTION_INFO_V1(rflow_relay_move);
PG_FUNCTION_INFO_V1(rflow_relay_sign_replacement);
PG_FUNCTION_INFO_V1(rflow_relay_record_accepted);
PG_FUNCTION_INFO_V1(rflow_relay_record_mined);
PG_FUNCTION_INFO_V1(rflow_relay_record_unmined);
PG_FUNCTION_INFO_V1(rflow_relay_record_deep);

static void
refuse_if_armed(void)
{
	if (db_is_armed())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("an armed database signs in its relayer process only")));
}

/* Bytes that no node takes, different for each nonce. */
static const char *
leave_unsigned(const struct relay_order *order, uint64 nonce, const struct relay_payload *payload,
			   int64 chain_id, struct evm_bytes *raw, struct evm_hash *hash, void *context)
{
	char *text = psprintf("unsigned %lld %llu %s", (long long) chain_id, (unsigned long long) nonce,
						  order->nonce == NULL ? "first" : "again");

	raw->data = (const uint8 *) text;
	raw->len = strlen(text);
	evm_keccak256(hash, raw->data, raw->len);
	return NULL;
}

static void
fill_order(struct relay_order *order, struct relay_candidate *candidate,
		   struct relay_account *account, uint64 row)
{
	bool isnull;
	bool negative;
	Datum recipient = db_value(row, 4, &isnull);

	candidate->id = db_int64(row, 1);
	candidate->account = account;
	candidate->owner = DatumGetObjectId(db_value(row, 2, NULL));
	candidate->creates = isnull;
	if (!isnull)
		candidate->recipient = *db_datum_address(recipient);
	(void) db_numeric_word(&candidate->value, &negative, db_value(row, 5, NULL));
	candidate->workflow = db_text(row, 6);
	order->account = account;
	order->key = account->key;
	order->candidate = candidate;
	order->price.dynamic = true;
	order->price.max_fee = order->price.priority = evm_word_from_u64(TEST_FEE_WEI);
	order->gas_limit = TEST_GAS;
}

/* relay_sign(relayer, account, first_nonce): all that is queued; returns how many were signed */
Datum
rflow_relay_sign(PG_FUNCTION_ARGS)
{
	struct relay_key key = {0};
	struct relay_account account = {0};
	struct relay_plan plan = {0};
	struct relay_candidate *candidates;
	Datum parameters[1];
	int64 chain_id = 0;
	uint64 rows;
	uint64 row;
	int count;

	refuse_if_armed();
	key.address = *db_datum_address(PG_GETARG_DATUM(1));
	key.latest = (uint64) PG_GETARG_INT64(2);
	account.name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	account.key = &key;
	SPI_connect();
	parameters[0] = CStringGetTextDatum(account.name);
	rows = db_execute(&find_queue, parameters, NULL);
	candidates = palloc0(sizeof(struct relay_candidate) * (rows + 1));
	plan.orders = palloc0(sizeof(struct relay_order) * (rows + 1));
	plan.order_count = (int) rows;
	for (row = 0; row < rows; row++)
		fill_order(&plan.orders[row], &candidates[row], &account, row);
	if (rows > 0)
		chain_id = db_int64(0, 3);
	plan.policies = relay_read_policies(CurrentMemoryContext, NULL, account.name);
	count = relay_sign_orders(&plan, chain_id, -1, leave_unsigned, NULL);
	SPI_finish();
	PG_RETURN_INT32(count);
}

/* relay_move(relayer): returns how many sends of pools were given to others */
Datum
rflow_relay_move(PG_FUNCTION_ARGS)
{
	const char *relayer = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int moved;
	int left;

	if (db_is_armed())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("an armed database moves sends in its relayer process only")));
	SPI_connect();
	moved = relay_move_from(&relayer, 1, &left);
	SPI_finish();
	PG_RETURN_INT32(moved);
}

/* relay_sign_replacement(id): 1 when it was signed, 0 when there is nothing to sign */
Datum
rflow_relay_sign_replacement(PG_FUNCTION_ARGS)
{
	struct relay_key key = {0};
	struct relay_account account = {0};
	struct relay_candidate candidate = {0};
	struct relay_attempt attempt = {0};
	struct relay_nonce nonce = {0};
	struct relay_order order = {0};
	struct relay_plan plan = {0};
	Datum parameters[1];
	int count = 0;

	refuse_if_armed();
	SPI_connect();
	parameters[0] = PG_GETARG_DATUM(0);
	if (db_execute(&find_replacement, parameters, NULL) == 1)
	{
		account.name = db_text(0, 5);
		account.key = &key;
		key.address = *db_datum_address(db_value(0, 6, NULL));
		nonce.transaction_id = PG_GETARG_INT64(0);
		nonce.nonce = (uint64) db_int64(0, 7);
		nonce.state = relay_state_from_name(db_text(0, 8));
		attempt.number = (int) db_int64(0, 9);
		nonce.attempts = &attempt;
		nonce.attempt_count = 1;
		fill_order(&order, &candidate, &account, 0);
		order.nonce = &nonce;
		plan.orders = &order;
		plan.order_count = 1;
		count = relay_sign_orders(&plan, db_int64(0, 3), -1, leave_unsigned, NULL);
	}
	SPI_finish();
	PG_RETURN_INT32(count);
}

Datum
rflow_relay_record_accepted(PG_FUNCTION_ARGS)
{
	bool done;

	SPI_connect();
	done = relay_record_accepted(PG_GETARG_INT64(0));
	SPI_finish();
	PG_RETURN_BOOL(done);
}

static struct evm_hash
hash_argument(FunctionCallInfo fcinfo, int n)
{
	struct evm_bytes bytes = db_datum_hex(PointerGetDatum(PG_DETOAST_DATUM(PG_GETARG_DATUM(n))));
	struct evm_hash hash;

	if (bytes.len != sizeof(hash.b))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a hash has 32 bytes")));
	memcpy(hash.b, bytes.data, sizeof(hash.b));
	return hash;
}

/* relay_record_mined(id, transaction_hash, block_number, block_hash, reverted) */
Datum
rflow_relay_record_mined(PG_FUNCTION_ARGS)
{
	struct evm_hash hash = hash_argument(fcinfo, 1);
	struct relay_receipt receipt = {0};
	struct relay_failure failure = {"reverted", "reverted", {NULL, 0}};
	bool done;

	receipt.block_number = PG_GETARG_INT64(2);
	receipt.block_hash = hash_argument(fcinfo, 3);
	receipt.reverted = PG_GETARG_BOOL(4);
	receipt.gas_used = TEST_GAS;
	SPI_connect();
	done = relay_record_mined(PG_GETARG_INT64(0), &hash, &receipt,
							  receipt.reverted ? failure.message : NULL,
							  receipt.reverted ? &failure : NULL);
	SPI_finish();
	PG_RETURN_BOOL(done);
}

/* relay_record_unmined(id, reason) */
Datum
rflow_relay_record_unmined(PG_FUNCTION_ARGS)
{
	bool done;

	SPI_connect();
	done = relay_record_unmined(PG_GETARG_INT64(0), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	SPI_finish();
	PG_RETURN_BOOL(done);
}

Datum
rflow_relay_record_deep(PG_FUNCTION_ARGS)
{
	int64 id = PG_GETARG_INT64(0);
	struct relay_key key = {0};
	Datum parameters[1];
	bool done = false;

	SPI_connect();
	parameters[0] = Int64GetDatum(id);
	if (db_execute(&find_live, parameters, NULL) == 1)
	{
		int64 chain_id = db_int64(0, 1);
		uint64 nonce = (uint64) db_int64(0, 3);

		key.address = *db_datum_address(db_value(0, 2, NULL));
		done = relay_record_deep(id, &key, chain_id, nonce);
	}
	SPI_finish();
	PG_RETURN_BOOL(done);
}
