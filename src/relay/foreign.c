/*
 * foreign.c
 *	  Which transaction has used a nonce, when none of ours has a receipt.
 *
 * Receipts may come from a backend that lags behind the one that counts nonces, for minutes:
 * "used, and no receipt" is how a payment that was made looks then.  Giving it up would pay it
 * twice.  What cannot lag is the content of a block: the one in which the count passes the nonce is
 * searched for, and read.
 */
#include "postgres.h"

#include "relay/foreign.h"

#include "lib/stringinfo.h"

#include "relay/ask.h"
#include "relay/parse_block.h"
#include "relay/put.h"
#include "rpc/client.h"

/* Heights that are asked about at a time; the first time, ever farther below the upper bound. */
#define PROBES 10
/* Eleven times fewer blocks with each round: more than any chain has. */
#define ROUNDS_MAX 16

struct search
{
	struct relay_process *process;
	struct relay_nonce *nonce;
	int64 low;  /* the nonce is not used there; -1: before the first block */
	int64 high; /* it is used there */
	StringInfoData text;
};

static int
ask_count(struct search *search, struct rpc_batch *batch, int64 number)
{
	resetStringInfo(&search->text);
	appendStringInfoChar(&search->text, '[');
	relay_put_hex(&search->text, search->nonce->key->address.b,
				  sizeof(search->nonce->key->address.b));
	appendStringInfoChar(&search->text, ',');
	relay_put_u64(&search->text, (uint64) number);
	appendStringInfoChar(&search->text, ']');
	return rpc_batch_add(batch, "eth_getTransactionCount", search->text.data);
}

static struct rpc_batch *
new_batch(const struct search *search)
{
	struct rpc_batch *batch = rpc_batch_create(search->process->client);

	rpc_batch_pin(batch, search->process->endpoint);
	return batch;
}

static const struct evm_json *
result_of(const struct rpc_batch *batch, int index)
{
	const struct rpc_answer *answer = rpc_batch_answer(batch, index);

	return answer->outcome == RPC_RESULT ? answer->result : NULL;
}

/* Heights between the bounds, none twice, downwards. */
static int
choose_heights(const struct search *search, bool first, int64 *heights)
{
	int64 width = search->high - search->low;
	int count = 0;

	for (int i = 0; i < PROBES; i++)
	{
		int64 below = first ? (int64) 1 << i : width * (i + 1) / (PROBES + 1);
		int64 height = search->high - Max(below, 1);

		if (height > search->low && height >= 0 && (count == 0 || height < heights[count - 1]))
			heights[count++] = height;
	}
	return count;
}

/* Brings the bounds nearer to each other.  False when no answer did. */
static bool
narrow(struct search *search, bool first)
{
	struct rpc_batch *batch = new_batch(search);
	int64 heights[PROBES];
	int count = choose_heights(search, first, heights);
	int64 width = search->high - search->low;

	for (int i = 0; i < count; i++)
		(void) ask_count(search, batch, heights[i]);
	if (count > 0 && relay_run(search->process, batch))
	{
		for (int i = 0; i < count; i++)
		{
			uint64 used;

			/* A node that has no such old state says nothing. */
			if (!relay_parse_u64(&used, result_of(batch, i)))
				continue;
			if (used > search->nonce->nonce)
				search->high = Min(search->high, heights[i]);
			else
				search->low = Max(search->low, heights[i]);
		}
	}
	rpc_batch_destroy(batch);
	return search->low < search->high && search->high - search->low < width;
}

/* In the round's memory; NULL when the block does not have it as it should. */
static struct relay_block_transaction *
copy_user(const struct search *search, struct rpc_batch *batch, const struct evm_json *block)
{
	struct relay_block_transaction *all;
	struct relay_block_transaction *copy;
	int count;

	if (!relay_parse_block(rpc_batch_arena(batch), &all, &count, block, search->high,
						   &search->nonce->key->address))
		return NULL;
	for (int i = 0; i < count; i++)
	{
		if (all[i].nonce != search->nonce->nonce)
			continue;
		copy = palloc(sizeof(*copy));
		*copy = all[i];
		copy->act.data = relay_copy_bytes(all[i].act.data);
		copy->raw = relay_copy_bytes(all[i].raw);
		return copy;
	}
	return NULL;
}

/*
 * The block, with the counts before and in it once more: they must come from the same moment, and
 * another one answers perhaps than before.
 */
static void
read_block(struct search *search)
{
	struct relay_nonce *nonce = search->nonce;
	struct rpc_batch *batch = new_batch(search);
	struct evm_hash *hashes = palloc(sizeof(struct evm_hash) * nonce->attempt_count);
	uint64 before = 0;
	uint64 after = 0;
	int block;
	int first = -1;
	int second = ask_count(search, batch, search->high);

	for (int i = 0; i < nonce->attempt_count; i++)
		hashes[i] = nonce->attempts[i].hash;
	if (search->low >= 0)
		first = ask_count(search, batch, search->low);
	resetStringInfo(&search->text);
	appendStringInfoChar(&search->text, '[');
	relay_put_u64(&search->text, (uint64) search->high);
	appendStringInfoString(&search->text, ",true]");
	block = rpc_batch_add(batch, "eth_getBlockByNumber", search->text.data);
	if (relay_run(search->process, batch) &&
		(first < 0 || relay_parse_u64(&before, result_of(batch, first))) &&
		relay_parse_u64(&after, result_of(batch, second)) && before <= nonce->nonce &&
		after > nonce->nonce)
		nonce->use =
			relay_parse_use(&nonce->user, result_of(batch, block), search->high,
							&nonce->key->address, nonce->nonce, hashes, nonce->attempt_count);
	nonce->used_in = search->high;
	if (nonce->use == RELAY_USE_FOREIGN)
		nonce->user_transaction = copy_user(search, batch, result_of(batch, block));
	rpc_batch_destroy(batch);
}

static void
search_nonce(struct relay_process *process, struct relay_nonce *nonce)
{
	struct search search = {.process = process, .nonce = nonce, .low = -1};
	int round;

	search.high = Max(process->head_number - nonce->confirmations + 1, 0);
	initStringInfo(&search.text);
	for (round = 0; search.high - search.low > 1; round++)
		if (round == ROUNDS_MAX || !narrow(&search, round == 0))
			return;
	read_block(&search);
}

bool
relay_find_users(struct relay_process *process, struct relay_view *view)
{
	for (int i = 0; i < view->nonce_count; i++)
	{
		struct relay_nonce *nonce = &view->nonces[i];

		if (!nonce->used_at_depth || !relay_is_overdue(process, nonce))
			continue;
		search_nonce(process, nonce);
		if (rpc_client_error(process->client)[0] != '\0')
			return false;
	}
	return true;
}
