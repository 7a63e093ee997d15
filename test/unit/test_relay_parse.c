/*
 * test_relay_parse.c
 *	  Receipts, headers and fees as nodes write them, and what counts as no answer.
 */
#include "check.h"

#include "evm/json.h"
#include "evm/word.h"
#include "relay/parse.h"

#define HASH "0x1111111111111111111111111111111111111111111111111111111111111111"
#define BLOCK "0x2222222222222222222222222222222222222222222222222222222222222222"
#define ARENA_BYTES (1024 * 1024)

static const struct evm_json *
json(const char *text)
{
	const struct evm_json *root = NULL;

	CHECK_NUMBER(evm_json_parse(test_arena(ARENA_BYTES), &root, text, strlen(text), NULL), EVM_OK);
	return root;
}

static bool
receipt(struct relay_receipt *out, const char *text)
{
	struct evm_hash hash;

	memset(hash.b, 0x11, sizeof(hash.b));
	return relay_parse_receipt(out, json(text), &hash);
}

TEST(receipts_are_read)
{
	struct relay_receipt out;

	CHECK(receipt(&out,
				  "{\"transactionHash\":\"" HASH "\",\"blockHash\":\"" BLOCK "\","
				  "\"blockNumber\":\"0x10\",\"gasUsed\":\"0x5208\",\"status\":\"0x1\","
				  "\"effectiveGasPrice\":\"0x3b9aca00\"}"));
	CHECK_NUMBER(out.block_number, 16);
	CHECK_NUMBER(out.block_hash.b[31], 0x22);
	CHECK_NUMBER(out.gas_used, 21000);
	CHECK(!out.reverted);
	CHECK(out.has_price);
	CHECK(receipt(&out,
				  "{\"transactionHash\":\"" HASH "\",\"blockHash\":\"" BLOCK "\","
				  "\"blockNumber\":\"0x10\",\"gasUsed\":\"0x5208\",\"status\":\"0x0\"}"));
	CHECK(out.reverted);
	CHECK(!out.has_price);
}

TEST(what_is_no_receipt_of_ours_is_no_answer)
{
	struct relay_receipt out;

	CHECK(!receipt(&out, "{}"));
	CHECK(!receipt(&out, "[]"));
	CHECK(!receipt(&out,
				   "{\"transactionHash\":\"" BLOCK "\",\"blockHash\":\"" BLOCK "\","
				   "\"blockNumber\":\"0x10\",\"gasUsed\":\"0x5208\",\"status\":\"0x1\"}"));
	CHECK(!receipt(&out,
				   "{\"transactionHash\":\"" HASH "\",\"blockHash\":null,"
				   "\"blockNumber\":null,\"gasUsed\":\"0x5208\",\"status\":\"0x1\"}"));
	CHECK(
		!receipt(&out,
				 "{\"transactionHash\":\"" HASH "\",\"blockHash\":\"" BLOCK "\","
				 "\"blockNumber\":\"0x8000000000000000\",\"gasUsed\":\"0x1\",\"status\":\"0x1\"}"));
	CHECK(!receipt(&out,
				   "{\"transactionHash\":\"" HASH "\",\"blockHash\":\"" BLOCK "\","
				   "\"blockNumber\":16,\"gasUsed\":\"0x1\",\"status\":\"0x1\"}"));
}

TEST(headers_tell_whether_there_is_a_base_fee)
{
	struct relay_header out;

	CHECK(relay_parse_header(&out,
							 json("{\"number\":\"0x5\",\"hash\":\"" BLOCK "\","
								  "\"baseFeePerGas\":\"0x0\"}")));
	CHECK_NUMBER(out.number, 5);
	CHECK(out.has_base_fee);
	CHECK(relay_parse_header(&out, json("{\"number\":\"0x5\",\"hash\":\"" BLOCK "\"}")));
	CHECK(!out.has_base_fee);
	CHECK(!relay_parse_header(&out, json("null")));
	CHECK(!relay_parse_header(&out, json("{\"number\":\"0x5\",\"hash\":\"0x12\"}")));
}

TEST(fee_histories_end_with_the_next_block)
{
	struct relay_fee_history out;
	uint64_t fee;

	CHECK(relay_parse_fee_history(&out,
								  json("{\"baseFeePerGas\":[\"0x1\",\"0x2\",\"0x3\"],"
									   "\"reward\":[[\"0x7\"],[\"0x8\"]]}")));
	CHECK(evm_word_to_u64(&fee, &out.base_fee));
	CHECK_NUMBER(fee, 3);
	CHECK_NUMBER(out.reward_count, 2);
	CHECK(relay_parse_fee_history(&out, json("{\"baseFeePerGas\":[\"0x1\"],\"reward\":null}")));
	CHECK_NUMBER(out.reward_count, 0);
	CHECK(!relay_parse_fee_history(&out, json("{\"baseFeePerGas\":[]}")));
	CHECK(!relay_parse_fee_history(&out, json("{\"reward\":[[\"0x7\"]]}")));
	CHECK(relay_parse_fee_history(
		&out,
		json("{\"baseFeePerGas\":[\"0x1\"],\"reward\":[[\"0x1\"],[\"0x1\"],[\"0x1\"],"
			 "[\"0x1\"],[\"0x1\"],[\"0x1\"],[\"0x1\"],[\"0x1\"],[\"0x1\"],[\"0x1\"],"
			 "[\"0x1\"],[\"0x1\"],[],[7]]}")));
	CHECK_NUMBER(out.reward_count, RELAY_FEE_BLOCKS);
}

#define OTHER "0x3333333333333333333333333333333333333333333333333333333333333333"
#define FROM "0x00000000000000000000000000000000000000aa"
#define TRANSACTION(hash, from, nonce) \
	"{\"hash\":\"" hash "\",\"from\":\"" from "\",\"nonce\":\"" nonce "\"}"
#define BLOCK_WITH(transactions) \
	"{\"number\":\"0x7\",\"hash\":\"" BLOCK "\",\"transactions\":[" transactions "]}"

/* Of nonce 3 of FROM in block 7, with one payload of ours. */
static enum relay_use
use_in(struct evm_hash *user, const char *text)
{
	struct evm_address from = {{0}};
	struct evm_hash ours;

	from.b[19] = 0xaa;
	memset(ours.b, 0x11, sizeof(ours.b));
	return relay_parse_use(user, json(text), 7, &from, 3, &ours, 1);
}

/* I-5, I-25: who has used a nonce is what its block says. */
TEST(blocks_tell_who_has_used_a_nonce)
{
	struct evm_hash user;

	CHECK_NUMBER(use_in(&user, BLOCK_WITH(TRANSACTION(OTHER, FROM, "0x3"))), RELAY_USE_FOREIGN);
	CHECK_NUMBER(user.b[0], 0x33);
	CHECK_NUMBER(use_in(&user,
						BLOCK_WITH(
							TRANSACTION(OTHER, FROM, "0x2") "," TRANSACTION(HASH, FROM, "0x3"))),
				 RELAY_USE_OURS);
	/* An authorization has used it (EIP-7702), in somebody else's transaction. */
	CHECK_NUMBER(use_in(&user, BLOCK_WITH(TRANSACTION(OTHER, FROM, "0x2"))), RELAY_USE_FOREIGN);
	CHECK_NUMBER(user.b[0], 0);
	CHECK_NUMBER(use_in(&user, BLOCK_WITH("")), RELAY_USE_FOREIGN);
}

TEST(what_is_no_block_with_transactions_tells_nothing)
{
	struct evm_hash user;

	CHECK_NUMBER(use_in(&user, "null"), RELAY_USE_UNKNOWN);
	CHECK_NUMBER(use_in(&user, "{\"number\":\"0x7\",\"hash\":\"" BLOCK "\"}"), RELAY_USE_UNKNOWN);
	CHECK_NUMBER(use_in(&user, "{\"number\":\"0x8\",\"hash\":\"" BLOCK "\",\"transactions\":[]}"),
				 RELAY_USE_UNKNOWN);
	CHECK_NUMBER(use_in(&user, BLOCK_WITH("\"" OTHER "\"")), RELAY_USE_UNKNOWN);
}
