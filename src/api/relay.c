/*
 * relay.c
 *	  Transactions from SQL: submit_transaction, and what the verbs on transactions share with it.
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
#include "api/relay.h"
#include "db/datum.h"
#include "db/statement.h"
#include "evm/word.h"
#include "relay/pool.h"
#include "relay/policy_check.h"

/* The arguments that both forms of submit_transaction share, by position. */
struct submit_columns
{
	int value;
	int key;
	int gas_limit;
	int max_fee;
	int confirmations;
	int expires_in;
};

static const struct submit_columns of_call = {5, 4, 6, 7, 8, 9};
static const struct submit_columns of_raw = {2, 4, 5, 6, 7, 8};

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

PG_FUNCTION_INFO_V1(rflow_submit_call);
PG_FUNCTION_INFO_V1(rflow_submit_raw);

void
api_need_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", name)));
}

struct evm_word
api_amount_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	struct evm_word amount;
	bool negative;

	if (!db_numeric_word(&amount, &negative, PG_GETARG_DATUM(n)) || negative)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s is not an integer from 0 to 2^256 - 1", name)));
	return amount;
}

int64
api_positive_argument(FunctionCallInfo fcinfo, int n, bool is_int4, const char *name)
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

const Interval *
api_expiry_argument(FunctionCallInfo fcinfo, int n)
{
	const Interval *expires_in = PG_ARGISNULL(n) ? NULL : PG_GETARG_INTERVAL_P(n);

	if (expires_in != NULL && !relay_is_ahead(expires_in))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("expires_in must be above 0")));
	return expires_in;
}

static void
fill_send(FunctionCallInfo fcinfo, struct relay_send *send, const struct submit_columns *columns)
{
	memset(send, 0, sizeof(*send));
	api_need_argument(fcinfo, 0, "relayer");
	api_need_argument(fcinfo, columns->key, "idempotency_key");
	api_need_argument(fcinfo, columns->value, "value");
	send->owner = GetUserId();
	send->relayer = text_to_cstring(PG_GETARG_TEXT_PP(0));
	send->idempotency_key = text_to_cstring(PG_GETARG_TEXT_PP(columns->key));
	send->value = api_amount_argument(fcinfo, columns->value, "value");
	send->gas_limit = api_positive_argument(fcinfo, columns->gas_limit, false, "gas_limit");
	send->has_max_fee = !PG_ARGISNULL(columns->max_fee);
	if (send->has_max_fee)
		send->max_fee_per_gas = api_amount_argument(fcinfo, columns->max_fee, "max_fee_per_gas");
	send->confirmations =
		(int) api_positive_argument(fcinfo, columns->confirmations, true, "confirmations");
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

void
api_check_relayer(struct relay_send *send, const Interval *expires_in)
{
	struct relay_grants *grants;
	Datum parameters[1];

	if (relay_pool_name(send->relayer) != NULL)
	{
		send->valid_until = relay_valid_until(expires_in, NULL);
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
	grants = relay_read_grants(send->relayer);
	if (!relay_grants_allow(grants, send->owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for relayer \"%s\"", send->relayer),
				 errhint("INSERT INTO rflow.relayer_grants VALUES ('%s', '%s')", send->relayer,
						 GetUserNameFromId(send->owner, false))));
	send->valid_until = relay_valid_until(expires_in, grants);
}

void
api_encode_call(struct relay_send *send, const char *contract, const char *function, Jsonb *args)
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

void
api_check_policies(const struct relay_send *send)
{
	struct relay_policies *policies =
		relay_read_policies(CurrentMemoryContext, send->network, send->relayer);
	struct relay_subject subject = relay_subject_of_send(send);
	char *refusal;

	if (policies == NULL ||
		(send->idempotency_key != NULL && relay_has_key(send->owner, send->idempotency_key)))
		return;
	refusal = relay_policy_denial(policies, &subject);
	if (refusal != NULL)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("%s", refusal)));
}

void
api_begin_private(struct db_identity_frame *frame)
{
	db_act_as_superuser(frame);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

void
api_end_private(struct db_identity_frame *frame)
{
	SPI_finish();
	db_leave(frame);
}

/* submit_transaction(relayer, contract, function, args, idempotency_key, value, …) */
Datum
rflow_submit_call(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	const Interval *expires_in;
	struct relay_send send;
	char *contract;
	char *function;
	Jsonb *args;

	api_need_argument(fcinfo, 1, "contract");
	api_need_argument(fcinfo, 2, "function");
	api_need_argument(fcinfo, 3, "args");
	contract = text_to_cstring(PG_GETARG_TEXT_PP(1));
	function = text_to_cstring(PG_GETARG_TEXT_PP(2));
	args = PG_GETARG_JSONB_P(3);
	fill_send(fcinfo, &send, &of_call);
	expires_in = api_expiry_argument(fcinfo, of_call.expires_in);
	api_begin_private(&frame);
	api_check_relayer(&send, expires_in);
	api_encode_call(&send, contract, function, args);
	api_check_policies(&send);
	relay_queue(&send, 1, GetCurrentTimestamp());
	api_end_private(&frame);
	PG_RETURN_INT64(send.id);
}

/* submit_transaction(relayer, recipient, value, data, idempotency_key, …) */
Datum
rflow_submit_raw(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	const Interval *expires_in;
	struct relay_send send;

	api_need_argument(fcinfo, 3, "data");
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
	expires_in = api_expiry_argument(fcinfo, of_raw.expires_in);
	api_begin_private(&frame);
	api_check_relayer(&send, expires_in);
	api_check_policies(&send);
	relay_queue(&send, 1, GetCurrentTimestamp());
	api_end_private(&frame);
	PG_RETURN_INT64(send.id);
}

static bool
is_member_of(const char *role)
{
	Oid oid = get_role_oid(role, true);

	return OidIsValid(oid) && has_privs_of_role(GetUserId(), oid);
}

bool
api_is_operator(void)
{
	return superuser() || is_member_of("rflow_operator") || is_member_of("rflow_admin");
}
