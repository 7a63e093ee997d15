/*
 * fuzz_tx_json.c
 *	  Transactions as JSON objects: what is accepted can be hashed, and when signed, serialized.
 */
#include "fuzz.h"

#include "evm/json.h"
#include "evm/tx.h"

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	const struct evm_json *node;
	struct evm_tx tx;
	struct evm_hash hash;
	struct evm_bytes raw;
	struct evm_error err;
	bool is_signed;
	enum evm_status status;

	if (evm_json_parse(arena, &node, (const char *) data, len, NULL) != EVM_OK)
		return;
	status = evm_tx_from_json(arena, &tx, &is_signed, node, &err);
	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	status = evm_tx_signing_hash(arena, &hash, &tx, NULL);
	FUZZ_CHECK(status == EVM_OK || status == EVM_ERR_MEMORY);
	if (is_signed && evm_tx_serialize(arena, &raw, &tx, NULL) == EVM_OK)
		FUZZ_CHECK(evm_tx_decode(arena, &tx, raw.data, raw.len, NULL) != EVM_ERR_MALFORMED);
}
