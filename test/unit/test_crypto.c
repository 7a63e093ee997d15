/*
 * test_crypto.c
 *	  What libcrypto is asked for, and what it refuses; known answers are in the vectors, too.
 */
#include "check.h"

#include <limits.h>

#include "evm/crypto.h"
#include "evm/hex.h"

static const uint8_t text[] = {'a', 'b', 'c'};

/* FIPS 180-4, the example of one block, and the digest of nothing. */
TEST(sha256_of_the_standards_examples)
{
	uint8_t hash[EVM_SHA256_BYTES];
	char digits[2 * EVM_SHA256_BYTES + 1] = {0};

	CHECK_NUMBER(evm_sha256(hash, text, sizeof(text)), EVM_OK);
	evm_hex_digits(digits, hash, sizeof(hash));
	CHECK_TEXT(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_NUMBER(evm_sha256(hash, NULL, 0), EVM_OK);
	evm_hex_digits(digits, hash, sizeof(hash));
	CHECK_TEXT(digits, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(key_derivations_refuse_what_they_cannot_do)
{
	uint8_t out[32];
	const struct evm_scrypt_cost odd = {3, 8, 1};
	const struct evm_scrypt_cost beyond = {UINT64_MAX, 8, 2};
	const struct evm_scrypt_cost wide = {UINT64_C(1) << 60, UINT32_MAX, 1};

	CHECK_NUMBER(evm_pbkdf2(out, sizeof(out), EVM_SHA256, text, 3, text, 3, 0), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_pbkdf2(out, sizeof(out), EVM_SHA256, text, 3, text, (size_t) INT_MAX + 1, 1),
				 EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_hmac(out, EVM_SHA256, text, (size_t) INT_MAX + 1, text, 3), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_scrypt(out, sizeof(out), text, 3, text, 3, &odd), EVM_ERR_CRYPTO);
	CHECK_NUMBER(evm_scrypt(out, sizeof(out), text, 3, text, 3, &beyond), EVM_ERR_LIMIT);
	CHECK_NUMBER(evm_scrypt(out, sizeof(out), text, 3, text, 3, &wide), EVM_ERR_LIMIT);
}

/* NIST SP 800-38A, F.5.1: CTR-AES128, the first block; twice is nothing. */
TEST(counter_mode_of_the_standards_example)
{
	uint8_t key[16];
	uint8_t counter[16];
	uint8_t block[16];
	char digits[2 * sizeof(block) + 1] = {0};
	size_t len;

	CHECK_NUMBER(evm_hex_decode(key, &len, "0x2b7e151628aed2a6abf7158809cf4f3c", 34, NULL), EVM_OK);
	CHECK_NUMBER(evm_hex_decode(counter, &len, "0xf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", 34, NULL),
				 EVM_OK);
	CHECK_NUMBER(evm_hex_decode(block, &len, "0x6bc1bee22e409f96e93d7e117393172a", 34, NULL),
				 EVM_OK);
	CHECK_NUMBER(evm_aes128_ctr(block, sizeof(block), key, counter), EVM_OK);
	evm_hex_digits(digits, block, sizeof(block));
	CHECK_TEXT(digits, "874d6191b620e3261bef6864990db6ce");
	CHECK_NUMBER(evm_aes128_ctr(block, sizeof(block), key, counter), EVM_OK);
	evm_hex_digits(digits, block, sizeof(block));
	CHECK_TEXT(digits, "6bc1bee22e409f96e93d7e117393172a");
	CHECK_NUMBER(evm_aes128_ctr(block, (size_t) INT_MAX + 1, key, counter), EVM_ERR_CRYPTO);
}
