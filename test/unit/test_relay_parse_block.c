/*
 * test_relay_parse_block.c
 *	  The transactions of one account in a block, and what is no block.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/tx.h"
#include "evm/word.h"
#include "relay/parse_block.h"

#define ARENA_BYTES (1024 * 1024)
#define TEXT_BYTES 8192

static const struct evm_key key = {{[31] = 1}};

/* A transaction that the key has signed, as a node writes it; its raw bytes beside it. */
static const char *
signed_json(struct evm_arena *arena, struct evm_bytes *raw, enum evm_tx_type type, uint64_t nonce)
{
	static const uint8_t data[] = {0xde, 0xad};
	char *text = evm_arena_alloc(arena, TEXT_BYTES);
	struct evm_address from;
	struct evm_hash hash;
	struct evm_tx tx;

	memset(&tx, 0, sizeof(tx));
	tx.type = type;
	tx.has_chain_id = true;
	tx.chain_id = 31337;
	tx.nonce = nonce;
	tx.gas_price = tx.max_fee_per_gas = evm_word_from_u64(2000);
	tx.max_priority_fee_per_gas = evm_word_from_u64(5);
	tx.gas_limit = evm_word_from_u64(21000);
	tx.to.b[19] = 0x42;
	tx.value = evm_word_from_u64(7);
	tx.data.data = data;
	tx.data.len = sizeof(data);
	CHECK_NUMBER(evm_tx_sign(arena, raw, &hash, &tx, &key, NULL), EVM_OK);
	CHECK_NUMBER(evm_key_address(&from, &key), EVM_OK);
	snprintf(text, TEXT_BYTES,
			 "{\"type\":\"0x%d\",\"nonce\":\"0x%llx\",\"hash\":\"%s\",\"from\":\"%s\","
			 "\"to\":\"0x0000000000000000000000000000000000000042\",\"value\":\"0x7\","
			 "\"input\":\"0xdead\",\"gas\":\"0x5208\",\"gasPrice\":\"0x7d0\",%s"
			 "\"chainId\":\"0x7a69\",\"v\":\"0x%x\",\"r\":\"%s\",\"s\":\"%s\"}",
			 (int) type, (unsigned long long) nonce, evm_hex_encode(arena, hash.b, 32),
			 evm_hex_encode(arena, from.b, 20),
			 type == EVM_TX_DYNAMIC_FEE
				 ? "\"maxFeePerGas\":\"0x7d0\",\"maxPriorityFeePerGas\":\"0x5\","
				   "\"accessList\":[],"
				 : "",
			 type == EVM_TX_LEGACY ? 35 + 2 * 31337 + tx.signature.y_parity : tx.signature.y_parity,
			 evm_hex_encode(arena, tx.signature.r, 32), evm_hex_encode(arena, tx.signature.s, 32));
	return text;
}

static bool
parse(struct evm_arena *arena, struct relay_block_transaction **out, int *count, const char *number,
	  const char *transactions)
{
	const struct evm_json *block = NULL;
	char *text = evm_arena_alloc(arena, 4 * TEXT_BYTES);
	struct evm_address from;

	snprintf(text, 4 * TEXT_BYTES, "{\"number\":\"%s\",\"transactions\":%s}", number, transactions);
	CHECK_NUMBER(evm_json_parse(arena, &block, text, strlen(text), NULL), EVM_OK);
	CHECK_NUMBER(evm_key_address(&from, &key), EVM_OK);
	return relay_parse_block(arena, out, count, block, 16, &from);
}

static char *
list(struct evm_arena *arena, const char *first, const char *second)
{
	char *text = evm_arena_alloc(arena, 3 * TEXT_BYTES);

	snprintf(text, 3 * TEXT_BYTES, "[%s,%s]", first, second);
	return text;
}

TEST(bytes_of_both_types_are_made_again)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct relay_block_transaction *found;
	struct evm_bytes raw[2];
	int count;
	int i;

	CHECK(parse(arena, &found, &count, "0x10",
				list(arena, signed_json(arena, &raw[0], EVM_TX_LEGACY, 3),
					 signed_json(arena, &raw[1], EVM_TX_DYNAMIC_FEE, 4))));
	CHECK_NUMBER(count, 2);
	for (i = 0; i < count; i++)
	{
		uint64_t value = 0;

		CHECK_NUMBER(found[i].nonce, 3 + i);
		CHECK_NUMBER(found[i].dynamic, i == 1);
		CHECK_NUMBER(found[i].gas_limit, 21000);
		CHECK(!found[i].act.creates);
		CHECK_NUMBER(found[i].act.recipient.b[19], 0x42);
		CHECK(evm_word_to_u64(&value, &found[i].act.value));
		CHECK_NUMBER(value, 7);
		CHECK_NUMBER(found[i].act.data.len, 2);
		CHECK_NUMBER(found[i].raw.len, raw[i].len);
		CHECK(memcmp(found[i].raw.data, raw[i].data, raw[i].len) == 0);
	}
}

/* Replaces one text of a transaction by another of the same length. */
static char *
forged(struct evm_arena *arena, const char *json, const char *what, const char *by)
{
	char *copy = evm_arena_strndup(arena, json, strlen(json));
	char *place = strstr(copy, what);

	CHECK(place != NULL);
	memcpy(place, by, strlen(by));
	return copy;
}

TEST(other_fields_than_were_signed_have_no_bytes)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct relay_block_transaction *found;
	struct evm_bytes raw;
	const char *json = signed_json(arena, &raw, EVM_TX_DYNAMIC_FEE, 4);
	int count;

	json = forged(arena, json, "\"value\":\"0x7\"", "\"value\":\"0x8\"");
	CHECK(parse(arena, &found, &count, "0x10", list(arena, json, json)));
	CHECK_NUMBER(count, 2);
	CHECK_NUMBER(found[0].raw.len, 0);
	/* A type that the relayer does not sign. */
	json = forged(arena, signed_json(arena, &raw, EVM_TX_DYNAMIC_FEE, 4), "\"0x2\"", "\"0x4\"");
	CHECK(parse(arena, &found, &count, "0x10", list(arena, json, json)));
	CHECK_NUMBER(found[0].raw.len, 0);
}

TEST(what_others_have_sent_is_left_out)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct relay_block_transaction *found;
	struct evm_bytes raw;
	int count;

	CHECK(parse(arena, &found, &count, "0x10",
				list(arena, "{\"from\":\"0x00000000000000000000000000000000000000ff\"}",
					 signed_json(arena, &raw, EVM_TX_LEGACY, 9))));
	CHECK_NUMBER(count, 1);
	CHECK_NUMBER(found[0].nonce, 9);
	CHECK(parse(arena, &found, &count, "0x10", "[]"));
	CHECK_NUMBER(count, 0);
}

TEST(what_is_not_that_block_counts_for_nothing)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct relay_block_transaction *found;
	struct evm_bytes raw;
	const char *json = signed_json(arena, &raw, EVM_TX_LEGACY, 3);
	int count;

	CHECK(!parse(arena, &found, &count, "0x11", "[]"));
	CHECK(!parse(arena, &found, &count, "0x10", "null"));
	/* Hashes in place of transactions. */
	CHECK(!parse(arena, &found, &count, "0x10", "[\"0x11\"]"));
	CHECK(!parse(arena, &found, &count, "0x10", "[{}]"));
	CHECK(!parse(arena, &found, &count, "0x10",
				 list(arena, forged(arena, json, "\"nonce\"", "\"n0nce\""), json)));
	CHECK(!parse(arena, &found, &count, "0x10",
				 list(arena, forged(arena, json, "0xdead", "0xdeag"), json)));
}

/* The bytes hash to what the node says, and another account has signed them. */
TEST(a_transaction_of_another_signer_is_a_lie)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct relay_block_transaction *found;
	struct evm_bytes raw;
	const char *json = signed_json(arena, &raw, EVM_TX_LEGACY, 3);
	const struct evm_json *block = NULL;
	char *text = evm_arena_alloc(arena, 2 * TEXT_BYTES);
	struct evm_address liar;
	int count;

	memset(&liar, 0x77, sizeof(liar));
	snprintf(text, 2 * TEXT_BYTES, "{\"number\":\"0x10\",\"transactions\":[%s]}",
			 forged(arena, json, strstr(json, "\"from\":\""),
					"\"from\":\"0x7777777777777777777777777777777777777777"));
	CHECK_NUMBER(evm_json_parse(arena, &block, text, strlen(text), NULL), EVM_OK);
	CHECK(!relay_parse_block(arena, &found, &count, block, 16, &liar));
}

static bool
place_of(struct evm_arena *arena, struct relay_place *out, const char *text,
		 const struct evm_hash *hash)
{
	const struct evm_json *json = NULL;

	CHECK_NUMBER(evm_json_parse(arena, &json, text, strlen(text), NULL), EVM_OK);
	return relay_parse_place(out, json, hash);
}

/* eth_getTransactionByHash: where it is, when it is the one that was asked for. */
TEST(a_transaction_by_hash_has_its_place)
{
#define HASH_AND_FROM \
	"\"hash\":\"0x1100000000000000000000000000000000000000000000000000000000000000\"," \
	"\"from\":\"0x0000000000000000000000000000000000000042\""
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_hash hash = {{0x11}};
	struct evm_hash other = {{0x12}};
	struct relay_place place;

	CHECK(place_of(arena, &place, "{" HASH_AND_FROM ",\"blockNumber\":\"0x10\"}", &hash));
	CHECK_NUMBER(place.block_number, 16);
	CHECK_NUMBER(place.from.b[19], 0x42);
	CHECK(place_of(arena, &place, "{" HASH_AND_FROM ",\"blockNumber\":null}", &hash));
	CHECK_NUMBER(place.block_number, -1);
	CHECK(!place_of(arena, &place, "{" HASH_AND_FROM ",\"blockNumber\":\"0x10\"}", &other));
	CHECK(!place_of(arena, &place, "{" HASH_AND_FROM ",\"blockNumber\":\"x\"}", &hash));
	CHECK(!place_of(arena, &place, "{" HASH_AND_FROM ",\"blockNumber\":\"0xffffffffffffffff\"}",
					&hash));
	CHECK(!place_of(arena, &place, "null", &hash));
	CHECK(!place_of(arena, &place, "{}", &hash));
#undef HASH_AND_FROM
}
