/*
 * fuzz_tx.c
 *	  Raw transactions have one form: what decodes is what would be serialized.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/tx.h"

static void
check_authorizations(struct evm_arena *arena, const struct evm_tx *tx)
{
	for (size_t i = 0; i < tx->authorization_count; i++)
	{
		struct evm_address authority;
		const enum evm_status status =
			evm_authorization_authority(arena, &authority, &tx->authorizations[i]);

		FUZZ_CHECK(status == EVM_OK || status == EVM_ERR_CRYPTO || status == EVM_ERR_MEMORY);
	}
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct evm_tx tx;
	struct evm_bytes raw;
	struct evm_address sender;
	struct evm_error err;
	uint64_t floor;
	enum evm_status status = evm_tx_decode(arena, &tx, data, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	FUZZ_CHECK(evm_tx_check(&tx, NULL) == EVM_OK);
	FUZZ_CHECK(evm_tx_intrinsic_gas(&floor, &tx) >= 21000 && floor >= 21000);
	status = evm_tx_serialize(arena, &raw, &tx, &err);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK);
	FUZZ_CHECK(raw.len == len && memcmp(raw.data, data, len) == 0);
	status = evm_tx_sender(arena, &sender, &tx, &err);
	FUZZ_CHECK(status == EVM_OK || status == EVM_ERR_CRYPTO || status == EVM_ERR_MEMORY);
	check_authorizations(arena, &tx);
}
