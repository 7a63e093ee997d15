/*
 * state.c
 *	  Names of states, and small questions about what a relayer process holds in memory.
 */
#include "postgres.h"

#include "relay/state.h"

#include "evm/word.h"

static const char *const state_names[] = {
	[RELAY_QUEUED] = "queued",   [RELAY_SIGNED] = "signed",       [RELAY_BROADCAST] = "broadcast",
	[RELAY_MINED] = "mined",     [RELAY_CONFIRMED] = "confirmed", [RELAY_FAILED] = "failed",
	[RELAY_EXPIRED] = "expired", [RELAY_CANCELLED] = "cancelled", [RELAY_REPLACED] = "replaced",
};

const char *
relay_state_name(enum relay_state state)
{
	return state_names[state];
}

enum relay_state
relay_state_from_name(const char *name)
{
	int i;

	for (i = 0; i < lengthof(state_names); i++)
		if (strcmp(state_names[i], name) == 0)
			return (enum relay_state) i;
	elog(ERROR, "unknown state \"%s\" of a transaction", name);
}

struct evm_bytes
relay_copy_bytes(struct evm_bytes bytes)
{
	uint8 *data = palloc(bytes.len + 1);
	struct evm_bytes copy;

	if (bytes.len > 0)
		memcpy(data, bytes.data, bytes.len);
	copy.data = data;
	copy.len = bytes.len;
	return copy;
}

void
relay_note_head(struct relay_process *process, int64 number, TimestampTz now)
{
	double ms = (now - process->head_changed_at) / 1000.0;

	/* A moving average of what lies between two heads; pauses count once. */
	if (process->head_number >= 0 && number > process->head_number)
	{
		ms /= number - process->head_number;
		process->block_ms = process->block_ms == 0 ? ms : (process->block_ms * 7 + ms) / 8;
	}
	process->head_number = number;
	process->head_changed_at = now;
}

void
relay_wake_by(struct relay_process *process, TimestampTz when)
{
	if (process->wake_at == 0 || when < process->wake_at)
		process->wake_at = when;
}

struct relay_key *
relay_find_key(struct relay_process *process, const struct evm_address *address)
{
	int i;

	for (i = 0; i < process->key_count; i++)
		if (memcmp(&process->keys[i]->address, address, sizeof(*address)) == 0)
			return process->keys[i];
	return NULL;
}

struct relay_account *
relay_find_account(struct relay_process *process, const char *name)
{
	int i;

	for (i = 0; i < process->account_count; i++)
		if (strcmp(process->accounts[i].name, name) == 0)
			return &process->accounts[i];
	return NULL;
}

bool
relay_original_won(const struct relay_nonce *nonce)
{
	const struct relay_attempt *attempt = &nonce->attempts[nonce->receipt.attempt];

	return nonce->original.id != 0 && !attempt->noop &&
		attempt->transaction_id == nonce->original.id;
}

struct relay_attempt *
relay_newest(const struct relay_nonce *nonce)
{
	return &nonce->attempts[nonce->attempt_count - 1];
}

struct relay_attempt *
relay_highest(const struct relay_nonce *nonce)
{
	struct relay_attempt *highest = &nonce->attempts[0];
	int i;

	for (i = 1; i < nonce->attempt_count; i++)
		if (evm_word_compare(&nonce->attempts[i].price.max_fee, &highest->price.max_fee) > 0)
			highest = &nonce->attempts[i];
	return highest;
}

int
relay_refusals(const struct relay_nonce *nonce)
{
	int count = 0;

	while (count < nonce->attempt_count)
	{
		const struct relay_attempt *attempt = relay_newest(nonce) - count;

		if (!attempt->answered || attempt->class != RELAY_FEE_TOO_LOW)
			break;
		count++;
	}
	return count;
}

bool
relay_was_accepted(const struct relay_nonce *nonce)
{
	int i;

	for (i = 0; i < nonce->attempt_count; i++)
		if (nonce->attempts[i].broadcast_at != 0)
			return true;
	return false;
}

bool
relay_is_deep(const struct relay_process *process, const struct relay_nonce *nonce)
{
	return process->head_number - nonce->receipt.block_number + 1 >= nonce->confirmations;
}

bool
relay_is_overdue(const struct relay_process *process, const struct relay_nonce *nonce)
{
	const struct relay_key *key = nonce->key;

	return key->suspected && key->suspect == nonce->nonce &&
		process->head_number - key->suspect_since >=
		Max(nonce->confirmations, RELAY_SUSPECT_MIN_BLOCKS);
}

bool
relay_is_recorded(const struct relay_nonce *nonce)
{
	bool original = relay_original_won(nonce);
	enum relay_state state = original ? nonce->original.state : nonce->state;
	int64 number = original ? nonce->original.block_number : nonce->block_number;
	const struct evm_hash *hash = original ? &nonce->original.block_hash : &nonce->block_hash;

	return state == RELAY_MINED && number == nonce->receipt.block_number &&
		memcmp(hash, &nonce->receipt.block_hash, sizeof(*hash)) == 0;
}

bool
relay_needs_noop(const struct relay_nonce *nonce)
{
	bool ended = nonce->state != RELAY_SIGNED && nonce->state != RELAY_BROADCAST &&
		nonce->state != RELAY_MINED && nonce->state != RELAY_CONFIRMED;

	return ((!nonce->wanted && nonce->replacement == NULL) || nonce->has_error || ended) &&
		nonce->state != RELAY_MINED && !relay_newest(nonce)->noop;
}

bool
relay_may_need_bump(const struct relay_process *process, const struct relay_nonce *nonce)
{
	const struct relay_attempt *newest = relay_newest(nonce);
	int patience = nonce->account == NULL ? 0 : nonce->account->bump_blocks;

	if (nonce->state == RELAY_MINED || nonce->adopting || nonce->account == NULL ||
		nonce->account->paused)
		return false;
	if (nonce->replacement != NULL || newest->number < nonce->wanted_attempt)
		return true;
	if (newest->answered && newest->class == RELAY_FEE_TOO_LOW)
		return true;
	if (newest->answered && newest->class == RELAY_SLOT_TAKEN && nonce->attempt_count > 1)
		return true;
	return newest->broadcast_at != 0 && process->head_number >= 0 &&
		process->head_number - newest->head_number >= patience;
}

struct relay_subject
relay_subject_of(const struct relay_candidate *candidate)
{
	struct relay_subject subject = {0};

	subject.relayer = candidate->account->name;
	subject.workflow = candidate->workflow;
	subject.owner = candidate->owner;
	subject.creates = candidate->creates;
	subject.recipient = candidate->recipient;
	subject.value = candidate->value;
	subject.data = candidate->data;
	subject.gas_limit = candidate->gas_limit;
	return subject;
}
