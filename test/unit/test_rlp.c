/*
 * test_rlp.c
 *	  RLP: limits of the writer, and what the strict reader says.
 */
#include "check.h"

#include "evm/rlp.h"
#include "evm/word.h"

#define VALIDATE(bytes) evm_rlp_validate((const uint8_t *) (bytes), sizeof(bytes) - 1, &err)

TEST(rlp_refuses_what_is_not_canonical)
{
	struct evm_error err;

	CHECK_NUMBER(evm_rlp_validate(NULL, 0, &err), EVM_ERR_TRUNCATED);
	CHECK_NUMBER(VALIDATE("\x81\x7f"), EVM_ERR_MALFORMED);
	CHECK_TEXT(err.message, "an RLP byte below 0x80 has a prefix");
	CHECK_NUMBER(VALIDATE("\xb8\x37"), EVM_ERR_MALFORMED);
	CHECK_TEXT(err.message, "an RLP length is not minimal");
	CHECK_NUMBER(VALIDATE("\xb9\x00\x38"), EVM_ERR_MALFORMED);
	CHECK_NUMBER(VALIDATE("\xb9\x01"), EVM_ERR_TRUNCATED);
	CHECK_NUMBER(VALIDATE("\xb8"), EVM_ERR_TRUNCATED);
	CHECK_NUMBER(VALIDATE("\x82\x01"), EVM_ERR_TRUNCATED);
	CHECK_TEXT(err.message, "an RLP item of 2 bytes has only 1 bytes of data");
	CHECK_NUMBER(VALIDATE("\x01\x02"), EVM_ERR_MALFORMED);
	CHECK_TEXT(err.message, "1 bytes follow the RLP item");
	CHECK_NUMBER(VALIDATE("\xbf\xff\xff\xff\xff\xff\xff\xff\xff"), EVM_ERR_TRUNCATED);
	CHECK_NUMBER(VALIDATE("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), EVM_ERR_TRUNCATED);
	CHECK_NUMBER(VALIDATE("\xff\x80\x00\x00\x00\x00\x00\x00\x00\x01"), EVM_ERR_TRUNCATED);
}

TEST(rlp_says_where_a_nested_item_is_wrong)
{
	struct evm_error err;

	CHECK_NUMBER(VALIDATE("\xc4\x01\xc2\x81\x05"), EVM_ERR_MALFORMED);
	CHECK_NUMBER(err.position, 3);
	CHECK_NUMBER(evm_rlp_validate((const uint8_t *) "\xc2\x81\x05", 3, NULL), EVM_ERR_MALFORMED);
}

TEST(rlp_whole_wants_one_item_of_a_kind)
{
	struct evm_rlp_item item;
	struct evm_error err;

	CHECK_NUMBER(evm_rlp_whole(&item, true, (const uint8_t *) "\xc0", 1, &err), EVM_OK);
	CHECK_NUMBER(evm_rlp_whole(&item, false, (const uint8_t *) "\xc0", 1, &err), EVM_ERR_TYPE);
	CHECK_TEXT(err.message, "RLP has a list where a string is wanted");
	CHECK_NUMBER(evm_rlp_whole(&item, true, (const uint8_t *) "\x05", 1, &err), EVM_ERR_TYPE);
	CHECK_NUMBER(evm_rlp_whole(&item, true, (const uint8_t *) "\xc0\x05", 2, &err),
				 EVM_ERR_MALFORMED);
	CHECK_NUMBER(evm_rlp_whole(&item, true, (const uint8_t *) "\xc1", 1, &err), EVM_ERR_TRUNCATED);
}

static void
nest(struct evm_rlp_writer *writer, struct evm_arena *arena, unsigned depth)
{
	evm_rlp_init(writer, arena);
	for (unsigned i = 0; i < depth; i++)
		evm_rlp_open_list(writer);
	for (unsigned i = 0; i < depth; i++)
		evm_rlp_close_list(writer);
}

TEST(rlp_depth_is_bounded_on_both_sides)
{
	struct evm_rlp_writer writer;
	struct evm_bytes out;
	struct evm_error err;
	uint8_t deep[40];

	nest(&writer, test_arena(10000), EVM_RLP_MAX_DEPTH);
	CHECK_NUMBER(evm_rlp_finish(&writer, &out), EVM_OK);
	CHECK_NUMBER(evm_rlp_validate(out.data, out.len, &err), EVM_OK);
	nest(&writer, test_arena(10000), EVM_RLP_MAX_DEPTH + 1);
	CHECK_NUMBER(evm_rlp_finish(&writer, &out), EVM_ERR_LIMIT);
	CHECK(out.data == NULL && out.len == 0);

	for (unsigned i = 0; i <= EVM_RLP_MAX_DEPTH; i++)
		deep[i] = (uint8_t) (0xc0 + EVM_RLP_MAX_DEPTH - i);
	CHECK_NUMBER(evm_rlp_validate(deep, EVM_RLP_MAX_DEPTH + 1, &err), EVM_ERR_LIMIT);
	CHECK_TEXT(err.message, "RLP lists are nested deeper than 32 levels");
}

TEST(rlp_writer_failures_stick)
{
	struct evm_rlp_writer writer;
	struct evm_bytes out;
	uint8_t data[1000] = {1};

	evm_rlp_init(&writer, test_arena(500));
	evm_rlp_bytes(&writer, data, sizeof(data));
	evm_rlp_u64(&writer, 1);
	evm_rlp_open_list(&writer);
	evm_rlp_close_list(&writer);
	CHECK_NUMBER(evm_rlp_finish(&writer, &out), EVM_ERR_MEMORY);

	evm_rlp_init(&writer, test_arena(500));
	evm_rlp_close_list(&writer);
	CHECK_NUMBER(evm_rlp_finish(&writer, &out), EVM_ERR_MALFORMED);
	evm_rlp_init(&writer, test_arena(500));
	evm_rlp_open_list(&writer);
	CHECK_NUMBER(evm_rlp_finish(&writer, &out), EVM_ERR_MALFORMED);

	/* The prefix of a list that fills the buffer does not fit. */
	evm_rlp_init(&writer, test_arena(256));
	evm_rlp_open_list(&writer);
	evm_rlp_raw(&writer, data, 256);
	evm_rlp_close_list(&writer);
	CHECK_NUMBER(evm_rlp_finish(&writer, &out), EVM_ERR_MEMORY);
	evm_rlp_init(&writer, test_arena(256));
	evm_rlp_raw(&writer, data, SIZE_MAX);
	CHECK_NUMBER(evm_rlp_finish(&writer, &out), EVM_ERR_MEMORY);
}

TEST(rlp_integers_have_no_leading_zeros)
{
	struct evm_rlp_item item = {false, {(const uint8_t *) "\x00\x01", 2}};
	uint8_t wide[33] = {1};
	struct evm_word word;
	struct evm_error err;
	uint64_t small;

	CHECK_NUMBER(evm_rlp_item_word(&word, &item, &err), EVM_ERR_MALFORMED);
	CHECK_TEXT(err.message, "an RLP integer has leading zeros");
	item.payload.len = 1;
	CHECK_NUMBER(evm_rlp_item_u64(&small, &item, &err), EVM_ERR_MALFORMED);
	item.payload.len = 0;
	CHECK_NUMBER(evm_rlp_item_u64(&small, &item, &err), EVM_OK);
	CHECK_NUMBER(small, 0);
	item.payload.data = wide;
	item.payload.len = 33;
	CHECK_NUMBER(evm_rlp_item_word(&word, &item, &err), EVM_ERR_RANGE);
	item.payload.len = 32;
	CHECK_NUMBER(evm_rlp_item_word(&word, &item, &err), EVM_OK);
	item.payload.len = 9;
	CHECK_NUMBER(evm_rlp_item_u64(&small, &item, &err), EVM_ERR_RANGE);
	item.payload.len = 8;
	CHECK_NUMBER(evm_rlp_item_u64(&small, &item, &err), EVM_OK);
	CHECK(small == UINT64_C(1) << 56);
	item.is_list = true;
	CHECK_NUMBER(evm_rlp_item_word(&word, &item, &err), EVM_ERR_TYPE);
}
