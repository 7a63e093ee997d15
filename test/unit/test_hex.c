/*
 * test_hex.c
 *	  Hexadecimal text: what is refused, and where.
 */
#include "check.h"

#include "evm/hex.h"
#include "evm/word.h"

static enum evm_status
decode(const char *text, struct evm_error *err)
{
	uint8_t out[64];
	size_t len;

	return evm_hex_decode(out, &len, text, strlen(text), err);
}

TEST(hex_decodes_both_cases)
{
	uint8_t out[4];
	size_t len;

	CHECK_NUMBER(evm_hex_decode(out, &len, "0XabCDef09", 10, NULL), EVM_OK);
	CHECK_NUMBER(len, 4);
	CHECK(memcmp(out, "\xab\xcd\xef\x09", 4) == 0);
	CHECK_NUMBER(evm_hex_decode(out, &len, "0x", 2, NULL), EVM_OK);
	CHECK_NUMBER(len, 0);
}

TEST(hex_says_where_it_goes_wrong)
{
	struct evm_error err;

	CHECK_NUMBER(decode("", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(decode("0", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(decode("ab", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "hexadecimal text must begin with \"0x\"");
	CHECK_NUMBER(decode("0xabc", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "an odd number of hexadecimal digits");
	CHECK_NUMBER(decode("0xabcg", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 5);
	CHECK_TEXT(err.message, "\"g\" is not a hexadecimal digit");
	CHECK_NUMBER(decode("0xgb", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 2);
	CHECK_NUMBER(decode("0x\n0", NULL), EVM_ERR_SYNTAX);
}

TEST(quantities_are_bounded_by_256_bits)
{
	static const char max[] = "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
	struct evm_word word;
	struct evm_error err;
	uint64_t small;
	char text[EVM_QUANTITY_TEXT_BYTES];

	CHECK_NUMBER(evm_quantity_decode(&word, max, strlen(max), &err), EVM_OK);
	CHECK_NUMBER(evm_quantity_encode(text, &word), 66);
	CHECK_TEXT(text, max);
	CHECK_NUMBER(evm_quantity_decode_u64(&small, max, strlen(max), &err), EVM_ERR_RANGE);
	CHECK_NUMBER(evm_quantity_decode_u64(&small, "0xffffffffffffffff", 18, &err), EVM_OK);
	CHECK(small == UINT64_MAX);
	CHECK_NUMBER(evm_quantity_decode_u64(&small, "0x10000000000000000", 19, &err), EVM_ERR_RANGE);
	CHECK_NUMBER(evm_quantity_decode(&word, "0x00001", 7, &err), EVM_OK);
	CHECK_NUMBER(evm_quantity_encode(text, &word), 3);
	CHECK_TEXT(text, "0x1");
	CHECK_NUMBER(evm_quantity_encode_u64(text, 0), 3);
	CHECK_TEXT(text, "0x0");
	CHECK_NUMBER(evm_quantity_decode(&word, "0x", 2, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(evm_quantity_decode(&word, "1", 1, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(evm_quantity_decode(&word, "0x-1", 4, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(evm_quantity_decode(&word,
									 "0x00000000000000000000000000000000000000000000000000000000"
									 "000000001",
									 67, &err),
				 EVM_ERR_RANGE);
}

TEST(hex_encoding_stops_at_the_arena_limit)
{
	uint8_t data[64] = {0xab};

	CHECK(evm_hex_encode(test_arena(100), data, sizeof(data)) == NULL);
	CHECK_TEXT(evm_hex_encode(test_arena(100), data, 2), "0xab00");
	CHECK_TEXT(evm_hex_encode(test_arena(100), data, 0), "0x");
}
