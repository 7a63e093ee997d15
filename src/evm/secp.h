/*
 * secp.h
 *	  Keys and recoverable ECDSA signatures on secp256k1; the one user of libsecp256k1.
 *
 * Signatures are deterministic (RFC 6979) and have a low s (EIP-2).  The
 * library's callbacks, which would abort the process, are replaced.
 */
#ifndef EVM_SECP_H
#define EVM_SECP_H

#include "evm/bytes.h"
#include "evm/status.h"

struct evm_key
{
	uint8_t secret[32];
};

struct evm_signature
{
	uint8_t r[32];
	uint8_t s[32];
	uint8_t y_parity; /* 0 or 1 */
};

/* Overwrites with zeros in a way that the compiler keeps. */
extern void evm_wipe(void *data, size_t len);

/* EVM_ERR_CRYPTO for 0 and for values at or above the curve's order. */
extern enum evm_status evm_key_check(const struct evm_key *key);
/*
 * "0x" and 64 digits, or 64 digits; blanks and one newline around them are allowed.  The message
 * never shows input.
 */
extern enum evm_status evm_key_parse(struct evm_key *out, const char *text, size_t len,
									 struct evm_error *err);
extern enum evm_status evm_key_address(struct evm_address *out, const struct evm_key *key);
/* Both coordinates, big-endian, without the leading 0x04. */
extern enum evm_status evm_key_public(uint8_t out[64], const struct evm_key *key);
/* SEC 1 compressed: 0x02 or 0x03 and x. */
extern enum evm_status evm_key_public_compressed(uint8_t out[33], const struct evm_key *key);
/* EVM_ERR_CRYPTO when these bytes are not a point of the curve. */
extern enum evm_status evm_public_check(const uint8_t compressed[33]);
/* key + tweak modulo the order; EVM_ERR_CRYPTO when the tweak is out of range or the sum is 0. */
extern enum evm_status evm_key_add(struct evm_key *key, const uint8_t tweak[32]);

extern enum evm_status evm_sign_hash(struct evm_signature *out, const struct evm_key *key,
									 const struct evm_hash *hash);
/* y parity 0 or 1, r and s in range, s in the lower half (EIP-2). */
extern bool evm_signature_is_canonical(const struct evm_signature *signature);
/* EVM_ERR_CRYPTO when the signature recovers nothing.  A high s is accepted here. */
extern enum evm_status evm_recover(struct evm_address *out, const struct evm_hash *hash,
								   const struct evm_signature *signature);

#endif /* EVM_SECP_H */
