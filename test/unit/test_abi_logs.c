/*
 * test_abi_logs.c
 *	  Logs against events, and what reverts say.
 */
#include "check.h"

#include "evm/abi.h"
#include "evm/hex.h"
#include "evm/word.h"

#define ARENA_BYTES ((size_t) 16 * 1024 * 1024)
#define WORD_BYTES 32
#define FRAGMENTS_MAX 8
#define DATA_MAX 1024

/* Empty at each call: what the last check made is gone. */
static struct evm_arena *
fresh_arena(void)
{
	static struct evm_arena *arena;

	if (arena == NULL)
		arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	CHECK(arena != NULL);
	evm_arena_reset(arena);
	return arena;
}

static struct evm_abi
abi_of(struct evm_arena *arena, const char *const *texts)
{
	struct evm_bytes fragments[FRAGMENTS_MAX];
	struct evm_abi abi = {NULL, 0};
	size_t count = 0;

	for (; texts[count] != NULL; count++)
		fragments[count] = (struct evm_bytes){(const uint8_t *) texts[count], strlen(texts[count])};
	CHECK_NUMBER(evm_abi_parse_fragments(arena, &abi, fragments, count, NULL, NULL), EVM_OK);
	return abi;
}

static const char *const transfers[] =
	{"event Transfer(address indexed from, address indexed to, uint256 value)",
	 "event Transfer(address indexed from, address indexed to, uint256 indexed id)",
	 "event Note(string indexed title, uint8[2] indexed pair, string body)",
	 "event Hidden(uint256 indexed a, uint256 indexed b) anonymous", NULL};

TEST(topics_choose_the_event)
{
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi = abi_of(arena, transfers);
	const struct evm_abi_item *found;
	struct evm_hash topics[4] = {abi.items[0].hash};
	struct evm_error err;

	CHECK_NUMBER(evm_abi_find_log(&found, &abi, topics, 3, &err), EVM_OK);
	CHECK_NUMBER(found - abi.items, 0);
	CHECK_NUMBER(evm_abi_find_log(&found, &abi, topics, 4, &err), EVM_OK);
	CHECK_NUMBER(found - abi.items, 1);
	CHECK_NUMBER(evm_abi_find_log(&found, &abi, topics, 2, &err), EVM_OK);
	CHECK_NUMBER(found - abi.items, 3);
	CHECK_NUMBER(evm_abi_find_log(&found, &abi, topics, 1, &err), EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "no event of the ABI has topic0 and the 1 topics of the log");
	CHECK_NUMBER(evm_abi_find_log(&found, &abi, topics, 0, &err), EVM_ERR_MISMATCH);
}

TEST(a_log_of_another_event_is_a_mismatch)
{
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi = abi_of(arena, transfers);
	struct evm_hash topics[4] = {abi.items[0].hash};
	struct evm_abi_value *values;
	uint8_t data[WORD_BYTES] = {0};
	struct evm_error err;

	CHECK_NUMBER(evm_abi_decode_log(arena, &values, &abi.items[0], topics, 4, data, 0, &err),
				 EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message,
			   "the log has 4 topics, and Transfer(address,address,uint256) with its "
			   "indexed arguments has 3");
	topics[0].b[0] ^= 1;
	CHECK_NUMBER(evm_abi_decode_log(arena, &values, &abi.items[0], topics, 3, data, WORD_BYTES,
									&err),
				 EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message,
			   "the log is not one of Transfer(address,address,uint256): another "
			   "topic0");
	CHECK_NUMBER(evm_abi_decode_log(arena, &values, &abi.items[0], topics, 0, data, 0, &err),
				 EVM_ERR_MISMATCH);
}

TEST(a_log_is_decoded_in_the_order_of_its_parameters)
{
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi = abi_of(arena, transfers);
	struct evm_hash topics[3] = {abi.items[0].hash};
	struct evm_abi_value *values;
	uint8_t data[WORD_BYTES] = {0};
	uint64_t amount;
	struct evm_error err;

	topics[1].b[31] = 1;
	topics[2].b[31] = 2;
	data[31] = 77;
	CHECK_NUMBER(evm_abi_decode_log(arena, &values, &abi.items[0], topics, 3, data, WORD_BYTES,
									&err),
				 EVM_OK);
	CHECK(values[0].bytes.data == topics[1].b + 12 && values[0].bytes.len == 20);
	CHECK(values[1].bytes.data == topics[2].b + 12);
	CHECK(evm_word_to_u64(&amount, &values[2].word) && amount == 77);
	CHECK_NUMBER(evm_abi_decode_log(arena, &values, &abi.items[0], topics, 3, data, WORD_BYTES - 1,
									&err),
				 EVM_ERR_TRUNCATED);
	CHECK_TEXT(err.message, "argument 3 (value): the data ends at byte 31, inside the value");
	topics[2].b[0] = 1;
	CHECK_NUMBER(evm_abi_decode_log(arena, &values, &abi.items[0], topics, 3, data, WORD_BYTES,
									&err),
				 EVM_ERR_RANGE);
	CHECK_TEXT(err.message, "argument 2 (to): an address has 20 bytes, and more are not zero");
}

TEST(indexed_values_of_reference_types_are_hashes)
{
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi = abi_of(arena, transfers);
	struct evm_hash topics[3] = {abi.items[2].hash};
	uint8_t data[2 * WORD_BYTES] = {0};
	struct evm_abi_value *values;
	struct evm_hash again;

	data[31] = 32;
	CHECK_NUMBER(evm_abi_decode_log(arena, &values, &abi.items[2], topics, 3, data, sizeof(data),
									NULL),
				 EVM_OK);
	CHECK(values[0].hashed && values[0].bytes.data == topics[1].b && values[0].bytes.len == 32);
	CHECK(values[1].hashed && values[1].bytes.data == topics[2].b);
	CHECK(!values[2].hashed && values[2].bytes.len == 0);
	CHECK_NUMBER(evm_abi_encode_topic(arena, &again, abi.items[2].inputs[1].type, &values[1], NULL),
				 EVM_OK);
	CHECK(memcmp(again.b, topics[2].b, sizeof(again.b)) == 0);
}

/* ---- reverts ------------------------------------------------------------------ */

static void
check_revert(const char *const *fragments, const char *hex, enum evm_revert_kind kind,
			 const char *text)
{
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi = fragments == NULL ? (struct evm_abi){NULL, 0} : abi_of(arena, fragments);
	uint8_t data[DATA_MAX];
	size_t len;
	struct evm_revert revert;

	CHECK_NUMBER(evm_hex_decode(data, &len, hex, strlen(hex), NULL), EVM_OK);
	CHECK_NUMBER(evm_abi_decode_revert(arena, &revert, fragments == NULL ? NULL : &abi, data, len),
				 EVM_OK);
	CHECK_NUMBER(revert.kind, kind);
	CHECK_TEXT(revert.text, text);
}

#define ZEROS_31 "00000000000000000000000000000000000000000000000000000000000000"
#define PANIC "0x4e487b71" ZEROS_31

TEST(reverts_say_why)
{
	check_revert(NULL, "0x", EVM_REVERT_EMPTY, "reverted without a reason");
	check_revert(NULL, PANIC "11", EVM_REVERT_PANIC,
				 "panic 0x11: arithmetic overflow or underflow");
	check_revert(NULL, PANIC "01", EVM_REVERT_PANIC, "panic 0x01: assertion failed");
	check_revert(NULL, PANIC "00", EVM_REVERT_PANIC, "panic 0x00: generic compiler panic");
	check_revert(NULL, PANIC "99", EVM_REVERT_PANIC, "panic 0x99");
	check_revert(NULL,
				 "0x08c379a0" ZEROS_31 "20" ZEROS_31
				 "02"
				 "6f6b",
				 EVM_REVERT_ERROR, "ok");
	check_revert(NULL, "0xdeadbeef", EVM_REVERT_UNKNOWN, "0xdeadbeef");
	check_revert(NULL, "0xde", EVM_REVERT_UNKNOWN, "0xde");
	check_revert(NULL, "0x08c379a0", EVM_REVERT_UNKNOWN, "0x08c379a0");
	check_revert(NULL,
				 "0x08c379a0" ZEROS_31 "20" ZEROS_31
				 "03"
				 "6f6b",
				 EVM_REVERT_UNKNOWN,
				 "0x08c379a0" ZEROS_31
				 "20"
				 "00000000000000000000000000000000000000000000000000000000"
				 "\xe2\x80\xa6");
}

/* A line feed, an escape, DEL, an override of the direction, and a byte that is no UTF-8. */
TEST(reverts_cannot_forge_a_line)
{
	check_revert(NULL,
				 "0x08c379a0" ZEROS_31 "20" ZEROS_31
				 "0b"
				 "610a1b7f"
				 "e280ae"
				 "ff"
				 "c3a9"
				 "62",
				 EVM_REVERT_ERROR,
				 "a\\u{a}\\u{1b}\\u{7f}\\u{202e}\\xff\xc3\xa9"
				 "b");
	check_revert(NULL,
				 "0x08c379a0" ZEROS_31 "20" ZEROS_31
				 "01"
				 "00",
				 EVM_REVERT_ERROR, "\\u{0}");
}

TEST(errors_of_the_abi_are_written_with_their_arguments)
{
	static const char *const fragments[] =
		{"error InsufficientBalance(uint256 available, uint256 required)",
		 "error Bad(address who, (bool, bytes2 code)[] list, string)", NULL};

	check_revert(fragments, "0xcf479181" ZEROS_31 "05" ZEROS_31 "07", EVM_REVERT_CUSTOM,
				 "InsufficientBalance(available: 5, required: 7)");
	check_revert(fragments, "0xcf479181" ZEROS_31 "05", EVM_REVERT_UNKNOWN,
				 "0xcf479181" ZEROS_31 "05");
}

/* The arguments of the error as its own encoder writes them, behind the selector. */
static void
check_custom(const char *fragment, const struct evm_abi_value *values, const char *text)
{
	struct evm_arena *arena = fresh_arena();
	const char *const fragments[] = {fragment, NULL};
	struct evm_abi abi = abi_of(arena, fragments);
	struct evm_bytes data;
	struct evm_revert revert;

	CHECK_NUMBER(evm_abi_encode_call(arena, &data, &abi.items[0], values, abi.items[0].input_count,
									 NULL),
				 EVM_OK);
	CHECK_NUMBER(evm_abi_decode_revert(arena, &revert, &abi, data.data, data.len), EVM_OK);
	CHECK_NUMBER(revert.kind, EVM_REVERT_CUSTOM);
	CHECK(revert.error == &abi.items[0]);
	CHECK_TEXT(revert.text, text);
}

TEST(arguments_of_every_type_are_written)
{
	static const uint8_t address[20] = {0x5a, 0xae, 0xb6, 0x05, 0x3f, 0x3e, 0x94, 0xc9, 0xb9, 0xa0,
										0x9f, 0x33, 0x66, 0x94, 0x35, 0xe7, 0xef, 0x1b, 0xea, 0xed};
	static const uint8_t long_bytes[65];
	struct evm_abi_value pairs[2][2] = {
		{{.word = evm_word_from_u64(1)}, {.bytes = {address, 2}}},
		{{.word = evm_word_from_u64(0)}, {.bytes = {address + 2, 2}}},
	};
	struct evm_abi_value list[2] = {
		{.items = pairs[0], .item_count = 2},
		{.items = pairs[1], .item_count = 2},
	};
	struct evm_abi_value values[4] = {
		{.bytes = {address, 20}},
		{.items = list, .item_count = 2},
		{.bytes = {(const uint8_t *) "a\"\n", 3}},
		{.word = evm_word_from_u64(3)},
	};

	evm_word_negate(&values[3].word, &values[3].word);
	check_custom("error Bad(address who, (bool, bytes2 code)[] list, string, int8 delta)", values,
				 "Bad(who: 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed, "
				 "list: [(true, code: 0x5aae), (false, code: 0xb605)], "
				 "\"a\"\\u{a}\", delta: -3)");
	values[0] = (struct evm_abi_value){.bytes = {address, 20}};
	values[1] = (struct evm_abi_value){.bytes = {long_bytes, sizeof(long_bytes)}};
	values[2] = (struct evm_abi_value){.item_count = 0};
	check_custom("error Raw(address, bytes, uint256[])", values,
				 "Raw(0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed, "
				 "0x" ZEROS_31 "00" ZEROS_31
				 "00"
				 "\xe2\x80\xa6, [])");
}

/* A long reason is cut, and says so. */
TEST(reasons_are_bounded)
{
	struct evm_arena *arena = fresh_arena();
	enum
	{
		REASON_BYTES = 5000,
		HEAD_BYTES = 4 + 2 * WORD_BYTES
	};
	uint8_t *data = evm_arena_zalloc(arena, HEAD_BYTES + REASON_BYTES, 1);
	struct evm_revert revert;
	static const uint8_t selector[] = {0x08, 0xc3, 0x79, 0xa0};

	memcpy(data, selector, sizeof(selector));
	data[4 + WORD_BYTES - 1] = WORD_BYTES;
	data[HEAD_BYTES - 2] = REASON_BYTES >> 8;
	data[HEAD_BYTES - 1] = REASON_BYTES & 0xff;
	memset(data + HEAD_BYTES, 'x', REASON_BYTES);
	CHECK_NUMBER(evm_abi_decode_revert(arena, &revert, NULL, data, HEAD_BYTES + REASON_BYTES),
				 EVM_OK);
	CHECK_NUMBER(revert.args[0].bytes.len, REASON_BYTES);
	CHECK_NUMBER(strlen(revert.text), 1024 + strlen("\xe2\x80\xa6"));
	CHECK_TEXT(revert.text + 1024, "\xe2\x80\xa6");
}

/* Solidity documentation, "Panic via assert and Error via require". */
TEST(panic_codes_have_their_meaning)
{
	static const struct
	{
		uint64_t code;
		const char *meaning;
	} panics[] = {{0x00, "generic compiler panic"},
				  {0x01, "assertion failed"},
				  {0x11, "arithmetic overflow or underflow"},
				  {0x12, "division or modulo by zero"},
				  {0x21, "invalid value for an enum"},
				  {0x22, "incorrectly encoded storage byte array"},
				  {0x31, "pop of an empty array"},
				  {0x32, "array index out of bounds"},
				  {0x41, "out of memory"},
				  {0x51, "call of an uninitialized function"}};
	size_t known = 0;

	for (size_t i = 0; i < sizeof(panics) / sizeof(panics[0]); i++)
		CHECK_TEXT(evm_abi_panic_text(panics[i].code), panics[i].meaning);
	for (uint64_t code = 0; code < 0x1000; code++)
		known += evm_abi_panic_text(code) != NULL;
	CHECK_NUMBER(known, sizeof(panics) / sizeof(panics[0]));
}
