/*
 * personal.h
 *	  Signed messages (EIP-191, versions 0x45 "personal_sign" and 0x00) and the 65-byte form of
 *	  signatures.
 */
#ifndef EVM_PERSONAL_H
#define EVM_PERSONAL_H

#include "evm/bytes.h"
#include "evm/secp.h"
#include "evm/status.h"

#define EVM_SIGNATURE_BYTES 65

/* keccak256("\x19Ethereum Signed Message:\n" ‖ decimal length ‖ message). */
extern void evm_personal_hash(struct evm_hash *out, const uint8_t *message, size_t len);

/* Version 0x00: keccak256(0x19 ‖ 0x00 ‖ validator ‖ data), for a contract that checks it. */
extern void evm_validator_hash(struct evm_hash *out, const struct evm_address *validator,
							   const uint8_t *data, size_t len);

/* r ‖ s ‖ v with v 27 or 28, as wallets and ecrecover write it. */
extern void evm_signature_to_bytes(uint8_t out[EVM_SIGNATURE_BYTES],
								   const struct evm_signature *signature);
/* The same read strictly (low s); v may be 0, 1, 27 or 28. */
extern enum evm_status evm_signature_from_bytes(struct evm_signature *out, const uint8_t *data,
												size_t len, struct evm_error *err);

#endif /* EVM_PERSONAL_H */
