/*
 * move.c
 *	  Queued sends of a pool, from a member that cannot sign to one that can.
 *
 * A send without a nonce has no tie to its account.  All members of a pool are on one network, so
 * this process owns the queues of both; a user who cancels meanwhile holds the row, and it is
 * passed over.  It moves only to a member that can send it now, so nothing goes back and forth.
 * What a reorganisation holds stays where it is, and when the others are due does not change.
 */
#include "postgres.h"

#include "relay/move.h"

#include "catalog/pg_type.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/word.h"
#include "relay/pool.h"
#include "relay/record.h"

/* How often is looked whether another member can send by now what is queued. */
#define MOVE_RETRY_MS 1000

struct movable
{
	int64 id;
	char *relayer;
	char *pool;
	struct relay_need need;
};

static struct db_statement find_movable = {
	.sql =
		"SELECT t.id, t.relayer, t.pool, t.owner, t.value, t.gas_limit, t.max_fee_per_gas"
		"  FROM pg_catalog.unnest($1) AS r (name)"
		" CROSS JOIN LATERAL (SELECT d.id"
		"                       FROM rflow_private.due d"
		"                      WHERE d.kind = 'send' AND d.owner = r.name"
		"                        AND d.wake_at < 'infinity'"
		"                      ORDER BY d.wake_at, d.id"
		"                      LIMIT 256) d"
		"  JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint"
		"  JOIN rflow.relayer_pools p ON p.name = t.pool AND p.network = t.network"
		" WHERE t.state = 'queued' AND t.intent = 'send'"
		" ORDER BY t.id",
	.types = {TEXTARRAYOID},
	.count = 1,
};

static struct db_statement find_one = {
	.sql =
		"SELECT t.id, t.relayer, t.pool, t.owner, t.value, t.gas_limit, t.max_fee_per_gas"
		"  FROM rflow_private.relayer_transactions t"
		" WHERE t.id = $1 AND t.pool IS NOT NULL AND t.state = 'queued' AND t.intent = 'send'",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement move = {
	.sql =
		"WITH taken AS ("
		"    DELETE FROM rflow_private.due d"
		"     USING rflow_private.relayer_transactions t"
		"     WHERE t.id = $1 AND t.relayer = $2 AND t.state = 'queued'"
		"       AND d.kind = 'send' AND d.owner = t.relayer AND d.wake_at = t.due_at"
		"       AND d.id = pg_catalog.lpad($1::text, 19, '0')"
		"    RETURNING d.wake_at, d.id), "
		"given AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', $3, wake_at, id FROM taken) "
		"UPDATE rflow_private.relayer_transactions"
		"   SET relayer = $3, reason = $4"
		" WHERE id = $1 AND EXISTS (SELECT FROM taken)",
	.types = {INT8OID, TEXTOID, TEXTOID, TEXTOID},
	.count = 4,
};

static bool
word_at(struct evm_word *out, uint64 row, int column)
{
	bool isnull;
	bool negative;
	Datum value = db_value(row, column, &isnull);

	*out = evm_word_zero;
	return !isnull && db_numeric_word(out, &negative, value);
}

/* The rows of the last result. */
static struct movable *
read_rows(int count)
{
	struct movable *sends = palloc0(Max(count, 1) * sizeof(struct movable));
	int i;

	for (i = 0; i < count; i++)
	{
		struct movable *send = &sends[i];
		bool isnull;

		send->id = db_int64(i, 1);
		send->relayer = db_text(i, 2);
		send->pool = db_text(i, 3);
		send->need.owner = DatumGetObjectId(db_value(i, 4, NULL));
		(void) word_at(&send->need.value, i, 5);
		(void) db_value(i, 6, &isnull);
		send->need.gas_limit = isnull ? 0 : db_int64(i, 6);
		send->need.has_cap = word_at(&send->need.cap, i, 7);
	}
	return sends;
}

static struct movable *
read_movable(const char *const *relayers, int count, int *found)
{
	Datum *names = palloc(Max(count, 1) * sizeof(Datum));
	Datum parameters[1];
	int i;

	for (i = 0; i < count; i++)
		names[i] = CStringGetTextDatum(relayers[i]);
	parameters[0] =
		PointerGetDatum(construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT));
	*found = (int) db_execute(&find_movable, parameters, NULL);
	return read_rows(*found);
}

/* The pool with the members marked that cannot sign; NULL when it is gone. */
static struct relay_pool *
find_pool(List **pools, const char *name, const char *const *relayers, int count)
{
	struct relay_pool *pool;
	ListCell *cell;
	int i;
	int j;

	foreach (cell, *pools)
		if (strcmp(((struct relay_pool *) lfirst(cell))->name, name) == 0)
			return lfirst(cell);
	pool = relay_read_pool(name);
	if (pool == NULL)
		return NULL;
	for (i = 0; i < pool->count; i++)
		for (j = 0; j < count; j++)
			if (strcmp(pool->members[i].relayer, relayers[j]) == 0)
				pool->members[i].unusable = true;
	*pools = lappend(*pools, pool);
	return pool;
}

/* Also to one that has to wait itself, where it cannot stay at all. */
static bool
move_send(struct relay_pool *pool, const struct movable *send, bool cannot_stay)
{
	struct relay_member *member;
	Datum parameters[4];
	bool qualifies;

	member = relay_pool_choose(pool, &send->need, &qualifies);
	if (member == NULL || !(qualifies || cannot_stay) ||
		strcmp(member->relayer, send->relayer) == 0)
		return false;
	parameters[0] = Int64GetDatum(send->id);
	parameters[1] = CStringGetTextDatum(send->relayer);
	parameters[2] = CStringGetTextDatum(member->relayer);
	parameters[3] =
		CStringGetTextDatum(psprintf("given over by relayer \"%s\" of pool \"%s\", which cannot "
									 "send it now",
									 send->relayer, send->pool));
	if (db_execute(&move, parameters, NULL) == 0)
		return false;
	relay_pool_take(pool, member, &send->need);
	return true;
}

int
relay_move_from(const char *const *relayers, int count, int *left)
{
	List *pools = NIL;
	struct relay_lock *locks;
	struct movable *sends;
	int found;
	int moved = 0;
	int i;

	sends = read_movable(relayers, count, &found);
	*left = found;
	if (found == 0)
		return 0;
	locks = palloc0(found * sizeof(struct relay_lock));
	for (i = 0; i < found; i++)
		locks[i].id = sends[i].id;
	relay_lock_transactions(locks, found);
	for (i = 0; i < found; i++)
	{
		struct relay_pool *pool = find_pool(&pools, sends[i].pool, relayers, count);

		if (pool != NULL && locks[i].locked && locks[i].state == RELAY_QUEUED && locks[i].wanted &&
			move_send(pool, &sends[i], false))
			moved++;
	}
	*left = found - moved;
	return moved;
}

bool
relay_move_denied(int64 id)
{
	List *pools = NIL;
	Datum parameters[1];
	struct relay_pool *pool;
	struct movable *send;

	parameters[0] = Int64GetDatum(id);
	if (db_execute(&find_one, parameters, NULL) != 1)
		return false;
	send = read_rows(1);
	pool = find_pool(&pools, send->pool, NULL, 0);
	if (pool == NULL || !move_send(pool, send, true))
		return false;
	db_wake_at_commit(WAKE_RELAYERS);
	return true;
}

/* Will this account sign nothing of what is queued for it? */
static bool
cannot_sign(const struct relay_account *account)
{
	return account->has_due &&
		(account->paused || account->key == NULL || !account->key->owned ||
		 account->key->lacks_funds);
}

bool
relay_move_queued(struct relay_process *process, TimestampTz now)
{
	const char **relayers = palloc((process->account_count + 1) * sizeof(char *));
	int count = 0;
	int moved;
	int left;
	int i;

	for (i = 0; i < process->account_count && process->has_pools; i++)
		if (cannot_sign(&process->accounts[i]))
			relayers[count++] = process->accounts[i].name;
	if (count == 0)
		return false;
	if (process->move_at > now)
	{
		relay_wake_by(process, process->move_at);
		return false;
	}
	if (!process->begin(process->context, "relayer: sends of pools"))
		return false;
	moved = relay_move_from(relayers, count, &left);
	db_commit();
	process->move_at = TimestampTzPlusMilliseconds(now, MOVE_RETRY_MS);
	if (left > 0)
		relay_wake_by(process, process->move_at);
	return moved > 0;
}
