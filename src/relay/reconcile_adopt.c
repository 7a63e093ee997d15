/*
 * reconcile_adopt.c
 *	  What was found on the chain becomes the state of the sends that it is.
 *
 * Order of locks as when signing: the account's row, then transactions by id.  A send, its nonce,
 * its payload and the verdict on what was found change in one commit: whoever dies before it finds
 * everything as it was, and matches again.
 */
#include "postgres.h"

#include "relay/reconcile_adopt.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "relay/load.h"
#include "relay/reconcile_tables.h"
#include "relay/record.h"

/*
 * Queued sends that do the same as something unexplained, and the holders of such nonces.  What is
 * queued again for a pool may have another relayer of it than before.
 */
static struct db_statement load_sendable = {
	.sql =
		"WITH open AS ("
		"    SELECT nonce, recipient, value, data"
		"      FROM rflow_private.outside_transactions"
		"     WHERE chain_id = $1 AND address = $2::rflow.address AND verdict = 'unmatched') "
		"SELECT t.id, t.recipient, t.value, t.data, false"
		"  FROM rflow_private.due d"
		"  JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint"
		" WHERE d.kind = 'send' AND d.owner = ANY ($4) AND t.state = 'queued'"
		"   AND (d.owner = ANY ($3)"
		"        OR t.pool IN (SELECT name FROM rflow.relayer_pools WHERE relayers && $3))"
		"   AND EXISTS (SELECT"
		"                 FROM open o"
		"                WHERE o.value = t.value AND o.data = t.data"
		"                  AND o.recipient IS NOT DISTINCT FROM t.recipient)"
		" UNION ALL "
		"SELECT t.id, t.recipient, t.value, t.data, true"
		"  FROM open o"
		"  JOIN rflow_private.nonces n"
		"    ON n.chain_id = $1 AND n.address = $2::rflow.address AND n.nonce = o.nonce"
		"  JOIN rflow_private.relayer_transactions t ON t.id = n.transaction_id"
		" WHERE NOT n.settled AND t.state IN ('signed', 'broadcast')"
		" ORDER BY 1",
	.types = {INT8OID, TEXTOID, TEXTARRAYOID, TEXTARRAYOID},
	.count = 4,
};

static struct db_statement adopt_account = {
	.sql =
		"INSERT INTO rflow_private.relayer_keys"
		"       (chain_id, address, next_nonce, adopted_nonce, adopted_at)"
		"VALUES ($1, $2::rflow.address, $3, $3, $4)"
		"    ON CONFLICT DO NOTHING",
	.types = {INT8OID, TEXTOID, INT8OID, TIMESTAMPTZOID},
	.count = 4,
};

static struct db_statement lock_account = {
	.sql =
		"SELECT"
		"  FROM rflow_private.relayer_keys"
		" WHERE chain_id = $1 AND address = $2::rflow.address"
		"   FOR UPDATE",
	.types = {INT8OID, TEXTOID},
	.count = 2,
};

static struct db_statement raise_nonce = {
	.sql =
		"UPDATE rflow_private.relayer_keys"
		"   SET next_nonce = $3 + 1"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND next_nonce <= $3",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement take_due = {
	.sql =
		"DELETE FROM rflow_private.due d"
		" USING rflow_private.relayer_transactions t"
		" WHERE t.id = $1 AND t.state = 'queued' AND d.kind = 'send' AND d.owner = t.relayer"
		"   AND d.wake_at = t.due_at AND d.id = pg_catalog.lpad(t.id::text, 19, '0')",
	.types = {INT8OID},
	.count = 1,
};

/* No row where what was found there has taken it before. */
static struct db_statement leave_nonce = {
	.sql =
		"DELETE FROM rflow_private.nonces n"
		" USING rflow_private.relayer_transactions t"
		" WHERE t.id = $1 AND n.chain_id = t.chain_id AND n.address = t.from_address"
		"   AND n.nonce = t.nonce AND n.transaction_id = t.id",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement take_nonce = {
	.sql =
		"INSERT INTO rflow_private.nonces AS n (chain_id, address, nonce, transaction_id)"
		"VALUES ($1, $2::rflow.address, $3, $4)"
		"    ON CONFLICT (chain_id, address, nonce) DO UPDATE"
		"   SET transaction_id = EXCLUDED.transaction_id, settled = false",
	.types = {INT8OID, TEXTOID, INT8OID, INT8OID},
	.count = 4,
};

static struct db_statement add_attempt = {
	.sql =
		"INSERT INTO rflow_private.relayer_attempts"
		"       (chain_id, address, nonce, attempt, transaction_id, kind, transaction_hash, raw,"
		"        gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas, head_number,"
		"        signed_at, broadcast_at)"
		"SELECT o.chain_id, o.address, o.nonce,"
		"       1 + COALESCE((SELECT max(a.attempt)"
		"                       FROM rflow_private.relayer_attempts a"
		"                      WHERE a.chain_id = o.chain_id AND a.address = o.address"
		"                        AND a.nonce = o.nonce), 0),"
		"       $4, $5, o.transaction_hash, o.raw, o.gas_limit, o.gas_price, o.max_fee_per_gas,"
		"       o.max_priority_fee_per_gas, o.block_number, $6, $6"
		"  FROM rflow_private.outside_transactions o"
		" WHERE o.chain_id = $1 AND o.address = $2::rflow.address AND o.nonce = $3",
	.types = {INT8OID, TEXTOID, INT8OID, INT8OID, TEXTOID, TIMESTAMPTZOID},
	.count = 6,
};

static struct db_statement mark_adopted = {
	.sql =
		"UPDATE rflow_private.relayer_transactions t"
		"   SET state = 'signed', state_since = $5, from_address = o.address, nonce = o.nonce,"
		"       transaction_hash = o.transaction_hash, signed_at = $5, due_at = NULL,"
		"       relayer = CASE WHEN t.relayer = ANY ($6) THEN t.relayer ELSE ($6)[1] END"
		"  FROM rflow_private.outside_transactions o"
		" WHERE o.chain_id = $1 AND o.address = $2::rflow.address AND o.nonce = $3 AND t.id = $4"
		"   AND t.state IN ('queued', 'signed', 'broadcast')",
	.types = {INT8OID, TEXTOID, INT8OID, INT8OID, TIMESTAMPTZOID, TEXTARRAYOID},
	.count = 6,
};

static struct db_statement queue_again = {
	.sql =
		"WITH loser AS ("
		"    UPDATE rflow_private.relayer_transactions"
		"       SET state = 'queued', state_since = $2, reason = $3, from_address = NULL,"
		"           nonce = NULL, transaction_hash = NULL, signed_at = NULL, broadcast_at = NULL,"
		"           due_at = '-infinity'"
		"     WHERE id = $1 AND state IN ('signed', 'broadcast')"
		"    RETURNING id, relayer) "
		"INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"SELECT 'send', relayer, '-infinity', pg_catalog.lpad(id::text, 19, '0')"
		"  FROM loser",
	.types = {INT8OID, TIMESTAMPTZOID, TEXTOID},
	.count = 3,
};

static struct db_statement explain = {
	.sql =
		"UPDATE rflow_private.outside_transactions"
		"   SET verdict = $5, transaction_id = $4, decided_at = $6"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND nonce = $3"
		"   AND verdict = 'unmatched'",
	.types = {INT8OID, TEXTOID, INT8OID, INT8OID, TEXTOID, TIMESTAMPTZOID},
	.count = 6,
};

struct adoption
{
	struct relay_process *process;
	struct relay_account_progress *progress;
	struct relay_sendable *sends;
	int send_count;
	struct relay_lock *locks; /* of each send */
	ArrayType *own_names;     /* the relayers of this account */
	TimestampTz now;
};

/* chain id, address and nonce: the first parameters of most statements. */
static void
put_found(const struct adoption *adoption, const struct relay_found *found, Datum *parameters)
{
	parameters[0] = Int64GetDatum(adoption->process->chain_id);
	parameters[1] = relay_address_datum(&adoption->progress->key->address);
	parameters[2] = Int64GetDatum((int64) found->nonce);
}

/* With NULL, those of all accounts. */
static ArrayType *
names_of(const struct relay_process *process, const struct relay_key *key)
{
	Datum *names = palloc(sizeof(Datum) * (process->account_count + 1));
	int count = 0;
	int i;

	for (i = 0; i < process->account_count; i++)
		if (key == NULL || process->accounts[i].key == key)
			names[count++] = CStringGetTextDatum(process->accounts[i].name);
	return construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT);
}

static void
load_sends(struct adoption *adoption)
{
	MemoryContext context = CurrentMemoryContext;
	Datum parameters[4];
	uint64 rows;
	uint64 row;

	adoption->own_names = names_of(adoption->process, adoption->progress->key);
	parameters[0] = Int64GetDatum(adoption->process->chain_id);
	parameters[1] = relay_address_datum(&adoption->progress->key->address);
	parameters[2] = PointerGetDatum(adoption->own_names);
	parameters[3] = PointerGetDatum(names_of(adoption->process, NULL));
	rows = relay_fetch(context, &load_sendable, parameters);
	adoption->sends = palloc0(sizeof(struct relay_sendable) * (rows + 1));
	adoption->locks = palloc0(sizeof(struct relay_lock) * (rows + 1));
	adoption->send_count = (int) rows;
	for (row = 0; row < rows; row++)
	{
		adoption->sends[row].id = db_int64(row, 1);
		relay_read_act(&adoption->sends[row].act, row, 2);
		adoption->sends[row].holds = DatumGetBool(db_value(row, 5, NULL));
		adoption->locks[row].id = adoption->sends[row].id;
	}
}

/* The account's row is made where there is none: it begins with the lowest nonce that was found. */
void
relay_lock_account(const struct relay_process *process, const struct relay_key *key, uint64 nonce)
{
	Datum parameters[4];

	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[1] = relay_address_datum(&key->address);
	parameters[2] = Int64GetDatum((int64) nonce);
	parameters[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	(void) db_execute(&adopt_account, parameters, NULL);
	if (db_execute(&lock_account, parameters, NULL) != 1)
		elog(ERROR, "the account has no row in relayer_keys");
}

static void
lock_rows(const struct adoption *adoption)
{
	relay_lock_account(adoption->process, adoption->progress->key,
					   adoption->progress->found[0].nonce);
	relay_lock_transactions(adoption->locks, adoption->send_count);
}

/* NULL when it is none of those that were loaded. */
static const struct relay_lock *
lock_of(const struct adoption *adoption, int64 id)
{
	int i;

	for (i = 0; i < adoption->send_count; i++)
		if (adoption->locks[i].id == id)
			return &adoption->locks[i];
	return NULL;
}

static bool
is_taken(const struct adoption *adoption, int64 id)
{
	int i;

	for (i = 0; i < adoption->send_count; i++)
		if (adoption->sends[i].id == id)
			return adoption->sends[i].taken;
	return false;
}

/* Locked, and still in a state in which it has no outcome. */
static bool
is_usable(const struct relay_lock *lock)
{
	return lock != NULL && lock->locked &&
		(lock->state == RELAY_QUEUED || lock->state == RELAY_SIGNED ||
		 lock->state == RELAY_BROADCAST);
}

static void
insert_attempt(const struct adoption *adoption, const struct relay_found *found, int64 id,
			   const char *kind)
{
	Datum parameters[6];

	put_found(adoption, found, parameters);
	parameters[3] = Int64GetDatum(id);
	parameters[4] = CStringGetTextDatum(kind);
	parameters[5] = TimestampTzGetDatum(adoption->now);
	db_execute_exactly(&add_attempt, parameters, NULL, 1, "what was found on the chain");
}

/* Without a transaction (id 0) it stands for itself. */
static void
give_verdict(const struct adoption *adoption, const struct relay_found *found, int64 id,
			 const char *verdict)
{
	Datum parameters[6];
	char nulls[] = "      ";

	put_found(adoption, found, parameters);
	parameters[3] = Int64GetDatum(id);
	nulls[3] = id == 0 ? 'n' : ' ';
	parameters[4] = CStringGetTextDatum(verdict);
	parameters[5] = TimestampTzGetDatum(adoption->now);
	db_execute_exactly(&explain, parameters, nulls, 1, "what was found on the chain");
	(void) db_execute(&raise_nonce, parameters, NULL);
}

static void
say_adopted(const struct relay_found *found, int64 id)
{
	relay_record_reason(id,
						psprintf("found on the chain: nonce %llu, in block %lld",
								 (unsigned long long) found->nonce,
								 (long long) found->block_number));
}

/*
 * A nonce is used once, and this one by something else, at depth: none of the loser's payloads has
 * run. It gets another nonce, unless it was to be given up anyway.
 */
static void
displace_holder(const struct adoption *adoption, const struct relay_found *found)
{
	const struct relay_lock *lock = lock_of(adoption, found->holder);
	char *reason = psprintf("its nonce %llu was used by transaction %lld",
							(unsigned long long) found->nonce, (long long) found->id);
	Datum parameters[3];

	if (lock == NULL || found->holder == found->id || is_taken(adoption, found->holder))
		return;
	if (!lock->wanted)
	{
		(void) relay_record_superseded(found->holder, NULL, reason, NULL);
		return;
	}
	parameters[0] = Int64GetDatum(found->holder);
	parameters[1] = TimestampTzGetDatum(adoption->now);
	parameters[2] = CStringGetTextDatum(reason);
	db_execute_exactly(&queue_again, parameters, NULL, 1, "the transaction that had the nonce");
}

/* What was found is this send: it leaves the queue, or the nonce that it has lost. */
static void
adopt_send(const struct adoption *adoption, const struct relay_found *found)
{
	Datum parameters[6];

	parameters[0] = Int64GetDatum(found->id);
	if (lock_of(adoption, found->id)->state == RELAY_QUEUED)
		db_execute_exactly(&take_due, parameters, NULL, 1, "the queue of sends");
	else
		(void) db_execute(&leave_nonce, parameters, NULL);
	put_found(adoption, found, parameters);
	parameters[3] = Int64GetDatum(found->id);
	parameters[4] = TimestampTzGetDatum(adoption->now);
	parameters[5] = PointerGetDatum(adoption->own_names);
	db_execute_exactly(&mark_adopted, parameters, NULL, 1, "the transaction");
	(void) db_execute(&take_nonce, parameters, NULL);
	insert_attempt(adoption, found, found->id, "send");
	(void) relay_record_accepted(found->id);
	say_adopted(found, found->id);
	displace_holder(adoption, found);
	give_verdict(adoption, found, found->id, "matched");
}

/* What was found is another payload of the send that has the nonce anyway. */
static void
adopt_payload(const struct adoption *adoption, const struct relay_found *found)
{
	insert_attempt(adoption, found, found->id, "send");
	(void) relay_record_accepted(found->id);
	say_adopted(found, found->id);
	give_verdict(adoption, found, found->id, "matched");
}

/* Its receipt ends whoever has the nonce, as that of a no-op that was signed here. */
static void
adopt_noop(const struct adoption *adoption, const struct relay_found *found)
{
	if (found->holder != 0)
		insert_attempt(adoption, found, found->holder, "noop");
	give_verdict(adoption, found, found->holder, "noop");
}

/* Somebody may hold a row that is concerned, or has ended the send meanwhile: later, then. */
static bool
may_adopt(const struct adoption *adoption, const struct relay_found *found)
{
	const struct relay_lock *holder = lock_of(adoption, found->holder);

	return (found->id == 0 || is_usable(lock_of(adoption, found->id))) &&
		(holder == NULL || is_usable(holder));
}

static bool
adopt(const struct adoption *adoption, const struct relay_found *found)
{
	if (found->match == RELAY_UNMATCHED || !may_adopt(adoption, found))
		return false;
	if (found->match == RELAY_MATCHES_HOLDER)
		adopt_payload(adoption, found);
	else if (found->match == RELAY_MATCHES_NOOP)
		adopt_noop(adoption, found);
	else
		adopt_send(adoption, found);
	return true;
}

int
relay_adopt_found(struct relay_process *process, struct relay_account_progress *progress)
{
	struct adoption adoption = {.process = process, .progress = progress};
	int adopted = 0;
	int i;

	if (progress->found_count == 0)
		return 0;
	adoption.now = GetCurrentTimestamp();
	load_sends(&adoption);
	relay_match_found(progress->found, progress->found_count, adoption.sends, adoption.send_count,
					  &progress->key->address);
	for (i = 0; i < progress->found_count && progress->found[i].match == RELAY_UNMATCHED; i++)
		;
	if (i == progress->found_count)
		return 0;
	lock_rows(&adoption);
	for (i = 0; i < progress->found_count; i++)
		if (adopt(&adoption, &progress->found[i]))
			adopted++;
	return adopted;
}

bool
relay_adopt_user(struct relay_process *process, const struct relay_nonce *nonce)
{
	struct relay_account_progress progress = {.key = nonce->key};
	struct adoption adoption = {.process = process, .progress = &progress};
	struct relay_found found = {.nonce = nonce->nonce, .id = nonce->transaction_id};
	struct relay_payload payload;
	struct relay_act own;

	if (nonce->user_transaction == NULL ||
		!relay_read_payload(CurrentMemoryContext, nonce->transaction_id, &payload))
		return false;
	own.creates = payload.creates;
	own.recipient = payload.recipient;
	own.value = payload.value;
	own.data = payload.data;
	if (!relay_acts_equal(&own, &nonce->user_transaction->act) ||
		!relay_store_found(process, &progress, nonce->used_in, nonce->user_transaction))
		return false;
	adoption.now = GetCurrentTimestamp();
	found.block_number = nonce->used_in;
	adopt_payload(&adoption, &found);
	process->ask_again = true;
	relay_wake_by(process, adoption.now);
	return true;
}

void
relay_adopt_as(struct relay_process *process, struct relay_key *key, const struct relay_lock *lock,
			   uint64 nonce, int64 block_number)
{
	struct relay_account_progress progress = {.key = key};
	struct relay_found found = {.nonce = nonce, .block_number = block_number, .id = lock->id};
	struct relay_sendable send = {.id = lock->id};
	struct relay_lock locked = *lock;
	struct adoption adoption = {
		.process = process,
		.progress = &progress,
		.sends = &send,
		.send_count = 1,
		.locks = &locked,
		.own_names = names_of(process, key),
		.now = GetCurrentTimestamp(),
	};

	if (lock->state == RELAY_QUEUED)
		adopt_send(&adoption, &found);
	else
		adopt_payload(&adoption, &found);
}
