/*
 * keystore.h
 *	  Encrypted key files: Web3 Secret Storage Definition, version 3, with scrypt or PBKDF2.
 *
 * A file names the cost of its own key derivation, so a hostile one could take all memory or
 * hours: the cost is checked against limits before anything runs.
 */
#ifndef EVM_KEYSTORE_H
#define EVM_KEYSTORE_H

#include "evm/arena.h"
#include "evm/secp.h"
#include "evm/status.h"

/* What wallets write is n = 262144, r = 8, p = 1: 256 MB and 2^21 of cost, about two seconds. */
#define EVM_KEYSTORE_MAX_BYTES 65536                                /* of the file's text */
#define EVM_KEYSTORE_MAX_MEMORY_BYTES (UINT64_C(256) * 1024 * 1024) /* 128 * n * r */
#define EVM_KEYSTORE_MAX_SCRYPT_COST (UINT64_C(1) << 23)            /* n * r * p */
#define EVM_KEYSTORE_MAX_ITERATIONS 10000000 /* of PBKDF2, about five seconds */

struct evm_keystore_limits
{
	uint64_t memory_bytes;
	uint64_t scrypt_cost;
	uint64_t iterations;
};

extern const struct evm_keystore_limits evm_keystore_default_limits;

/*
 * The key in a file.  The password is taken byte by byte (normalize it before).  It blocks for as
 * long as the derivation takes.  The arena holds the parsed file, nothing secret.
 *
 *	EVM_ERR_SYNTAX		not a JSON object
 *	EVM_ERR_MALFORMED	a member is missing or wrong, or another version, cipher or KDF
 *	EVM_ERR_LIMIT		costs more than the limits allow; nothing was run
 *	EVM_ERR_MISMATCH	wrong password; or the file names another address than its key has
 *	EVM_ERR_CRYPTO		what it holds is not a key
 */
extern enum evm_status evm_keystore_decrypt(struct evm_arena *arena, struct evm_key *out,
											const char *text, size_t len, const uint8_t *password,
											size_t password_len,
											const struct evm_keystore_limits *limits,
											struct evm_error *err);

#endif /* EVM_KEYSTORE_H */
