/*
 * test_abi_values.c
 *	  Values that do not fit, data that lies, and what the messages say.
 */
#include "check.h"

#include <stdio.h>

#include "evm/abi.h"
#include "evm/hex.h"
#include "evm/word.h"

#define ARENA_BYTES ((size_t) 256 * 1024 * 1024)
#define WORD_BYTES 32
#define WORDS_MAX 64

static const struct evm_abi_param *
params_of(struct evm_arena *arena, const char *text, size_t *count)
{
	const struct evm_abi_param *params;

	CHECK_NUMBER(evm_abi_parse_params(arena, &params, count, text, strlen(text), NULL), EVM_OK);
	return params;
}

static struct evm_abi_value
number(uint64_t value)
{
	return (struct evm_abi_value){.word = evm_word_from_u64(value)};
}

static struct evm_abi_value
bytes(const void *data, size_t len)
{
	return (struct evm_abi_value){.bytes = {data, len}};
}

static struct evm_abi_value
items(struct evm_abi_value *values, size_t count)
{
	return (struct evm_abi_value){.items = values, .item_count = count};
}

/* Words of data, each a small number. */
static struct evm_bytes
words(struct evm_arena *arena, const uint64_t *numbers, size_t count)
{
	uint8_t *data = evm_arena_alloc(arena, count * WORD_BYTES);

	for (size_t i = 0; i < count; i++)
	{
		struct evm_word word = evm_word_from_u64(numbers[i]);

		evm_word_to_be(data + i * WORD_BYTES, &word);
	}
	return (struct evm_bytes){data, count * WORD_BYTES};
}

static void
check_encode_refused(const char *types, const struct evm_abi_value *values, enum evm_status wanted,
					 const char *message)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	size_t count;
	const struct evm_abi_param *params = params_of(arena, types, &count);
	struct evm_bytes out;
	struct evm_error err = {.message = ""};

	CHECK_NUMBER(evm_abi_encode(arena, &out, params, values, count, &err), wanted);
	CHECK_TEXT(err.message, message);
}

TEST(values_that_do_not_fit_name_the_argument)
{
	static const uint8_t data[33];
	struct evm_abi_value arguments[2] = {bytes(data, 20), number(300)};
	struct evm_abi_value inner[2] = {number(1), number(2)};
	struct evm_abi_value deep[2];
	struct evm_abi_value outer;
	struct evm_abi_value hashed = {.hashed = true, .bytes = {data, 32}};

	check_encode_refused("address to, uint8 amount", arguments, EVM_ERR_RANGE,
						 "argument 2 (amount): 300 does not fit uint8");
	arguments[0] = bytes(data, 19);
	check_encode_refused("address to, uint16", arguments, EVM_ERR_TYPE,
						 "argument 1 (to): address has 20 bytes, got 19");
	check_encode_refused("bytes32", arguments, EVM_ERR_TYPE,
						 "argument 1: bytes32 has 32 bytes, got 19");
	check_encode_refused("bool ok", &arguments[1], EVM_ERR_RANGE,
						 "argument 1 (ok): a bool is 0 or 1");
	outer = items(inner, 2);
	check_encode_refused("uint[3] a", &outer, EVM_ERR_MISMATCH,
						 "argument 1 (a): the array has 3 elements, got 2");
	check_encode_refused("(uint a) t", &outer, EVM_ERR_MISMATCH,
						 "argument 1 (t): the tuple has 1 components, got 2");
	check_encode_refused("string s", &hashed, EVM_ERR_TYPE,
						 "argument 1 (s): only the hash of the value is known, not the value");
	evm_word_negate(&inner[1].word, &inner[1].word);
	deep[0] = items(inner, 2);
	deep[1] = items(inner, 2);
	outer = items(deep, 2);
	check_encode_refused("(int8 price, uint248)[] orders", &outer, EVM_ERR_RANGE,
						 "argument 1 (orders)[0].1: 115792089237316195423570985008687907853269984"
						 "665640564039457584007913129639934 does not fit uint248");
	inner[0] = number(128);
	check_encode_refused("(int8 price, int8)[] orders", &outer, EVM_ERR_RANGE,
						 "argument 1 (orders)[0].price: 128 does not fit int8");
}

TEST(calls_need_all_arguments)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	static const char text[] = "transfer(address,uint256)";
	struct evm_bytes fragment = {(const uint8_t *) text, sizeof(text) - 1};
	struct evm_abi_value values[1] = {{0}};
	struct evm_abi abi;
	struct evm_bytes out;
	struct evm_error err;

	CHECK_NUMBER(evm_abi_parse_fragments(arena, &abi, &fragment, 1, NULL, NULL), EVM_OK);
	CHECK_NUMBER(evm_abi_encode_call(arena, &out, &abi.items[0], values, 1, &err),
				 EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "transfer(address,uint256) takes 2 arguments, got 1");
}

static void
check_decode_refused(const char *types, const uint64_t *numbers, size_t count, size_t cut,
					 enum evm_status wanted, const char *message)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	size_t param_count;
	const struct evm_abi_param *params = params_of(arena, types, &param_count);
	struct evm_bytes data = words(arena, numbers, count);
	struct evm_abi_value *values;
	struct evm_error err = {.message = ""};

	CHECK_NUMBER(evm_abi_decode(arena, &values, params, param_count, data.data, data.len - cut,
								&err),
				 wanted);
	CHECK_TEXT(err.message, message);
}

TEST(data_that_lies_names_the_argument)
{
	check_decode_refused("uint8 a, uint8 b", (const uint64_t[]){255, 256}, 2, 0, EVM_ERR_RANGE,
						 "argument 2 (b): 256 does not fit uint8");
	check_decode_refused("int8 a", (const uint64_t[]){128}, 1, 0, EVM_ERR_RANGE,
						 "argument 1 (a): 128 does not fit int8");
	check_decode_refused("bool", (const uint64_t[]){2}, 1, 0, EVM_ERR_RANGE,
						 "argument 1: a bool is 0 or 1");
	check_decode_refused("uint a, uint b", (const uint64_t[]){1, 2}, 2, 1, EVM_ERR_TRUNCATED,
						 "argument 2 (b): the data ends at byte 63, inside the value");
	check_decode_refused("uint a", NULL, 0, 0, EVM_ERR_TRUNCATED,
						 "argument 1 (a): the data ends at byte 0, inside the value");
	check_decode_refused("string s", (const uint64_t[]){64}, 1, 0, EVM_ERR_TRUNCATED,
						 "argument 1 (s): the offset is beyond the end of the data");
	check_decode_refused("string s", (const uint64_t[]){32, 33, 0}, 3, 0, EVM_ERR_TRUNCATED,
						 "argument 1 (s): the data ends at byte 96, inside the value");
	check_decode_refused("uint[] u", (const uint64_t[]){32, UINT64_MAX}, 2, 0, EVM_ERR_TRUNCATED,
						 "argument 1 (u): the data ends at byte 64, inside the value");
	check_decode_refused("(bool[] b)[] u", (const uint64_t[]){32, 1, 32, 32, 2, 1, 7}, 7, 0,
						 EVM_ERR_RANGE, "argument 1 (u)[0].b[1]: a bool is 0 or 1");
}

/* 2^64 + 32 would be a fine offset, and 2^64 + 1 a fine length, if only 64 bits were read. */
TEST(offsets_and_lengths_are_read_in_all_their_bits)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	size_t count;
	const struct evm_abi_param *params = params_of(arena, "bytes b", &count);
	uint8_t data[3 * WORD_BYTES] = {[31] = 32, [63] = 1};
	struct evm_abi_value *values;
	static const size_t high_bytes[] = {23, 15, 7, 0};

	CHECK_NUMBER(evm_abi_decode(arena, &values, params, count, data, sizeof(data), NULL), EVM_OK);
	for (size_t word = 0; word < 2; word++)
	{
		for (size_t i = 0; i < sizeof(high_bytes) / sizeof(high_bytes[0]); i++)
		{
			uint8_t *byte = &data[word * WORD_BYTES + high_bytes[i]];

			*byte = 1;
			CHECK_NUMBER(evm_abi_decode(arena, &values, params, count, data, sizeof(data), NULL),
						 EVM_ERR_TRUNCATED);
			*byte = 0;
		}
	}
}

TEST(addresses_with_dirty_bytes_are_refused)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	size_t count;
	const struct evm_abi_param *params = params_of(arena, "address owner", &count);
	uint8_t data[WORD_BYTES];
	struct evm_abi_value *values;
	struct evm_error err;

	for (size_t i = 0; i < WORD_BYTES; i++)
	{
		memset(data, 0, sizeof(data));
		data[i] = 1;
		CHECK_NUMBER(evm_abi_decode(arena, &values, params, count, data, sizeof(data), &err),
					 i < 12 ? EVM_ERR_RANGE : EVM_OK);
	}
	data[0] = 1;
	CHECK_NUMBER(evm_abi_decode(arena, &values, params, count, data, sizeof(data), &err),
				 EVM_ERR_RANGE);
	CHECK_TEXT(err.message, "argument 1 (owner): an address has 20 bytes, and more are not zero");
}

TEST(an_unpadded_tail_and_trailing_data_are_accepted)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	size_t count;
	const struct evm_abi_param *params = params_of(arena, "string", &count);
	struct evm_bytes data = words(arena, (const uint64_t[]){32, 3, UINT64_MAX, 9}, 4);
	struct evm_abi_value *values;

	for (size_t len = 2 * WORD_BYTES + 3; len <= data.len; len++)
	{
		CHECK_NUMBER(evm_abi_decode(arena, &values, params, count, data.data, len, NULL), EVM_OK);
		CHECK_NUMBER(values[0].bytes.len, 3);
	}
	CHECK_NUMBER(evm_abi_decode(arena, &values, params, count, data.data, 2 * WORD_BYTES + 2, NULL),
				 EVM_ERR_TRUNCATED);
}

TEST(a_full_arena_is_no_crash)
{
	struct evm_arena *big = test_arena(ARENA_BYTES);
	size_t count;
	const struct evm_abi_param *params = params_of(big, "uint[][] u", &count);
	struct evm_bytes data = words(big, (const uint64_t[]){32, 2, 64, 64, 2, 1, 2}, 7);
	struct evm_abi_value *values;
	struct evm_error err;
	size_t limit = 0;
	enum evm_status status;

	do
	{
		struct evm_arena *small = evm_arena_create(&evm_malloc_allocator, limit);

		status = evm_abi_decode(small, &values, params, count, data.data, data.len, &err);
		CHECK(status == EVM_OK || status == EVM_ERR_MEMORY);
		evm_arena_destroy(small);
		limit += 16;
	} while (status != EVM_OK && limit < 10000);
	CHECK_NUMBER(status, EVM_OK);
}

TEST(packed_encoding_refuses_what_solidity_cannot_pack)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_abi_value text = bytes("ab", 2);
	struct evm_abi_value list = items(&text, 1);
	size_t count;
	const struct evm_abi_param *params = params_of(arena, "string[] names", &count);
	struct evm_bytes out;
	struct evm_error err;

	CHECK_NUMBER(evm_abi_encode_packed(arena, &out, params, &list, 1, &err), EVM_ERR_TYPE);
	CHECK_TEXT(err.message,
			   "argument 1 (names): arrays of bytes or string have no packed encoding");
	params = params_of(arena, "(string a) t", &count);
	CHECK_NUMBER(evm_abi_encode_packed(arena, &out, params, &list, 1, &err), EVM_ERR_TYPE);
	CHECK_TEXT(err.message, "argument 1 (t): tuples have no packed encoding");
	params = params_of(arena, "string a", &count);
	CHECK_NUMBER(evm_abi_encode_packed(arena, &out, params, &text, 1, &err), EVM_OK);
	CHECK_NUMBER(out.len, 2);
}

TEST(text_is_utf8_without_nul)
{
	static const struct
	{
		const char *bytes;
		size_t len;
		bool is_text;
	} cases[] = {
		{"", 0, true},
		{"plain ascii that is longer than a block", 39, true},
		{"12345678\0", 9, false},
		{"1234\0"
		 "678",
		 8, false},
		{"\x7f\x01\t\n", 4, true},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x80", 9, true},
		{"\xf4\x8f\xbf\xbf", 4, true},
		{"\xf4\x90\x80\x80", 4, false},
		{"\xed\xa0\x80", 3, false},
		{"\xc0\x80", 2, false},
		{"\xc1\x81", 2, false},
		{"\xe0\x81\x81", 3, false},
		{"\xf0\x80\x81\x81", 4, false},
		{"\xe0\x80\x80", 3, false},
		{"\xc3", 1, false},
		{"\x80", 1, false},
		{"\xff", 1, false},
		{"aaaaaaa\xc3\xa9", 9, true},
		{"aaaaaaaa\xe2\x82", 10, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		if (!CHECK(evm_utf8_is_text((const uint8_t *) cases[i].bytes, cases[i].len) ==
				   cases[i].is_text))
			printf("  case %zu\n", i);
	}
}
