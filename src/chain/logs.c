/*
 * logs.c
 *	  eth_getLogs for the union of all triggers, and the doubts about its answer.
 *
 * An empty answer proves nothing: it is held against the bloom filters of the headers.  The union
 * asks for every address with every topic; the caller dispatches exactly.
 */
#include "postgres.h"

#include "chain/logs.h"
#include "evm/hex.h"
#include "lib/stringinfo.h"
#include "utils/timestamp.h"

/* Ranges that end so far below the head are bulk: where requests are limited, others go first. */
#define NEW_BLOCKS 8

static void
append_hex(StringInfo text, const uint8 *data, size_t len)
{
	appendStringInfoString(text, "\"0x");
	enlargeStringInfo(text, 2 * len + 1);
	evm_hex_digits(text->data + text->len, data, len);
	text->len += 2 * len;
	text->data[text->len] = '\0';
	appendStringInfoChar(text, '"');
}

static bool
address_before(const struct chain_filter *filters, int index)
{
	for (int i = 0; i < index; i++)
	{
		if (memcmp(filters[i].address.b, filters[index].address.b, 20) == 0)
			return true;
	}
	return false;
}

static bool
topic_before(const struct chain_filter *filters, int index)
{
	for (int i = 0; i < index; i++)
	{
		if (memcmp(filters[i].topic0.b, filters[index].topic0.b, 32) == 0)
			return true;
	}
	return false;
}

/* "address":[…],"topics":[[…]] ; an event without a topic 0 (anonymous) asks for any. */
static void
append_filters(StringInfo text, const struct chain_filter *filters, int count)
{
	const char *separator = "";
	bool any_topic = false;

	appendStringInfoString(text, "\"address\":[");
	for (int i = 0; i < count; i++)
	{
		any_topic |= !filters[i].has_topic0;
		if (address_before(filters, i))
			continue;
		appendStringInfoString(text, separator);
		append_hex(text, filters[i].address.b, 20);
		separator = ",";
	}
	appendStringInfoChar(text, ']');
	if (any_topic)
		return;
	appendStringInfoString(text, ",\"topics\":[[");
	separator = "";
	for (int i = 0; i < count; i++)
	{
		if (topic_before(filters, i))
			continue;
		appendStringInfoString(text, separator);
		append_hex(text, filters[i].topic0.b, 32);
		separator = ",";
	}
	appendStringInfoString(text, "]]");
}

static void
add_range_call(struct rpc_batch *batch, const struct chain_filter *filters, int count, int64 from,
			   int64 to)
{
	char low[EVM_QUANTITY_TEXT_BYTES];
	char high[EVM_QUANTITY_TEXT_BYTES];
	StringInfoData text;

	evm_quantity_encode_u64(low, from);
	evm_quantity_encode_u64(high, to);
	initStringInfo(&text);
	appendStringInfo(&text, "[{\"fromBlock\":\"%s\",\"toBlock\":\"%s\",", low, high);
	append_filters(&text, filters, count);
	appendStringInfoString(&text, "}]");
	rpc_batch_add(batch, "eth_getLogs", text.data);
}

static struct chain_logs
not_fetched(enum chain_fetch outcome, const char *error)
{
	struct chain_logs result = {.outcome = outcome, .error = pstrdup(error)};

	return result;
}

/* Words of nodes that refuse a range; anything else is retried as it is. */
static bool
is_too_much(const struct rpc_answer *answer)
{
	static const char *const words[] = {
		"range",     "limit",  "too many", "too large",
		"more than", "exceed", "results",  "response size",
	};

	for (int i = 0; i < (int) lengthof(words); i++)
	{
		if (strcasestr(answer->message, words[i]) != NULL)
			return true;
	}
	return false;
}

/* The logs of one block, in the sorted list of all. */
struct block_logs
{
	int64 number;
	const struct chain_log *logs;
	size_t count;
};

static struct block_logs
logs_of_block(const struct chain_logs *logs, int64 number, size_t *next)
{
	struct block_logs result = {.number = number};

	while (*next < logs->count && logs->logs[*next].block_number < number)
		(*next)++;
	result.logs = &logs->logs[*next];
	while (*next + result.count < logs->count && result.logs[result.count].block_number == number)
		result.count++;
	*next += result.count;
	return result;
}

static bool
matches(const struct chain_filter *filter, const struct chain_log *log)
{
	if (memcmp(log->address.b, filter->address.b, sizeof(log->address.b)) != 0)
		return false;
	return !filter->has_topic0 ||
		(log->topic_count > 0 && memcmp(log->topics[0].b, filter->topic0.b, 32) == 0);
}

/* A header that was read from the table has no bloom any more: it may have had any. */
static bool
may_have(const struct chain_header *header, const struct chain_filter *filter)
{
	if (header->stored)
		return true;
	return header->has_bloom &&
		chain_bloom_may_contain(header, filter->address.b, sizeof(filter->address.b)) &&
		(!filter->has_topic0 || chain_bloom_may_contain(header, filter->topic0.b, 32));
}

/* Is there a filter that the block has no log for, although its bloom says that it may? */
static bool
is_doubtful(const struct chain_header *header, const struct block_logs *block,
			const struct chain_filter *filters, int count)
{
	for (int i = 0; i < count; i++)
	{
		bool present = false;

		for (size_t j = 0; j < block->count && !present; j++)
			present = matches(&filters[i], &block->logs[j]);
		if (!present && may_have(header, &filters[i]))
			return true;
	}
	return false;
}

/* Of the blocks whose headers we have; what lies below them, nodes have settled long ago. */
static int
doubtful_blocks(struct block_logs *out, const struct chain *chain, const struct chain_logs *logs,
				const struct chain_filter *filters, int count, int64 from, int64 to)
{
	int doubtful = 0;
	size_t next = 0;

	for (int64 number = Max(from, chain->first); number <= to; number++)
	{
		struct block_logs block = logs_of_block(logs, number, &next);

		if (is_doubtful(chain_header_at(chain, number), &block, filters, count))
			out[doubtful++] = block;
	}
	return doubtful;
}

/* True when asking by hash gives as many logs of each block; false when the answers differ. */
static bool
confirm(const struct chain *chain, struct rpc_client *client, const struct block_logs *blocks,
		int doubtful, const struct chain_filter *filters, int count)
{
	struct rpc_batch *batch = rpc_batch_create(client);
	bool confirmed;

	for (int i = 0; i < doubtful; i++)
	{
		StringInfoData text;

		initStringInfo(&text);
		appendStringInfoString(&text, "[{\"blockHash\":");
		append_hex(&text, chain_header_at(chain, blocks[i].number)->hash.b, 32);
		appendStringInfoChar(&text, ',');
		append_filters(&text, filters, count);
		appendStringInfoString(&text, "}]");
		rpc_batch_add(batch, "eth_getLogs", text.data);
	}
	confirmed = rpc_batch_run(batch);
	for (int i = 0; i < doubtful && confirmed; i++)
	{
		const struct rpc_answer *answer = rpc_batch_answer(batch, i);

		confirmed = answer->outcome == RPC_RESULT &&
			evm_json_kind(answer->result) == EVM_JSON_ARRAY &&
			evm_json_array_size(answer->result) == blocks[i].count;
	}
	rpc_batch_destroy(batch);
	return confirmed;
}

/* Headers of blocks below the window that have logs: their hashes and times. */
static const char *
fetch_old_headers(struct chain_header **out, int *count, const struct chain *chain,
				  struct rpc_client *client, const struct chain_logs *logs)
{
	struct rpc_batch *batch = rpc_batch_create(client);
	struct evm_error error;
	const char *why = NULL;
	int64 last = -1;

	for (size_t i = 0; i < logs->count; i++)
	{
		char quantity[EVM_QUANTITY_TEXT_BYTES];

		if (logs->logs[i].block_number == last || logs->logs[i].block_number >= chain->first)
			continue;
		last = logs->logs[i].block_number;
		evm_quantity_encode_u64(quantity, last);
		rpc_batch_add(batch, "eth_getBlockByNumber", psprintf("[\"%s\",false]", quantity));
	}
	*count = rpc_batch_count(batch);
	*out = palloc(Max(*count, 1) * sizeof(struct chain_header));
	if (*count > 0 && !rpc_batch_run(batch))
		why = pstrdup(rpc_client_error(client));
	for (int i = 0; i < *count && why == NULL; i++)
	{
		const struct rpc_answer *answer = rpc_batch_answer(batch, i);

		if (answer->outcome != RPC_RESULT)
			why = pstrdup(answer->message);
		else if (chain_parse_header(&(*out)[i], answer->result, &error) != EVM_OK)
			why = pstrdup(error.message);
	}
	rpc_batch_destroy(batch);
	return why;
}

/*
 * Every log must be in the range, in the block that the header chain has there; fills in the
 * times.
 */
static const char *
check_logs(struct chain_logs *logs, const struct chain *chain, const struct chain_header *old,
		   int old_count, int64 from, int64 to)
{
	int next_old = 0;

	logs->timestamps = palloc(Max(logs->count, 1) * sizeof(int64));
	for (size_t i = 0; i < logs->count; i++)
	{
		const struct chain_log *log = &logs->logs[i];
		const struct chain_header *header = chain_header_at(chain, log->block_number);

		if (log->block_number < from || log->block_number > to)
			return psprintf("the node gave a log of block " INT64_FORMAT
							", which was not asked for",
							(int64) log->block_number);
		if (header == NULL)
		{
			while (next_old < old_count && old[next_old].number < log->block_number)
				next_old++;
			header = next_old < old_count ? &old[next_old] : NULL;
		}
		if (header == NULL || header->number != log->block_number ||
			memcmp(header->hash.b, log->block_hash.b, 32) != 0)
			return psprintf("the logs of block " INT64_FORMAT
							" are of another branch than its header",
							(int64) log->block_number);
		logs->timestamps[i] = header->timestamp;
	}
	return NULL;
}

static struct chain_logs
read_logs(struct rpc_batch *batch, int64 from, int64 to)
{
	const struct rpc_answer *answer = rpc_batch_answer(batch, 0);
	struct chain_logs result = {.outcome = CHAIN_FETCHED, .batch = batch};
	struct evm_error error;

	if (answer->outcome == RPC_ERROR)
		return not_fetched(to > from && is_too_much(answer) ? CHAIN_FETCH_LESS : CHAIN_FETCH_LATER,
						   answer->message);
	if (answer->outcome != RPC_RESULT)
		return not_fetched(CHAIN_FETCH_LATER, answer->message);
	if (chain_parse_logs(rpc_batch_arena(batch), &result.logs, &result.count, answer->result,
						 &error) != EVM_OK)
		return not_fetched(CHAIN_FETCH_LATER, error.message);
	if (chain_number_logs(rpc_batch_arena(batch), result.logs, result.count) != EVM_OK)
		return not_fetched(CHAIN_FETCH_LATER, "the logs are too large");
	result.held_at = GetCurrentTimestamp();
	return result;
}

struct chain_logs
chain_fetch_logs(const struct chain *chain, struct rpc_client *client,
				 const struct chain_filter *filters, int count, int64 from, int64 to)
{
	struct rpc_batch *batch = rpc_batch_create(client);
	struct chain_logs result;
	struct chain_header *old = NULL;
	struct block_logs doubtful[CHAIN_WINDOW];
	const char *why = NULL;
	int old_count = 0;

	if (to < chain->tip - NEW_BLOCKS)
		rpc_batch_set_priority(batch, RPC_BULK);
	add_range_call(batch, filters, count, from, to);
	if (!rpc_batch_run(batch))
		result = not_fetched(CHAIN_FETCH_LATER, rpc_client_error(client));
	else
		result = read_logs(batch, from, to);
	if (result.outcome == CHAIN_FETCHED)
	{
		int doubts = doubtful_blocks(doubtful, chain, &result, filters, count, from, to);

		if (doubts > 0 && !confirm(chain, client, doubtful, doubts, filters, count))
			why = "the node gave no logs of a block that may have some, and did not confirm it";
	}
	if (result.outcome == CHAIN_FETCHED && why == NULL && result.count > 0 &&
		result.logs[0].block_number < chain->first)
		why = fetch_old_headers(&old, &old_count, chain, client, &result);
	if (result.outcome == CHAIN_FETCHED && why == NULL)
		why = check_logs(&result, chain, old, old_count, from, to);
	if (why != NULL)
		result = not_fetched(CHAIN_FETCH_LATER, why);
	if (result.outcome != CHAIN_FETCHED)
		rpc_batch_destroy(batch);
	return result;
}
