/*
 * keccak.h
 *	  Keccak-256 with the original padding (0x01), as Ethereum uses it; not SHA3-256.
 */
#ifndef EVM_KECCAK_H
#define EVM_KECCAK_H

#include "evm/bytes.h"

#define EVM_KECCAK_RATE_BYTES 136

struct evm_keccak
{
	uint64_t state[25];
	size_t filled; /* bytes absorbed into the current block */
};

extern void evm_keccak_init(struct evm_keccak *context);
extern void evm_keccak_update(struct evm_keccak *context, const void *data, size_t len);
extern void evm_keccak_final(struct evm_hash *out, struct evm_keccak *context);

extern void evm_keccak256(struct evm_hash *out, const void *data, size_t len);

#endif /* EVM_KECCAK_H */
