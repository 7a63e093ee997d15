/*
 * relay_adopt.c
 *	  rflow.adopt_transaction(): an operator says which outside transaction a send became.
 *
 * The verb only holds the send and writes the wish down; the relayer process looks for the
 * transaction on the chain (relay/adopt.c).
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "api/relay.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/hex.h"
#include "relay/record.h"

#define HASH_TEXT_BYTES (2 * sizeof(struct evm_hash) + 3)

static struct db_statement find_wish = {
	.sql =
		"SELECT transaction_hash"
		"  FROM rflow_private.adoptions"
		" WHERE transaction_id = $1",
	.types = {INT8OID},
	.count = 1,
};

/* Who else is to become this. */
static struct db_statement find_other = {
	.sql =
		"SELECT a.transaction_id"
		"  FROM rflow_private.relayer_transactions t"
		"  JOIN rflow_private.adoptions a"
		"    ON a.chain_id = t.chain_id AND a.transaction_hash = $2::rflow.hex"
		" WHERE t.id = $1",
	.types = {INT8OID, BYTEAOID},
	.count = 2,
};

static struct db_statement add_wish = {
	.sql =
		"INSERT INTO rflow_private.adoptions"
		"       (transaction_id, network, chain_id, transaction_hash, why)"
		"SELECT id, network, chain_id, $2::rflow.hex, $3"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1"
		"    ON CONFLICT (chain_id, transaction_hash) DO NOTHING",
	.types = {INT8OID, BYTEAOID, TEXTOID},
	.count = 3,
};

static struct db_statement want_adopted = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET intent = 'adopt', reason = $2"
		" WHERE id = $1 AND intent = 'send'",
	.types = {INT8OID, TEXTOID},
	.count = 2,
};

static struct db_statement drop_wish = {
	.sql =
		"DELETE FROM rflow_private.adoptions"
		" WHERE transaction_id = $1",
	.types = {INT8OID},
	.count = 1,
};

/* What a reorganisation holds stays held; its time counts again. */
static struct db_statement let_go = {
	.sql =
		"WITH sender AS ("
		"    SELECT t.id, t.relayer, t.network, t.due_at, t.valid_until,"
		"           pg_catalog.lpad(t.id::text, 19, '0') AS due_id,"
		"           t.state = 'queued' AND r.detached_at IS NULL AS goes_on"
		"      FROM rflow_private.relayer_transactions t"
		"      LEFT JOIN rflow_private.workflow_runs r ON r.id = t.run_id"
		"     WHERE t.id = $1 AND t.intent = 'adopt'), "
		"taken AS ("
		"    DELETE FROM rflow_private.due d"
		"     USING sender s"
		"     WHERE s.goes_on AND d.kind = 'send' AND d.owner = s.relayer"
		"       AND d.wake_at = s.due_at AND d.wake_at > '-infinity' AND d.id = s.due_id"
		"    RETURNING d.owner, d.id), "
		"moved AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', owner, '-infinity', id FROM taken"
		"     UNION ALL "
		"    SELECT 'expire', network, valid_until, due_id"
		"      FROM sender"
		"     WHERE valid_until IS NOT NULL"
		"        ON CONFLICT DO NOTHING) "
		"UPDATE rflow_private.relayer_transactions t"
		"   SET intent = 'send', reason = NULL,"
		"       due_at = CASE WHEN s.goes_on THEN '-infinity' ELSE t.due_at END"
		"  FROM sender s"
		" WHERE t.id = s.id",
	.types = {INT8OID},
	.count = 1,
};

PG_FUNCTION_INFO_V1(rflow_adopt_transaction);

static void
format_hash(char *out, const struct evm_hash *hash)
{
	strcpy(out, "0x");
	evm_hex_digits(out + 2, hash->b, sizeof(hash->b));
	out[HASH_TEXT_BYTES - 1] = '\0';
}

static void
refuse(const struct relay_target *target, const char *why, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("transaction %lld %s", (long long) target->id, why),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

static struct evm_hash
hash_argument(FunctionCallInfo fcinfo, int n)
{
	struct evm_bytes bytes = db_datum_hex(PointerGetDatum(PG_DETOAST_DATUM(PG_GETARG_DATUM(n))));
	struct evm_hash hash;

	if (bytes.len != sizeof(hash.b))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("transaction_hash must have %zu bytes", sizeof(hash.b)),
				 errdetail("It has %zu.", bytes.len)));
	memcpy(hash.b, bytes.data, sizeof(hash.b));
	return hash;
}

/* Does a wish stand for this hash already?  Raises when one does for another. */
static bool
is_wished(const struct relay_target *target, const struct evm_hash *hash)
{
	char standing[HASH_TEXT_BYTES];
	struct evm_hash wished;
	Datum parameters[1];

	parameters[0] = Int64GetDatum(target->id);
	if (db_execute(&find_wish, parameters, NULL) == 0)
		return false;
	memcpy(wished.b, db_datum_hex(db_value(0, 1, NULL)).data, sizeof(wished.b));
	if (memcmp(&wished, hash, sizeof(wished)) == 0)
		return true;
	format_hash(standing, &wished);
	refuse(target, psprintf("is to become outside transaction %s already", standing),
		   psprintf("rflow.adopt_transaction(%lld, NULL) takes that back.",
					(long long) target->id));
	return false;
}

/* One transaction of the chain stands for one send. */
static void
refuse_taken(const struct relay_target *target, const struct evm_hash *hash)
{
	Datum parameters[2];
	long long other;

	parameters[0] = Int64GetDatum(target->id);
	parameters[1] = db_hex_datum(hash->b, sizeof(hash->b));
	db_execute_exactly(&find_other, parameters, NULL, 1, "the wish for another transaction");
	other = (long long) db_int64(0, 1);
	refuse(target, psprintf("cannot become what transaction %lld is to become", other),
		   psprintf("rflow.adopt_transaction(%lld, NULL) takes that back.", other));
}

/* Only what has no outcome yet can become something. */
static void
check_adoptable(const struct relay_target *target)
{
	if (target->state != RELAY_QUEUED && target->state != RELAY_SIGNED &&
		target->state != RELAY_BROADCAST)
		refuse(target, psprintf("is %s", relay_state_name(target->state)),
			   "Only one that is queued, signed or broadcast can become an outside transaction.");
	if (target->replaces != 0 || target->replaced_by != 0)
		refuse(target, "competes with another one of rflow's for its nonce",
			   "Cancel its replacement first.");
	if (target->intent != RELAY_INTENT_SEND || target->has_error)
		refuse(target, "is being given up: a no-op is to take its nonce", NULL);
}

static const char *
adopt(const struct relay_target *target, const struct evm_hash *hash, const char *why)
{
	char text[HASH_TEXT_BYTES];
	Datum parameters[3] = {0};
	char nulls[] = "   ";
	char *reason;

	if (is_wished(target, hash))
		return "adopting";
	check_adoptable(target);
	format_hash(text, hash);
	reason = psprintf("held: outside transaction %s is looked for, which it is to become", text);
	parameters[0] = Int64GetDatum(target->id);
	parameters[1] = db_hex_datum(hash->b, sizeof(hash->b));
	if (why == NULL)
		nulls[2] = 'n';
	else
		parameters[2] = CStringGetTextDatum(why);
	if (db_execute(&add_wish, parameters, nulls) == 0)
		refuse_taken(target, hash);
	parameters[1] = CStringGetTextDatum(reason);
	db_execute_exactly(&want_adopted, parameters, NULL, 1, "the transaction");
	if (target->state == RELAY_QUEUED)
		relay_hold_queued(target->id, reason, DT_NOEND);
	return "adopting";
}

static const char *
take_back(const struct relay_target *target)
{
	Datum parameters[1];

	parameters[0] = Int64GetDatum(target->id);
	if (db_execute(&drop_wish, parameters, NULL) == 0)
		refuse(target, "is not to become an outside transaction", NULL);
	(void) db_execute(&let_go, parameters, NULL);
	return relay_state_name(target->state);
}

/* Was it adopted before, or is it that anyway? */
static bool
has_become(const struct relay_target *target, const struct evm_hash *hash)
{
	static struct db_statement compare = {
		.sql =
			"SELECT"
			"  FROM rflow_private.relayer_transactions"
			" WHERE id = $1 AND transaction_hash = $2::rflow.hex",
		.types = {INT8OID, BYTEAOID},
		.count = 2,
	};
	Datum parameters[2];

	parameters[0] = Int64GetDatum(target->id);
	parameters[1] = db_hex_datum(hash->b, sizeof(hash->b));
	return db_execute(&compare, parameters, NULL) == 1;
}

/* adopt_transaction(id, transaction_hash, reason) */
Datum
rflow_adopt_transaction(PG_FUNCTION_ARGS)
{
	Oid caller = GetUserId();
	bool takes_back = PG_ARGISNULL(1);
	char *reason = api_text_or_null(fcinfo, 2);
	char text[HASH_TEXT_BYTES];
	struct db_identity_frame frame;
	struct relay_target target;
	struct evm_hash hash = {{0}};
	const char *outcome;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	api_require_operator("adopt transactions");
	if (!takes_back)
		hash = hash_argument(fcinfo, 1);
	format_hash(text, &hash);
	api_begin_private(&frame);
	api_lock_own_transaction(&target, PG_GETARG_INT64(0), caller, true);
	if (takes_back)
		outcome = take_back(&target);
	else if (has_become(&target, &hash))
		outcome = relay_state_name(target.state);
	else
		outcome = adopt(&target, &hash, reason);
	api_log_transaction("adopt_transaction", &target, caller, reason,
						takes_back ? NULL : psprintf("{\"transaction_hash\": \"%s\"}", text),
						outcome);
	/* Lost in a crash, it would be paid once more, whatever the configuration says. */
	ForceSyncCommit();
	db_definitions_changed();
	api_end_private(&frame);
	PG_RETURN_TEXT_P(cstring_to_text(outcome));
}
