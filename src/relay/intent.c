/*
 * intent.c
 *	  What is wanted of a transaction that is queued already: that it be given up, or cost more.
 */
#include "postgres.h"

#include "relay/intent.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "relay/record.h"

/* By enum relay_intent: its name, what it leads to, and the words for both on the way. */
static const struct
{
	const char *name;
	enum relay_state end;
	const char *under_way;
	const char *unsigned_reason;
	const char *signed_reason;
} intents[] = {
	[RELAY_INTENT_SEND] = {"send", RELAY_CONFIRMED, NULL, NULL, NULL},
	[RELAY_INTENT_CANCEL] = {"cancel", RELAY_CANCELLED, "cancelling",
							 "cancelled before it was signed",
							 "to be cancelled: a no-op is to take its nonce"},
	[RELAY_INTENT_EXPIRE] = {"expire", RELAY_EXPIRED, "expiring", "expired before it was signed",
							 "expired: a no-op is to take its nonce"},
	[RELAY_INTENT_REPLACE] = {"replace", RELAY_REPLACED, "replacing", NULL, NULL},
	[RELAY_INTENT_ADOPT] = {"adopt", RELAY_CONFIRMED, "adopting", NULL, NULL},
};

static struct db_statement lock_target = {
	.sql =
		"SELECT owner, state, intent, replaces, replaced_by, relayer, error IS NOT NULL, workflow"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1"
		"   FOR UPDATE",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement lock_replaced = {
	.sql =
		"SELECT FROM rflow_private.relayer_transactions o"
		" WHERE o.id = (SELECT t.replaces"
		"                 FROM rflow_private.relayer_transactions t"
		"                WHERE t.id = $1)"
		"   FOR UPDATE",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement set_intent = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET intent = $2, reason = $3"
		" WHERE id = $1 AND state IN ('signed', 'broadcast') AND intent = 'send'",
	.types = {INT8OID, TEXTOID, TEXTOID},
	.count = 3,
};

static struct db_statement set_wanted_attempt = {
	.sql =
		"UPDATE rflow_private.relayer_transactions t"
		"   SET max_fee_per_gas = COALESCE($2, t.max_fee_per_gas),"
		"       reason = 'to be signed again for more',"
		"       wanted_attempt = (SELECT pg_catalog.max(a.attempt) + 1"
		"                           FROM rflow_private.relayer_attempts a"
		"                          WHERE a.chain_id = t.chain_id AND a.address = t.from_address"
		"                            AND a.nonce = t.nonce)"
		" WHERE t.id = $1 AND t.state IN ('signed', 'broadcast')",
	.types = {INT8OID, NUMERICOID},
	.count = 2,
};

static struct db_statement set_max_fee = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET max_fee_per_gas = $2"
		" WHERE id = $1 AND state = 'queued'",
	.types = {INT8OID, NUMERICOID},
	.count = 2,
};

static struct db_statement resume_queued = {
	.sql =
		"WITH taken AS ("
		"    DELETE FROM rflow_private.due d"
		"     USING rflow_private.relayer_transactions t"
		"     WHERE t.id = $1 AND t.state = 'queued' AND t.due_at > '-infinity'"
		"       AND t.due_at < 'infinity' AND d.kind = 'send' AND d.owner = t.relayer"
		"       AND d.wake_at = t.due_at AND d.id = pg_catalog.lpad($1::text, 19, '0')"
		"    RETURNING d.owner, d.id), "
		"moved AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', owner, '-infinity', id FROM taken) "
		"UPDATE rflow_private.relayer_transactions"
		"   SET due_at = '-infinity', reason = NULL"
		" WHERE id = $1 AND EXISTS (SELECT FROM taken)",
	.types = {INT8OID},
	.count = 1,
};

static enum relay_intent
intent_from_name(const char *name)
{
	int i;

	for (i = 0; i < lengthof(intents); i++)
		if (strcmp(intents[i].name, name) == 0)
			return (enum relay_intent) i;
	elog(ERROR, "unknown intent \"%s\" of a transaction", name);
}

static int64
id_or_none(int column)
{
	bool isnull;

	(void) db_value(0, column, &isnull);
	return isnull ? 0 : db_int64(0, column);
}

bool
relay_lock_target(struct relay_target *out, int64 id)
{
	Datum parameters[1];

	parameters[0] = Int64GetDatum(id);
	(void) db_execute(&lock_replaced, parameters, NULL);
	if (db_execute(&lock_target, parameters, NULL) != 1)
		return false;
	out->id = id;
	out->owner = DatumGetObjectId(db_value(0, 1, NULL));
	out->state = relay_state_from_name(db_text(0, 2));
	out->intent = intent_from_name(db_text(0, 3));
	out->replaces = id_or_none(4);
	out->replaced_by = id_or_none(5);
	out->relayer = db_text(0, 6);
	out->has_error = DatumGetBool(db_value(0, 7, NULL));
	out->workflow = db_text(0, 8);
	return true;
}

/* Its replacement, where that decides by now. */
static bool
lock_replacement(struct relay_target *out, const struct relay_target *target)
{
	return target->intent == RELAY_INTENT_REPLACE && target->replaced_by != 0 &&
		relay_lock_target(out, target->replaced_by);
}

/* One that is signed and goes on under its own name. */
static const char *
want_end(const struct relay_target *target, enum relay_intent intent)
{
	Datum parameters[3];

	parameters[0] = Int64GetDatum(target->id);
	parameters[1] = CStringGetTextDatum(intents[intent].name);
	parameters[2] = CStringGetTextDatum(intents[intent].signed_reason);
	(void) db_execute(&set_intent, parameters, NULL);
	db_wake_at_commit(WAKE_RELAYERS);
	return intents[intent].under_way;
}

const char *
relay_give_up(const struct relay_target *target, enum relay_intent intent)
{
	struct relay_target replacement;

	if (target->intent == RELAY_INTENT_ADOPT &&
		(target->state == RELAY_QUEUED || target->state == RELAY_SIGNED ||
		 target->state == RELAY_BROADCAST))
		return intents[RELAY_INTENT_ADOPT].under_way;
	if (target->state == RELAY_QUEUED)
	{
		(void) relay_end_queued(target->id, intents[intent].end, intents[intent].unsigned_reason,
								NULL);
		return relay_state_name(intents[intent].end);
	}
	if (target->state != RELAY_SIGNED && target->state != RELAY_BROADCAST)
		return relay_state_name(target->state);
	if (lock_replacement(&replacement, target))
	{
		if (replacement.state != RELAY_QUEUED)
			return relay_give_up(&replacement, intent);
		/* Ending it takes the intent back to send. */
		(void) relay_give_up(&replacement, intent);
		return want_end(target, intent);
	}
	if (target->intent != RELAY_INTENT_SEND)
		return intents[target->intent].under_way;
	return want_end(target, intent);
}

static const char *
bump_queued(const struct relay_target *target, const struct evm_word *max_fee)
{
	Datum parameters[2];

	parameters[0] = Int64GetDatum(target->id);
	if (max_fee != NULL)
	{
		parameters[1] = db_word_numeric(max_fee, false);
		(void) db_execute(&set_max_fee, parameters, NULL);
	}
	(void) relay_retry_queued(target->id);
	db_wake_at_commit(WAKE_RELAYERS);
	return relay_state_name(RELAY_QUEUED);
}

const char *
relay_want_bump(const struct relay_target *target, const struct evm_word *max_fee)
{
	struct relay_target replacement;
	Datum parameters[2] = {0};
	char nulls[] = "  ";

	if (target->intent == RELAY_INTENT_ADOPT)
		return intents[RELAY_INTENT_ADOPT].under_way;
	if (lock_replacement(&replacement, target))
		return relay_want_bump(&replacement, max_fee);
	if (target->state == RELAY_QUEUED)
		return bump_queued(target, max_fee);
	if (target->state != RELAY_SIGNED && target->state != RELAY_BROADCAST)
		return relay_state_name(target->state);
	parameters[0] = Int64GetDatum(target->id);
	if (max_fee == NULL)
		nulls[1] = 'n';
	else
		parameters[1] = db_word_numeric(max_fee, false);
	(void) db_execute(&set_wanted_attempt, parameters, nulls);
	db_wake_at_commit(WAKE_RELAYERS);
	return "bumping";
}

bool
relay_retry_queued(int64 id)
{
	Datum parameters[1];

	parameters[0] = Int64GetDatum(id);
	if (db_execute(&resume_queued, parameters, NULL) == 0)
		return false;
	db_wake_at_commit(WAKE_RELAYERS);
	return true;
}
