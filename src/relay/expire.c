/*
 * expire.c
 *	  Transactions whose time is over: what was not signed ends, of the rest a no-op takes the
 *	  nonce.
 *
 * It is the same as rflow.expire_transaction(), done by the row of rflow_private.due that was
 * queued with the transaction.  This alone would be late by as much as a round takes; so the
 * transaction that signs, and the look at what to broadcast, compare valid_until with the clock
 * themselves.
 */
#include "postgres.h"

#include "relay/expire.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/statement.h"
#include "relay/intent.h"
#include "relay/reconcile.h"

/* When a row that somebody holds is looked at again. */
#define LOCKED_RETRY_MS 100

static struct db_statement lock_overdue = {
	.sql =
		"SELECT t.id"
		"  FROM rflow_private.due d"
		"  JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint"
		" WHERE d.kind = 'expire' AND d.owner = $1 AND d.wake_at <= $2"
		" ORDER BY t.id"
		" LIMIT 500"
		"   FOR UPDATE OF t SKIP LOCKED",
	.types = {TEXTOID, TIMESTAMPTZOID},
	.count = 2,
};

static struct db_statement forget_expiries = {
	.sql =
		"DELETE FROM rflow_private.due d"
		" USING rflow_private.relayer_transactions t"
		" WHERE t.id = ANY ($1) AND d.kind = 'expire' AND d.owner = t.network"
		"   AND d.wake_at = t.valid_until AND d.id = pg_catalog.lpad(t.id::text, 19, '0')",
	.types = {INT8ARRAYOID},
	.count = 1,
};

/* In the open transaction; how many were looked at. */
static int
expire_overdue(const struct relay_process *process, TimestampTz now)
{
	Datum parameters[2];
	Datum *ids;
	int count;
	int i;

	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = TimestampTzGetDatum(now);
	count = (int) db_execute(&lock_overdue, parameters, NULL);
	if (count == 0)
		return 0;
	ids = palloc(sizeof(Datum) * count);
	for (i = 0; i < count; i++)
		ids[i] = Int64GetDatum(db_int64(i, 1));
	for (i = 0; i < count; i++)
	{
		struct relay_target target;

		if (relay_lock_target(&target, DatumGetInt64(ids[i])))
			(void) relay_give_up(&target, RELAY_INTENT_EXPIRE);
	}
	parameters[0] = PointerGetDatum(
		construct_array(ids, count, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	(void) db_execute(&forget_expiries, parameters, NULL);
	return count;
}

bool
relay_expire(struct relay_process *process, TimestampTz now)
{
	int count;

	/* What is on the chain already has not expired. */
	if (process->first_expiry == 0 || relay_any_held(process))
		return false;
	if (process->first_expiry > now)
	{
		relay_wake_by(process, process->first_expiry);
		return false;
	}
	relay_wake_by(process, TimestampTzPlusMilliseconds(now, LOCKED_RETRY_MS));
	if (!process->begin(process->context, "relayer: what has expired"))
		return false;
	count = expire_overdue(process, now);
	db_commit();
	return count > 0;
}
