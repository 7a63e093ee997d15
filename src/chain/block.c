/*
 * block.c
 *	  Parses headers and logs.  Plain C over src/evm.
 */
#include "chain/block.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/word.h"

static enum evm_status
text_member(const char **text, size_t *len, const struct evm_json *node, const char *name,
			struct evm_error *error)
{
	*text = evm_json_string(evm_json_object_get(node, name), len);
	if (*text == NULL)
		return evm_fail(error, EVM_ERR_SYNTAX, 0, "field \"%s\" is missing or no string", name);
	return EVM_OK;
}

static enum evm_status
bytes_member(uint8_t *out, size_t wanted, const struct evm_json *node, const char *name,
			 struct evm_error *error)
{
	const char *text;
	size_t len;
	enum evm_status status = text_member(&text, &len, node, name, error);

	if (status != EVM_OK)
		return status;
	if (len != 2 * wanted + 2)
		return evm_fail(error, EVM_ERR_SYNTAX, 0, "field \"%s\" has %zu characters, not %zu", name,
						len, 2 * wanted + 2);
	return evm_hex_decode(out, &len, text, len, error);
}

static enum evm_status
number_member(int64_t *out, int64_t max, const struct evm_json *node, const char *name,
			  struct evm_error *error)
{
	const char *text;
	size_t len;
	uint64_t number;
	enum evm_status status = text_member(&text, &len, node, name, error);

	if (status == EVM_OK)
		status = evm_quantity_decode_u64(&number, text, len, error);
	if (status != EVM_OK)
		return status;
	if (number > (uint64_t) max)
		return evm_fail(error, EVM_ERR_RANGE, 0, "field \"%s\" is out of range", name);
	*out = (int64_t) number;
	return EVM_OK;
}

/* Optional members: absent on chains before EIP-1559, and where a node leaves the bloom out. */
static enum evm_status
parse_optional(struct chain_header *out, const struct evm_json *node, struct evm_error *error)
{
	size_t len;
	const char *text = evm_json_string(evm_json_object_get(node, "baseFeePerGas"), &len);

	out->has_base_fee = text != NULL;
	if (text != NULL && evm_quantity_decode(&out->base_fee, text, len, error) != EVM_OK)
		return error != NULL ? error->status : EVM_ERR_SYNTAX;
	text = evm_json_string(evm_json_object_get(node, "logsBloom"), &len);
	out->has_bloom = text != NULL && len == 2 * CHAIN_BLOOM_BYTES + 2 &&
		evm_hex_decode(out->bloom, &len, text, len, error) == EVM_OK;
	return EVM_OK;
}

enum evm_status
chain_parse_header(struct chain_header *out, const struct evm_json *node, struct evm_error *error)
{
	enum evm_status status;

	if (evm_json_kind(node) == EVM_JSON_NULL)
		return evm_fail(error, EVM_ERR_MISMATCH, 0, "there is no such block");
	memset(out, 0, sizeof(*out));
	if ((status = number_member(&out->number, CHAIN_MAX_NUMBER, node, "number", error)) != EVM_OK ||
		(status = bytes_member(out->hash.b, 32, node, "hash", error)) != EVM_OK ||
		(status = bytes_member(out->parent_hash.b, 32, node, "parentHash", error)) != EVM_OK ||
		(status = number_member(&out->timestamp, INT64_MAX / 2000000, node, "timestamp", error)) !=
			EVM_OK)
		return status;
	return parse_optional(out, node, error);
}

static enum evm_status
parse_topics(struct chain_log *out, const struct evm_json *node, struct evm_error *error)
{
	const struct evm_json *topics = evm_json_object_get(node, "topics");
	size_t count = evm_json_array_size(topics);

	if (evm_json_kind(topics) != EVM_JSON_ARRAY)
		return evm_fail(error, EVM_ERR_SYNTAX, 0,
						"field \"topics\" of a log is missing or no array");
	if (count > CHAIN_MAX_TOPICS)
		return evm_fail(error, EVM_ERR_SYNTAX, 0, "a log has %zu topics", count);
	for (size_t i = 0; i < count; i++)
	{
		size_t len;
		const char *text = evm_json_string(evm_json_array_get(topics, i), &len);

		if (text == NULL || len != 66 ||
			evm_hex_decode(out->topics[i].b, &len, text, len, error) != EVM_OK)
			return evm_fail(error, EVM_ERR_SYNTAX, 0, "topic %zu of a log is not 32 bytes", i);
	}
	out->topic_count = (int) count;
	return EVM_OK;
}

static enum evm_status
parse_data(struct evm_arena *arena, struct chain_log *out, const struct evm_json *node,
		   struct evm_error *error)
{
	const char *text;
	size_t len;
	uint8_t *data;
	enum evm_status status = text_member(&text, &len, node, "data", error);

	if (status != EVM_OK)
		return status;
	data = evm_arena_alloc(arena, len / 2 + 1);
	if (data == NULL)
		return evm_fail(error, EVM_ERR_MEMORY, 0, "the logs are too large");
	status = evm_hex_decode(data, &out->data.len, text, len, error);
	out->data.data = data;
	return status;
}

static enum evm_status
parse_log(struct evm_arena *arena, struct chain_log *out, const struct evm_json *node,
		  struct evm_error *error)
{
	int64_t transaction_index;
	int64_t log_index;
	enum evm_status status;

	if ((status = bytes_member(out->address.b, 20, node, "address", error)) != EVM_OK ||
		(status = number_member(&out->block_number, CHAIN_MAX_NUMBER, node, "blockNumber",
								error)) != EVM_OK ||
		(status = bytes_member(out->block_hash.b, 32, node, "blockHash", error)) != EVM_OK ||
		(status = bytes_member(out->transaction_hash.b, 32, node, "transactionHash", error)) !=
			EVM_OK ||
		(status = number_member(&transaction_index, INT_MAX, node, "transactionIndex", error)) !=
			EVM_OK ||
		(status = number_member(&log_index, INT_MAX, node, "logIndex", error)) != EVM_OK ||
		(status = parse_topics(out, node, error)) != EVM_OK)
		return status;
	out->transaction_index = (int) transaction_index;
	out->log_index = (int) log_index;
	out->ordinal = 0;
	return parse_data(arena, out, node, error);
}

static int
compare_logs(const void *left, const void *right)
{
	const struct chain_log *a = left;
	const struct chain_log *b = right;

	if (a->block_number != b->block_number)
		return a->block_number < b->block_number ? -1 : 1;
	if (a->log_index != b->log_index)
		return a->log_index < b->log_index ? -1 : 1;
	return memcmp(a->block_hash.b, b->block_hash.b, sizeof(a->block_hash.b));
}

enum evm_status
chain_parse_logs(struct evm_arena *arena, struct chain_log **out, size_t *count,
				 const struct evm_json *node, struct evm_error *error)
{
	size_t total = evm_json_array_size(node);
	struct chain_log *logs;
	size_t kept = 0;
	size_t unique = 0;

	if (evm_json_kind(node) != EVM_JSON_ARRAY)
		return evm_fail(error, EVM_ERR_SYNTAX, 0, "the logs are not an array");
	logs = evm_arena_zalloc(arena, total + 1, sizeof(struct chain_log));
	if (logs == NULL)
		return evm_fail(error, EVM_ERR_MEMORY, 0, "the logs are too large");
	for (size_t i = 0; i < total; i++)
	{
		const struct evm_json *item = evm_json_array_get(node, i);
		enum evm_status status;

		if (evm_json_is_true(evm_json_object_get(item, "removed")))
			continue;
		status = parse_log(arena, &logs[kept], item, error);
		if (status != EVM_OK)
			return status;
		kept++;
	}
	qsort(logs, kept, sizeof(struct chain_log), compare_logs);
	for (size_t i = 0; i < kept; i++)
	{
		if (unique == 0 || compare_logs(&logs[unique - 1], &logs[i]) != 0)
			logs[unique++] = logs[i];
	}
	*out = logs;
	*count = unique;
	return EVM_OK;
}

static bool
is_equal_log(const struct chain_log *a, const struct chain_log *b)
{
	return a->topic_count == b->topic_count && a->data.len == b->data.len &&
		memcmp(a->transaction_hash.b, b->transaction_hash.b, sizeof(a->transaction_hash.b)) == 0 &&
		a->block_number == b->block_number &&
		memcmp(a->address.b, b->address.b, sizeof(a->address.b)) == 0 &&
		memcmp(a->topics, b->topics, a->topic_count * sizeof(a->topics[0])) == 0 &&
		memcmp(a->data.data, b->data.data, a->data.len) == 0;
}

/* A log's place, and a digest by which equal logs come together. */
struct place
{
	uint64_t digest;
	size_t index;
};

/* Of Keccak-256, so that nobody can make many different logs come together. */
static uint64_t
digest_of(const struct chain_log *log)
{
	struct evm_keccak keccak;
	struct evm_hash hash;
	uint64_t digest;

	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, log->transaction_hash.b, sizeof(log->transaction_hash.b));
	evm_keccak_update(&keccak, log->address.b, sizeof(log->address.b));
	for (int i = 0; i < log->topic_count; i++)
		evm_keccak_update(&keccak, log->topics[i].b, sizeof(log->topics[i].b));
	evm_keccak_update(&keccak, log->data.data, log->data.len);
	evm_keccak_final(&hash, &keccak);
	memcpy(&digest, hash.b, sizeof(digest));
	return digest;
}

static int
compare_places(const void *left, const void *right)
{
	const struct place *a = left;
	const struct place *b = right;

	if (a->digest != b->digest)
		return a->digest < b->digest ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Goes back to the nearest equal log, whose ordinal says how many there were before it. */
enum evm_status
chain_number_logs(struct evm_arena *arena, struct chain_log *logs, size_t count)
{
	struct place *places = evm_arena_zalloc(arena, count + 1, sizeof(struct place));

	if (places == NULL)
		return EVM_ERR_MEMORY;
	for (size_t i = 0; i < count; i++)
	{
		places[i].digest = digest_of(&logs[i]);
		places[i].index = i;
		logs[i].ordinal = 0;
	}
	qsort(places, count, sizeof(struct place), compare_places);
	for (size_t i = 1; i < count; i++)
	{
		struct chain_log *log = &logs[places[i].index];

		for (size_t j = i; j-- > 0 && places[j].digest == places[i].digest;)
		{
			if (is_equal_log(&logs[places[j].index], log))
			{
				log->ordinal = logs[places[j].index].ordinal + 1;
				break;
			}
		}
	}
	return EVM_OK;
}

/* Yellow Paper, section 4.3.1: three bits from the first six bytes of the Keccak-256 hash. */
bool
chain_bloom_may_contain(const struct chain_header *header, const uint8_t *data, size_t len)
{
	struct evm_hash hash;

	if (!header->has_bloom)
		return true;
	evm_keccak256(&hash, data, len);
	for (int i = 0; i < 6; i += 2)
	{
		unsigned bit = ((hash.b[i] << 8) | hash.b[i + 1]) & 2047;

		if ((header->bloom[CHAIN_BLOOM_BYTES - 1 - bit / 8] & (1 << (bit % 8))) == 0)
			return false;
	}
	return true;
}
