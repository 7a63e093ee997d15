/*
 * adopt.c
 *	  Outside transactions that operators say are what sends became.
 *
 * What a node says of a hash is a hint where to read: the block is what counts, whose bytes prove
 * the sender.  Order of locks as when signing: the account's row, then the transaction.  Each
 * adoption is a transaction of its own, and whether the wish still stands is read again in it.
 */
#include "postgres.h"

#include "relay/adopt.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/crash.h"
#include "db/datum.h"
#include "db/statement.h"
#include "evm/address.h"
#include "evm/hex.h"
#include "relay/ask.h"
#include "relay/load.h"
#include "relay/operator_log.h"
#include "relay/parse_block.h"
#include "relay/put.h"
#include "relay/reconcile_adopt.h"
#include "relay/reconcile_tables.h"
#include "relay/record.h"
#include "rpc/client.h"

/* How often the chain is asked while there are wishes. */
#define LOOK_MS 1000

static struct db_statement load_wishes = {
	.sql =
		"SELECT a.transaction_id, a.transaction_hash, t.state, t.recipient, t.value, t.data,"
		"       COALESCE(p.relayers, '{}') || t.relayer, t.nonce, t.from_address, t.relayer"
		"  FROM rflow_private.adoptions a"
		"  JOIN rflow_private.relayer_transactions t ON t.id = a.transaction_id"
		"  LEFT JOIN rflow.relayer_pools p ON p.name = t.pool AND t.state = 'queued'"
		" WHERE a.network = $1 AND a.chain_id = $2 AND t.intent = 'adopt'"
		" ORDER BY a.transaction_id",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static struct db_statement read_wish = {
	.sql =
		"SELECT a.who, a.why, t.owner"
		"  FROM rflow_private.adoptions a"
		"  JOIN rflow_private.relayer_transactions t ON t.id = a.transaction_id"
		" WHERE a.transaction_id = $1 AND a.transaction_hash = $2::rflow.hex"
		"   AND t.intent = 'adopt'",
	.types = {INT8OID, BYTEAOID},
	.count = 2,
};

/* Whose payload it is, and who has the nonce; one that has ended there needs it no more. */
static struct db_statement find_holders = {
	.sql =
		"SELECT (SELECT a.transaction_id"
		"          FROM rflow_private.relayer_attempts a"
		"         WHERE a.chain_id = $1 AND a.address = $2::rflow.address AND a.nonce = $3"
		"           AND a.transaction_hash = $4::rflow.hex"
		"         LIMIT 1),"
		"       (SELECT n.transaction_id"
		"          FROM rflow_private.nonces n"
		"          JOIN rflow_private.relayer_transactions h ON h.id = n.transaction_id"
		"         WHERE n.chain_id = $1 AND n.address = $2::rflow.address AND n.nonce = $3"
		"           AND NOT (n.settled"
		"                    AND h.state IN ('failed', 'expired', 'cancelled', 'replaced')))",
	.types = {INT8OID, TEXTOID, INT8OID, BYTEAOID},
	.count = 4,
};

/* What was found there before, and explains nothing, is what is stored anew. */
static struct db_statement forget_found = {
	.sql =
		"DELETE FROM rflow_private.outside_transactions"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND nonce = $3"
		"   AND verdict <> 'matched'",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement say = {
	.sql =
		"UPDATE rflow_private.relayer_transactions"
		"   SET reason = $2"
		" WHERE id = $1 AND intent = 'adopt' AND reason IS DISTINCT FROM $2",
	.types = {INT8OID, TEXTOID},
	.count = 2,
};

static struct db_statement end_wish = {
	.sql =
		"WITH gone AS ("
		"    DELETE FROM rflow_private.adoptions"
		"     WHERE transaction_id = $1 AND transaction_hash = $2::rflow.hex"
		"    RETURNING transaction_id) "
		"UPDATE rflow_private.relayer_transactions"
		"   SET intent = 'send'"
		" WHERE id = $1 AND intent = 'adopt' AND EXISTS (SELECT FROM gone)",
	.types = {INT8OID, BYTEAOID},
	.count = 2,
};

struct wish
{
	int64 id;
	struct evm_hash hash;
	enum relay_state state;
	struct relay_act act; /* its own payload */
	Datum *senders;       /* names of relayers whose account may have sent it */
	int sender_count;
	bool has_nonce; /* it is signed, at this nonce of this account */
	uint64 nonce;
	struct evm_address from;
	char *relayer;

	int question; /* -1: not asked */
	struct relay_key *key;
	int64 block_number;
	struct relay_block_transaction *found; /* in the block, with its bytes */
	char *trouble; /* what is in the way; NULL: nothing, or nothing is known */
};

bool
relay_wishes_are_due(struct relay_process *process, TimestampTz now)
{
	TimestampTz next = TimestampTzPlusMilliseconds(process->wishes_at, LOOK_MS);

	if (!process->has_wishes)
		return false;
	if (process->wishes_at == 0 || next <= now)
		return true;
	relay_wake_by(process, next);
	return false;
}

/* "0x…" */
static char *
hash_text(const struct evm_hash *hash)
{
	char *text = palloc(2 * sizeof(hash->b) + 3);

	strcpy(text, "0x");
	evm_hex_digits(text + 2, hash->b, sizeof(hash->b));
	text[2 * sizeof(hash->b) + 2] = '\0';
	return text;
}

static void
read_row(struct wish *wish, uint64 row)
{
	bool isnull;
	Datum from = db_value(row, 9, &isnull);

	wish->id = db_int64(row, 1);
	memcpy(wish->hash.b, db_datum_hex(db_value(row, 2, NULL)).data, sizeof(wish->hash.b));
	wish->state = relay_state_from_name(db_text(row, 3));
	relay_read_act(&wish->act, row, 4);
	deconstruct_array(DatumGetArrayTypePCopy(db_value(row, 7, NULL)), TEXTOID, -1, false,
					  TYPALIGN_INT, &wish->senders, NULL, &wish->sender_count);
	wish->has_nonce = !isnull;
	if (wish->has_nonce)
	{
		wish->from = *db_datum_address(from);
		wish->nonce = (uint64) db_int64(row, 8);
	}
	wish->relayer = db_text(row, 10);
	wish->question = -1;
}

/* -1 when the worker may not act. */
static int
load(struct relay_process *process, struct wish **out)
{
	MemoryContext round = CurrentMemoryContext;
	Datum parameters[2];
	uint64 rows;
	uint64 row;

	if (!process->begin(process->context, "relayer: what is to be adopted"))
		return -1;
	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = Int64GetDatum(process->chain_id);
	rows = relay_fetch(round, &load_wishes, parameters);
	*out = palloc0(sizeof(struct wish) * (rows + 1));
	for (row = 0; row < rows; row++)
		read_row(&(*out)[row], row);
	db_commit();
	return (int) rows;
}

static bool
is_open(const struct wish *wish)
{
	return wish->state == RELAY_QUEUED || wish->state == RELAY_SIGNED ||
		wish->state == RELAY_BROADCAST;
}

/* ---- what the node says -------------------------------------------------- */

static struct relay_key *
find_sender(const struct relay_process *process, const struct wish *wish,
			const struct evm_address *from)
{
	int i;
	int j;

	for (i = 0; i < process->account_count; i++)
	{
		struct relay_key *key = process->accounts[i].key;

		if (key == NULL || !key->owned || memcmp(&key->address, from, sizeof(*from)) != 0)
			continue;
		if (wish->has_nonce && memcmp(&wish->from, from, sizeof(*from)) != 0)
			continue;
		for (j = 0; j < wish->sender_count; j++)
			if (strcmp(TextDatumGetCString(wish->senders[j]), process->accounts[i].name) == 0)
				return key;
	}
	return NULL;
}

static void
note_place(const struct relay_process *process, struct wish *wish, const struct relay_place *place)
{
	char from[EVM_ADDRESS_TEXT_BYTES];

	wish->key = find_sender(process, wish, &place->from);
	wish->block_number = -1;
	evm_address_format(from, &place->from);
	if (wish->key == NULL)
		wish->trouble = psprintf("%s was sent by %s, and that is not the account of relayer \"%s\"",
								 hash_text(&wish->hash), from, wish->relayer);
	else if (place->block_number < 0)
		wish->trouble = psprintf("%s is in no block yet", hash_text(&wish->hash));
	else if (process->head_number - place->block_number + 1 < process->confirmations)
		wish->trouble =
			psprintf("%s is in block %lld, and waits for %d confirmations", hash_text(&wish->hash),
					 (long long) place->block_number, process->confirmations);
	else
		wish->block_number = place->block_number;
}

static bool
ask_places(struct relay_process *process, struct wish *wishes, int count)
{
	struct rpc_batch *batch = rpc_batch_create(process->client);
	int i;

	rpc_batch_pin(batch, process->endpoint);
	for (i = 0; i < count; i++)
		if (is_open(&wishes[i]))
			wishes[i].question = rpc_batch_add(batch, "eth_getTransactionByHash",
											   psprintf("[\"%s\"]", hash_text(&wishes[i].hash)));
	if (rpc_batch_count(batch) > 0 && !relay_run(process, batch))
		return false;
	for (i = 0; i < count; i++)
	{
		const struct rpc_answer *answer;
		struct relay_place place;

		wishes[i].block_number = -1;
		if (wishes[i].question < 0)
			continue;
		answer = rpc_batch_answer(batch, wishes[i].question);
		if (answer->outcome != RPC_RESULT)
			continue;
		if (evm_json_kind(answer->result) == EVM_JSON_NULL)
			wishes[i].trouble = psprintf("the node does not know %s", hash_text(&wishes[i].hash));
		else if (relay_parse_place(&place, answer->result, &wishes[i].hash))
			note_place(process, &wishes[i], &place);
	}
	rpc_batch_destroy(batch);
	return true;
}

/* From the block, with its bytes; into the round's memory. */
static void
find_in_block(struct wish *wish, struct evm_arena *arena, const struct evm_json *block)
{
	struct relay_block_transaction *all;
	int count;
	int i;

	wish->trouble = psprintf("block %lld does not have %s as the node has said",
							 (long long) wish->block_number, hash_text(&wish->hash));
	if (!relay_parse_block(arena, &all, &count, block, wish->block_number, &wish->key->address))
		return;
	for (i = 0; i < count; i++)
	{
		if (memcmp(&all[i].hash, &wish->hash, sizeof(wish->hash)) != 0)
			continue;
		wish->found = palloc(sizeof(*wish->found));
		*wish->found = all[i];
		wish->found->act.data = relay_copy_bytes(all[i].act.data);
		wish->found->raw = relay_copy_bytes(all[i].raw);
		wish->trouble = NULL;
		return;
	}
}

static bool
read_blocks(struct relay_process *process, struct wish *wishes, int count)
{
	struct rpc_batch *batch = rpc_batch_create(process->client);
	StringInfoData text;
	int i;

	initStringInfo(&text);
	rpc_batch_pin(batch, process->endpoint);
	for (i = 0; i < count; i++)
	{
		wishes[i].question = -1;
		if (wishes[i].block_number < 0)
			continue;
		resetStringInfo(&text);
		appendStringInfoChar(&text, '[');
		relay_put_u64(&text, (uint64) wishes[i].block_number);
		appendStringInfoString(&text, ",true]");
		wishes[i].question = rpc_batch_add(batch, "eth_getBlockByNumber", text.data);
	}
	if (rpc_batch_count(batch) > 0 && !relay_run(process, batch))
		return false;
	for (i = 0; i < count; i++)
	{
		const struct rpc_answer *answer;

		if (wishes[i].question < 0)
			continue;
		answer = rpc_batch_answer(batch, wishes[i].question);
		if (answer->outcome == RPC_RESULT)
			find_in_block(&wishes[i], rpc_batch_arena(batch), answer->result);
	}
	rpc_batch_destroy(batch);
	return true;
}

/* ---- what becomes of the wish -------------------------------------------- */

static bool
lock_wish(const struct wish *wish, struct relay_lock *lock)
{
	lock->id = wish->id;
	relay_lock_transactions(lock, 1);
	return lock->locked && lock->state == wish->state;
}

static void
say_trouble(const struct wish *wish, const char *trouble)
{
	Datum parameters[2];

	parameters[0] = Int64GetDatum(wish->id);
	parameters[1] = CStringGetTextDatum(
		psprintf("held, since it is to become an outside transaction: %s", trouble));
	(void) db_execute(&say, parameters, NULL);
}

static void
put_wish(const struct wish *wish, Datum *parameters)
{
	parameters[0] = Int64GetDatum(wish->id);
	parameters[1] = db_hex_datum(wish->hash.b, sizeof(wish->hash.b));
}

/* NULL when it may be adopted.  The one whose own payload it is sets *own. */
static char *
find_objection(const struct relay_process *process, const struct wish *wish, bool *own)
{
	unsigned long long nonce = wish->found->nonce;
	Datum parameters[4];
	int64 payload_of;
	int64 holder;
	bool isnull;

	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[1] = relay_address_datum(&wish->key->address);
	parameters[2] = Int64GetDatum((int64) nonce);
	parameters[3] = db_hex_datum(wish->hash.b, sizeof(wish->hash.b));
	(void) db_execute(&find_holders, parameters, NULL);
	(void) db_value(0, 1, &isnull);
	payload_of = isnull ? 0 : db_int64(0, 1);
	(void) db_value(0, 2, &isnull);
	holder = isnull ? 0 : db_int64(0, 2);
	*own = payload_of == wish->id;
	if (*own)
		return NULL;
	if (payload_of != 0)
		return psprintf("%s is a payload of transaction %lld", hash_text(&wish->hash),
						(long long) payload_of);
	if (wish->has_nonce && wish->found->nonce != wish->nonce)
		return psprintf(
			"%s has nonce %llu, and payloads of this transaction may still be mined at "
			"nonce %llu: take the wish back and cancel it",
			hash_text(&wish->hash), nonce, (unsigned long long) wish->nonce);
	if (holder != 0 && holder != wish->id)
		return psprintf("nonce %llu is transaction %lld's", nonce, (long long) holder);
	return NULL;
}

/* ", with another recipient, value"; "" when it does the same. */
static char *
describe_difference(const struct wish *wish)
{
	const struct relay_act *own = &wish->act;
	const struct relay_act *other = &wish->found->act;
	StringInfoData text;

	initStringInfo(&text);
	if (own->creates != other->creates ||
		(!own->creates && memcmp(&own->recipient, &other->recipient, sizeof(own->recipient)) != 0))
		appendStringInfoString(&text, ", recipient");
	if (memcmp(&own->value, &other->value, sizeof(own->value)) != 0)
		appendStringInfoString(&text, ", value");
	if (own->data.len != other->data.len ||
		memcmp(own->data.data, other->data.data, own->data.len) != 0)
		appendStringInfoString(&text, ", data");
	return text.len == 0 ? "" : psprintf(", with another %s", text.data + 2);
}

static void
log_adopted(const struct wish *wish, Oid owner, const char *why, const char *outcome)
{
	struct relay_verb entry = {0};

	entry.verb = "adopt_transaction";
	entry.subject = psprintf("transaction %lld", (long long) wish->id);
	entry.owner = owner;
	entry.reason = why;
	entry.detail = psprintf("{\"transaction_hash\": \"%s\"}", hash_text(&wish->hash));
	entry.outcome = outcome;
	relay_log_verb(&entry);
}

static void
take_over(struct relay_process *process, const struct wish *wish, const struct relay_lock *lock)
{
	struct relay_account_progress progress = {.key = wish->key};
	Datum parameters[3];

	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[1] = relay_address_datum(&wish->key->address);
	parameters[2] = Int64GetDatum((int64) wish->found->nonce);
	(void) db_execute(&forget_found, parameters, NULL);
	if (!relay_store_found(process, &progress, wish->block_number, wish->found))
		elog(ERROR, "nonce %llu is matched with another transaction",
			 (unsigned long long) wish->found->nonce);
	relay_adopt_as(process, wish->key, lock, wish->found->nonce, wish->block_number);
}

/* In the open transaction, with the account locked. */
static void
conclude(struct relay_process *process, const struct wish *wish)
{
	struct relay_lock lock = {0};
	Datum parameters[2];
	char *objection;
	char *reason;
	char *who;
	char *why;
	Oid owner;
	bool own;

	put_wish(wish, parameters);
	if (!lock_wish(wish, &lock) || db_execute(&read_wish, parameters, NULL) != 1)
		return;
	who = db_text(0, 1);
	why = db_text(0, 2);
	owner = DatumGetObjectId(db_value(0, 3, NULL));
	objection = find_objection(process, wish, &own);
	if (objection != NULL)
	{
		say_trouble(wish, objection);
		return;
	}
	reason = psprintf("%s by %s: nonce %llu in block %lld%s", own ? "its own payload" : "adopted",
					  who, (unsigned long long) wish->found->nonce, (long long) wish->block_number,
					  describe_difference(wish));
	if (!own)
		take_over(process, wish, &lock);
	(void) db_execute(&end_wish, parameters, NULL);
	relay_record_reason(wish->id, reason);
	log_adopted(wish, owner, why, reason);
	process->ask_again = true;
	relay_wake_by(process, GetCurrentTimestamp());
}

static bool
adopt_one(struct relay_process *process, const struct wish *wish)
{
	if (!process->begin(process->context, "relayer: adopting"))
		return false;
	relay_lock_account(process, wish->key, wish->found->nonce);
	conclude(process, wish);
	DB_CRASH_POINT("adopt-before-commit");
	db_commit();
	DB_CRASH_POINT("adopt-after-commit");
	return true;
}

/* It has an outcome of its own, so there is nothing left to wish. */
static void
end_late(const struct wish *wish)
{
	Datum parameters[2];

	put_wish(wish, parameters);
	(void) db_execute(&end_wish, parameters, NULL);
}

static bool
has_news(const struct wish *wish)
{
	return wish->trouble != NULL || (!is_open(wish) && wish->state != RELAY_MINED);
}

static bool
say_news(struct relay_process *process, const struct wish *wishes, int count)
{
	int news = 0;
	int i;

	for (i = 0; i < count; i++)
		news += has_news(&wishes[i]);
	if (news == 0)
		return true;
	if (!process->begin(process->context, "relayer: what is not adopted"))
		return false;
	for (i = 0; i < count; i++)
	{
		struct relay_lock lock = {0};

		if (!has_news(&wishes[i]) || !lock_wish(&wishes[i], &lock))
			continue;
		if (wishes[i].trouble != NULL)
			say_trouble(&wishes[i], wishes[i].trouble);
		else
			end_late(&wishes[i]);
	}
	db_commit();
	return true;
}

bool
relay_adopt_wished(struct relay_process *process)
{
	TimestampTz now = GetCurrentTimestamp();
	struct wish *wishes;
	int count;
	int i;

	if (!relay_wishes_are_due(process, now))
		return true;
	process->wishes_at = now;
	relay_wake_by(process, TimestampTzPlusMilliseconds(now, LOOK_MS));
	count = load(process, &wishes);
	if (count < 0)
		return false;
	process->has_wishes = count > 0;
	if (!process->chain_checked || process->head_number < 0)
		return true;
	if (!ask_places(process, wishes, count) || !read_blocks(process, wishes, count) ||
		!say_news(process, wishes, count))
		return false;
	for (i = 0; i < count; i++)
		if (wishes[i].found != NULL && !adopt_one(process, &wishes[i]))
			return false;
	return true;
}
