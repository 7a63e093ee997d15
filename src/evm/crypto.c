/*
 * crypto.c
 *	  Calls of libcrypto; the only file that includes OpenSSL.
 *
 * A server process may use the same library for TLS, so nothing global is
 * changed, and errors are cleared from the thread's queue: a stale entry there
 * would be reported by the next failing TLS call as its own.
 */
#include "evm/crypto.h"

#include <limits.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

/* What the library counts beside the n blocks and p blocks of scrypt. */
#define SCRYPT_SCRATCH_BLOCKS 2

static const EVP_MD *
digest_method(enum evm_digest digest)
{
	return digest == EVM_SHA256 ? EVP_sha256() : EVP_sha512();
}

static enum evm_status
result(bool ok)
{
	if (ok)
		return EVM_OK;
	ERR_clear_error();
	return EVM_ERR_CRYPTO;
}

/* The library's length arguments are int, and a NULL of length 0 means something else to it. */
static const void *
argument(const uint8_t *data, size_t len)
{
	return len == 0 ? "" : (const void *) data;
}

enum evm_status
evm_sha256(uint8_t out[EVM_SHA256_BYTES], const uint8_t *data, size_t len)
{
	return result(EVP_Digest(argument(data, len), len, out, NULL, EVP_sha256(), NULL) == 1);
}

enum evm_status
evm_hmac(uint8_t *out, enum evm_digest digest, const uint8_t *key, size_t key_len,
		 const uint8_t *data, size_t len)
{
	if (key_len > INT_MAX)
		return EVM_ERR_CRYPTO;
	return result(HMAC(digest_method(digest), argument(key, key_len), (int) key_len,
					   argument(data, len), len, out, NULL) != NULL);
}

enum evm_status
evm_pbkdf2(uint8_t *out, size_t out_len, enum evm_digest digest, const uint8_t *password,
		   size_t password_len, const uint8_t *salt, size_t salt_len, uint32_t iterations)
{
	if (password_len > INT_MAX || salt_len > INT_MAX || out_len > INT_MAX || iterations == 0 ||
		iterations > INT_MAX)
		return EVM_ERR_CRYPTO;
	return result(PKCS5_PBKDF2_HMAC(argument(password, password_len), (int) password_len,
									argument(salt, salt_len), (int) salt_len, (int) iterations,
									digest_method(digest), (int) out_len, out) == 1);
}

enum evm_status
evm_scrypt(uint8_t *out, size_t out_len, const uint8_t *password, size_t password_len,
		   const uint8_t *salt, size_t salt_len, const struct evm_scrypt_cost *cost)
{
	uint64_t memory;
	uint64_t blocks;

	if (__builtin_add_overflow(cost->n, (uint64_t) cost->p + SCRYPT_SCRATCH_BLOCKS, &blocks) ||
		__builtin_mul_overflow(blocks, (uint64_t) EVM_SCRYPT_BLOCK_BYTES * cost->r, &memory))
		return EVM_ERR_LIMIT;
	return result(EVP_PBE_scrypt(argument(password, password_len), password_len,
								 argument(salt, salt_len), salt_len, cost->n, cost->r, cost->p,
								 memory, out, out_len) == 1);
}

enum evm_status
evm_aes128_ctr(uint8_t *data, size_t len, const uint8_t key[16], const uint8_t iv[16])
{
	EVP_CIPHER_CTX *context;
	int written = 0;
	bool ok;

	if (len > INT_MAX)
		return EVM_ERR_CRYPTO;
	context = EVP_CIPHER_CTX_new();
	ok = context != NULL && EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), NULL, key, iv) == 1 &&
		EVP_EncryptUpdate(context, data, &written, data, (int) len) == 1 && written == (int) len;
	EVP_CIPHER_CTX_free(context);
	return result(ok);
}
