/*
 * tx_fields.h
 *	  What tx_encode.c and tx_decode.c share; private to them.
 */
#ifndef EVM_TX_FIELDS_H
#define EVM_TX_FIELDS_H

#include "evm/tx.h"

/* Legacy v: 27 or 28 before EIP-155, chain id * 2 + 35 or + 36 with it. */
#define EVM_TX_V_PLAIN 27
#define EVM_TX_V_EIP155 35

/* EIP-4844: the first byte of a versioned hash of a KZG commitment. */
#define EVM_TX_BLOB_HASH_VERSION 0x01

static inline bool
evm_tx_has_priority_fee(enum evm_tx_type type)
{
	return type >= EVM_TX_DYNAMIC_FEE;
}

#endif /* EVM_TX_FIELDS_H */
