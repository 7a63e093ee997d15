/*
 * relay_verbs.c
 *	  What is done with transactions that are queued already, and with accounts.
 *
 * Owners have the verbs for their own transactions, operators for all.  Each writes an entry of the
 * journal in its own transaction.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "api/relay.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "relay/intent.h"
#include "relay/operator_log.h"
#include "relay/reconcile.h"
#include "relay/record.h"

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

static struct db_statement find_paused = {
	.sql =
		"SELECT paused"
		"  FROM rflow.relayers"
		" WHERE name = $1",
	.types = {TEXTOID, TIMESTAMPTZOID},
	.count = 2,
};

/* Rows of transactions are locked first, as the relayer does. */
static struct db_statement retry_all = {
	.sql =
		"WITH held AS ("
		"    SELECT t.id, t.relayer, t.due_at"
		"      FROM rflow_private.due d"
		"      JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint"
		"     WHERE d.kind = 'send' AND d.owner = $1 AND d.wake_at > '-infinity'"
		"       AND d.wake_at < 'infinity' AND t.state = 'queued' AND t.relayer = $1"
		"     ORDER BY t.id"
		"       FOR UPDATE OF t SKIP LOCKED), "
		"taken AS ("
		"    DELETE FROM rflow_private.due d"
		"     USING held h"
		"     WHERE d.kind = 'send' AND d.owner = h.relayer AND d.wake_at = h.due_at"
		"       AND d.id = pg_catalog.lpad(h.id::text, 19, '0')"
		"    RETURNING h.id AS transaction_id, d.id), "
		"moved AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', $1, '-infinity', id FROM taken) "
		"UPDATE rflow_private.relayer_transactions t"
		"   SET due_at = '-infinity', reason = NULL"
		"  FROM taken"
		" WHERE t.id = taken.transaction_id",
	.types = {TEXTOID, TIMESTAMPTZOID},
	.count = 2,
};

/* The process forgets for how long it wanted to wait. */
static struct db_statement note_retried = {
	.sql =
		"INSERT INTO rflow_private.relayer_states AS s (relayer, resumed_at)"
		"VALUES ($1, $2)"
		"    ON CONFLICT (relayer) DO UPDATE SET resumed_at = EXCLUDED.resumed_at",
	.types = {TEXTOID, TIMESTAMPTZOID},
	.count = 2,
};

static struct db_statement find_nonce = {
	.sql =
		"SELECT k.next_nonce, s.chain_nonce, n.transaction_id, s.address, w.chain_id"
		"  FROM rflow.relayers r"
		"  JOIN rflow.networks w ON w.name = r.network"
		"  LEFT JOIN rflow_private.relayer_states s ON s.relayer = r.name"
		"  LEFT JOIN rflow_private.relayer_keys k"
		"         ON k.chain_id = w.chain_id AND k.address = s.address"
		"  LEFT JOIN rflow_private.nonces n"
		"         ON n.chain_id = w.chain_id AND n.address = s.address AND n.nonce = $2"
		" WHERE r.name = $1",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static struct db_statement wish_filled = {
	.sql =
		"UPDATE rflow_private.relayer_keys"
		"   SET gaps = pg_catalog.array_append(pg_catalog.array_remove(gaps, $3), $3)"
		" WHERE chain_id = $1 AND address = $2",
	.types = {INT8OID, InvalidOid, INT8OID},
	.count = 3,
};

PG_FUNCTION_INFO_V1(rflow_cancel_transaction);
PG_FUNCTION_INFO_V1(rflow_expire_transaction);
PG_FUNCTION_INFO_V1(rflow_bump_transaction);
PG_FUNCTION_INFO_V1(rflow_retry_transaction);
PG_FUNCTION_INFO_V1(rflow_retry_relayer);
PG_FUNCTION_INFO_V1(rflow_fill_gap);
PG_FUNCTION_INFO_V1(rflow_adopt_account);

char *
api_text_or_null(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(n));
}

void
api_require_operator(const char *what)
{
	if (!api_is_operator())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied to %s", what),
				 errhint("Members of rflow_operator may.")));
}

void
api_lock_own_transaction(struct relay_target *out, int64 id, Oid caller, bool operates)
{
	if (!relay_lock_target(out, id) || !(operates || has_privs_of_role(caller, out->owner)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no transaction %lld of yours", (long long) id)));
}

void
api_log_transaction(const char *verb, const struct relay_target *target, Oid caller,
					const char *reason, const char *detail, const char *outcome)
{
	struct relay_verb entry = {0};

	entry.verb = verb;
	entry.subject = psprintf("transaction %lld", (long long) target->id);
	entry.caller = caller;
	entry.owner = target->owner;
	entry.reason = reason;
	entry.detail = detail;
	entry.outcome = outcome;
	relay_log_verb(&entry);
}

/* (id, reason) */
static Datum
give_up(FunctionCallInfo fcinfo, const char *verb, enum relay_intent intent)
{
	Oid caller = GetUserId();
	bool operates = api_is_operator();
	char *reason = api_text_or_null(fcinfo, 1);
	struct db_identity_frame frame;
	struct relay_target target;
	const char *left_as;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	api_begin_private(&frame);
	api_lock_own_transaction(&target, PG_GETARG_INT64(0), caller, operates);
	left_as = relay_give_up(&target, intent);
	api_log_transaction(verb, &target, caller, reason, NULL, left_as);
	api_end_private(&frame);
	PG_RETURN_TEXT_P(cstring_to_text(left_as));
}

Datum
rflow_cancel_transaction(PG_FUNCTION_ARGS)
{
	return give_up(fcinfo, "cancel_transaction", RELAY_INTENT_CANCEL);
}

Datum
rflow_expire_transaction(PG_FUNCTION_ARGS)
{
	return give_up(fcinfo, "expire_transaction", RELAY_INTENT_EXPIRE);
}

/* bump_transaction(id, max_fee_per_gas, reason) */
Datum
rflow_bump_transaction(PG_FUNCTION_ARGS)
{
	Oid caller = GetUserId();
	bool operates = api_is_operator();
	bool has_fee = !PG_ARGISNULL(1);
	char *reason = api_text_or_null(fcinfo, 2);
	struct db_identity_frame frame;
	struct relay_target target;
	struct evm_word fee;
	const char *left_as;
	char *detail = NULL;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (has_fee)
	{
		fee = api_amount_argument(fcinfo, 1, "max_fee_per_gas");
		detail = psprintf("{\"max_fee_per_gas\": %s}", db_numeric_text(PG_GETARG_DATUM(1)));
	}
	api_begin_private(&frame);
	api_lock_own_transaction(&target, PG_GETARG_INT64(0), caller, operates);
	left_as = relay_want_bump(&target, has_fee ? &fee : NULL);
	api_log_transaction("bump_transaction", &target, caller, reason, detail, left_as);
	api_end_private(&frame);
	PG_RETURN_TEXT_P(cstring_to_text(left_as));
}

/* retry_transaction(id, reason) */
Datum
rflow_retry_transaction(PG_FUNCTION_ARGS)
{
	Oid caller = GetUserId();
	char *reason = api_text_or_null(fcinfo, 1);
	struct db_identity_frame frame;
	struct relay_target target;
	bool retried;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	api_require_operator("retry transactions");
	api_begin_private(&frame);
	api_lock_own_transaction(&target, PG_GETARG_INT64(0), caller, true);
	retried = relay_retry_queued(target.id);
	api_log_transaction("retry_transaction", &target, caller, reason, NULL,
						retried ? "tried again" : relay_state_name(target.state));
	api_end_private(&frame);
	PG_RETURN_BOOL(retried);
}

/* How many sends waited for a time. */
static int64
retry_relayer(const char *relayer)
{
	Datum parameters[2];
	int64 retried;

	parameters[0] = CStringGetTextDatum(relayer);
	parameters[1] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (db_execute(&find_paused, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relayer \"%s\" does not exist", relayer)));
	if (DatumGetBool(db_value(0, 1, NULL)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relayer \"%s\" is paused", relayer),
				 errhint("UPDATE rflow.relayers SET paused = false WHERE name = '%s'", relayer)));
	retried = (int64) db_execute(&retry_all, parameters, NULL);
	(void) db_execute(&note_retried, parameters, NULL);
	db_wake_at_commit(WAKE_RELAYERS);
	return retried;
}

/* retry_relayer(relayer, reason) */
Datum
rflow_retry_relayer(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_verb entry = {0};
	char *relayer;
	int64 retried;

	api_need_argument(fcinfo, 0, "relayer");
	relayer = text_to_cstring(PG_GETARG_TEXT_PP(0));
	api_require_operator(psprintf("retry relayer \"%s\"", relayer));
	entry.verb = "retry_relayer";
	entry.subject = psprintf("relayer %s", relayer);
	entry.caller = GetUserId();
	entry.reason = api_text_or_null(fcinfo, 1);
	api_begin_private(&frame);
	retried = retry_relayer(relayer);
	entry.outcome = psprintf("%lld tried again", (long long) retried);
	relay_log_verb(&entry);
	api_end_private(&frame);
	PG_RETURN_INT64(retried);
}

static void
refuse_gap(const char *relayer, int64 nonce, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("nonce %lld of relayer \"%s\" is no gap", (long long) nonce, relayer),
			 errdetail("%s", why)));
}

/* The wish is a part of the account's row; whether it is a gap, the relayer checks once more. */
static void
fill_gap(const char *relayer, int64 nonce)
{
	Datum parameters[3];
	bool isnull;

	parameters[0] = CStringGetTextDatum(relayer);
	parameters[1] = Int64GetDatum(nonce);
	if (db_execute(&find_nonce, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relayer \"%s\" does not exist", relayer)));
	(void) db_value(0, 1, &isnull);
	if (isnull || nonce >= db_int64(0, 1))
		refuse_gap(relayer, nonce, "rflow has not come to this nonce yet.");
	(void) db_value(0, 2, &isnull);
	if (!isnull && nonce < db_int64(0, 2))
		refuse_gap(relayer, nonce, "The chain has a transaction with it.");
	(void) db_value(0, 3, &isnull);
	if (!isnull)
		refuse_gap(relayer, nonce,
				   psprintf("Transaction %lld holds it.", (long long) db_int64(0, 3)));
	wish_filled.types[1] = db_types()->address;
	parameters[0] = db_value(0, 5, NULL);
	parameters[1] = db_address_datum(db_datum_address(db_value(0, 4, NULL)));
	parameters[2] = Int64GetDatum(nonce);
	(void) db_execute(&wish_filled, parameters, NULL);
	db_wake_at_commit(WAKE_RELAYERS);
}

/* fill_gap(relayer, nonce, reason) */
Datum
rflow_fill_gap(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_verb entry = {0};
	char *relayer;
	int64 nonce;

	api_need_argument(fcinfo, 0, "relayer");
	api_need_argument(fcinfo, 1, "nonce");
	relayer = text_to_cstring(PG_GETARG_TEXT_PP(0));
	nonce = PG_GETARG_INT64(1);
	api_require_operator(psprintf("fill gaps of relayer \"%s\"", relayer));
	entry.verb = "fill_gap";
	entry.subject = psprintf("relayer %s nonce %lld", relayer, (long long) nonce);
	entry.caller = GetUserId();
	entry.reason = api_text_or_null(fcinfo, 2);
	entry.outcome = "filling";
	api_begin_private(&frame);
	fill_gap(relayer, nonce);
	relay_log_verb(&entry);
	api_end_private(&frame);
	PG_RETURN_TEXT_P(cstring_to_text(entry.outcome));
}

/*
 * What is signed above the chain's count would wait for the nonces between, and these would be
 * filled with no-ops that cost gas.
 */
static void
check_count(int64 next_nonce, int64 count)
{
	if (next_nonce > count)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("next_nonce %lld is above %lld, which the chain counts for the account "
						"together with the node's pool",
						(long long) next_nonce, (long long) count),
				 errdetail("Transactions above the chain's count are not mined before those "
						   "between are there."),
				 errhint("Leave next_nonce out to take what the relayer has seen last, or wait "
						 "until the node has the missing transactions.")));
}

/* The chain's count, as the relayer has seen it last, unless the caller knows better. */
static int64
adopt(const char *relayer, int64 next_nonce)
{
	Datum parameters[4];
	struct evm_address address;
	bool isnull;
	int64 count;

	parameters[0] = CStringGetTextDatum(relayer);
	if (db_execute(&find_account, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relayer \"%s\" does not exist", relayer)));
	(void) db_value(0, 1, &isnull);
	if (isnull || (db_value(0, 3, &isnull), isnull))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the account of relayer \"%s\" is not known yet", relayer),
				 errhint("See column problem of rflow.relayer_status.")));
	count = db_int64(0, 3);
	if (next_nonce < 0)
		next_nonce = count;
	check_count(next_nonce, count);
	parameters[0] = Int64GetDatum(db_int64(0, 2));
	address = *db_datum_address(db_value(0, 1, NULL));
	parameters[1] = relay_address_datum(&address);
	parameters[2] = Int64GetDatum(next_nonce);
	parameters[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (db_execute(&set_next_nonce, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("nonce %lld of the account is rflow's already", (long long) next_nonce),
				 errdetail("The next nonce must be above all that rflow has assigned.")));
	relay_skip_outside(DatumGetInt64(parameters[0]), &address, (uint64) next_nonce);
	db_wake_at_commit(WAKE_RELAYERS);
	return next_nonce;
}

/* adopt_account(relayer, next_nonce, reason) */
Datum
rflow_adopt_account(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_verb entry = {0};
	int64 next_nonce = PG_ARGISNULL(1) ? -1 : PG_GETARG_INT64(1);
	char *relayer;

	api_need_argument(fcinfo, 0, "relayer");
	relayer = text_to_cstring(PG_GETARG_TEXT_PP(0));
	api_require_operator(psprintf("adopt the account of relayer \"%s\"", relayer));
	if (!PG_ARGISNULL(1) && next_nonce < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("next_nonce must not be negative")));
	entry.verb = "adopt_account";
	entry.subject = psprintf("relayer %s", relayer);
	entry.caller = GetUserId();
	entry.reason = api_text_or_null(fcinfo, 2);
	api_begin_private(&frame);
	next_nonce = adopt(relayer, next_nonce);
	entry.outcome = psprintf("next nonce %lld", (long long) next_nonce);
	relay_log_verb(&entry);
	api_end_private(&frame);
	PG_RETURN_INT64(next_nonce);
}
