/*
 * tx_check.c
 *	  Rules on the fields of a transaction that hold whatever the chain's state, and
 *	  the gas it takes before execution.
 */
#include "evm/tx.h"

#include "evm/tx_fields.h"
#include "evm/word.h"

/* Ethereum Yellow Paper, appendix G, as changed by the EIPs named in tx.h. */
#define GAS_BASE 21000
#define GAS_CREATE 32000
#define GAS_INIT_CODE_WORD 2
#define GAS_ZERO_BYTE 4
#define GAS_DATA_BYTE 16
#define GAS_ACCESS_ADDRESS 2400
#define GAS_ACCESS_KEY 1900
#define GAS_AUTHORIZATION 25000
#define GAS_FLOOR_TOKEN 10
#define TOKENS_PER_DATA_BYTE 4
#define WORD_BYTES 32

static enum evm_status
check_fees(const struct evm_tx *tx, struct evm_error *err)
{
	const bool dynamic = evm_tx_has_priority_fee(tx->type);
	const struct evm_word *fee = dynamic ? &tx->max_fee_per_gas : &tx->gas_price;
	struct evm_word product;

	if (dynamic && evm_word_compare(&tx->max_priority_fee_per_gas, fee) > 0)
		return evm_fail(err, EVM_ERR_RANGE, 0, "max priority fee per gas is above max fee per gas");
	if (evm_word_mul(&product, fee, &tx->gas_limit))
		return evm_fail(err, EVM_ERR_RANGE, 0, "gas limit times fee per gas is beyond 256 bits");
	return EVM_OK;
}

static enum evm_status
check_blobs(const struct evm_tx *tx, struct evm_error *err)
{
	if (tx->blob_hash_count == 0)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "blob transaction has no versioned hashes");
	for (size_t i = 0; i < tx->blob_hash_count; i++)
	{
		if (tx->blob_hashes[i].b[0] != EVM_TX_BLOB_HASH_VERSION)
			return evm_fail(err, EVM_ERR_MALFORMED, 0,
							"versioned hash %zu of the blob transaction has version %u, not %d", i,
							tx->blob_hashes[i].b[0], EVM_TX_BLOB_HASH_VERSION);
	}
	return EVM_OK;
}

enum evm_status
evm_tx_check(const struct evm_tx *tx, struct evm_error *err)
{
	enum evm_status status;

	if ((unsigned) tx->type > EVM_TX_SET_CODE)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "unknown transaction type %d", (int) tx->type);
	if (!tx->has_chain_id && tx->type != EVM_TX_LEGACY)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "typed transaction has no chain id");
	if (tx->has_chain_id && tx->chain_id == 0 && tx->type == EVM_TX_LEGACY)
		return evm_fail(err, EVM_ERR_RANGE, 0, "chain id is 0");
	if (tx->nonce == UINT64_MAX)
		return evm_fail(err, EVM_ERR_RANGE, 0, "nonce is not below 2^64 - 1");
	if (tx->creates && tx->type >= EVM_TX_BLOB)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "transaction of type %d has no recipient",
						(int) tx->type);
	status = check_fees(tx, err);
	if (status == EVM_OK && tx->type == EVM_TX_BLOB)
		status = check_blobs(tx, err);
	if (status == EVM_OK && tx->type == EVM_TX_SET_CODE && tx->authorization_count == 0)
		status = evm_fail(err, EVM_ERR_MALFORMED, 0, "set-code transaction has no authorizations");
	return status;
}

uint64_t
evm_tx_intrinsic_gas(uint64_t *floor, const struct evm_tx *tx)
{
	uint64_t zeros = 0;
	uint64_t others;
	uint64_t gas = GAS_BASE;

	for (size_t i = 0; i < tx->data.len; i++)
		zeros += tx->data.data[i] == 0;
	others = tx->data.len - zeros;
	if (floor != NULL)
		*floor = GAS_BASE + GAS_FLOOR_TOKEN * (zeros + TOKENS_PER_DATA_BYTE * others);
	gas += GAS_ZERO_BYTE * zeros + GAS_DATA_BYTE * others;
	if (tx->creates)
		gas += GAS_CREATE + GAS_INIT_CODE_WORD * ((tx->data.len + WORD_BYTES - 1) / WORD_BYTES);
	if (tx->type >= EVM_TX_ACCESS_LIST)
	{
		for (size_t i = 0; i < tx->access_count; i++)
			gas += GAS_ACCESS_ADDRESS + GAS_ACCESS_KEY * tx->access_list[i].storage_key_count;
	}
	if (tx->type == EVM_TX_SET_CODE)
		gas += GAS_AUTHORIZATION * tx->authorization_count;
	return gas;
}
