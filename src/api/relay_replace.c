/*
 * relay_replace.c
 *	  replace_transaction: another payload in the place of one that is queued or under way.
 *
 * What is not signed is changed.  What is signed gets a competitor: a transaction of its own,
 * linked with it, that is signed for the same nonce at a higher price; what mines there decides
 * which of both has happened.  There are never more than these two payloads.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "api/relay.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/word.h"
#include "relay/record.h"

static struct db_statement read_payload = {
	.sql =
		"SELECT recipient, value, data"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1",
	.types = {INT8OID},
	.count = 1,
};

/* What is NULL stays as it is, but for the gas limit: that of another call is another one. */
static struct db_statement change_payload = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET recipient = $2::rflow.address, value = $3, data = $4::rflow.hex, gas_limit = $5,"
		"       max_fee_per_gas = COALESCE($6, max_fee_per_gas)"
		" WHERE id = $1 AND state = 'queued'",
	.types = {INT8OID, TEXTOID, NUMERICOID, BYTEAOID, INT8OID, NUMERICOID},
	.count = 6,
};

/* What pools want at least of another payload, and the cap that it would have. */
static struct db_statement find_least_fee = {
	.sql =
		"SELECT f.least, f.cap, f.cap < f.least"
		"  FROM (SELECT pg_catalog.ceil(1.1 * pg_catalog.max(COALESCE(a.max_fee_per_gas,"
		"                                                             a.gas_price))) AS least,"
		"               COALESCE($2, t.max_fee_per_gas) AS cap"
		"          FROM rflow_private.relayer_transactions t"
		"          JOIN rflow_private.relayer_attempts a"
		"            ON a.chain_id = t.chain_id AND a.address = t.from_address"
		"               AND a.nonce = t.nonce"
		"         WHERE t.id = $1"
		"         GROUP BY t.id) f",
	.types = {INT8OID, NUMERICOID},
	.count = 2,
};

/* It waits for no time of its own: the nonce of the other one leads to it. */
static struct db_statement add_competitor = {
	.sql =
		"WITH added AS ("
		"    INSERT INTO rflow_private.relayer_transactions"
		"           (relayer, network, chain_id, owner, idempotency_key, workflow, run_id, step,"
		"            recipient, value, data, gas_limit, max_fee_per_gas, wait_for, confirmations,"
		"            reason, state_since, created_at, valid_until, replaces)"
		"    SELECT t.relayer, t.network, t.chain_id, t.owner,"
		"           pg_catalog.format('replace:%s:%s', t.id, pg_catalog.gen_random_uuid()),"
		"           t.workflow, t.run_id, t.step, $2::rflow.address, $3, $4::rflow.hex, $5,"
		"           COALESCE($6, t.max_fee_per_gas), t.wait_for, t.confirmations,"
		"           pg_catalog.format('to be signed at the nonce of transaction %s', t.id),"
		"           $7, $7, t.valid_until, t.id"
		"      FROM rflow_private.relayer_transactions t"
		"     WHERE t.id = $1"
		"    RETURNING id, network, valid_until), "
		"due AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'expire', network, valid_until, pg_catalog.lpad(id::text, 19, '0')"
		"      FROM added"
		"     WHERE valid_until IS NOT NULL) "
		"UPDATE rflow_private.relayer_transactions t"
		"   SET intent = 'replace', replaced_by = added.id,"
		"       reason = pg_catalog.format('to be replaced by transaction %s', added.id)"
		"  FROM added"
		" WHERE t.id = $1 AND t.intent = 'send' AND t.state IN ('signed', 'broadcast')"
		"RETURNING added.id",
	.types = {INT8OID, TEXTOID, NUMERICOID, BYTEAOID, INT8OID, NUMERICOID, TIMESTAMPTZOID},
	.count = 7,
};

/* Positions of the arguments that both forms have. */
struct replace_columns
{
	int value;
	int gas_limit;
	int max_fee;
	int reason;
};

static const struct replace_columns of_call = {4, 5, 6, 7};
static const struct replace_columns of_raw = {2, 4, 5, 6};

PG_FUNCTION_INFO_V1(rflow_replace_call);
PG_FUNCTION_INFO_V1(rflow_replace_raw);

static void
fill_payload(FunctionCallInfo fcinfo, struct relay_send *send,
			 const struct replace_columns *columns)
{
	memset(send, 0, sizeof(*send));
	api_need_argument(fcinfo, columns->value, "value");
	send->value = api_amount_argument(fcinfo, columns->value, "value");
	send->gas_limit = api_positive_argument(fcinfo, columns->gas_limit, false, "gas_limit");
	send->has_max_fee = !PG_ARGISNULL(columns->max_fee);
	if (send->has_max_fee)
		send->max_fee_per_gas = api_amount_argument(fcinfo, columns->max_fee, "max_fee_per_gas");
}

/*
 * Whoever gives a payload must be allowed to send it: operating on a transaction is not enough.
 */
static void
lock_to_replace(struct relay_target *target, struct relay_send *send, int64 id, Oid caller,
				bool operates)
{
	api_lock_own_transaction(target, id, caller, operates);
	send->relayer = target->relayer;
	send->owner = caller;
	api_check_relayer(send, NULL);
	send->owner = target->owner;
	send->workflow = target->workflow;
}

/* Reads the payload of a transaction as JSON for the journal; is it this one? */
static bool
has_payload(int64 id, const struct relay_send *send, char **json)
{
	Datum parameters[1];
	struct evm_bytes data;
	struct evm_word value;
	Datum recipient;
	bool negative;
	bool creates;

	parameters[0] = Int64GetDatum(id);
	if (db_execute(&read_payload, parameters, NULL) != 1)
		elog(ERROR, "transaction %lld has gone", (long long) id);
	recipient = db_value(0, 1, &creates);
	data = db_datum_hex(db_value(0, 3, NULL));
	*json = psprintf("{\"was\": {\"recipient\": %s, \"value\": \"%s\", \"data\": \"%s\"}}",
					 creates ? "null" : psprintf("\"%s\"", db_text(0, 1)), db_text(0, 2),
					 db_text(0, 3));
	return db_numeric_word(&value, &negative, db_value(0, 2, NULL)) &&
		evm_word_compare(&value, &send->value) == 0 && creates == send->creates &&
		data.len == send->data.len &&
		(data.len == 0 || memcmp(data.data, send->data.data, data.len) == 0) &&
		(creates ||
		 memcmp(db_datum_address(recipient), &send->recipient, sizeof(send->recipient)) == 0);
}

static void
put_payload(Datum *parameters, char *nulls, int64 id, const struct relay_send *send)
{
	parameters[0] = Int64GetDatum(id);
	if (send->creates)
		nulls[1] = 'n';
	else
		parameters[1] = relay_address_datum(&send->recipient);
	parameters[2] = db_word_numeric(&send->value, false);
	parameters[3] = db_hex_datum(send->data.data, send->data.len);
	if (send->gas_limit == 0)
		nulls[4] = 'n';
	else
		parameters[4] = Int64GetDatum(send->gas_limit);
	if (send->has_max_fee)
		parameters[5] = db_word_numeric(&send->max_fee_per_gas, false);
	else
		nulls[5] = 'n';
}

static void
refuse(const struct relay_target *target, const char *why, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("transaction %lld %s", (long long) target->id, why),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

static int64
compete(const struct relay_target *target, const struct relay_send *send)
{
	Datum parameters[7] = {0};
	char nulls[] = "       ";

	put_payload(parameters, nulls, target->id, send);
	parameters[6] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (db_execute(&add_competitor, parameters, nulls) != 1)
		elog(ERROR, "transaction %lld has changed", (long long) target->id);
	db_wake_at_commit(WAKE_RELAYERS);
	return db_int64(0, 1);
}

/* Below what outbids the payload that is signed, it could never be signed, and nothing else. */
static void
check_outbids(const struct relay_target *target, const struct relay_send *send)
{
	Datum parameters[2] = {0};
	char nulls[] = "  ";
	bool isnull;

	parameters[0] = Int64GetDatum(target->id);
	if (send->has_max_fee)
		parameters[1] = db_word_numeric(&send->max_fee_per_gas, false);
	else
		nulls[1] = 'n';
	if (db_execute(&find_least_fee, parameters, nulls) == 1 &&
		DatumGetBool(db_value(0, 3, &isnull)) && !isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("transaction %lld can only be replaced for a fee of %s wei per gas or more",
						(long long) target->id, db_text(0, 1)),
				 errdetail("max_fee_per_gas would be %s; pools take another payload for a nonce "
						   "for a tenth more than the one before.",
						   db_text(0, 2))));
}

/* The transaction that has the payload then: itself, or another one for its nonce. */
static int64
replace(const struct relay_target *target, const struct relay_send *send, char **was,
		const char **outcome)
{
	Datum parameters[6] = {0};
	char nulls[] = "      ";
	bool same = has_payload(target->id, send, was);

	if (target->replaces != 0)
		refuse(target, psprintf("replaces transaction %lld itself", (long long) target->replaces),
			   "It can be bumped, or cancelled.");
	if (target->intent == RELAY_INTENT_ADOPT)
		refuse(target, "is to become an outside transaction",
			   psprintf("rflow.adopt_transaction(%lld, NULL) takes that back.",
						(long long) target->id));
	if (target->replaced_by != 0 && target->intent == RELAY_INTENT_REPLACE)
	{
		if (!has_payload(target->replaced_by, send, was))
			refuse(target,
				   psprintf("is being replaced by transaction %lld already",
							(long long) target->replaced_by),
				   "There is no third payload for a nonce: bump that one, or cancel it.");
		*outcome = "replacing";
		return target->replaced_by;
	}
	if (target->state == RELAY_QUEUED)
	{
		*outcome = same ? "unchanged" : "changed before it was signed";
		put_payload(parameters, nulls, target->id, send);
		(void) db_execute(&change_payload, parameters, nulls);
		(void) relay_retry_queued(target->id);
		db_wake_at_commit(WAKE_RELAYERS);
		return target->id;
	}
	if (target->state != RELAY_SIGNED && target->state != RELAY_BROADCAST)
		refuse(target, psprintf("is %s", relay_state_name(target->state)), NULL);
	if (target->intent != RELAY_INTENT_SEND || target->has_error)
		refuse(target, "is being given up: a no-op is to take its nonce", NULL);
	if (same)
		refuse(target, "has this payload already", "rflow.bump_transaction() offers more for it.");
	check_outbids(target, send);
	*outcome = "replacing";
	return compete(target, send);
}

static int64
replace_and_log(FunctionCallInfo fcinfo, const struct relay_target *target,
				const struct relay_send *send, Oid caller, const struct replace_columns *columns)
{
	const char *outcome = NULL;
	char *was = NULL;
	int64 id;

	api_check_policies(send);
	id = replace(target, send, &was, &outcome);
	if (id != target->id)
		outcome = psprintf("%s: transaction %lld", outcome, (long long) id);
	api_log_transaction("replace_transaction", target, caller,
						api_text_or_null(fcinfo, columns->reason), was, outcome);
	return id;
}

/* replace_transaction(id, contract, function, args, value, gas_limit, max_fee_per_gas, reason) */
Datum
rflow_replace_call(PG_FUNCTION_ARGS)
{
	Oid caller = GetUserId();
	bool operates = api_is_operator();
	struct db_identity_frame frame;
	struct relay_target target;
	struct relay_send send;
	char *contract;
	char *function;
	int64 id;

	api_need_argument(fcinfo, 0, "id");
	api_need_argument(fcinfo, 1, "contract");
	api_need_argument(fcinfo, 2, "function");
	api_need_argument(fcinfo, 3, "args");
	contract = text_to_cstring(PG_GETARG_TEXT_PP(1));
	function = text_to_cstring(PG_GETARG_TEXT_PP(2));
	fill_payload(fcinfo, &send, &of_call);
	api_begin_private(&frame);
	lock_to_replace(&target, &send, PG_GETARG_INT64(0), caller, operates);
	api_encode_call(&send, contract, function, PG_GETARG_JSONB_P(3));
	id = replace_and_log(fcinfo, &target, &send, caller, &of_call);
	api_end_private(&frame);
	PG_RETURN_INT64(id);
}

/* replace_transaction(id, recipient, value, data, gas_limit, max_fee_per_gas, reason) */
Datum
rflow_replace_raw(PG_FUNCTION_ARGS)
{
	Oid caller = GetUserId();
	bool operates = api_is_operator();
	struct db_identity_frame frame;
	struct relay_target target;
	struct relay_send send;
	int64 id;

	api_need_argument(fcinfo, 0, "id");
	api_need_argument(fcinfo, 1, "recipient");
	api_need_argument(fcinfo, 3, "data");
	fill_payload(fcinfo, &send, &of_raw);
	send.recipient = *db_datum_address(PG_GETARG_DATUM(1));
	send.data = db_datum_hex(PointerGetDatum(PG_DETOAST_DATUM(PG_GETARG_DATUM(3))));
	api_begin_private(&frame);
	lock_to_replace(&target, &send, PG_GETARG_INT64(0), caller, operates);
	id = replace_and_log(fcinfo, &target, &send, caller, &of_raw);
	api_end_private(&frame);
	PG_RETURN_INT64(id);
}
