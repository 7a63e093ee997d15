/*
 * test_chain_block.c
 *	  Headers and logs from nodes that may send anything.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "chain/block.h"
#include "evm/hex.h"
#include "evm/keccak.h"

#define HASH_A "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HASH_C "0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define ADDRESS "0x5fbdb2315678afecb367f032d93f642f64180aa3"
#define ARENA_BYTES ((size_t) 4 * 1024 * 1024)
#define TEXT_BYTES 65536

static struct evm_arena *arena;
static struct evm_error error;

static const struct evm_json *
parse(const char *text)
{
	const struct evm_json *node = NULL;

	if (arena == NULL)
		arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	evm_arena_reset(arena);
	CHECK_NUMBER(evm_json_parse(arena, &node, text, strlen(text), &error), EVM_OK);
	return node;
}

/* ---- headers -------------------------------------------------------------- */

static struct chain_header header;

static enum evm_status
read_header(const char *text)
{
	memset(&error, 0, sizeof(error));
	return chain_parse_header(&header, parse(text), &error);
}

TEST(a_header_is_read_with_what_it_may_lack)
{
	CHECK_NUMBER(read_header("{\"number\":\"0x10\",\"hash\":\"" HASH_A "\",\"parentHash\":\"" HASH_B
							 "\",\"timestamp\":\"0x65\",\"baseFeePerGas\":\"0x3b9aca00\"}"),
				 EVM_OK);
	CHECK_NUMBER(header.number, 16);
	CHECK_NUMBER(header.hash.b[31], 0xaa);
	CHECK_NUMBER(header.parent_hash.b[0], 0xbb);
	CHECK_NUMBER(header.timestamp, 0x65);
	CHECK(header.has_base_fee);
	CHECK_NUMBER(header.base_fee.limb[0], 1000000000);
	CHECK(!header.has_bloom);

	/* Before EIP-1559; other members are none of our business. */
	CHECK_NUMBER(read_header("{\"number\":\"0x0\",\"hash\":\"" HASH_A "\",\"parentHash\":\"" HASH_B
							 "\",\"timestamp\":\"0x0\",\"miner\":null,\"l1Fee\":[]}"),
				 EVM_OK);
	CHECK(!header.has_base_fee);
}

TEST(a_null_block_is_told_apart_from_a_broken_one)
{
	CHECK_NUMBER(read_header("null"), EVM_ERR_MISMATCH);
	CHECK_TEXT(error.message, "there is no such block");
	CHECK_NUMBER(read_header("{}"), EVM_ERR_SYNTAX);
	CHECK_TEXT(error.message, "field \"number\" is missing or no string");
	CHECK_NUMBER(read_header("[]"), EVM_ERR_SYNTAX);
	CHECK_NUMBER(read_header("\"0x1\""), EVM_ERR_SYNTAX);
}

/* A whole header with one member replaced. */
static enum evm_status
read_header_with(const char *name, const char *value)
{
	static const char *const members[][2] = {
		{"number", "\"0x1\""},    {"hash", "\"" HASH_A "\""},   {"parentHash", "\"" HASH_B "\""},
		{"timestamp", "\"0x1\""}, {"baseFeePerGas", "\"0x1\""},
	};
	char text[2048] = "{";

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
	{
		size_t used = strlen(text);
		bool replaced = strcmp(members[i][0], name) == 0;

		snprintf(text + used, sizeof(text) - used, "%s\"%s\":%s", i > 0 ? "," : "", members[i][0],
				 replaced ? value : members[i][1]);
	}
	strcat(text, "}");
	return read_header(text);
}

TEST(a_header_with_a_broken_member_is_refused)
{
	static const struct
	{
		const char *name;
		const char *value;
		enum evm_status status;
	} cases[] = {
		{"number", "1", EVM_ERR_SYNTAX},
		{"number", "null", EVM_ERR_SYNTAX},
		{"number", "\"1\"", EVM_ERR_SYNTAX},
		{"number", "\"0x\"", EVM_ERR_SYNTAX},
		{"number", "\"0x4000000000000000\"", EVM_ERR_RANGE},
		{"number", "\"0x8000000000000000\"", EVM_ERR_RANGE},
		{"number", "\"0x10000000000000000\"", EVM_ERR_RANGE},
		{"hash", "\"0xaa\"", EVM_ERR_SYNTAX},
		{"hash", "\"" HASH_A "00\"", EVM_ERR_SYNTAX},
		{"hash", "null", EVM_ERR_SYNTAX},
		{"hash", "\"0xzzaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
		 EVM_ERR_SYNTAX},
		{"parentHash", "\"\"", EVM_ERR_SYNTAX},
		/* Later than a timestamptz can be. */
		{"timestamp", "\"0x7fffffffffffffff\"", EVM_ERR_RANGE},
		{"baseFeePerGas", "\"0xg\"", EVM_ERR_SYNTAX},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		if (!CHECK(read_header_with(cases[i].name, cases[i].value) == cases[i].status))
			printf("  %s: %s: %s\n", cases[i].name, cases[i].value, error.message);
		CHECK(error.message[0] != '\0');
	}
	CHECK_NUMBER(read_header_with("", ""), EVM_OK);
}

/* ---- blooms --------------------------------------------------------------- */

static void
set_bit(unsigned bit)
{
	header.bloom[CHAIN_BLOOM_BYTES - 1 - bit / 8] |= 1 << (bit % 8);
}

/* A header whose bloom holds exactly this. */
static void
make_bloom(const uint8_t *data, size_t len)
{
	struct evm_hash hash;

	memset(&header, 0, sizeof(header));
	header.has_bloom = true;
	evm_keccak256(&hash, data, len);
	for (int i = 0; i < 6; i += 2)
		set_bit(((hash.b[i] << 8) | hash.b[i + 1]) & 2047);
}

TEST(a_bloom_says_certainly_not_or_perhaps)
{
	uint8_t address[20] = {1};
	uint8_t other[20] = {2};
	int perhaps = 0;

	make_bloom(address, sizeof(address));
	CHECK(chain_bloom_may_contain(&header, address, sizeof(address)));
	for (int i = 0; i < 200; i++)
	{
		other[19] = (uint8_t) i;
		perhaps += chain_bloom_may_contain(&header, other, sizeof(other));
	}
	CHECK_NUMBER(perhaps, 0);
	memset(header.bloom, 0xff, sizeof(header.bloom));
	CHECK(chain_bloom_may_contain(&header, other, sizeof(other)));
	/* A header without a bloom says nothing. */
	header.has_bloom = false;
	memset(header.bloom, 0, sizeof(header.bloom));
	CHECK(chain_bloom_may_contain(&header, other, sizeof(other)));
}

TEST(the_bits_of_a_bloom_are_those_of_the_yellow_paper)
{
	/* The example of the Ethereum wiki: this address sets bits 1323, 431 and 1319. */
	uint8_t address[20];
	size_t len;

	CHECK_NUMBER(evm_hex_decode(address, &len, "0x0f572e5295c57f15886f9b263e2f6d2d6c7b5ec6", 42,
								&error),
				 EVM_OK);
	memset(&header, 0, sizeof(header));
	header.has_bloom = true;
	set_bit(1323);
	set_bit(431);
	CHECK(!chain_bloom_may_contain(&header, address, len));
	set_bit(1319);
	CHECK(chain_bloom_may_contain(&header, address, len));
}

/* ---- logs ----------------------------------------------------------------- */

static struct chain_log *logs;
static size_t count;

static enum evm_status
read_logs(const char *text)
{
	const struct evm_json *node = parse(text);

	memset(&error, 0, sizeof(error));
	logs = NULL;
	count = 0;
	return chain_parse_logs(arena, &logs, &count, node, &error);
}

struct log_text
{
	int block;
	const char *block_hash;
	const char *transaction;
	int index;
	const char *topics;
	const char *data;
	const char *more;
};

static void
add_log(char *out, const struct log_text *log)
{
	size_t used = strlen(out);

	snprintf(out + used, TEXT_BYTES - used,
			 "%s{\"address\":\"" ADDRESS
			 "\",\"blockNumber\":\"0x%x\",\"blockHash\":\"%s\","
			 "\"transactionHash\":\"%s\",\"transactionIndex\":\"0x0\",\"logIndex\":\"0x%x\","
			 "\"topics\":%s,\"data\":\"%s\"%s}",
			 used > 1 ? "," : "", log->block, log->block_hash ? log->block_hash : HASH_A,
			 log->transaction ? log->transaction : HASH_B, log->index,
			 log->topics ? log->topics : "[\"" HASH_C "\"]", log->data ? log->data : "0x01",
			 log->more ? log->more : "");
}

static enum evm_status
read_log_list(const struct log_text *list, size_t size)
{
	static char text[TEXT_BYTES];

	strcpy(text, "[");
	for (size_t i = 0; i < size; i++)
		add_log(text, &list[i]);
	strcat(text, "]");
	return read_logs(text);
}

TEST(a_log_is_read_whole)
{
	struct log_text one = {.block = 7,
						   .index = 3,
						   .topics =
							   "[\"" HASH_A "\",\"" HASH_B "\",\"" HASH_C "\",\"" HASH_A "\"]",
						   .data = "0xdeadbeef"};

	CHECK_NUMBER(read_log_list(&one, 1), EVM_OK);
	CHECK_NUMBER(count, 1);
	CHECK_NUMBER(logs[0].block_number, 7);
	CHECK_NUMBER(logs[0].log_index, 3);
	CHECK_NUMBER(logs[0].topic_count, 4);
	CHECK_NUMBER(logs[0].topics[3].b[0], 0xaa);
	CHECK_NUMBER(logs[0].address.b[0], 0x5f);
	CHECK_NUMBER(logs[0].data.len, 4);
	CHECK(memcmp(logs[0].data.data, "\xde\xad\xbe\xef", 4) == 0);
	CHECK_NUMBER(logs[0].transaction_hash.b[0], 0xbb);

	/* LOG0, and no data. */
	one.topics = "[]";
	one.data = "0x";
	CHECK_NUMBER(read_log_list(&one, 1), EVM_OK);
	CHECK_NUMBER(logs[0].topic_count, 0);
	CHECK_NUMBER(logs[0].data.len, 0);
}

TEST(no_logs_are_an_empty_array_and_nothing_else)
{
	CHECK_NUMBER(read_logs("[]"), EVM_OK);
	CHECK_NUMBER(count, 0);
	CHECK_NUMBER(read_logs("null"), EVM_ERR_SYNTAX);
	CHECK_TEXT(error.message, "the logs are not an array");
	CHECK_NUMBER(read_logs("{}"), EVM_ERR_SYNTAX);
	CHECK_NUMBER(read_logs("\"\""), EVM_ERR_SYNTAX);
	CHECK_NUMBER(read_logs("false"), EVM_ERR_SYNTAX);
}

TEST(logs_come_out_in_the_order_of_the_chain)
{
	static const struct log_text list[] = {{.block = 9, .index = 0},
										   {.block = 7, .index = 10},
										   {.block = 8, .index = 1},
										   {.block = 7, .index = 9},
										   {.block = 8, .index = 0}};

	CHECK_NUMBER(read_log_list(list, 5), EVM_OK);
	CHECK_NUMBER(count, 5);
	for (size_t i = 1; i < count; i++)
		CHECK(logs[i - 1].block_number < logs[i].block_number ||
			  (logs[i - 1].block_number == logs[i].block_number &&
			   logs[i - 1].log_index < logs[i].log_index));
}

TEST(a_log_that_is_given_twice_is_one)
{
	static const struct log_text list[] = {{.block = 7, .index = 1},
										   {.block = 7, .index = 0},
										   {.block = 7, .index = 1},
										   {.block = 7, .index = 0},
										   {.block = 7, .index = 0}};

	CHECK_NUMBER(read_log_list(list, 5), EVM_OK);
	CHECK_NUMBER(count, 2);
	CHECK_NUMBER(logs[0].log_index, 0);
	CHECK_NUMBER(logs[1].log_index, 1);
}

TEST(logs_of_two_branches_at_one_place_are_both_kept_for_the_check)
{
	static const struct log_text list[] = {{.block = 7, .index = 0, .block_hash = HASH_A},
										   {.block = 7, .index = 0, .block_hash = HASH_B}};

	CHECK_NUMBER(read_log_list(list, 2), EVM_OK);
	CHECK_NUMBER(count, 2);
}

TEST(removed_logs_are_left_out)
{
	static const struct log_text list[] = {{.block = 7, .index = 0, .more = ",\"removed\":true"},
										   {.block = 7, .index = 1, .more = ",\"removed\":false"}};

	CHECK_NUMBER(read_log_list(list, 2), EVM_OK);
	CHECK_NUMBER(count, 1);
	CHECK_NUMBER(logs[0].log_index, 1);
}

TEST(one_broken_log_spoils_the_answer)
{
	static const struct log_text broken[] = {
		{.block = 1, .topics = "[\"0x01\"]"},
		{.block = 1, .topics = "[1]"},
		{.block = 1, .topics = "[null]"},
		{.block = 1,
		 .topics = "[\"" HASH_A "\",\"" HASH_A "\",\"" HASH_A "\",\"" HASH_A "\",\"" HASH_A "\"]"},
		{.block = 1, .data = "0x0"},
		{.block = 1, .data = "0xgg"},
		{.block = 1, .data = ""},
		{.block = 1, .block_hash = "0x"},
		{.block = 1, .transaction = "null"},
		{.block = 1, .index = -1},
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
	{
		struct log_text list[2] = {{.block = 1, .index = 5}, broken[i]};

		if (!CHECK(read_log_list(list, 2) != EVM_OK) || !CHECK(error.message[0] != '\0'))
			printf("  case %zu\n", i);
	}
	CHECK_NUMBER(read_logs("[null]"), EVM_ERR_SYNTAX);
	CHECK_NUMBER(read_logs("[[]]"), EVM_ERR_SYNTAX);
	/* A log of a block that is not mined yet has no number. */
	CHECK_NUMBER(read_logs("[{\"address\":\"" ADDRESS
						   "\",\"blockNumber\":null,\"blockHash\":null}]"),
				 EVM_ERR_SYNTAX);
}

/* Taken for a log without topics it would concern no workflow, and be lost. */
TEST(topics_that_are_missing_spoil_the_answer)
{
	static const struct log_text none[] = {{.block = 1, .topics = "null"},
										   {.block = 1, .topics = "{}"},
										   {.block = 1, .topics = "\"" HASH_A "\""}};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
	{
		CHECK_NUMBER(read_log_list(&none[i], 1), EVM_ERR_SYNTAX);
		CHECK_TEXT(error.message, "field \"topics\" of a log is missing or no array");
	}
	CHECK(read_logs("[{\"address\":\"" ADDRESS "\",\"blockNumber\":\"0x1\",\"blockHash\":\"" HASH_A
					"\",\"transactionHash\":\"" HASH_B
					"\",\"transactionIndex\":\"0x0\",\"logIndex\":\"0x0\",\"data\":\"0x\"}]") !=
		  EVM_OK);
}

/* ---- ordinals ------------------------------------------------------------- */

TEST(equal_logs_of_a_transaction_are_numbered)
{
	static const struct log_text list[] = {
		{.block = 7, .index = 0, .data = "0x01"},
		{.block = 7, .index = 1, .data = "0x02"},
		{.block = 7, .index = 2, .data = "0x01"},
		{.block = 7, .index = 3, .data = "0x01"},
		{.block = 7, .index = 4, .data = "0x02"},
		{.block = 7, .index = 5, .data = "0x01", .topics = "[\"" HASH_A "\"]"},
		{.block = 7, .index = 6, .data = "0x01", .topics = "[\"" HASH_C "\",\"" HASH_A "\"]"},
		{.block = 7, .index = 7, .data = "0x01", .transaction = HASH_C},
		{.block = 8, .index = 0, .data = "0x01"},
	};
	static const int ordinals[] = {0, 0, 1, 2, 1, 0, 0, 0, 0};

	CHECK_NUMBER(read_log_list(list, 9), EVM_OK);
	CHECK_NUMBER(chain_number_logs(arena, logs, count), EVM_OK);
	for (size_t i = 0; i < count; i++)
		CHECK_NUMBER(logs[i].ordinal, ordinals[i]);
}

/* The occurrence key has the ordinal in it: it must not depend on what else the answer holds. */
TEST(ordinals_do_not_depend_on_the_order_of_the_answer)
{
	static const struct log_text list[] = {
		{.block = 7, .index = 3, .data = "0x01"},
		{.block = 7, .index = 0, .data = "0x01"},
		{.block = 7, .index = 3, .data = "0x01"},
		{.block = 7, .index = 1, .data = "0x01"},
	};

	CHECK_NUMBER(read_log_list(list, 4), EVM_OK);
	CHECK_NUMBER(chain_number_logs(arena, logs, count), EVM_OK);
	CHECK_NUMBER(count, 3);
	for (size_t i = 0; i < count; i++)
		CHECK_NUMBER(logs[i].ordinal, (int) i);
}

TEST(numbering_nothing_is_nothing)
{
	CHECK_NUMBER(chain_number_logs(test_arena(ARENA_BYTES), NULL, 0), EVM_OK);
}

/* What a block of the main network has room for, all in one transaction. */
TEST(many_different_logs_are_numbered_in_no_time)
{
	enum
	{
		MANY = 40000
	};
	struct chain_log *many = calloc(MANY, sizeof(struct chain_log));
	int *numbers = calloc(MANY, sizeof(int));
	clock_t began = clock();

	for (int i = 0; i < MANY; i++)
	{
		numbers[i] = i / 2;
		many[i].data.data = (uint8_t *) &numbers[i];
		many[i].data.len = sizeof(int);
	}
	CHECK_NUMBER(chain_number_logs(test_arena(ARENA_BYTES), many, MANY), EVM_OK);
	CHECK((clock() - began) / CLOCKS_PER_SEC < 1);
	for (int i = 0; i < MANY; i += MANY / 16)
	{
		CHECK_NUMBER(many[i].ordinal, 0);
		CHECK_NUMBER(many[i + 1].ordinal, 1);
	}
	free(many);
	free(numbers);
}

TEST(logs_that_do_not_fit_are_refused)
{
	struct evm_arena *small = evm_arena_create(&evm_malloc_allocator, 8192);
	char *text = malloc(40000);
	const struct evm_json *node;
	struct log_text one = {.block = 1, .data = NULL};
	char *data = malloc(20003);

	memset(data, '0', 20002);
	data[1] = 'x';
	data[20002] = '\0';
	one.data = data;
	strcpy(text, "[");
	add_log(text, &one);
	strcat(text, "]");
	node = parse(text);
	CHECK_NUMBER(chain_parse_logs(small, &logs, &count, node, &error), EVM_ERR_MEMORY);
	CHECK_TEXT(error.message, "the logs are too large");
	evm_arena_destroy(small);
	free(text);
	free(data);
}
