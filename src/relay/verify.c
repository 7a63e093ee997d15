/*
 * verify.c
 *	  What follows from receipts: is the block on the chain, and why did the transaction revert?
 *
 * A receipt counts when the block that it names is the one at its height; none counts against a
 * transaction that was mined only when another block is there now.  An empty answer proves nothing.
 */
#include "postgres.h"

#include "relay/ask.h"

#include "lib/stringinfo.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "evm/abi.h"
#include "relay/foreign.h"
#include "relay/load.h"
#include "relay/put.h"
#include "rpc/client.h"

/* Decoding one revert, with the ABI of its contract. */
#define REVERT_ARENA_BYTES (16 * 1024 * 1024)
/* A revert's data is kept up to here. */
#define REVERT_DATA_MAX_BYTES 4096
/* Of the questions about one nonce. */
#define QUESTION_BYTES 512

struct follow_up
{
	struct relay_nonce *nonce;
	int header;      /* of the block it is or was in; -1: not asked */
	int replay;      /* of a transaction that reverted; -1: not asked */
	int depth_count; /* nonces used at the depth of confirmations; -1: not asked */
	struct relay_payload payload;
};

/*
 * Only then can it be told apart from a lag: the nonce is used, and no attempt of ours has a
 * receipt.
 */
static bool
is_suspect(const struct relay_nonce *nonce)
{
	return nonce->finding == RELAY_NO_RECEIPT && nonce->key->fresh &&
		nonce->key->latest > nonce->nonce;
}

static bool
wants_reason(const struct relay_nonce *nonce)
{
	return nonce->finding == RELAY_FOUND && nonce->receipt.reverted && !nonce->has_error &&
		!nonce->attempts[nonce->receipt.attempt].noop;
}

/* The block that the nonce is, or was, in; -1: none is known. */
static int64
block_of(const struct relay_nonce *nonce)
{
	if (nonce->finding == RELAY_FOUND)
		return nonce->receipt.block_number;
	return nonce->block_number >= 0 ? nonce->block_number : nonce->original.block_number;
}

/*
 * Many share a block, and a header with the hashes of its transactions is large: each is asked
 * once.
 */
static int
ask_header(struct rpc_batch *batch, StringInfo text, const struct follow_up *follow_ups, int index)
{
	int64 number = block_of(follow_ups[index].nonce);
	int i;

	for (i = 0; i < index; i++)
		if (follow_ups[i].header >= 0 && block_of(follow_ups[i].nonce) == number)
			return follow_ups[i].header;
	resetStringInfo(text);
	appendStringInfoChar(text, '[');
	relay_put_u64(text, (uint64) number);
	appendStringInfoString(text, ",false]");
	return rpc_batch_add(batch, "eth_getBlockByNumber", text->data);
}

static int
ask_depth_count(struct rpc_batch *batch, StringInfo text, const struct relay_nonce *nonce,
				int64 head)
{
	int64 number = Max(head - nonce->confirmations + 1, 0);

	resetStringInfo(text);
	appendStringInfoChar(text, '[');
	relay_put_hex(text, nonce->key->address.b, sizeof(nonce->key->address.b));
	appendStringInfoChar(text, ',');
	relay_put_u64(text, (uint64) number);
	appendStringInfoChar(text, ']');
	return rpc_batch_add(batch, "eth_getTransactionCount", text->data);
}

/* The state before its block is the nearest that a node offers. */
static int
ask_replay(struct rpc_batch *batch, StringInfo text, const struct follow_up *follow_up)
{
	const struct relay_payload *payload = &follow_up->payload;

	resetStringInfo(text);
	appendStringInfoChar(text, '[');
	relay_put_call(text, &follow_up->nonce->key->address,
				   payload->creates ? NULL : &payload->recipient, &payload->value, payload->data);
	appendStringInfoChar(text, ',');
	relay_put_u64(text, (uint64) Max(follow_up->nonce->receipt.block_number - 1, 0));
	appendStringInfoChar(text, ']');
	return rpc_batch_add(batch, "eth_call", text->data);
}

/* The payloads of those that reverted, in a transaction of its own. */
static bool
load_payloads(struct relay_process *process, struct follow_up *follow_ups, int count)
{
	MemoryContext round = CurrentMemoryContext;
	bool wanted = false;
	int i;

	for (i = 0; i < count; i++)
		wanted = wanted || wants_reason(follow_ups[i].nonce);
	if (!wanted)
		return true;
	if (!process->begin(process->context, "relayer: what reverted"))
		return false;
	for (i = 0; i < count; i++)
		if (wants_reason(follow_ups[i].nonce))
		{
			const struct relay_nonce *nonce = follow_ups[i].nonce;

			(void) relay_read_payload(round, nonce->attempts[nonce->receipt.attempt].transaction_id,
									  &follow_ups[i].payload);
		}
	db_commit();
	return true;
}

static void
put_follow_up(struct relay_process *process, struct rpc_batch *batch, StringInfo text,
			  struct follow_up *follow_ups, int index)
{
	struct follow_up *follow_up = &follow_ups[index];
	struct relay_nonce *nonce = follow_up->nonce;

	if (block_of(nonce) >= 0)
		follow_up->header = ask_header(batch, text, follow_ups, index);
	if (is_suspect(nonce) && process->head_number >= 0)
		follow_up->depth_count = ask_depth_count(batch, text, nonce, process->head_number);
	if (wants_reason(nonce))
		follow_up->replay = ask_replay(batch, text, follow_up);
}

/* A block that is on the chain is as good as one that the watcher has seen. */
static void
note_height(struct relay_process *process, int64 number)
{
	if (number <= process->head_number)
		return;
	relay_note_head(process, number, GetCurrentTimestamp());
	process->head_is_ours = true;
}

static void
read_header(struct relay_process *process, const struct rpc_batch *batch,
			struct follow_up *follow_up)
{
	struct relay_nonce *nonce = follow_up->nonce;
	bool found = nonce->finding == RELAY_FOUND;
	const struct evm_hash *hash = &nonce->receipt.block_hash;
	const struct rpc_answer *answer;
	struct relay_header header;
	bool same;

	if (follow_up->header < 0)
		return;
	if (!found)
		hash = nonce->block_number >= 0 ? &nonce->block_hash : &nonce->original.block_hash;
	answer = rpc_batch_answer(batch, follow_up->header);
	nonce->finding = RELAY_UNSURE;
	if (answer->outcome != RPC_RESULT || !relay_parse_header(&header, answer->result))
		return;
	same = memcmp(&header.hash, hash, sizeof(*hash)) == 0;
	if (found && same)
	{
		nonce->finding = RELAY_FOUND;
		note_height(process, header.number);
	}
	else if (!found && !same)
		nonce->finding = RELAY_VANISHED;
}

static void
read_depth_count(const struct rpc_batch *batch, struct follow_up *follow_up)
{
	struct relay_nonce *nonce = follow_up->nonce;
	const struct rpc_answer *answer;
	uint64 used;

	if (follow_up->depth_count < 0)
		return;
	answer = rpc_batch_answer(batch, follow_up->depth_count);
	nonce->used_at_depth = answer->outcome == RPC_RESULT &&
		relay_parse_u64(&used, answer->result) && used > nonce->nonce;
}

static char *
revert_text(const char *abi_json, struct evm_bytes data)
{
	struct evm_arena *arena = db_arena_create(CurrentMemoryContext, REVERT_ARENA_BYTES);
	struct evm_abi abi = {0};
	struct evm_revert revert;

	if (abi_json != NULL &&
		evm_abi_parse_json(arena, &abi, NULL, abi_json, strlen(abi_json), NULL) != EVM_OK)
		abi.item_count = 0;
	if (evm_abi_decode_revert(arena, &revert, &abi, data.data, data.len) != EVM_OK)
		return pstrdup("reverted");
	return pstrdup(revert.text);
}

static void
read_replay(const struct rpc_batch *batch, struct follow_up *follow_up)
{
	struct relay_nonce *nonce = follow_up->nonce;
	const struct relay_attempt *attempt;
	const struct rpc_answer *answer;

	if (follow_up->replay < 0)
		return;
	attempt = &nonce->attempts[nonce->receipt.attempt];
	answer = rpc_batch_answer(batch, follow_up->replay);
	if (answer->outcome == RPC_ERROR && answer->has_data)
	{
		nonce->revert_data = relay_copy_bytes(answer->data);
		nonce->revert_data.len = Min(nonce->revert_data.len, REVERT_DATA_MAX_BYTES);
		nonce->revert_text = revert_text(follow_up->payload.abi, nonce->revert_data);
	}
	else if (nonce->receipt.gas_used == (uint64) attempt->gas_limit)
		nonce->revert_text = "out of gas";
	else if (answer->outcome == RPC_ERROR)
		nonce->revert_text = pstrdup(answer->message);
	else
		nonce->revert_text = "reverted, and does not when it is called again before its block";
}

bool
relay_verify(struct relay_process *process, struct relay_view *view)
{
	struct follow_up *follow_ups = palloc0(sizeof(*follow_ups) * (view->nonce_count + 1));
	struct rpc_batch *batch = rpc_batch_create(process->client);
	StringInfoData text;
	int count = 0;
	int i;

	initStringInfo(&text);
	rpc_batch_pin(batch, process->endpoint);
	for (i = 0; i < view->nonce_count; i++)
	{
		struct relay_nonce *nonce = &view->nonces[i];

		if (nonce->finding != RELAY_FOUND && nonce->finding != RELAY_NO_RECEIPT)
			continue;
		/* Recorded, and to be looked at when it is deep enough. */
		if (nonce->finding == RELAY_FOUND && relay_is_recorded(nonce) &&
			!relay_is_deep(process, nonce))
			continue;
		follow_ups[count].nonce = nonce;
		follow_ups[count].header = follow_ups[count].replay = follow_ups[count].depth_count = -1;
		count++;
	}
	if (!load_payloads(process, follow_ups, count))
		return false;
	for (i = 0; i < count; i++)
	{
		if (rpc_batch_bytes(batch) + 2 * follow_ups[i].payload.data.len + QUESTION_BYTES >
			RPC_MAX_REQUEST_BYTES)
			follow_ups[i].nonce->finding = RELAY_UNSURE;
		else
			put_follow_up(process, batch, &text, follow_ups, i);
	}
	if (rpc_batch_count(batch) == 0)
		return true;
	if (!relay_run(process, batch))
		return false;
	for (i = 0; i < count; i++)
	{
		read_header(process, batch, &follow_ups[i]);
		read_depth_count(batch, &follow_ups[i]);
		read_replay(batch, &follow_ups[i]);
	}
	return relay_find_users(process, view);
}
