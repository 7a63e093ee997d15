/*
 * load.c
 *	  From the tables to memory: the view of one round.
 *
 * Loaded anew each round: windows bound what is live, and what is not kept cannot be wrong.
 */
#include "postgres.h"

#include "relay/load.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "evm/word.h"
#include "relay/gap.h"

/* Room for sends that turn out to wait, so that they do not hide those behind them. */
#define CANDIDATES_BEYOND_WINDOW 8

static struct db_statement load_genesis = {
	.sql =
		"SELECT genesis_hash"
		"  FROM rflow_private.network_states"
		" WHERE network = $1 AND chain_id = $2",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static struct db_statement load_head = {
	.sql =
		"SELECT b.number, b.base_fee_per_gas IS NOT NULL, b.hash,"
		"       (SELECT s.hash = $3::rflow.hex"
		"          FROM rflow_private.blocks s"
		"         WHERE s.network = $1 AND s.number = $2)"
		"  FROM rflow_private.blocks b"
		" WHERE b.network = $1"
		" ORDER BY b.number DESC"
		" LIMIT 1",
	.types = {TEXTOID, INT8OID, BYTEAOID},
	.count = 3,
};

static struct db_statement load_due = {
	.sql =
		"SELECT r.name, (SELECT d.wake_at"
		"                  FROM rflow_private.due d"
		"                 WHERE d.kind = 'send' AND d.owner = r.name"
		"                 ORDER BY d.wake_at, d.id"
		"                 LIMIT 1),"
		"       (SELECT d.wake_at"
		"          FROM rflow_private.due d"
		"         WHERE d.kind = 'expire' AND d.owner = $2"
		"         ORDER BY d.wake_at, d.id"
		"         LIMIT 1),"
		"       (SELECT s.resumed_at"
		"          FROM rflow_private.relayer_states s"
		"         WHERE s.relayer = r.name)"
		"  FROM pg_catalog.unnest($1) AS r (name)",
	.types = {TEXTARRAYOID, TEXTOID},
	.count = 2,
};

/* The plan is kept while tables grow: OFFSET 0 makes it go from live nonces to attempts, by key. */
static struct db_statement load_live = {
	.sql =
		"SELECT n.address, n.nonce, n.transaction_id, t.relayer, t.state, t.intent,"
		"       t.error IS NOT NULL, t.value, t.max_fee_per_gas, t.confirmations, t.reason,"
		"       t.block_number, t.block_hash,"
		"       a.attempt, a.kind, a.transaction_hash, a.gas_limit, a.gas_price,"
		"       a.max_fee_per_gas, a.max_priority_fee_per_gas, a.head_number, a.signed_at,"
		"       a.broadcast_at, a.answer_class, a.answered_at, t.owner, t.workflow,"
		"       a.transaction_id, t.wanted_attempt, t.replaces,"
		"       CASE WHEN t.intent = 'replace' THEN t.replaced_by END"
		"  FROM rflow_private.nonces n"
		" CROSS JOIN LATERAL (SELECT a.*"
		"                       FROM rflow_private.relayer_attempts a"
		"                      WHERE a.chain_id = n.chain_id AND a.address = n.address"
		"                        AND a.nonce = n.nonce"
		"                     OFFSET 0) a"
		" CROSS JOIN LATERAL (SELECT t.*"
		"                       FROM rflow_private.relayer_transactions t"
		"                      WHERE t.id = n.transaction_id"
		"                     OFFSET 0) t"
		" WHERE n.chain_id = $1 AND NOT n.settled"
		" ORDER BY n.address, n.nonce, a.attempt",
	.types = {INT8OID},
	.count = 1,
};

/* Those that live ones replace, and those that are queued to replace live ones. */
static struct db_statement load_originals = {
	.sql =
		"SELECT id, state, block_number, block_hash"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = ANY ($1)",
	.types = {INT8ARRAYOID},
	.count = 1,
};

static struct db_statement load_replacements = {
	.sql =
		"SELECT t.id, t.relayer, t.owner, t.recipient, t.value, t.data, t.gas_limit,"
		"       t.max_fee_per_gas, t.workflow, t.network, t.chain_id"
		"  FROM rflow_private.relayer_transactions t"
		" WHERE t.id = ANY ($1) AND t.state = 'queued'",
	.types = {INT8ARRAYOID},
	.count = 1,
};

static struct db_statement load_candidates = {
	.sql =
		"SELECT t.id, t.relayer, t.owner, t.recipient, t.value, t.data, t.gas_limit,"
		"       t.max_fee_per_gas, t.workflow, t.network, t.chain_id"
		"  FROM unnest($1, $2) AS r (name, room)"
		" CROSS JOIN LATERAL (SELECT d.id"
		"                       FROM rflow_private.due d"
		"                      WHERE d.kind = 'send' AND d.owner = r.name AND d.wake_at <= $3"
		"                      ORDER BY d.wake_at, d.id"
		"                      LIMIT r.room) d"
		" CROSS JOIN LATERAL (SELECT t.*"
		"                       FROM rflow_private.relayer_transactions t"
		"                      WHERE t.id = d.id::bigint"
		"                     OFFSET 0) t"
		" WHERE t.intent = 'send' AND (t.valid_until IS NULL OR t.valid_until > $3)"
		" ORDER BY t.id",
	.types = {TEXTARRAYOID, INT4ARRAYOID, TIMESTAMPTZOID},
	.count = 3,
};

static struct db_statement load_payload = {
	.sql =
		"SELECT t.recipient, t.value, t.data, c.abi::text"
		"  FROM rflow_private.relayer_transactions t"
		"  LEFT JOIN LATERAL (SELECT c.abi"
		"                       FROM rflow.contracts c"
		"                      WHERE c.network = t.network AND c.address = t.recipient"
		"                      LIMIT 1) c ON true"
		" WHERE t.id = $1",
	.types = {INT8OID},
	.count = 1,
};

uint64
relay_fetch(MemoryContext context, struct db_statement *statement, Datum *parameters)
{
	uint64 rows = db_execute(statement, parameters, NULL);

	MemoryContextSwitchTo(context);
	return rows;
}

static TimestampTz
time_or_zero(uint64 row, int column)
{
	bool isnull;
	Datum value = db_value(row, column, &isnull);

	return isnull ? 0 : DatumGetTimestampTz(value);
}

/* False when NULL. */
static bool
word_at(struct evm_word *out, uint64 row, int column)
{
	bool isnull;
	bool negative;
	Datum value = db_value(row, column, &isnull);

	*out = evm_word_zero;
	if (isnull)
		return false;
	if (!db_numeric_word(out, &negative, value) || negative)
		elog(ERROR, "column %d is not an amount", column);
	return true;
}

static void
hash_at(struct evm_hash *out, uint64 row, int column)
{
	struct evm_bytes bytes = db_datum_hex(db_value(row, column, NULL));

	if (bytes.len != sizeof(out->b))
		elog(ERROR, "column %d is not a hash", column);
	memcpy(out->b, bytes.data, sizeof(out->b));
}

static int64
number_or(uint64 row, int column, int64 otherwise)
{
	bool isnull;

	(void) db_value(row, column, &isnull);
	return isnull ? otherwise : db_int64(row, column);
}

/* Is the block that was the watcher's newest one gone from its headers? */
static bool
has_reorganised(const struct relay_process *process)
{
	bool isnull;
	Datum same;

	if (process->seen_number < 0)
		return true;
	same = db_value(0, 4, &isnull);
	return isnull || !DatumGetBool(same);
}

/* The chain that the watcher follows; unknown until it has been in contact with it. */
static void
read_genesis(MemoryContext context, struct relay_process *process)
{
	Datum parameters[2];

	if (process->has_genesis)
		return;
	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = Int64GetDatum(process->chain_id);
	process->has_genesis = relay_fetch(context, &load_genesis, parameters) == 1;
	if (process->has_genesis)
		hash_at(&process->genesis, 0, 1);
}

/* The watcher's newest header; what this process has asked for counts until that is higher. */
static void
read_head(MemoryContext context, struct relay_process *process, TimestampTz now)
{
	Datum parameters[3];
	int64 number;

	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = Int64GetDatum(process->seen_number);
	parameters[2] = db_hex_datum(process->seen_hash.b, sizeof(process->seen_hash.b));
	if (relay_fetch(context, &load_head, parameters) == 0)
		return;
	number = db_int64(0, 1);
	process->has_base_fee = DatumGetBool(db_value(0, 2, NULL));
	if (has_reorganised(process))
		process->look_back = process->ask_again = true;
	process->seen_number = number;
	hash_at(&process->seen_hash, 0, 3);
	if (number == process->head_number || (process->head_is_ours && number < process->head_number))
		return;
	relay_note_head(process, number, now);
	process->head_is_ours = false;
}

static ArrayType *
names_of(struct relay_process *process, bool (*chosen)(struct relay_account *account, int room),
		 ArrayType **rooms)
{
	Datum *names = palloc(sizeof(Datum) * (process->account_count + 1));
	Datum *counts = palloc(sizeof(Datum) * (process->account_count + 1));
	int count = 0;
	int i;

	for (i = 0; i < process->account_count; i++)
	{
		struct relay_account *account = &process->accounts[i];
		int room = account->key == NULL ? 0 : account->max_in_flight - account->key->in_flight;

		if (chosen != NULL && !chosen(account, room))
			continue;
		names[count] = CStringGetTextDatum(account->name);
		counts[count++] = Int32GetDatum(room + CANDIDATES_BEYOND_WINDOW);
	}
	if (rooms != NULL)
		*rooms = construct_array(counts, count, INT4OID, sizeof(int32), true, TYPALIGN_INT);
	return construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT);
}

/* An operator wants it to look again at what it has put off. */
static void
resume(struct relay_process *process, TimestampTz resumed_at)
{
	int i;

	if (resumed_at <= process->resumed_at)
		return;
	process->resumed_at = resumed_at;
	process->retry_at = 0;
	process->failures = 0;
	for (i = 0; i < process->key_count; i++)
		process->keys[i]->held_until = 0;
}

static void
read_due(MemoryContext context, struct relay_process *process)
{
	Datum parameters[2];
	uint64 rows;
	uint64 row;

	process->first_expiry = 0;
	parameters[0] = PointerGetDatum(names_of(process, NULL, NULL));
	parameters[1] = CStringGetTextDatum(process->network);
	rows = relay_fetch(context, &load_due, parameters);
	for (row = 0; row < rows; row++)
	{
		struct relay_account *account = relay_find_account(process, db_text(row, 1));
		bool isnull;
		Datum value = db_value(row, 2, &isnull);

		account->has_due = !isnull;
		account->first_due = isnull ? 0 : DatumGetTimestampTz(value);
		value = db_value(row, 3, &isnull);
		process->first_expiry = isnull ? 0 : DatumGetTimestampTz(value);
		value = db_value(row, 4, &isnull);
		if (!isnull)
			resume(process, DatumGetTimestampTz(value));
	}
}

static void
read_attempt(struct relay_attempt *attempt, uint64 row)
{
	char *class = db_text(row, 24);

	attempt->number = (int) db_int64(row, 14);
	attempt->noop = strcmp(db_text(row, 15), "noop") == 0;
	hash_at(&attempt->hash, row, 16);
	attempt->gas_limit = db_int64(row, 17);
	attempt->price.dynamic = !word_at(&attempt->price.max_fee, row, 18);
	if (attempt->price.dynamic)
		(void) word_at(&attempt->price.max_fee, row, 19);
	(void) word_at(&attempt->price.priority, row, 20);
	attempt->head_number = number_or(row, 21, -1);
	attempt->signed_at = time_or_zero(row, 22);
	attempt->broadcast_at = time_or_zero(row, 23);
	attempt->answered = class != NULL;
	if (class != NULL)
		attempt->class = relay_class_from_name(class);
	attempt->answered_at = time_or_zero(row, 25);
	attempt->transaction_id = db_int64(row, 28);
}

static void
read_nonce(struct relay_process *process, struct relay_nonce *nonce, struct relay_key *key,
		   uint64 row)
{
	nonce->key = key;
	nonce->nonce = (uint64) db_int64(row, 2);
	nonce->transaction_id = db_int64(row, 3);
	nonce->account = relay_find_account(process, db_text(row, 4));
	nonce->state = relay_state_from_name(db_text(row, 5));
	nonce->adopting = strcmp(db_text(row, 6), "adopt") == 0;
	nonce->wanted = nonce->adopting || strcmp(db_text(row, 6), "send") == 0;
	nonce->has_error = DatumGetBool(db_value(row, 7, NULL));
	(void) word_at(&nonce->value, row, 8);
	nonce->has_cap = word_at(&nonce->cap, row, 9);
	nonce->confirmations = (int) number_or(row, 10, process->confirmations);
	nonce->reason = db_text(row, 11);
	nonce->block_number = number_or(row, 12, -1);
	if (nonce->block_number >= 0)
		hash_at(&nonce->block_hash, row, 13);
	nonce->owner = DatumGetObjectId(db_value(row, 26, NULL));
	nonce->workflow = db_text(row, 27);
	nonce->wanted_attempt = (int) number_or(row, 29, 0);
	nonce->original.id = number_or(row, 30, 0);
	nonce->original.block_number = -1;
	nonce->replacement_id = number_or(row, 31, 0);
	nonce->first_question = nonce->noop_question = -1;
	nonce->finding = RELAY_NOTHING_ASKED;
	/* What is used on the chain takes no room, even while somebody holds its row. */
	if (nonce->state != RELAY_MINED && !(key->observed && nonce->nonce < key->latest))
		key->in_flight++;
}

/* Keys of other processes (another network on the same chain id) are theirs to track. */
static void
read_live(MemoryContext context, struct relay_process *process, struct relay_view *view)
{
	Datum parameters[1];
	struct relay_nonce *nonce = NULL;
	struct relay_attempt *attempts;
	uint64 rows;
	uint64 row;
	int i;

	for (i = 0; i < process->key_count; i++)
		process->keys[i]->in_flight = 0;
	parameters[0] = Int64GetDatum(process->chain_id);
	rows = relay_fetch(context, &load_live, parameters);
	view->nonces = palloc0(sizeof(struct relay_nonce) * (rows + 1));
	attempts = palloc0(sizeof(struct relay_attempt) * (rows + 1));
	for (row = 0; row < rows; row++)
	{
		struct relay_key *key = relay_find_key(process, db_datum_address(db_value(row, 1, NULL)));

		if (key == NULL || !key->owned)
			continue;
		if (nonce == NULL || nonce->key != key || nonce->nonce != (uint64) db_int64(row, 2))
		{
			nonce = &view->nonces[view->nonce_count++];
			nonce->attempts = &attempts[row];
			read_nonce(process, nonce, key, row);
		}
		read_attempt(&nonce->attempts[nonce->attempt_count++], row);
	}
}

static void
read_candidate(struct relay_process *process, struct relay_candidate *candidate, uint64 row)
{
	bool isnull;
	Datum recipient;

	candidate->id = db_int64(row, 1);
	candidate->account = relay_find_account(process, db_text(row, 2));
	candidate->owner = DatumGetObjectId(db_value(row, 3, NULL));
	recipient = db_value(row, 4, &isnull);
	candidate->creates = isnull;
	if (!isnull)
		candidate->recipient = *db_datum_address(recipient);
	(void) word_at(&candidate->value, row, 5);
	candidate->data = relay_copy_bytes(db_datum_hex(db_value(row, 6, NULL)));
	candidate->gas_limit = number_or(row, 7, 0);
	candidate->has_cap = word_at(&candidate->cap, row, 8);
	candidate->workflow = db_text(row, 9);
	candidate->network = db_text(row, 10);
	candidate->chain_id = db_int64(row, 11);
	candidate->estimate = -1;
}

static ArrayType *
ids_of(const struct relay_view *view, bool of_originals)
{
	Datum *ids = palloc(sizeof(Datum) * (view->nonce_count + 1));
	int count = 0;
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		int64 id = of_originals ? view->nonces[i].original.id : view->nonces[i].replacement_id;

		if (id != 0)
			ids[count++] = Int64GetDatum(id);
	}
	return construct_array(ids, count, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

static void
read_original(struct relay_view *view, uint64 row)
{
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		struct relay_original *original = &view->nonces[i].original;

		if (original->id != db_int64(row, 1))
			continue;
		original->state = relay_state_from_name(db_text(row, 2));
		original->block_number = number_or(row, 3, -1);
		if (original->block_number >= 0)
			hash_at(&original->block_hash, row, 4);
	}
}

static void
read_replacement(struct relay_process *process, struct relay_view *view, uint64 row)
{
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		struct relay_nonce *nonce = &view->nonces[i];

		if (nonce->replacement_id != db_int64(row, 1) || nonce->account == NULL)
			continue;
		nonce->replacement = palloc0(sizeof(struct relay_candidate));
		read_candidate(process, nonce->replacement, row);
		nonce->replacement->account = nonce->account;
	}
}

/* Only where there are any. */
static void
read_pairs(MemoryContext context, struct relay_process *process, struct relay_view *view)
{
	Datum parameters[1];
	ArrayType *ids = ids_of(view, true);
	uint64 rows;
	uint64 row;

	parameters[0] = PointerGetDatum(ids);
	rows = ARR_NDIM(ids) == 0 ? 0 : relay_fetch(context, &load_originals, parameters);
	for (row = 0; row < rows; row++)
		read_original(view, row);
	ids = ids_of(view, false);
	parameters[0] = PointerGetDatum(ids);
	rows = ARR_NDIM(ids) == 0 ? 0 : relay_fetch(context, &load_replacements, parameters);
	for (row = 0; row < rows; row++)
		read_replacement(process, view, row);
}

static bool
may_sign(struct relay_account *account, int room)
{
	return account->has_due && !account->paused && account->key != NULL && account->key->owned &&
		!account->key->held && room > 0;
}

static void
read_candidates(MemoryContext context, struct relay_process *process, struct relay_view *view)
{
	Datum parameters[3];
	ArrayType *rooms;
	uint64 rows;
	uint64 row;

	parameters[0] = PointerGetDatum(names_of(process, may_sign, &rooms));
	parameters[1] = PointerGetDatum(rooms);
	parameters[2] = TimestampTzGetDatum(view->now);
	if (ARR_NDIM(rooms) == 0)
		return;
	rows = relay_fetch(context, &load_candidates, parameters);
	view->candidates = palloc0(sizeof(struct relay_candidate) * (rows + 1));
	for (row = 0; row < rows; row++)
		read_candidate(process, &view->candidates[view->candidate_count++], row);
}

struct relay_view *
relay_load_view(struct relay_process *process, bool signing_held)
{
	MemoryContext round = CurrentMemoryContext;
	struct relay_view *view = palloc0(sizeof(struct relay_view));

	if (!process->begin(process->context, "relayer: what is due"))
		return NULL;
	view->now = GetCurrentTimestamp();
	view->signing_held = signing_held;
	read_genesis(round, process);
	read_head(round, process, view->now);
	read_due(round, process);
	read_live(round, process, view);
	read_pairs(round, process, view);
	relay_load_keys(round, process);
	if (!signing_held)
	{
		read_candidates(round, process, view);
		relay_load_fillers(process, view);
	}
	db_commit();
	return view;
}

bool
relay_read_payload(MemoryContext context, int64 id, struct relay_payload *out)
{
	Datum parameters[1];
	Datum recipient;
	bool isnull;

	parameters[0] = Int64GetDatum(id);
	if (relay_fetch(context, &load_payload, parameters) != 1)
		return false;
	recipient = db_value(0, 1, &isnull);
	out->creates = isnull;
	if (!isnull)
		out->recipient = *db_datum_address(recipient);
	(void) word_at(&out->value, 0, 2);
	out->data = relay_copy_bytes(db_datum_hex(db_value(0, 3, NULL)));
	out->abi = db_text(0, 4);
	return true;
}
