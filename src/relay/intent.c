/*
 * intent.c
 *	  What is wanted of a transaction that is queued already: that it be given up.
 */
#include "postgres.h"

#include "relay/intent.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

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
};

static struct db_statement lock_target = {
	.sql =
		"SELECT owner, state, intent"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1"
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

static enum relay_intent
intent_from_name(const char *name)
{
	int i;

	for (i = 0; i < lengthof(intents); i++)
		if (strcmp(intents[i].name, name) == 0)
			return (enum relay_intent) i;
	elog(ERROR, "unknown intent \"%s\" of a transaction", name);
}

bool
relay_lock_target(struct relay_target *out, int64 id)
{
	Datum parameters[1];

	parameters[0] = Int64GetDatum(id);
	if (db_execute(&lock_target, parameters, NULL) != 1)
		return false;
	out->id = id;
	out->owner = DatumGetObjectId(db_value(0, 1, NULL));
	out->state = relay_state_from_name(db_text(0, 2));
	out->intent = intent_from_name(db_text(0, 3));
	return true;
}

const char *
relay_give_up(const struct relay_target *target, enum relay_intent intent)
{
	Datum parameters[3];

	if (target->state == RELAY_QUEUED)
	{
		(void) relay_end_queued(target->id, intents[intent].end, intents[intent].unsigned_reason,
								NULL);
		return relay_state_name(intents[intent].end);
	}
	if (target->state != RELAY_SIGNED && target->state != RELAY_BROADCAST)
		return relay_state_name(target->state);
	if (target->intent != RELAY_INTENT_SEND)
		return intents[target->intent].under_way;
	parameters[0] = Int64GetDatum(target->id);
	parameters[1] = CStringGetTextDatum(intents[intent].name);
	parameters[2] = CStringGetTextDatum(intents[intent].signed_reason);
	(void) db_execute(&set_intent, parameters, NULL);
	db_wake_at_commit(WAKE_RELAYERS);
	return intents[intent].under_way;
}
