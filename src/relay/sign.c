/*
 * sign.c
 *	  The transaction that assigns nonces.
 *
 * Order of locks: the account's row, then transactions by id, then policies by name.  A send that
 * a user is cancelling is locked and skipped; it keeps its place in the queue and no nonce is
 * spent on it.  Nonces are taken from the account's row only for what is signed, so there are no
 * gaps.
 */
#include "postgres.h"

#include "relay/sign.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "relay/gap.h"
#include "relay/load.h"
#include "relay/move.h"
#include "relay/policy_window.h"
#include "relay/queue.h"

enum signed_column
{
	SIGNED_TRANSACTION,
	SIGNED_CHAIN_ID,
	SIGNED_ADDRESS,
	SIGNED_NONCE,
	SIGNED_ATTEMPT,
	SIGNED_KIND,
	SIGNED_HASH,
	SIGNED_RAW,
	SIGNED_GAS_LIMIT,
	SIGNED_GAS_PRICE,
	SIGNED_MAX_FEE,
	SIGNED_PRIORITY,
	SIGNED_HEAD,
	SIGNED_AT,
	SIGNED_COLUMNS
};

static struct db_statement adopt_key = {
	.sql =
		"INSERT INTO rflow_private.relayer_keys"
		"       (chain_id, address, next_nonce, adopted_nonce, adopted_at)"
		"VALUES ($1, $2::rflow.address, $3, $3, $4)"
		"    ON CONFLICT DO NOTHING",
	.types = {INT8OID, TEXTOID, INT8OID, TIMESTAMPTZOID},
	.count = 4,
};

static struct db_statement lock_key = {
	.sql =
		"SELECT next_nonce"
		"  FROM rflow_private.relayer_keys"
		" WHERE chain_id = $1 AND address = $2::rflow.address"
		"   FOR UPDATE",
	.types = {INT8OID, TEXTOID},
	.count = 2,
};

static struct db_statement advance_key = {
	.sql =
		"UPDATE rflow_private.relayer_keys"
		"   SET next_nonce = $4"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND next_nonce = $3",
	.types = {INT8OID, TEXTOID, INT8OID, INT8OID},
	.count = 4,
};

static struct db_statement insert_attempts = {
	.sql =
		"INSERT INTO rflow_private.relayer_attempts"
		"       (chain_id, address, nonce, attempt, transaction_id, kind, transaction_hash, raw,"
		"        gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas, head_number,"
		"        signed_at)"
		"SELECT chain_id, address, nonce, attempt, transaction_id, kind, transaction_hash, raw,"
		"       gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas, head_number,"
		"       signed_at"
		"  FROM rflow_signed",
};

static struct db_statement insert_nonces = {
	.sql =
		"INSERT INTO rflow_private.nonces (chain_id, address, nonce, transaction_id)"
		"SELECT chain_id, address, nonce, transaction_id"
		"  FROM rflow_signed"
		" WHERE attempt = 1",
};

static struct db_statement mark_signed = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET state = 'signed', reason = NULL, state_since = $2,"
		"       from_address = $3::rflow.address, nonce = $4,"
		"       transaction_hash = $5::rflow.hex, signed_at = $2, due_at = NULL"
		" WHERE id = $1 AND state = 'queued' AND intent = 'send'",
	.types = {INT8OID, TIMESTAMPTZOID, TEXTOID, INT8OID, BYTEAOID},
	.count = 5,
};

/*
 * By the row's place: the queue is empty now and long in a second, and a plan that joins would
 * read all of it for each row.  OFFSET 0 keeps the order: from what was signed to its row.
 */
static struct db_statement take_due = {
	.sql =
		"DELETE FROM rflow_private.due"
		" WHERE ctid = ANY (ARRAY("
		"    SELECT d.ctid"
		"      FROM rflow_signed s"
		"     CROSS JOIN LATERAL (SELECT t.id, t.relayer, t.due_at"
		"                           FROM rflow_private.relayer_transactions t"
		"                          WHERE t.id = s.transaction_id AND t.state = 'queued'"
		"                         OFFSET 0) t"
		"     CROSS JOIN LATERAL (SELECT d.ctid"
		"                           FROM rflow_private.due d"
		"                          WHERE d.kind = 'send' AND d.owner = t.relayer"
		"                            AND d.wake_at = t.due_at"
		"                            AND d.id = pg_catalog.lpad(t.id::text, 19, '0')"
		"                         OFFSET 0) d"
		"     WHERE s.attempt = 1))",
};

static struct db_statement mark_replaced = {
	.sql =
		"UPDATE rflow_private.relayer_transactions t"
		"   SET transaction_hash = CASE"
		"                            WHEN s.kind = 'send' THEN s.transaction_hash"
		"                            ELSE t.transaction_hash"
		"                          END,"
		"       reason = CASE"
		"                  WHEN t.error IS NOT NULL THEN t.reason"
		"                  WHEN s.kind = 'noop'"
		"                  THEN pg_catalog.format('a no-op is to take nonce %s', s.nonce)"
		"                  ELSE pg_catalog.format('signed again for more: attempt %s', s.attempt)"
		"                END"
		"  FROM rflow_signed s"
		" WHERE t.id = s.transaction_id AND s.attempt > 1 AND t.state <> 'queued'",
};

/* A send that takes the nonce of the one that it replaces; both stay, linked. */
static struct db_statement mark_competing = {
	.sql =
		"WITH marked AS ("
		"    UPDATE rflow_private.relayer_transactions t"
		"       SET state = 'signed', reason = NULL, state_since = s.signed_at,"
		"           from_address = s.address, nonce = s.nonce,"
		"           transaction_hash = s.transaction_hash, signed_at = s.signed_at"
		"      FROM rflow_signed s"
		"     WHERE t.id = s.transaction_id AND s.attempt > 1 AND t.state = 'queued'"
		"       AND t.intent = 'send'"
		"    RETURNING t.id, t.replaces), "
		"told AS ("
		"    UPDATE rflow_private.relayer_transactions o"
		"       SET reason = pg_catalog.format('transaction %s competes for its nonce: what mines"
		" decides', m.id)"
		"      FROM marked m"
		"     WHERE o.id = m.replaces) "
		"SELECT id FROM marked",
};

static struct db_statement hand_over_nonces = {
	.sql =
		"UPDATE rflow_private.nonces n"
		"   SET transaction_id = s.transaction_id"
		"  FROM rflow_signed s"
		" WHERE s.attempt > 1 AND n.chain_id = s.chain_id AND n.address = s.address"
		"   AND n.nonce = s.nonce AND n.transaction_id <> s.transaction_id AND NOT n.settled",
};

struct first_payload
{
	const struct relay_order *order;
	uint64 nonce;
	struct evm_hash hash;
};

struct signing
{
	struct relay_plan *plan;
	int64 chain_id;
	int64 head_number;
	relay_signature sign;
	void *context;
	TupleDesc descriptor;
	Tuplestorestate *rows;
	TimestampTz now;
	struct relay_windows *windows; /* NULL: nothing is counted */
	struct first_payload *firsts;  /* first payloads among what was signed */
	int first;
	int again;
	int competing; /* first payloads at the nonce of another send */
};

static TupleDesc
signed_descriptor(void)
{
	static TupleDesc descriptor = NULL;
	static Oid made_for = InvalidOid;
	const struct db_types *types = db_types();
	const struct
	{
		const char *name;
		Oid type;
	} columns[SIGNED_COLUMNS] = {
		{"transaction_id", INT8OID},
		{"chain_id", INT8OID},
		{"address", types->address},
		{"nonce", INT8OID},
		{"attempt", INT4OID},
		{"kind", TEXTOID},
		{"transaction_hash", types->hex},
		{"raw", types->hex},
		{"gas_limit", INT8OID},
		{"gas_price", NUMERICOID},
		{"max_fee_per_gas", NUMERICOID},
		{"max_priority_fee_per_gas", NUMERICOID},
		{"head_number", INT8OID},
		{"signed_at", TIMESTAMPTZOID},
	};
	MemoryContext before;
	int i;

	if (descriptor != NULL && made_for == types->address)
		return descriptor;
	before = MemoryContextSwitchTo(TopMemoryContext);
	descriptor = CreateTemplateTupleDesc(SIGNED_COLUMNS);
	for (i = 0; i < SIGNED_COLUMNS; i++)
		TupleDescInitEntry(descriptor, i + 1, columns[i].name, columns[i].type, -1, 0);
	made_for = types->address;
	MemoryContextSwitchTo(before);
	return descriptor;
}

static int64
transaction_of(const struct relay_order *order)
{
	return order->candidate != NULL ? order->candidate->id : order->nonce->transaction_id;
}

/* The first payload of a send at the nonce of the one that it replaces. */
static bool
competes(const struct relay_order *order)
{
	return order->candidate != NULL && order->nonce != NULL;
}

/*
 * What users may have changed since the view was loaded, and which rows they hold at this
 * moment.
 */
static void
lock_and_recheck(struct relay_plan *plan)
{
	int count = 2 * plan->order_count + plan->ruling_count;
	struct relay_lock *locks = palloc0(sizeof(struct relay_lock) * (count + 1));
	struct relay_lock *ruled = locks + plan->order_count;
	struct relay_lock *replaced = ruled + plan->ruling_count;
	int i;

	for (i = 0; i < plan->order_count; i++)
	{
		locks[i].id = transaction_of(&plan->orders[i]);
		if (competes(&plan->orders[i]))
			replaced[i].id = plan->orders[i].nonce->transaction_id;
	}
	for (i = 0; i < plan->ruling_count; i++)
		ruled[i].id = plan->rulings[i].id;
	relay_lock_transactions(locks, count);
	for (i = 0; i < plan->order_count; i++)
	{
		struct relay_order *order = &plan->orders[i];
		enum relay_state expected = RELAY_QUEUED;
		bool wanted = true;

		if (order->candidate == NULL)
		{
			expected = order->nonce->state;
			wanted = order->nonce->wanted && !order->nonce->has_error;
		}
		order->dropped = !locks[i].locked || locks[i].paused || locks[i].state != expected ||
			locks[i].wanted != wanted || (order->candidate != NULL && locks[i].held);
	}
	for (i = 0; i < plan->order_count; i++)
		if (competes(&plan->orders[i]) &&
			(!replaced[i].locked || replaced[i].state != plan->orders[i].nonce->state))
			plan->orders[i].dropped = true;
	for (i = 0; i < plan->ruling_count; i++)
	{
		const struct relay_lock *lock = &ruled[i];

		plan->rulings[i].dropped = !lock->locked || (lock->state == RELAY_QUEUED && lock->held);
	}
}

/* A grant that was taken away counts for what is not signed yet. */
static void
recheck_grants(struct relay_plan *plan)
{
	int i;

	for (i = 0; i < plan->order_count; i++)
	{
		struct relay_order *order = &plan->orders[i];
		struct relay_failure failure = {"denied", NULL, {NULL, 0}};

		if (order->dropped || order->candidate == NULL ||
			relay_may_use(order->account->name, order->candidate->owner))
			continue;
		order->dropped = true;
		if (relay_move_denied(order->candidate->id))
			continue;
		failure.message =
			psprintf("role %s may not use relayer \"%s\" any more",
					 GetUserNameFromId(order->candidate->owner, true) == NULL
						 ? "that has gone"
						 : quote_identifier(GetUserNameFromId(order->candidate->owner, true)),
					 order->account->name);
		(void) relay_end_queued(order->candidate->id, RELAY_FAILED, failure.message, &failure);
	}
}

static void
apply_rulings(const struct relay_plan *plan)
{
	int i;

	for (i = 0; i < plan->ruling_count; i++)
	{
		const struct relay_ruling *ruling = &plan->rulings[i];

		if (ruling->dropped)
			continue;
		if (ruling->rule == RELAY_SAY)
			relay_record_reason(ruling->id, ruling->reason);
		else if (ruling->rule == RELAY_HOLD)
			relay_hold_queued(ruling->id, ruling->reason, ruling->until);
		else
			(void) relay_end_queued(ruling->id, RELAY_FAILED, ruling->reason, &ruling->failure);
	}
}

static void
read_payload(const struct relay_order *order, struct relay_payload *payload)
{
	memset(payload, 0, sizeof(*payload));
	if (order->noop)
		payload->recipient = order->key->address;
	else if (order->candidate != NULL)
	{
		payload->creates = order->candidate->creates;
		payload->recipient = order->candidate->recipient;
		payload->value = order->candidate->value;
		payload->data = order->candidate->data;
	}
	else if (!relay_read_payload(CurrentMemoryContext, order->nonce->transaction_id, payload))
		elog(ERROR, "transaction %lld has gone", (long long) order->nonce->transaction_id);
}

/* What cannot be signed at all fails alone, without a nonce; a live nonce keeps what it has. */
static void
refuse(const struct relay_order *order, const char *problem)
{
	struct relay_failure failure = {"never_valid", problem, {NULL, 0}};

	if (order->candidate != NULL)
		(void) relay_end_queued(order->candidate->id, RELAY_FAILED, problem, &failure);
	else
		relay_record_reason(order->nonce->transaction_id, problem);
}

static bool
put_signed(struct signing *signing, const struct relay_order *order, uint64 nonce)
{
	Datum values[SIGNED_COLUMNS] = {0};
	bool nulls[SIGNED_COLUMNS] = {0};
	struct relay_payload payload;
	struct evm_bytes raw;
	struct evm_hash hash;
	const char *problem;

	read_payload(order, &payload);
	problem =
		signing->sign(order, nonce, &payload, signing->chain_id, &raw, &hash, signing->context);
	if (problem != NULL)
	{
		refuse(order, problem);
		return false;
	}
	values[SIGNED_TRANSACTION] = Int64GetDatum(transaction_of(order));
	values[SIGNED_CHAIN_ID] = Int64GetDatum(signing->chain_id);
	values[SIGNED_ADDRESS] = db_address_datum(&order->key->address);
	values[SIGNED_NONCE] = Int64GetDatum((int64) nonce);
	values[SIGNED_ATTEMPT] =
		Int32GetDatum(order->nonce == NULL ? 1 : relay_newest(order->nonce)->number + 1);
	values[SIGNED_KIND] = CStringGetTextDatum(order->noop ? "noop" : "send");
	values[SIGNED_HASH] = db_hex_datum(hash.b, sizeof(hash.b));
	values[SIGNED_RAW] = db_hex_datum(raw.data, raw.len);
	values[SIGNED_GAS_LIMIT] = Int64GetDatum(order->gas_limit);
	nulls[SIGNED_GAS_PRICE] = order->price.dynamic;
	nulls[SIGNED_MAX_FEE] = nulls[SIGNED_PRIORITY] = !order->price.dynamic;
	if (order->price.dynamic)
	{
		values[SIGNED_MAX_FEE] = db_word_numeric(&order->price.max_fee, false);
		values[SIGNED_PRIORITY] = db_word_numeric(&order->price.priority, false);
	}
	else
		values[SIGNED_GAS_PRICE] = db_word_numeric(&order->price.max_fee, false);
	nulls[SIGNED_HEAD] = signing->head_number < 0;
	values[SIGNED_HEAD] = Int64GetDatum(signing->head_number);
	values[SIGNED_AT] = TimestampTzGetDatum(signing->now);
	tuplestore_putvalues(signing->rows, signing->descriptor, values, nulls);
	if (competes(order))
		signing->competing++;
	else if (order->nonce == NULL)
		signing->firsts[signing->first++] = (struct first_payload){order, nonce, hash};
	else
		signing->again++;
	return true;
}

/* Locks the account's row, and adopts the account where there is none. */
static int64
lock_account(const struct signing *signing, const struct relay_key *key)
{
	Datum parameters[4];

	parameters[0] = Int64GetDatum(signing->chain_id);
	parameters[1] = relay_address_datum(&key->address);
	if (db_execute(&lock_key, parameters, NULL) == 1)
		return db_int64(0, 1);
	parameters[2] = Int64GetDatum((int64) key->latest);
	parameters[3] = TimestampTzGetDatum(signing->now);
	(void) db_execute(&adopt_key, parameters, NULL);
	if (db_execute(&lock_key, parameters, NULL) != 1)
		elog(ERROR, "the account has no row in relayer_keys");
	return db_int64(0, 1);
}

/* False when it waits for a window, or cannot be signed. */
static bool
sign_first(struct signing *signing, const struct relay_order *order, uint64 nonce)
{
	if (!relay_windows_take(signing->windows, order))
		return false;
	if (put_signed(signing, order, nonce))
		return true;
	relay_windows_give_back(signing->windows, order);
	return false;
}

/* Another payload for a nonce; that of another send is the first one of that. */
static void
sign_again(struct signing *signing, const struct relay_order *order)
{
	if (competes(order))
		(void) sign_first(signing, order, order->nonce->nonce);
	else
		(void) put_signed(signing, order, order->nonce->nonce);
}

/* The first payloads of one account get the nonces that follow one another. */
static void
assign_nonces(struct signing *signing, struct relay_key *key, int64 start)
{
	Datum parameters[4];
	int64 next = start;
	int i;

	for (i = 0; i < signing->plan->order_count; i++)
	{
		struct relay_order *order = &signing->plan->orders[i];

		if (order->key != key || order->nonce != NULL || order->dropped)
			continue;
		if (order->candidate->fills)
			(void) put_signed(signing, order, order->candidate->gap);
		else if (sign_first(signing, order, (uint64) next))
			next++;
	}
	if (next == start)
		return;
	parameters[0] = Int64GetDatum(signing->chain_id);
	parameters[1] = relay_address_datum(&key->address);
	parameters[2] = Int64GetDatum(start);
	parameters[3] = Int64GetDatum(next);
	db_execute_exactly(&advance_key, parameters, NULL, 1, "the next nonce of the account");
}

/* The accounts that get new nonces, each once. */
static int
accounts_of(const struct relay_plan *plan, struct relay_key **keys)
{
	int count = 0;
	int i;
	int j;

	for (i = 0; i < plan->order_count; i++)
	{
		if (plan->orders[i].nonce != NULL)
			continue;
		for (j = 0; j < count && keys[j] != plan->orders[i].key; j++)
			;
		if (j == count)
			keys[count++] = plan->orders[i].key;
	}
	return count;
}

static void
mark_first(const struct signing *signing, const struct first_payload *first)
{
	Datum parameters[5];

	parameters[0] = Int64GetDatum(transaction_of(first->order));
	parameters[1] = TimestampTzGetDatum(signing->now);
	parameters[2] = relay_address_datum(&first->order->key->address);
	parameters[3] = Int64GetDatum((int64) first->nonce);
	parameters[4] = db_hex_datum(first->hash.b, sizeof(first->hash.b));
	db_execute_exactly(&mark_signed, parameters, NULL, 1, "a queued send");
}

static void
store(struct signing *signing)
{
	int i;

	db_register("rflow_signed", signing->descriptor, signing->rows);
	(void) db_execute(&insert_attempts, NULL, NULL);
	if (signing->first > 0)
	{
		db_execute_exactly(&take_due, NULL, NULL, signing->first, "the queue of sends");
		for (i = 0; i < signing->first; i++)
			mark_first(signing, &signing->firsts[i]);
		(void) db_execute(&insert_nonces, NULL, NULL);
	}
	if (signing->again > 0)
		db_execute_exactly(&mark_replaced, NULL, NULL, signing->again, "a signed send");
	if (signing->competing > 0)
	{
		db_execute_exactly(&mark_competing, NULL, NULL, signing->competing, "a queued send");
		db_execute_exactly(&hand_over_nonces, NULL, NULL, signing->competing,
						   "the nonce of a replaced send");
	}
	db_unregister("rflow_signed");
}

int
relay_sign_orders(struct relay_plan *plan, int64 chain_id, int64 head_number, relay_signature sign,
				  void *context)
{
	struct signing signing = {0};
	struct relay_key **keys = palloc(sizeof(struct relay_key *) * (plan->order_count + 1));
	int64 *next = palloc(sizeof(int64) * (plan->order_count + 1));
	int key_count = accounts_of(plan, keys);
	int count;
	int i;

	signing.plan = plan;
	signing.chain_id = chain_id;
	signing.head_number = head_number;
	signing.sign = sign;
	signing.context = context;
	signing.descriptor = signed_descriptor();
	signing.rows = tuplestore_begin_heap(false, false, work_mem);
	signing.now = GetCurrentTimestamp();
	signing.firsts = palloc(sizeof(struct first_payload) * (plan->order_count + 1));
	for (i = 0; i < key_count; i++)
		next[i] = lock_account(&signing, keys[i]);
	relay_make_fillers(plan, chain_id);
	lock_and_recheck(plan);
	recheck_grants(plan);
	apply_rulings(plan);
	signing.windows = relay_windows_lock(plan, signing.now);
	for (i = 0; i < plan->order_count; i++)
		if (plan->orders[i].nonce != NULL && !plan->orders[i].dropped)
			sign_again(&signing, &plan->orders[i]);
	for (i = 0; i < key_count; i++)
		assign_nonces(&signing, keys[i], next[i]);
	count = signing.first + signing.again + signing.competing;
	if (count > 0)
		store(&signing);
	relay_windows_store(signing.windows);
	tuplestore_end(signing.rows);
	return count;
}
