/*
 * fuzz_chain.c
 *	  Headers and logs of nodes that may send anything.
 *
 * What parses as a header keeps to its bounds; logs come out sorted, each once, numbered, and
 * numbering them again changes nothing.
 */
#include "fuzz.h"

#include <string.h>

#include "chain/block.h"

static void
check_header(const struct evm_json *node)
{
	struct chain_header header;
	struct evm_error err;
	enum evm_status status = chain_parse_header(&header, node, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	FUZZ_CHECK(header.number >= 0 && header.timestamp >= 0);
	(void) chain_bloom_may_contain(&header, header.hash.b, sizeof(header.hash.b));
}

static bool
comes_before(const struct chain_log *a, const struct chain_log *b)
{
	if (a->block_number != b->block_number)
		return a->block_number < b->block_number;
	if (a->log_index != b->log_index)
		return a->log_index < b->log_index;
	return memcmp(a->block_hash.b, b->block_hash.b, sizeof(a->block_hash.b)) < 0;
}

static void
check_logs(struct evm_arena *arena, const struct evm_json *node)
{
	struct chain_log *logs;
	struct evm_error err;
	size_t count;
	uint64_t sum = 0;
	enum evm_status status = chain_parse_logs(arena, &logs, &count, node, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	FUZZ_CHECK(count <= evm_json_array_size(node));
	if (chain_number_logs(arena, logs, count) != EVM_OK)
		return;
	for (size_t i = 0; i < count; i++)
	{
		FUZZ_CHECK(i == 0 || comes_before(&logs[i - 1], &logs[i]));
		FUZZ_CHECK(logs[i].topic_count >= 0 && logs[i].topic_count <= CHAIN_MAX_TOPICS);
		FUZZ_CHECK(logs[i].ordinal >= 0 && (size_t) logs[i].ordinal <= i);
		/* Every byte can be read. */
		for (size_t j = 0; j < logs[i].data.len; j++)
			sum += logs[i].data.data[j];
		FUZZ_CHECK(sum <= (uint64_t) 255 * 1024 * 1024);
	}
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	const struct evm_json *node;
	struct evm_error err;

	if (evm_json_parse(arena, &node, (const char *) data, len, &err) != EVM_OK)
		return;
	check_header(node);
	check_logs(arena, node);
}
