/*
 * test_keys.c
 *	  Keys and signatures: forms that are accepted, and messages that give nothing away.
 */
#include "check.h"

#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/personal.h"
#include "evm/secp.h"

#define DIGITS "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"

static enum evm_status
parse(struct evm_key *key, const char *text, struct evm_error *err)
{
	return evm_key_parse(key, text, strlen(text), err);
}

TEST(key_forms)
{
	static const char *const forms[] =
		{DIGITS, "0x" DIGITS, "0X" DIGITS, " 0x" DIGITS "\n", "\t" DIGITS " \r\n", DIGITS "\n"};
	struct evm_key key;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
	{
		CHECK_NUMBER(parse(&key, forms[i], NULL), EVM_OK);
		CHECK_NUMBER(key.secret[0], 0x4c);
		CHECK_NUMBER(key.secret[31], 0x18);
	}
}

TEST(key_refusals_show_no_input)
{
	struct evm_key key;
	struct evm_error err;

	CHECK_NUMBER(parse(&key, "0x" DIGITS "0", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "private key must have 64 hexadecimal digits, not 65 characters");
	CHECK_NUMBER(parse(&key, DIGITS "\n\n", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse(&key, "", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse(&key, "0x", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse(&key, "gc0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
					   &err),
				 EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "private key has a character that is not a hexadecimal digit");
	CHECK_NUMBER(parse(&key, "0000000000000000000000000000000000000000000000000000000000000000",
					   &err),
				 EVM_ERR_CRYPTO);
	CHECK_TEXT(err.message, "private key is zero or not below the order of secp256k1");
	CHECK_NUMBER(parse(&key, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
					   &err),
				 EVM_ERR_CRYPTO);
	CHECK_NUMBER(parse(&key, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140",
					   &err),
				 EVM_OK);
}

/* The library would abort the process on some of these. */
TEST(keys_that_are_none)
{
	struct evm_key key = {{0}};
	struct evm_address address;
	struct evm_signature signature;
	struct evm_hash hash = {{1}};
	uint8_t bytes[64];

	CHECK_NUMBER(evm_key_check(&key), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_key_address(&address, &key), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_key_public(bytes, &key), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_key_public_compressed(bytes, &key), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_key_add(&key, hash.b), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_sign_hash(&signature, &key, &hash), EVM_ERR_CRYPTO);
	memset(key.secret, 0xff, sizeof(key.secret));
	CHECK_NUMBER(evm_sign_hash(&signature, &key, &hash), EVM_ERR_CRYPTO);
	memset(bytes, 0x02, sizeof(bytes));
	bytes[0] = 0x05;
	CHECK_NUMBER(evm_public_check(bytes), EVM_ERR_CRYPTO);
}

TEST(key_sums_stay_in_range)
{
	struct evm_key key;
	uint8_t tweak[32] = {0};

	/* n - 1, plus 0, plus 1. */
	CHECK_NUMBER(parse(&key, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140",
					   NULL),
				 EVM_OK);
	CHECK_NUMBER(evm_key_add(&key, tweak), EVM_OK);
	tweak[31] = 1;
	CHECK_NUMBER(evm_key_add(&key, tweak), EVM_ERR_CRYPTO);
	memset(tweak, 0xff, sizeof(tweak));
	CHECK_NUMBER(parse(&key, DIGITS, NULL), EVM_OK);
	CHECK_NUMBER(evm_key_add(&key, tweak), EVM_ERR_CRYPTO);
}

TEST(signatures_recover_their_signer_alone)
{
	struct evm_key key;
	struct evm_hash hash = {{7}};
	struct evm_signature signature;
	struct evm_address signer;
	struct evm_address got;

	CHECK_NUMBER(parse(&key, DIGITS, NULL), EVM_OK);
	CHECK_NUMBER(evm_key_address(&signer, &key), EVM_OK);
	CHECK_NUMBER(evm_sign_hash(&signature, &key, &hash), EVM_OK);
	CHECK(evm_signature_is_canonical(&signature));
	CHECK_NUMBER(evm_recover(&got, &hash, &signature), EVM_OK);
	CHECK(memcmp(&got, &signer, sizeof(got)) == 0);
	signature.y_parity ^= 1;
	CHECK(evm_recover(&got, &hash, &signature) != EVM_OK || memcmp(&got, &signer, sizeof(got)));
	signature.y_parity = 2;
	CHECK_NUMBER(evm_recover(&got, &hash, &signature), EVM_ERR_CRYPTO);
	signature.y_parity = 0;
	memset(signature.r, 0, sizeof(signature.r));
	CHECK_NUMBER(evm_recover(&got, &hash, &signature), EVM_ERR_CRYPTO);
	memset(signature.r, 0xff, sizeof(signature.r));
	CHECK_NUMBER(evm_recover(&got, &hash, &signature), EVM_ERR_CRYPTO);
}

TEST(signature_bytes_are_read_strictly)
{
	struct evm_key key;
	struct evm_hash hash;
	struct evm_signature signature;
	struct evm_signature got;
	struct evm_error err;
	uint8_t bytes[EVM_SIGNATURE_BYTES];

	CHECK_NUMBER(parse(&key, DIGITS, NULL), EVM_OK);
	evm_personal_hash(&hash, (const uint8_t *) "hello", 5);
	CHECK_NUMBER(evm_sign_hash(&signature, &key, &hash), EVM_OK);
	evm_signature_to_bytes(bytes, &signature);
	CHECK_NUMBER(bytes[64], 27 + signature.y_parity);
	CHECK_NUMBER(evm_signature_from_bytes(&got, bytes, sizeof(bytes), NULL), EVM_OK);
	CHECK(memcmp(&got, &signature, sizeof(got)) == 0);
	bytes[64] = signature.y_parity;
	CHECK_NUMBER(evm_signature_from_bytes(&got, bytes, sizeof(bytes), NULL), EVM_OK);
	CHECK(memcmp(&got, &signature, sizeof(got)) == 0);
	bytes[64] = 29;
	CHECK_NUMBER(evm_signature_from_bytes(&got, bytes, sizeof(bytes), &err), EVM_ERR_CRYPTO);
	CHECK_TEXT(err.message,
			   "signature is out of range, has a high s, or a v other than 0, 1, 27, 28");
	CHECK_NUMBER(evm_signature_from_bytes(&got, bytes, 64, &err), EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "signature has 64 bytes, not 65");
	bytes[64] = 27;
	memset(bytes + 32, 0xee, 32);
	CHECK_NUMBER(evm_signature_from_bytes(&got, bytes, sizeof(bytes), &err), EVM_ERR_CRYPTO);
}

TEST(wiping_leaves_zeros)
{
	struct evm_key key;
	struct evm_key zero = {{0}};

	CHECK_NUMBER(parse(&key, DIGITS, NULL), EVM_OK);
	evm_wipe(&key, sizeof(key));
	CHECK(memcmp(&key, &zero, sizeof(key)) == 0);
}

/* EIP-191, version 0: keccak256 of 0x19, 0x00, the validator and the data. */
TEST(validator_hashes_are_of_all_parts)
{
	const struct evm_address validator = {{0x5a, 0xae, 0xb6}};
	uint8_t joined[2 + 20 + 3] = {0x19, 0x00, 0x5a, 0xae, 0xb6};
	struct evm_hash got;
	struct evm_hash want;

	memcpy(joined + 22, "abc", 3);
	evm_keccak256(&want, joined, sizeof(joined));
	evm_validator_hash(&got, &validator, (const uint8_t *) "abc", 3);
	CHECK(memcmp(&got, &want, sizeof(got)) == 0);
	evm_validator_hash(&got, &validator, NULL, 0);
	CHECK(memcmp(&got, &want, sizeof(got)) != 0);
}
