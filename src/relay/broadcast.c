/*
 * broadcast.c
 *	  Stored bytes to the node, and what it said to them.
 *
 * The same bytes can go out any number of times: they are one transaction.  So an unknown outcome,
 * a node that forgot, and a crash between sending and recording are all treated alike, by sending
 * again.  Only what is not wanted any more stays here; a no-op goes out in its place.
 */
#include "postgres.h"

#include "relay/broadcast.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/crash.h"
#include "db/datum.h"
#include "db/statement.h"
#include "relay/ask.h"
#include "relay/put.h"
#include "relay/record.h"
#include "rpc/client.h"

/*
 * When bytes go out again: after trouble, and when a node that took them may have forgotten
 * them.
 */
#define TROUBLE_RETRY_MS 2000
#define REMIND_MS 10000
/* How long new transactions begin with a price that a node has taken after it had refused less. */
#define LEARNT_PRICE_MS (5 * 60 * 1000)
/* A payload that is said to revert is given up after this many blocks and this long. */
#define REVERT_BLOCKS 3
#define REVERT_PATIENCE_MS 30000

struct parcel
{
	const struct relay_nonce *nonce;
	const struct relay_attempt *attempt;
	struct evm_bytes raw;
	int question; /* -1: not sent */
};

static struct db_statement load_raw = {
	.sql =
		"SELECT a.raw"
		"  FROM rflow_private.relayer_attempts a"
		"  JOIN rflow_private.relayer_transactions t ON t.id = a.transaction_id"
		"  LEFT JOIN rflow.relayers r ON r.name = t.relayer"
		" WHERE a.chain_id = $1 AND a.address = $2::rflow.address AND a.nonce = $3"
		"   AND a.attempt = $4 AND a.raw IS NOT NULL"
		"   AND NOT COALESCE(r.paused, false)"
		"   AND NOT EXISTS (SELECT"
		"                     FROM rflow_private.pauses p"
		"                    WHERE p.kind = 'all' OR (p.kind = 'network' AND p.name = t.network))"
		"   AND (a.kind = 'noop'"
		"        OR (t.intent = 'send' AND t.error IS NULL"
		"            AND (t.valid_until IS NULL OR t.valid_until > pg_catalog.clock_timestamp())))",
	.types = {INT8OID, TEXTOID, INT8OID, INT4OID},
	.count = 4,
};

static int
pause_after(const struct relay_nonce *nonce)
{
	const struct relay_attempt *newest = relay_newest(nonce);

	if (nonce->send_again || !newest->answered)
		return 0;
	switch (newest->class)
	{
		case RELAY_REVERTS:
		case RELAY_NONCE_AHEAD:
		case RELAY_FUNDS:
		case RELAY_NODE_TROUBLE:
		case RELAY_NEVER_VALID:
		case RELAY_UNKNOWN:
			return TROUBLE_RETRY_MS;
		default:
			return REMIND_MS;
	}
}

/* May the newest payload of this nonce be sent at all? */
static bool
may_go_out(const struct relay_nonce *nonce)
{
	return nonce->state != RELAY_MINED && !nonce->adopting && nonce->finding != RELAY_FOUND &&
		!relay_needs_noop(nonce) && nonce->replacement == NULL &&
		(nonce->account == NULL || !nonce->account->paused);
}

static TimestampTz
due_at(const struct relay_nonce *nonce)
{
	const struct relay_attempt *newest = relay_newest(nonce);

	return TimestampTzPlusMilliseconds(newest->answered ? newest->answered_at : newest->signed_at,
									   pause_after(nonce));
}

bool
relay_has_broadcasts(struct relay_process *process, const struct relay_view *view)
{
	bool found = false;
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		if (!may_go_out(&view->nonces[i]))
			continue;
		if (due_at(&view->nonces[i]) <= view->now)
			found = true;
		else
			relay_wake_by(process, due_at(&view->nonces[i]));
	}
	return found;
}

/* The bytes, unless somebody has paused or cancelled meanwhile. */
static bool
read_raw(const struct relay_process *process, struct parcel *parcel, MemoryContext round)
{
	Datum parameters[4];

	parameters[0] = Int64GetDatum(process->chain_id);
	parameters[1] = relay_address_datum(&parcel->nonce->key->address);
	parameters[2] = Int64GetDatum((int64) parcel->nonce->nonce);
	parameters[3] = Int32GetDatum(parcel->attempt->number);
	if (db_execute(&load_raw, parameters, NULL) != 1)
		return false;
	MemoryContextSwitchTo(round);
	parcel->raw = relay_copy_bytes(db_datum_hex(db_value(0, 1, NULL)));
	return true;
}

/* Nothing goes out behind a nonce that is held: it would wait in the pool for ever. */
static bool
is_blocked(const struct relay_nonce *nonce, const struct relay_key *blocked)
{
	return nonce->key == blocked;
}

static int
collect(struct relay_process *process, const struct relay_view *view, struct parcel *parcels)
{
	MemoryContext round = CurrentMemoryContext;
	const struct relay_key *blocked = NULL;
	int count = 0;
	int i;

	if (!process->begin(process->context, "relayer: what to broadcast"))
		return -1;
	for (i = 0; i < view->nonce_count; i++)
	{
		const struct relay_nonce *nonce = &view->nonces[i];
		struct parcel *parcel = &parcels[count];

		if (nonce->state == RELAY_MINED || is_blocked(nonce, blocked))
			continue;
		parcel->nonce = nonce;
		parcel->attempt = relay_newest(nonce);
		if (!may_go_out(nonce))
		{
			if (!relay_was_accepted(nonce))
				blocked = nonce->key;
		}
		else if (due_at(nonce) > view->now)
			continue;
		else if (read_raw(process, parcel, round))
			count++;
		else if (!relay_was_accepted(nonce))
			blocked = nonce->key;
	}
	MemoryContextSwitchTo(round);
	db_commit();
	return count;
}

static bool
send_parcels(struct relay_process *process, struct parcel *parcels, int count, int *sent,
			 struct rpc_batch *batch)
{
	StringInfoData text;
	int i;

	initStringInfo(&text);
	for (i = 0; i < count; i++)
	{
		if (i > 0 && rpc_batch_bytes(batch) + 2 * parcels[i].raw.len + 128 > RPC_MAX_REQUEST_BYTES)
			break;
		resetStringInfo(&text);
		appendStringInfoChar(&text, '[');
		relay_put_hex(&text, parcels[i].raw.data, parcels[i].raw.len);
		appendStringInfoChar(&text, ']');
		parcels[i].question = rpc_batch_add(batch, "eth_sendRawTransaction", text.data);
	}
	*sent = i;
	return relay_run(process, batch);
}

/*
 * A payload that can never run, and that no node has taken: a no-op is to take its nonce.  It has
 * to be said twice, since the next node may know better.
 */
static void
record_refusal(struct relay_process *process, const struct parcel *parcel, enum relay_class class,
			   const char *message)
{
	const struct relay_nonce *nonce = parcel->nonce;
	struct relay_failure failure = {relay_class_name(class), message, {NULL, 0}};
	const struct relay_attempt *attempt = parcel->attempt;
	bool hopeless = class == RELAY_NEVER_VALID && attempt->answered && attempt->class == class;

	if (class == RELAY_REVERTS)
		hopeless = process->head_number - attempt->head_number >= REVERT_BLOCKS &&
			TimestampDifferenceExceeds(attempt->signed_at, GetCurrentTimestamp(),
									   REVERT_PATIENCE_MS);
	if (hopeless && !attempt->noop && !relay_was_accepted(nonce) &&
		relay_record_never(nonce->transaction_id, &failure))
		relay_wake_by(process, GetCurrentTimestamp());
	else
		relay_record_reason(nonce->transaction_id,
							psprintf("the node does not take it (%s): %s", relay_class_name(class),
									 message));
}

/* A node that found less too cheap has taken this: those that come next need not try less. */
static void
learn_price(struct relay_process *process, const struct parcel *parcel)
{
	const struct relay_nonce *nonce = parcel->nonce;
	int before = parcel->attempt->number - 2;

	if (before < 0 || before >= nonce->attempt_count ||
		nonce->attempts[before].class != RELAY_FEE_TOO_LOW)
		return;
	process->learnt = parcel->attempt->price;
	process->learnt_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), LEARNT_PRICE_MS);
}

static void
record_answer(struct relay_process *process, const struct parcel *parcel,
			  const struct rpc_answer *answer)
{
	const struct relay_nonce *nonce = parcel->nonce;
	enum relay_class class = RELAY_ACCEPTED;

	if (answer->outcome == RPC_NO_ANSWER)
		class = RELAY_UNKNOWN;
	else if (answer->outcome == RPC_ERROR)
		class = relay_classify(answer->code, answer->message);
	relay_record_answer(process->chain_id, &nonce->key->address, nonce->nonce,
						parcel->attempt->number, class,
						answer->outcome == RPC_ERROR ? answer->code : 0, answer->message);
	if (class == RELAY_ACCEPTED || class == RELAY_KNOWN)
	{
		learn_price(process, parcel);
		if (!relay_record_accepted(nonce->transaction_id) && nonce->reason != NULL &&
			!nonce->has_error && nonce->wanted)
			relay_record_reason(nonce->transaction_id, NULL);
		return;
	}
	/* Whether it is ours that has used the nonce, the receipts of all attempts tell. */
	if (class == RELAY_NONCE_CONSUMED)
	{
		process->ask_again = true;
		relay_wake_by(process, GetCurrentTimestamp());
		return;
	}
	record_refusal(process, parcel, class, answer->message);
}

static bool
record_answers(struct relay_process *process, struct parcel *parcels, int count,
			   struct rpc_batch *batch)
{
	struct relay_lock *locks = palloc0(sizeof(struct relay_lock) * count);
	int i;

	if (!process->begin(process->context, "relayer: what the node said"))
		return false;
	for (i = 0; i < count; i++)
		locks[i].id = parcels[i].nonce->transaction_id;
	relay_lock_transactions(locks, count);
	/* What is not recorded because somebody holds the row goes out once more. */
	for (i = 0; i < count; i++)
		if (locks[i].locked)
			record_answer(process, &parcels[i], rpc_batch_answer(batch, parcels[i].question));
	db_commit();
	return true;
}

bool
relay_broadcast(struct relay_process *process, const struct relay_view *view)
{
	struct parcel *parcels = palloc0(sizeof(struct parcel) * (view->nonce_count + 1));
	int count = collect(process, view, parcels);
	int start;
	int sent;

	if (count < 0)
		return false;
	for (start = 0; start < count; start += sent)
	{
		struct rpc_batch *batch = rpc_batch_create(process->client);

		rpc_batch_set_priority(batch, RPC_URGENT);
		rpc_batch_pin(batch, process->endpoint);
		if (!send_parcels(process, parcels + start, count - start, &sent, batch))
			return false;
		DB_CRASH_POINT("relay-after-broadcast");
		if (!record_answers(process, parcels + start, sent, batch))
			return false;
		rpc_batch_destroy(batch);
	}
	return true;
}
