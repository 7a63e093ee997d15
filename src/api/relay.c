/*
 * relay.c
 *	  Transactions from SQL: submit_transaction, cancel_transaction, adopt_account.
 *
 * The caller's rights are checked as the caller; our own statements run as the bootstrap superuser
 * under pg_catalog alone, since nobody else may touch rflow_private.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "api/codec_source.h"
#include "db/datum.h"
#include "db/owner.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/word.h"
#include "relay/pool.h"
#include "relay/queue.h"
#include "relay/record.h"

/* The arguments that both forms of submit_transaction share, by position. */
struct submit_columns
{
	int value;
	int key;
	int gas_limit;
	int max_fee;
	int confirmations;
};

static const struct submit_columns of_call = {5, 4, 6, 7, 8};
static const struct submit_columns of_raw = {2, 4, 5, 6, 7};

static struct db_statement find_relayer = {
	.sql =
		"SELECT n.name, n.chain_id, n.enabled"
		"  FROM rflow.relayers r"
		"  JOIN rflow.networks n ON n.name = r.network"
		" WHERE r.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement find_contract = {
	.sql =
		"SELECT network, address, abi::text"
		"  FROM rflow.contracts"
		" WHERE name = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement lock_transaction = {
	.sql =
		"SELECT owner, state, intent"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1"
		"   FOR UPDATE",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement want_cancel = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET intent = 'cancel', reason = 'to be cancelled: a no-op is to take its nonce'"
		" WHERE id = $1 AND state IN ('signed', 'broadcast') AND intent = 'send'",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement find_account = {
	.sql =
		"SELECT s.address, n.chain_id, GREATEST(s.chain_nonce, s.pending_nonce)"
		"  FROM rflow.relayers r"
		"  JOIN rflow.networks n ON n.name = r.network"
		"  LEFT JOIN rflow_private.relayer_states s ON s.relayer = r.name"
		" WHERE r.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement set_next_nonce = {
	.sql =
		"INSERT INTO rflow_private.relayer_keys AS k"
		"       (chain_id, address, next_nonce, adopted_nonce, adopted_at)"
		"VALUES ($1, $2::rflow.address, $3, $3, $4)"
		"    ON CONFLICT (chain_id, address) DO UPDATE"
		"   SET next_nonce = EXCLUDED.next_nonce, adopted_nonce = EXCLUDED.adopted_nonce,"
		"       adopted_at = EXCLUDED.adopted_at"
		" WHERE NOT EXISTS (SELECT"
		"                     FROM rflow_private.nonces n"
		"                    WHERE n.chain_id = k.chain_id AND n.address = k.address"
		"                      AND n.nonce >= EXCLUDED.next_nonce)",
	.types = {INT8OID, TEXTOID, INT8OID, TIMESTAMPTZOID},
	.count = 4,
};

PG_FUNCTION_INFO_V1(rflow_submit_call);
PG_FUNCTION_INFO_V1(rflow_submit_raw);
PG_FUNCTION_INFO_V1(rflow_cancel_transaction);
PG_FUNCTION_INFO_V1(rflow_adopt_account);

static void
need_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", name)));
}

static struct evm_word
amount_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	struct evm_word amount;
	bool negative;

	if (!db_numeric_word(&amount, &negative, PG_GETARG_DATUM(n)) || negative)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s is not an integer from 0 to 2^256 - 1", name)));
	return amount;
}

static int64
positive_argument(FunctionCallInfo fcinfo, int n, bool is_int4, const char *name)
{
	int64 number;

	if (PG_ARGISNULL(n))
		return 0;
	number = is_int4 ? PG_GETARG_INT32(n) : PG_GETARG_INT64(n);
	if (number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("%s must be above 0", name)));
	return number;
}

static void
fill_send(FunctionCallInfo fcinfo, struct relay_send *send, const struct submit_columns *columns)
{
	memset(send, 0, sizeof(*send));
	need_argument(fcinfo, 0, "relayer");
	need_argument(fcinfo, columns->key, "idempotency_key");
	need_argument(fcinfo, columns->value, "value");
	send->owner = GetUserId();
	send->relayer = text_to_cstring(PG_GETARG_TEXT_PP(0));
	send->idempotency_key = text_to_cstring(PG_GETARG_TEXT_PP(columns->key));
	send->value = amount_argument(fcinfo, columns->value, "value");
	send->gas_limit = positive_argument(fcinfo, columns->gas_limit, false, "gas_limit");
	send->has_max_fee = !PG_ARGISNULL(columns->max_fee);
	if (send->has_max_fee)
		send->max_fee_per_gas = amount_argument(fcinfo, columns->max_fee, "max_fee_per_gas");
	send->confirmations =
		(int) positive_argument(fcinfo, columns->confirmations, true, "confirmations");
	send->wait_for = "none";
}

/* The network must be enabled: what is queued for another one would wait in silence. */
static void
check_enabled(bool enabled, const struct relay_send *send)
{
	if (!enabled)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("network \"%s\" of relayer \"%s\" is disabled", send->network,
						send->relayer)));
}

/* Fills network and chain id, and takes a member that the caller may use. */
static void
choose_relayer(struct relay_send *send, const char *name)
{
	struct relay_pool *pool = relay_read_pool(name);

	if (pool == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("pool \"%s\" does not exist", name)));
	send->network = pool->network;
	send->chain_id = pool->chain_id;
	check_enabled(pool->enabled, send);
	if (!relay_pool_assign(pool, send, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for every relayer of pool \"%s\"", name),
				 errhint("Insert rows into rflow.relayer_grants.")));
}

/*
 * Fills network and chain id; the relayer must exist, be the caller's to use, and its network
 * enabled.
 */
static void
check_relayer(struct relay_send *send)
{
	Datum parameters[1];

	if (relay_pool_name(send->relayer) != NULL)
	{
		choose_relayer(send, relay_pool_name(send->relayer));
		return;
	}
	parameters[0] = CStringGetTextDatum(send->relayer);
	if (db_execute(&find_relayer, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relayer \"%s\" does not exist", send->relayer)));
	send->network = db_text(0, 1);
	send->chain_id = db_int64(0, 2);
	check_enabled(DatumGetBool(db_value(0, 3, NULL)), send);
	if (!relay_may_use(send->relayer, send->owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for relayer \"%s\"", send->relayer),
				 errhint("INSERT INTO rflow.relayer_grants VALUES ('%s', '%s')", send->relayer,
						 GetUserNameFromId(send->owner, false))));
}

/* Fills recipient and data from the contract's ABI. */
static void
encode_call(struct relay_send *send, const char *contract, const char *function, Jsonb *args)
{
	struct evm_arena *arena = api_codec_arena();
	const struct evm_abi_item *item;
	struct evm_abi abi;
	struct evm_error err;
	struct evm_abi_value *values;
	Datum parameters[1];
	char *abi_text;

	parameters[0] = CStringGetTextDatum(contract);
	if (db_execute(&find_contract, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("contract \"%s\" does not exist", contract)));
	if (strcmp(db_text(0, 1), send->network) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("contract \"%s\" is on network \"%s\", relayer \"%s\" on \"%s\"", contract,
						db_text(0, 1), send->relayer, send->network)));
	send->recipient = *db_datum_address(db_value(0, 2, NULL));
	abi_text = db_text(0, 3);
	if (evm_abi_parse_json(arena, &abi, NULL, abi_text, strlen(abi_text), &err) != EVM_OK ||
		evm_abi_find(&item, &abi, EVM_ABI_ITEM_FUNCTION, function, &err) != EVM_OK)
		db_raise(&err, psprintf("contract \"%s\"", contract));
	if (!evm_word_is_zero(&send->value) && item->mutability != EVM_ABI_PAYABLE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is not payable: value must be 0", item->signature)));
	values = db_abi_params_from_jsonb(arena, item->inputs, item->input_count, args, "args");
	if (evm_abi_encode_call(arena, &send->data, item, values, item->input_count, &err) != EVM_OK)
		db_raise(&err, "args");
}

static void
begin_private(struct db_identity_frame *frame)
{
	db_act_as_superuser(frame);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

static void
end_private(struct db_identity_frame *frame)
{
	SPI_finish();
	db_leave(frame);
}

/* submit_transaction(relayer, contract, function, args, idempotency_key, value, …) */
Datum
rflow_submit_call(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_send send;
	char *contract;
	char *function;
	Jsonb *args;

	need_argument(fcinfo, 1, "contract");
	need_argument(fcinfo, 2, "function");
	need_argument(fcinfo, 3, "args");
	contract = text_to_cstring(PG_GETARG_TEXT_PP(1));
	function = text_to_cstring(PG_GETARG_TEXT_PP(2));
	args = PG_GETARG_JSONB_P(3);
	fill_send(fcinfo, &send, &of_call);
	begin_private(&frame);
	check_relayer(&send);
	encode_call(&send, contract, function, args);
	relay_queue(&send, 1, GetCurrentTimestamp());
	end_private(&frame);
	PG_RETURN_INT64(send.id);
}

/* submit_transaction(relayer, recipient, value, data, idempotency_key, …) */
Datum
rflow_submit_raw(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_send send;

	need_argument(fcinfo, 3, "data");
	fill_send(fcinfo, &send, &of_raw);
	send.creates = PG_ARGISNULL(1);
	if (!send.creates)
		send.recipient = *db_datum_address(PG_GETARG_DATUM(1));
	send.data = db_datum_hex(PointerGetDatum(PG_DETOAST_DATUM(PG_GETARG_DATUM(3))));
	if (send.creates && send.data.len == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("a transaction without recipient creates a contract: data must not be empty")));
	begin_private(&frame);
	check_relayer(&send);
	relay_queue(&send, 1, GetCurrentTimestamp());
	end_private(&frame);
	PG_RETURN_INT64(send.id);
}

static bool
is_member_of(const char *role)
{
	Oid oid = get_role_oid(role, true);

	return OidIsValid(oid) && has_privs_of_role(GetUserId(), oid);
}

static bool
is_operator(void)
{
	return superuser() || is_member_of("rflow_operator") || is_member_of("rflow_admin");
}

/* Locks the row; raises unless it is the caller's or the caller may operate on all. */
static enum relay_state
lock_own_transaction(int64 id, Oid caller, bool operates)
{
	Datum parameters[1];

	parameters[0] = Int64GetDatum(id);
	if (db_execute(&lock_transaction, parameters, NULL) != 1 ||
		!(operates || has_privs_of_role(caller, DatumGetObjectId(db_value(0, 1, NULL)))))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no transaction %lld of yours", (long long) id)));
	return relay_state_from_name(db_text(0, 2));
}

/* The state that it has then; "cancelling" when a no-op has to take its nonce first. */
static const char *
cancel(int64 id, enum relay_state state)
{
	Datum parameters[1];

	if (state == RELAY_QUEUED)
	{
		(void) relay_end_queued(id, RELAY_CANCELLED, "cancelled before it was signed", NULL);
		return relay_state_name(RELAY_CANCELLED);
	}
	if (state != RELAY_SIGNED && state != RELAY_BROADCAST)
		return relay_state_name(state);
	parameters[0] = Int64GetDatum(id);
	if (db_execute(&want_cancel, parameters, NULL) > 0)
		db_wake_at_commit(WAKE_RELAYERS);
	return "cancelling";
}

Datum
rflow_cancel_transaction(PG_FUNCTION_ARGS)
{
	int64 id = PG_GETARG_INT64(0);
	Oid caller = GetUserId();
	bool operates = is_operator();
	struct db_identity_frame frame;
	enum relay_state state;
	const char *left_as;

	begin_private(&frame);
	state = lock_own_transaction(id, caller, operates);
	left_as = cancel(id, state);
	end_private(&frame);
	PG_RETURN_TEXT_P(cstring_to_text(left_as));
}

/* The chain's count, as the relayer has seen it last, unless the caller knows better. */
static int64
adopt(const char *relayer, int64 next_nonce)
{
	Datum parameters[4];
	bool isnull;

	parameters[0] = CStringGetTextDatum(relayer);
	if (db_execute(&find_account, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relayer \"%s\" does not exist", relayer)));
	(void) db_value(0, 1, &isnull);
	if (isnull || (next_nonce < 0 && (db_value(0, 3, &isnull), isnull)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the account of relayer \"%s\" is not known yet", relayer),
				 errhint("See column problem of rflow.relayer_status.")));
	if (next_nonce < 0)
		next_nonce = db_int64(0, 3);
	parameters[0] = Int64GetDatum(db_int64(0, 2));
	parameters[1] = relay_address_datum(db_datum_address(db_value(0, 1, NULL)));
	parameters[2] = Int64GetDatum(next_nonce);
	parameters[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (db_execute(&set_next_nonce, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("nonce %lld of the account is rflow's already", (long long) next_nonce),
				 errdetail("The next nonce must be above all that rflow has assigned.")));
	db_wake_at_commit(WAKE_RELAYERS);
	return next_nonce;
}

/* adopt_account(relayer, next_nonce) */
Datum
rflow_adopt_account(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	int64 next_nonce = PG_ARGISNULL(1) ? -1 : PG_GETARG_INT64(1);
	char *relayer;

	need_argument(fcinfo, 0, "relayer");
	relayer = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (!is_operator())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to adopt the account of relayer \"%s\"", relayer),
				 errhint("Members of rflow_operator may.")));
	if (!PG_ARGISNULL(1) && next_nonce < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("next_nonce must not be negative")));
	begin_private(&frame);
	next_nonce = adopt(relayer, next_nonce);
	end_private(&frame);
	PG_RETURN_INT64(next_nonce);
}
