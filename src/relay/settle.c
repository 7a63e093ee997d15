/*
 * settle.c
 *	  What the answers of a round make of live nonces.
 *
 * The outcome of a transaction is what mined at its nonce, at depth: the payload, a no-op of ours,
 * or something that is not ours.  Until the depth is reached everything can still turn, a revert as
 * much as a success.
 */
#include "postgres.h"

#include "relay/settle.h"

#include "utils/timestamp.h"

#include "db/crash.h"
#include "db/datum.h"
#include "db/statement.h"
#include "evm/address.h"
#include "evm/hex.h"
#include "lib/stringinfo.h"
#include "relay/reconcile.h"
#include "relay/reconcile_adopt.h"
#include "relay/record.h"

/* When a row that somebody holds is looked at again. */
#define LOCKED_RETRY_MS 100
#define LOCKS_PER_NONCE 3

static bool
has_ended(enum relay_state state)
{
	return state == RELAY_FAILED || state == RELAY_EXPIRED || state == RELAY_CANCELLED ||
		state == RELAY_REPLACED;
}

/*
 * Something else than the transaction that it replaces has the nonce for good, so that one ends
 * with it; and so does one that was to replace it and was not signed.
 */
static void
end_partners(const struct relay_nonce *nonce, const char *reason,
			 const struct relay_failure *failure)
{
	if (nonce->original.state == RELAY_MINED)
		(void) relay_record_unmined(nonce->original.id, reason);
	if (nonce->original.id != 0)
		(void) relay_record_superseded(nonce->original.id,
									   nonce->finding == RELAY_FOUND ? &nonce->receipt : NULL,
									   reason, failure);
	if (nonce->replacement != NULL)
		(void) relay_end_queued(nonce->replacement->id, RELAY_CANCELLED,
								psprintf("without effect: %s", reason), NULL);
}

/* ---- a receipt ---------------------------------------------------------- */

static void
settle_noop(struct relay_process *process, struct relay_nonce *nonce)
{
	char *reason =
		psprintf("a no-op has taken nonce %llu in block %lld", (unsigned long long) nonce->nonce,
				 (long long) nonce->receipt.block_number);

	if (!relay_is_deep(process, nonce))
	{
		relay_record_reason(nonce->transaction_id, reason);
		return;
	}
	(void) relay_record_superseded(nonce->transaction_id, &nonce->receipt, reason, NULL);
	end_partners(nonce, reason, NULL);
	relay_settle_nonce(process->chain_id, &nonce->key->address, nonce->nonce);
}

/* False when the watcher's headers contradict the receipt. */
static bool
record_mined(struct relay_process *process, struct relay_nonce *nonce)
{
	const struct relay_receipt *receipt = &nonce->receipt;
	struct relay_failure failure = {NULL, NULL, {NULL, 0}};

	if (relay_is_recorded(nonce))
		return true;
	if (receipt->reverted)
	{
		failure.kind = "reverted";
		failure.message = nonce->revert_text == NULL ? "reverted" : nonce->revert_text;
		failure.data = nonce->revert_data;
	}
	if (!relay_record_mined(nonce->attempts[receipt->attempt].transaction_id,
							&nonce->attempts[receipt->attempt].hash, receipt, failure.message,
							receipt->reverted ? &failure : NULL))
		return false;
	if (!relay_original_won(nonce))
		nonce->state = RELAY_MINED;
	process->progress = true;
	return true;
}

/* The payload of the send itself, or of the one that it was to replace. */
static void
settle_payload(struct relay_process *process, struct relay_nonce *nonce)
{
	bool original = relay_original_won(nonce);
	int64 winner = original ? nonce->original.id : nonce->transaction_id;
	int64 block = nonce->receipt.block_number;
	char *reason = psprintf("transaction %lld is in block %lld at its nonce", (long long) winner,
							(long long) block);

	if (!original && nonce->original.state == RELAY_MINED)
		(void) relay_record_unmined(nonce->original.id, reason);
	if (!record_mined(process, nonce))
	{
		process->ask_again = true;
		return;
	}
	if (!relay_is_deep(process, nonce))
	{
		if (original)
			relay_record_reason(nonce->transaction_id, reason);
		return;
	}
	(void) relay_record_deep(winner, nonce->key, process->chain_id, nonce->nonce);
	if (original)
		(void) relay_record_superseded(nonce->transaction_id, &nonce->receipt,
									   psprintf("without effect: %s", reason), NULL);
	else
		end_partners(nonce, reason, NULL);
}

/* It was given up for its nonce, and a deep reorganisation let it run after all. */
static void
report_late_effect(struct relay_process *process, const struct relay_nonce *nonce)
{
	bool original = relay_original_won(nonce);
	enum relay_state state = original ? nonce->original.state : nonce->state;
	int64 id = original ? nonce->original.id : nonce->transaction_id;

	if (!has_ended(state) || nonce->receipt.reverted)
		return;
	relay_record_incident("late-effect", process->network,
						  psprintf("transaction %lld", (long long) id),
						  psprintf("it was %s, and is in block %lld now", relay_state_name(state),
								   (long long) nonce->receipt.block_number),
						  "A reorganisation deeper than the confirmations has undone what ended "
						  "it. Compare with what was sent instead, and raise the network's "
						  "confirmations.");
}

static void
settle_found(struct relay_process *process, struct relay_nonce *nonce)
{
	bool noop = nonce->attempts[nonce->receipt.attempt].noop;
	bool ended = has_ended(nonce->state) || nonce->state == RELAY_CONFIRMED;

	if (nonce->key->suspected && nonce->key->suspect == nonce->nonce)
		nonce->key->suspected = false;
	if (ended)
	{
		/* Looked at again after a reorganisation: it is where it was. */
		if (!relay_is_deep(process, nonce))
			return;
		if (!noop)
			report_late_effect(process, nonce);
		relay_record_block(nonce->transaction_id, &nonce->receipt);
		relay_settle_nonce(process->chain_id, &nonce->key->address, nonce->nonce);
		return;
	}
	if (noop)
		settle_noop(process, nonce);
	else
		settle_payload(process, nonce);
}

/* ---- no receipt --------------------------------------------------------- */

static void
settle_vanished(struct relay_nonce *nonce)
{
	int64 number = nonce->block_number >= 0 ? nonce->block_number : nonce->original.block_number;
	char *reason =
		psprintf("block %lld, which held it, is not on the chain any more", (long long) number);

	if (nonce->original.state == RELAY_MINED)
	{
		(void) relay_record_unmined(nonce->original.id, reason);
		nonce->send_again = true;
	}
	if (!relay_record_unmined(nonce->transaction_id, reason))
		return;
	nonce->state = RELAY_BROADCAST;
	nonce->block_number = -1;
	nonce->send_again = true;
}

/* Until it is known who has used it: what is known, and what is looked for. */
static void
say_suspect(const struct relay_nonce *nonce)
{
	const char *format =
		"nonce %llu is used on the chain and no payload of ours has a receipt: "
		"watched until that is final";

	if (nonce->use == RELAY_USE_OURS)
	{
		relay_record_reason(nonce->transaction_id,
							psprintf("it is in block %lld, and the node does not give its receipt",
									 (long long) nonce->used_in));
		return;
	}
	relay_record_reason(nonce->transaction_id, psprintf(format, (unsigned long long) nonce->nonce));
}

/* "nonce 3 was used by a transaction that is not rflow's: 0x… in block 7" */
static char *
describe_use(const struct relay_nonce *nonce)
{
	static const struct evm_hash none;
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "nonce %llu was used by a transaction that is not rflow's",
					 (unsigned long long) nonce->nonce);
	if (memcmp(&nonce->user, &none, sizeof(none)) != 0)
	{
		appendStringInfoString(&text, ": 0x");
		enlargeStringInfo(&text, 2 * sizeof(nonce->user.b) + 1);
		evm_hex_digits(text.data + text.len, nonce->user.b, sizeof(nonce->user.b));
		text.len += 2 * sizeof(nonce->user.b);
		text.data[text.len] = '\0';
	}
	appendStringInfo(&text, " in block %lld", (long long) nonce->used_in);
	return text.data;
}

/*
 * The chain's count is beyond the nonce, and none of our attempts has a receipt: a node may lag, so
 * it is watched until the count is that high at the depth of confirmations, too, and the block is
 * found that has used it without us.
 */
static void
settle_suspect(struct relay_process *process, struct relay_nonce *nonce)
{
	struct relay_key *key = nonce->key;
	struct relay_failure failure = {"displaced", NULL, {NULL, 0}};
	char account[EVM_ADDRESS_TEXT_BYTES];

	/* An operator knows what has used it: that is looked for by its hash. */
	if (nonce->adopting)
		return;
	if (!key->suspected || key->suspect != nonce->nonce)
	{
		key->suspected = true;
		key->suspect = nonce->nonce;
		key->suspect_since = process->head_number;
	}
	if (nonce->use != RELAY_USE_FOREIGN)
	{
		say_suspect(nonce);
		return;
	}
	if (relay_adopt_user(process, nonce) || relay_look_for_nonce(process, key, nonce->nonce))
		return;
	failure.message = describe_use(nonce);
	if (!relay_record_superseded(nonce->transaction_id, NULL, failure.message, &failure))
		return;
	end_partners(nonce, failure.message, &failure);
	relay_settle_nonce(process->chain_id, &key->address, nonce->nonce);
	evm_address_format(account, &key->address);
	relay_record_incident("foreign-nonce", process->network,
						  psprintf("%s nonce %llu", account, (unsigned long long) nonce->nonce),
						  failure.message,
						  "Find out who else has the key. The transaction was not executed by "
						  "rflow; a step with retry sends it again.");
	key->suspected = false;
}

static bool
is_suspect(const struct relay_view *view, const struct relay_nonce *nonce)
{
	int i;

	if (nonce->finding != RELAY_NO_RECEIPT || !nonce->key->fresh || nonce->key->held ||
		nonce->key->latest <= nonce->nonce || has_ended(nonce->state))
		return false;
	/* One at a time: the lowest of its account. */
	for (i = 0; i < view->nonce_count && &view->nonces[i] != nonce; i++)
		if (view->nonces[i].key == nonce->key && view->nonces[i].finding == RELAY_NO_RECEIPT)
			return false;
	return true;
}

/*
 * The chain counts fewer nonces than are settled: a reorganisation beyond the confirmations, or a
 * node that lags.  They are tracked again; their receipts tell.
 */
static bool
has_lost_nonces(const struct relay_process *process, const struct relay_view *view,
				const struct relay_key *key)
{
	uint64 lowest = key->next_nonce;
	int i;

	if (!key->fresh || !key->adopted || !key->owned || key->reopened_head == process->head_number)
		return false;
	for (i = 0; i < view->nonce_count; i++)
		if (view->nonces[i].key == key)
			lowest = Min(lowest, view->nonces[i].nonce);
	return key->latest < lowest;
}

static void
reopen(struct relay_process *process, struct relay_key *key)
{
	key->reopened_head = process->head_number;
	if (relay_reopen_nonces(process->chain_id, &key->address, key->latest) == 0)
		return;
	process->ask_again = true;
	relay_wake_by(process, GetCurrentTimestamp());
}

static bool
changes_something(const struct relay_process *process, const struct relay_view *view,
				  const struct relay_nonce *nonce)
{
	if (nonce->finding == RELAY_FOUND)
		return relay_is_deep(process, nonce) || !relay_is_recorded(nonce);
	return nonce->finding == RELAY_VANISHED || is_suspect(view, nonce);
}

static bool
has_something(const struct relay_process *process, const struct relay_view *view)
{
	int i;

	for (i = 0; i < process->key_count; i++)
		if (has_lost_nonces(process, view, process->keys[i]))
			return true;
	for (i = 0; i < view->nonce_count; i++)
		if (changes_something(process, view, &view->nonces[i]))
			return true;
	return false;
}

static void
settle_nonce(struct relay_process *process, const struct relay_view *view,
			 struct relay_nonce *nonce)
{
	if (nonce->finding == RELAY_FOUND)
		settle_found(process, nonce);
	else if (nonce->finding == RELAY_VANISHED)
		settle_vanished(nonce);
	else if (is_suspect(view, nonce))
		settle_suspect(process, nonce);
}

/* Of each nonce: its transaction, the one that this replaces, the one that is to replace it. */
static struct relay_lock *
lock_all(const struct relay_view *view)
{
	struct relay_lock *locks =
		palloc0(sizeof(struct relay_lock) * (LOCKS_PER_NONCE * view->nonce_count + 1));
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		const struct relay_nonce *nonce = &view->nonces[i];
		struct relay_lock *own = &locks[LOCKS_PER_NONCE * i];

		own[0].id = nonce->transaction_id;
		own[1].id = nonce->original.id;
		own[2].id = nonce->replacement == NULL ? 0 : nonce->replacement->id;
	}
	relay_lock_transactions(locks, LOCKS_PER_NONCE * view->nonce_count);
	return locks;
}

/* All that the nonce concerns, and as they were when the view was loaded. */
static bool
is_locked(const struct relay_nonce *nonce, const struct relay_lock *own)
{
	return own[0].locked && own[0].state == nonce->state &&
		(own[1].id == 0 || (own[1].locked && own[1].state == nonce->original.state)) &&
		(own[2].id == 0 || (own[2].locked && own[2].state == RELAY_QUEUED));
}

bool
relay_settle(struct relay_process *process, struct relay_view *view)
{
	struct relay_lock *locks;
	int i;

	if (!has_something(process, view))
		return true;
	DB_CRASH_POINT("relay-after-receipt");
	if (!process->begin(process->context, "relayer: receipts"))
		return false;
	locks = lock_all(view);
	for (i = 0; i < view->nonce_count; i++)
	{
		if (is_locked(&view->nonces[i], &locks[LOCKS_PER_NONCE * i]))
			settle_nonce(process, view, &view->nonces[i]);
		else
		{
			process->ask_again = true;
			relay_wake_by(process, TimestampTzPlusMilliseconds(view->now, LOCKED_RETRY_MS));
		}
	}
	for (i = 0; i < process->key_count; i++)
		if (has_lost_nonces(process, view, process->keys[i]))
			reopen(process, process->keys[i]);
	db_commit();
	return true;
}
