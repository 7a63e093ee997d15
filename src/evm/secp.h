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
	uint8_t		secret[32];
};

struct evm_signature
{
	uint8_t		r[32];
	uint8_t		s[32];
	uint8_t		y_parity;		/* 0 or 1 */
};

/* Overwrites with zeros in a way that the compiler keeps. */
extern void evm_wipe(void *data, size_t len);

/* EVM_ERR_CRYPTO for 0 and for values at or above the curve's order. */
extern enum evm_status evm_key_check(const struct evm_key *key);
/* "0x" and 64 digits, or 64 digits; blanks and one newline around them are allowed.  The message never shows input. */
extern enum evm_status evm_key_parse(struct evm_key *out, const char *text, size_t len,
									 struct evm_error *err);
extern enum evm_status evm_key_address(struct evm_address *out, const struct evm_key *key);
extern enum evm_status evm_key_public(uint8_t out[64], const struct evm_key *key);

extern enum evm_status evm_sign_hash(struct evm_signature *out, const struct evm_key *key,
									 const struct evm_hash *hash);
/* EVM_ERR_CRYPTO when the signature recovers nothing. */
extern enum evm_status evm_recover(struct evm_address *out, const struct evm_hash *hash,
								   const struct evm_signature *signature);

#endif							/* EVM_SECP_H */
