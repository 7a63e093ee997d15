/*
 * tx_create.c
 *	  Addresses of contracts before they exist: CREATE and CREATE2.
 */
#include "evm/tx.h"

#include <string.h>

#include "evm/keccak.h"
#include "evm/rlp.h"

/* EIP-1014: keeps CREATE2 hashes apart from those of RLP lists. */
#define CREATE2_PREFIX 0xff

static void
address_of_hash(struct evm_address *out, const struct evm_hash *hash)
{
	memcpy(out->b, hash->b + sizeof(hash->b) - sizeof(out->b), sizeof(out->b));
}

enum evm_status
evm_create_address(struct evm_arena *arena, struct evm_address *out,
				   const struct evm_address *sender, uint64_t nonce)
{
	struct evm_rlp_writer writer;
	struct evm_bytes encoded;
	struct evm_hash hash;
	enum evm_status status;

	evm_rlp_init(&writer, arena);
	evm_rlp_open_list(&writer);
	evm_rlp_bytes(&writer, sender->b, sizeof(sender->b));
	evm_rlp_u64(&writer, nonce);
	evm_rlp_close_list(&writer);
	status = evm_rlp_finish(&writer, &encoded);
	if (status != EVM_OK)
		return status;
	evm_keccak256(&hash, encoded.data, encoded.len);
	address_of_hash(out, &hash);
	return EVM_OK;
}

void
evm_create2_address(struct evm_address *out, const struct evm_address *sender,
					const struct evm_hash *salt, const struct evm_hash *init_code_hash)
{
	const uint8_t prefix = CREATE2_PREFIX;
	struct evm_keccak keccak;
	struct evm_hash hash;

	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, &prefix, 1);
	evm_keccak_update(&keccak, sender->b, sizeof(sender->b));
	evm_keccak_update(&keccak, salt->b, sizeof(salt->b));
	evm_keccak_update(&keccak, init_code_hash->b, sizeof(init_code_hash->b));
	evm_keccak_final(&hash, &keccak);
	address_of_hash(out, &hash);
}
