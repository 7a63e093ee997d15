/*
 * crypto.h
 *	  The hashes, key derivations and cipher that key files and mnemonics need; the one user of
 *	  OpenSSL's libcrypto.
 *
 * Every function returns EVM_ERR_CRYPTO when the library refuses, for example because a hash is
 * disabled on this machine.  Nothing here is bounded: callers check costs first.
 */
#ifndef EVM_CRYPTO_H
#define EVM_CRYPTO_H

#include "evm/bytes.h"
#include "evm/status.h"

#define EVM_SHA256_BYTES 32
#define EVM_SHA512_BYTES 64

enum evm_digest
{
	EVM_SHA256,
	EVM_SHA512
};

extern enum evm_status evm_sha256(uint8_t out[EVM_SHA256_BYTES], const uint8_t *data, size_t len);

/* RFC 2104; out holds 32 or 64 bytes, as the digest. */
extern enum evm_status evm_hmac(uint8_t *out, enum evm_digest digest, const uint8_t *key,
								size_t key_len, const uint8_t *data, size_t len);

/* RFC 8018 §5.2. */
extern enum evm_status evm_pbkdf2(uint8_t *out, size_t out_len, enum evm_digest digest,
								  const uint8_t *password, size_t password_len, const uint8_t *salt,
								  size_t salt_len, uint32_t iterations);

/* RFC 7914; takes EVM_SCRYPT_BLOCK_BYTES * n * r bytes of memory while it runs. */
#define EVM_SCRYPT_BLOCK_BYTES 128

struct evm_scrypt_cost
{
	uint64_t n; /* a power of 2 above 1 */
	uint32_t r;
	uint32_t p;
};

extern enum evm_status evm_scrypt(uint8_t *out, size_t out_len, const uint8_t *password,
								  size_t password_len, const uint8_t *salt, size_t salt_len,
								  const struct evm_scrypt_cost *cost);

/* AES-128 in counter mode over data, in place; the same call encrypts and decrypts. */
extern enum evm_status evm_aes128_ctr(uint8_t *data, size_t len, const uint8_t key[16],
									  const uint8_t iv[16]);

#endif /* EVM_CRYPTO_H */
