/*
 * test_tx_json.c
 *	  Transactions as JSON: what is read, and what is refused rather than guessed.
 */
#include "check.h"

#include <stdio.h>

#include "evm/tx.h"
#include "evm/word.h"

#define ARENA_BYTES (1024 * 1024)
#define TO "\"to\":\"0x3535353535353535353535353535353535353535\""
#define PLAIN "\"nonce\":9,\"gas_limit\":21000," TO
#define DYNAMIC PLAIN ",\"chain_id\":1,\"max_fee_per_gas\":30,\"max_priority_fee_per_gas\":2"

static struct evm_tx tx;
static bool is_signed;

static enum evm_status
parse(const char *text, struct evm_error *err)
{
	static struct evm_arena *arena;
	const struct evm_json *node;

	if (arena == NULL)
		arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	evm_arena_reset(arena);
	CHECK_NUMBER(evm_json_parse(arena, &node, text, strlen(text), err), EVM_OK);
	return evm_tx_from_json(arena, &tx, &is_signed, node, err);
}

static void
check_type(const char *text, enum evm_tx_type want)
{
	struct evm_error err = {.message = ""};

	CHECK_NUMBER(parse(text, &err), EVM_OK);
	CHECK_TEXT(err.message, "");
	CHECK_NUMBER(tx.type, want);
}

static void
check_refused(const char *text, enum evm_status want, const char *message)
{
	struct evm_error err = {.message = ""};

	CHECK_NUMBER(parse(text, &err), want);
	CHECK_TEXT(err.message, message);
}

TEST(tx_json_types_follow_from_members)
{
	check_type("{" PLAIN ",\"gas_price\":1}", EVM_TX_LEGACY);
	CHECK(!tx.has_chain_id && !is_signed && !tx.creates);
	check_type("{" PLAIN ",\"gas_price\":1,\"chain_id\":1,\"access_list\":[]}", EVM_TX_ACCESS_LIST);
	check_type("{" DYNAMIC "}", EVM_TX_DYNAMIC_FEE);
	check_type("{" DYNAMIC
			   ",\"max_fee_per_blob_gas\":1,\"blob_hashes\":[\"0x01"
			   "00000000000000000000000000000000000000000000000000000000000000\"]}",
			   EVM_TX_BLOB);
	CHECK_NUMBER(tx.blob_hash_count, 1);
	check_type("{" DYNAMIC
			   ",\"authorizations\":[{\"chain_id\":0,\"address\":"
			   "\"0x3535353535353535353535353535353535353535\",\"nonce\":1,\"y_parity\":255,"
			   "\"r\":\"0x1\",\"s\":\"2\",\"authority\":null}]}",
			   EVM_TX_SET_CODE);
	CHECK_NUMBER(tx.authorization_count, 1);
	CHECK_NUMBER(tx.authorizations[0].signature.y_parity, 255);
	CHECK_NUMBER(tx.authorizations[0].signature.s[31], 2);
	check_type("{\"type\":\"0x0\"," PLAIN ",\"gas_price\":1,\"access_list\":null}", EVM_TX_LEGACY);
}

TEST(tx_json_integers_are_exact)
{
	check_type("{" DYNAMIC
			   ",\"value\":1157920892373161954235709850086879078532699846656405640394575"
			   "84007913129639935,\"data\":\"0x0102\"}",
			   EVM_TX_DYNAMIC_FEE);
	CHECK_NUMBER(evm_word_bits(&tx.value), 256);
	CHECK_NUMBER(tx.data.len, 2);
	check_refused("{" DYNAMIC ",\"value\":1e18}", EVM_ERR_RANGE,
				  "transaction: value is not an integer of at most 256 bits");
	check_refused("{" DYNAMIC ",\"value\":-1}", EVM_ERR_RANGE,
				  "transaction: value is not an integer of at most 256 bits");
	check_refused("{" DYNAMIC ",\"value\":\"-1\"}", EVM_ERR_RANGE,
				  "transaction: value is not an integer of at most 256 bits");
	check_refused("{" DYNAMIC ",\"value\":\"\"}", EVM_ERR_RANGE,
				  "transaction: value is not an integer of at most 256 bits");
	check_refused("{\"nonce\":\"0x10000000000000000\",\"gas_price\":1,\"gas_limit\":1," TO "}",
				  EVM_ERR_RANGE, "transaction: nonce is beyond 64 bits");
}

TEST(tx_json_members_are_known_and_of_the_type)
{
	check_refused("[]", EVM_ERR_TYPE, "transaction: not an object");
	check_refused("{\"nonce\":1}", EVM_ERR_MALFORMED, "transaction: gas_price is missing");
	check_refused("{" PLAIN ",\"gas_price\":1,\"gas\":1}", EVM_ERR_MALFORMED,
				  "transaction: a member has an unknown name");
	check_refused("{" DYNAMIC ",\"gas_price\":1}", EVM_ERR_MALFORMED,
				  "transaction: gas_price is not a member of transactions of its type");
	check_refused("{\"type\":5," DYNAMIC "}", EVM_ERR_MALFORMED, "transaction: type is unknown");
	check_refused("{\"nonce\":9,\"gas_limit\":1,\"gas_price\":1}", EVM_ERR_MALFORMED,
				  "transaction: to is missing (null creates a contract)");
	check_refused("{" DYNAMIC ",\"data\":\"0x0\"}", EVM_ERR_SYNTAX,
				  "transaction: data is not 0x and an even number of digits");
	check_refused("{" DYNAMIC ",\"data\":7}", EVM_ERR_TYPE,
				  "transaction: data is not a string of 0x and digits");
	check_refused("{" DYNAMIC ",\"access_list\":{}}", EVM_ERR_TYPE,
				  "transaction: access_list is not an array");
	check_refused("{" DYNAMIC ",\"access_list\":[{\"storage_keys\":[]}]}", EVM_ERR_MALFORMED,
				  "entry of access_list: address is missing");
	check_refused("{" DYNAMIC ",\"access_list\":[7]}", EVM_ERR_TYPE,
				  "entry of access_list: not an object");
	check_refused("{" DYNAMIC ",\"access_list\":[{\"address\":\"0x35\"}]}", EVM_ERR_SYNTAX,
				  "entry of access_list: address is not an address, or has a wrong checksum");
	check_refused("{" DYNAMIC ",\"blob_hashes\":[\"0x01\"],\"max_fee_per_blob_gas\":1}",
				  EVM_ERR_MALFORMED, "transaction: blob_hashes is not 32 bytes long");
	check_refused("{" DYNAMIC ",\"blob_hashes\":[],\"max_fee_per_blob_gas\":1}", EVM_ERR_MALFORMED,
				  "blob transaction has no versioned hashes");
}

TEST(tx_json_signatures_are_whole)
{
	check_type("{" DYNAMIC ",\"y_parity\":1,\"r\":\"0x1\",\"s\":1}", EVM_TX_DYNAMIC_FEE);
	CHECK(is_signed && tx.signature.y_parity == 1 && tx.signature.r[31] == 1);
	check_refused("{" DYNAMIC ",\"r\":1}", EVM_ERR_MALFORMED, "transaction: y_parity is missing");
	check_refused("{" DYNAMIC ",\"y_parity\":256,\"r\":1,\"s\":1}", EVM_ERR_RANGE,
				  "transaction: y_parity is not below 2^8");
}
