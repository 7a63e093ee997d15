/*
 * personal.c
 *	  Signed messages (EIP-191) and the 65-byte form of signatures.
 */
#include "evm/personal.h"

#include <stdio.h>
#include <string.h>

#include "evm/keccak.h"

#define V_OFFSET 27
#define LENGTH_TEXT_BYTES 24 /* decimal digits of a size_t */

void
evm_personal_hash(struct evm_hash *out, const uint8_t *message, size_t len)
{
	static const char prefix[] =
		"\x19"
		"Ethereum Signed Message:\n";
	char length[LENGTH_TEXT_BYTES];
	const int digits = snprintf(length, sizeof(length), "%zu", len);
	struct evm_keccak keccak;

	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, prefix, sizeof(prefix) - 1);
	evm_keccak_update(&keccak, length, (size_t) digits);
	evm_keccak_update(&keccak, message, len);
	evm_keccak_final(out, &keccak);
}

void
evm_validator_hash(struct evm_hash *out, const struct evm_address *validator, const uint8_t *data,
				   size_t len)
{
	static const uint8_t prefix[] = {0x19, 0x00};
	struct evm_keccak keccak;

	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, prefix, sizeof(prefix));
	evm_keccak_update(&keccak, validator->b, sizeof(validator->b));
	evm_keccak_update(&keccak, data, len);
	evm_keccak_final(out, &keccak);
}

void
evm_signature_to_bytes(uint8_t out[EVM_SIGNATURE_BYTES], const struct evm_signature *signature)
{
	memcpy(out, signature->r, 32);
	memcpy(out + 32, signature->s, 32);
	out[64] = (uint8_t) (V_OFFSET + signature->y_parity);
}

enum evm_status
evm_signature_from_bytes(struct evm_signature *out, const uint8_t *data, size_t len,
						 struct evm_error *err)
{
	if (len != EVM_SIGNATURE_BYTES)
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "signature has %zu bytes, not %d", len,
						EVM_SIGNATURE_BYTES);
	memcpy(out->r, data, 32);
	memcpy(out->s, data + 32, 32);
	out->y_parity = data[64] >= V_OFFSET ? (uint8_t) (data[64] - V_OFFSET) : data[64];
	if (!evm_signature_is_canonical(out))
		return evm_fail(err, EVM_ERR_CRYPTO, 0,
						"signature is out of range, has a high s, or a v other than 0, 1, 27, 28");
	return EVM_OK;
}
