/*
 * test_tx.c
 *	  Transactions: what is refused when one is made, and what one costs.
 */
#include "check.h"

#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/tx.h"
#include "evm/word.h"

#define ARENA_BYTES (1024 * 1024)

/* A valid transaction of each type, to be spoilt. */
static struct evm_tx
make_tx(enum evm_tx_type type)
{
	static const struct evm_hash blob_hash = {{0x01}};
	static const struct evm_authorization authorization = {.nonce = 1};
	struct evm_tx tx = {.type = type,
						.has_chain_id = true,
						.chain_id = 1,
						.nonce = 7,
						.gas_price = {{100}},
						.max_fee_per_gas = {{100}},
						.max_priority_fee_per_gas = {{2}},
						.gas_limit = {{21000}},
						.to = {{0x35}},
						.value = {{1}},
						.max_fee_per_blob_gas = {{1}},
						.blob_hashes = &blob_hash,
						.blob_hash_count = 1,
						.authorizations = &authorization,
						.authorization_count = 1};

	return tx;
}

static void
check_refused(const struct evm_tx *tx, enum evm_status want, const char *message)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_error err = {0};
	struct evm_tx copy = *tx;
	struct evm_key key = {{1}};
	struct evm_hash hash;
	struct evm_bytes raw;

	CHECK_NUMBER(evm_tx_check(tx, &err), want);
	CHECK_TEXT(err.message, message);
	CHECK_NUMBER(evm_tx_signing_hash(arena, &hash, tx, NULL), want);
	CHECK_NUMBER(evm_tx_sign(arena, &raw, &hash, &copy, &key, NULL), want);
	CHECK_NUMBER(evm_tx_serialize(arena, &raw, tx, NULL), want);
}

TEST(tx_of_eip155_example)
{
	static const char want[] =
		"0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a764000080"
		"25"
		"a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276"
		"a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_tx tx = make_tx(EVM_TX_LEGACY);
	struct evm_key key;
	struct evm_bytes raw;
	struct evm_hash hash;

	memset(key.secret, 0x46, sizeof(key.secret));
	memset(tx.to.b, 0x35, sizeof(tx.to.b));
	tx.nonce = 9;
	tx.gas_price = evm_word_from_u64(20000000000);
	tx.value = evm_word_from_u64(1000000000000000000);
	CHECK_NUMBER(evm_tx_sign(arena, &raw, &hash, &tx, &key, NULL), EVM_OK);
	CHECK_TEXT(evm_hex_encode(arena, raw.data, raw.len), want);
}

TEST(tx_refuses_what_no_chain_accepts)
{
	struct evm_tx tx = make_tx(EVM_TX_DYNAMIC_FEE);

	tx.nonce = UINT64_MAX;
	check_refused(&tx, EVM_ERR_RANGE, "nonce is not below 2^64 - 1");
	tx = make_tx(EVM_TX_DYNAMIC_FEE);
	tx.max_priority_fee_per_gas = evm_word_from_u64(101);
	check_refused(&tx, EVM_ERR_RANGE, "max priority fee per gas is above max fee per gas");
	tx = make_tx(EVM_TX_ACCESS_LIST);
	tx.gas_price.limb[3] = UINT64_MAX;
	check_refused(&tx, EVM_ERR_RANGE, "gas limit times fee per gas is beyond 256 bits");
	tx = make_tx(EVM_TX_DYNAMIC_FEE);
	tx.has_chain_id = false;
	check_refused(&tx, EVM_ERR_MALFORMED, "typed transaction has no chain id");
	tx = make_tx(EVM_TX_LEGACY);
	tx.chain_id = 0;
	check_refused(&tx, EVM_ERR_RANGE, "chain id is 0");
	tx.type = (enum evm_tx_type) 5;
	check_refused(&tx, EVM_ERR_MALFORMED, "unknown transaction type 5");
}

TEST(tx_refuses_incomplete_blob_and_set_code)
{
	static const struct evm_hash hashes[2] = {{{0x01}}, {{0x02}}};
	struct evm_tx tx = make_tx(EVM_TX_BLOB);

	tx.creates = true;
	check_refused(&tx, EVM_ERR_MALFORMED, "transaction of type 3 has no recipient");
	tx = make_tx(EVM_TX_BLOB);
	tx.blob_hash_count = 0;
	check_refused(&tx, EVM_ERR_MALFORMED, "blob transaction has no versioned hashes");
	tx.blob_hashes = hashes;
	tx.blob_hash_count = 2;
	check_refused(&tx, EVM_ERR_MALFORMED,
				  "versioned hash 1 of the blob transaction has version 2, not 1");
	tx = make_tx(EVM_TX_SET_CODE);
	tx.creates = true;
	check_refused(&tx, EVM_ERR_MALFORMED, "transaction of type 4 has no recipient");
	tx = make_tx(EVM_TX_SET_CODE);
	tx.authorization_count = 0;
	check_refused(&tx, EVM_ERR_MALFORMED, "set-code transaction has no authorizations");
}

TEST(tx_is_not_signed_with_what_is_no_key)
{
	struct evm_tx tx = make_tx(EVM_TX_DYNAMIC_FEE);
	struct evm_key zero = {{0}};
	struct evm_error err = {0};
	struct evm_bytes raw;
	struct evm_hash hash;

	CHECK_NUMBER(evm_tx_sign(test_arena(ARENA_BYTES), &raw, &hash, &tx, &zero, &err),
				 EVM_ERR_CRYPTO);
	CHECK_TEXT(err.message, "key cannot sign: it is not a valid secp256k1 key");
	CHECK_NUMBER(evm_tx_serialize(test_arena(ARENA_BYTES), &raw, &tx, &err), EVM_ERR_CRYPTO);
	CHECK_TEXT(err.message, "transaction has no valid signature");
}

TEST(tx_says_when_memory_is_short)
{
	static uint8_t data[100000];
	struct evm_tx tx = make_tx(EVM_TX_DYNAMIC_FEE);
	struct evm_key key = {{1}};
	struct evm_error err = {0};
	struct evm_bytes raw;
	struct evm_hash hash;

	tx.data.data = data;
	tx.data.len = sizeof(data);
	CHECK_NUMBER(evm_tx_sign(test_arena(1000), &raw, &hash, &tx, &key, &err), EVM_ERR_MEMORY);
	CHECK_TEXT(err.message, "transaction does not fit the memory it was given");
}

TEST(tx_chain_ids_have_all_64_bits)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_tx tx = make_tx(EVM_TX_LEGACY);
	struct evm_tx decoded;
	struct evm_key key = {{1}};
	struct evm_bytes raw;
	struct evm_hash hash;

	tx.chain_id = UINT64_MAX;
	CHECK_NUMBER(evm_tx_sign(arena, &raw, &hash, &tx, &key, NULL), EVM_OK);
	CHECK_NUMBER(evm_tx_decode(arena, &decoded, raw.data, raw.len, NULL), EVM_OK);
	CHECK(decoded.has_chain_id && decoded.chain_id == UINT64_MAX);
	CHECK_NUMBER(decoded.signature.y_parity, tx.signature.y_parity);
}

TEST(tx_intrinsic_gas_counts_what_the_type_has)
{
	static const struct evm_hash keys[2];
	static const struct evm_access accesses[2] = {{.storage_keys = keys, .storage_key_count = 2}};
	static const uint8_t data[33] = {0, 1};
	struct evm_tx tx = make_tx(EVM_TX_LEGACY);
	uint64_t floor;

	CHECK_NUMBER(evm_tx_intrinsic_gas(&floor, &tx), 21000);
	CHECK_NUMBER(floor, 21000);
	tx.data.data = data;
	tx.data.len = sizeof(data);
	CHECK_NUMBER(evm_tx_intrinsic_gas(&floor, &tx), 21000 + 32 * 4 + 16);
	CHECK_NUMBER(floor, 21000 + 10 * (32 + 4));
	tx.creates = true;
	CHECK_NUMBER(evm_tx_intrinsic_gas(NULL, &tx), 21000 + 32 * 4 + 16 + 32000 + 2 * 2);
	tx = make_tx(EVM_TX_SET_CODE);
	tx.access_list = accesses;
	tx.access_count = 2;
	CHECK_NUMBER(evm_tx_intrinsic_gas(NULL, &tx), 21000 + 2 * 2400 + 2 * 1900 + 25000);
	tx.type = EVM_TX_LEGACY;
	CHECK_NUMBER(evm_tx_intrinsic_gas(NULL, &tx), 21000);
}

TEST(authorization_of_another_or_of_nobody)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_authorization authorization = {.chain_id = {{1}}, .nonce = 5};
	struct evm_key key = {{1}};
	struct evm_address signer;
	struct evm_address authority;

	CHECK_NUMBER(evm_key_address(&signer, &key), EVM_OK);
	CHECK_NUMBER(evm_authorization_sign(arena, &authorization, &key), EVM_OK);
	CHECK_NUMBER(evm_authorization_authority(arena, &authority, &authorization), EVM_OK);
	CHECK(memcmp(&authority, &signer, sizeof(signer)) == 0);
	authorization.nonce++;
	CHECK_NUMBER(evm_authorization_authority(arena, &authority, &authorization), EVM_OK);
	CHECK(memcmp(&authority, &signer, sizeof(signer)) != 0);
	authorization.signature.y_parity = 2;
	CHECK_NUMBER(evm_authorization_authority(arena, &authority, &authorization), EVM_ERR_CRYPTO);
	authorization.nonce = UINT64_MAX;
	CHECK_NUMBER(evm_authorization_sign(arena, &authorization, &key), EVM_OK);
	CHECK_NUMBER(evm_authorization_authority(arena, &authority, &authorization), EVM_ERR_CRYPTO);
}

/* The first two examples of EIP-1014. */
TEST(create2_of_eip1014_examples)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_address sender = {{0}};
	const struct evm_hash salt = {{0}};
	struct evm_hash code_hash;
	struct evm_address created;

	evm_keccak256(&code_hash, "\0", 1);
	evm_create2_address(&created, &sender, &salt, &code_hash);
	CHECK_TEXT(evm_hex_encode(arena, created.b, sizeof(created.b)),
			   "0x4d1a2e2bb4f88f0250f26ffff098b0b30b26bf38");
	memcpy(sender.b, "\xde\xad\xbe\xef", 4);
	evm_create2_address(&created, &sender, &salt, &code_hash);
	CHECK_TEXT(evm_hex_encode(arena, created.b, sizeof(created.b)),
			   "0xb928f69bb1d91cd65274e3c79d8986362984fda3");
}
