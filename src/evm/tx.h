/*
 * tx.h
 *	  Transactions: legacy (with and without EIP-155), EIP-2930, EIP-1559, EIP-4844 (the canonical
 *	  form, without sidecar) and EIP-7702: hash to sign, raw bytes, decode, sender.
 */
#ifndef EVM_TX_H
#define EVM_TX_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/json.h"
#include "evm/secp.h"
#include "evm/status.h"

enum evm_tx_type
{
	EVM_TX_LEGACY = 0,
	EVM_TX_ACCESS_LIST = 1, /* EIP-2930 */
	EVM_TX_DYNAMIC_FEE = 2, /* EIP-1559 */
	EVM_TX_BLOB = 3,        /* EIP-4844 */
	EVM_TX_SET_CODE = 4     /* EIP-7702 */
};

struct evm_access
{
	struct evm_address address;
	const struct evm_hash *storage_keys;
	size_t storage_key_count;
};

struct evm_authorization
{
	struct evm_word chain_id;
	struct evm_address address;
	uint64_t nonce;
	struct evm_signature signature;
};

/* Fees and value in wei.  Members that the type does not have are ignored. */
struct evm_tx
{
	enum evm_tx_type type;
	bool has_chain_id; /* false only for a legacy transaction before EIP-155 */
	uint64_t chain_id;
	uint64_t nonce;
	struct evm_word gas_price; /* LEGACY, ACCESS_LIST */
	struct evm_word max_priority_fee_per_gas;
	struct evm_word max_fee_per_gas;
	struct evm_word gas_limit; /* chains hold blocks, and so it, to 64 bits; the format does not */
	bool creates;              /* to is empty */
	struct evm_address to;
	struct evm_word value;
	struct evm_bytes data;
	const struct evm_access *access_list;
	size_t access_count;
	struct evm_word max_fee_per_blob_gas;
	const struct evm_hash *blob_hashes;
	size_t blob_hash_count;
	const struct evm_authorization *authorizations;
	size_t authorization_count;
	struct evm_signature signature; /* of a decoded or signed transaction */
};

/*
 * The rules that a chain applies to the fields alone, whatever its state: nonce below 2^64 - 1
 * (EIP-2681), priority fee at most the fee, gas limit times fee within 256 bits, a chain id (not 0
 * under EIP-155), a recipient for types 3 and 4, at least one versioned hash of version 1
 * (EIP-4844), at least one authorization (EIP-7702).  All functions below that take a transaction
 * or give one apply it.
 */
extern enum evm_status evm_tx_check(const struct evm_tx *tx, struct evm_error *err);

/*
 * Gas that is taken before execution: base, data (EIP-2028), creation (EIP-3860), access list
 * (EIP-2930), authorizations (EIP-7702).  *floor, when not NULL, is the least gas limit that
 * EIP-7623 asks for (chains since Prague take the larger of both).
 */
extern uint64_t evm_tx_intrinsic_gas(uint64_t *floor, const struct evm_tx *tx);

extern enum evm_status evm_tx_signing_hash(struct evm_arena *arena, struct evm_hash *out,
										   const struct evm_tx *tx, struct evm_error *err);
/* Signs in place, gives the raw bytes (in the arena) and their hash. */
extern enum evm_status evm_tx_sign(struct evm_arena *arena, struct evm_bytes *raw,
								   struct evm_hash *hash, struct evm_tx *tx,
								   const struct evm_key *key, struct evm_error *err);
/* The raw bytes of a transaction that has its signature, which must be canonical. */
extern enum evm_status evm_tx_serialize(struct evm_arena *arena, struct evm_bytes *raw,
										const struct evm_tx *tx, struct evm_error *err);
/*
 * Strict: canonical RLP, low s, valid y parity, no trailing data, evm_tx_check.  tx->data borrows
 * from raw, lists live in the arena.  A type 4 transaction stays valid with an authorization whose
 * signature is wrong (EIP-7702 skips it), so those signatures are only read.
 */
extern enum evm_status evm_tx_decode(struct evm_arena *arena, struct evm_tx *out,
									 const uint8_t *raw, size_t len, struct evm_error *err);
/* The address that signed; recovered from the signature. */
extern enum evm_status evm_tx_sender(struct evm_arena *arena, struct evm_address *out,
									 const struct evm_tx *tx, struct evm_error *err);

/*
 * A transaction as a JSON object with the names that rflow.decode_transaction gives: type (else it
 * follows from the members that only one type has), chain_id, nonce, gas_price or
 * max_priority_fee_per_gas and max_fee_per_gas, gas_limit, to (null creates a contract), value,
 * data, access_list, max_fee_per_blob_gas, blob_hashes, authorizations.  Integers are JSON numbers,
 * decimal text or 0x hex.  *is_signed: it has y_parity, r and s.  hash, from and authority are
 * ignored; any other member, and one that its type does not have, is EVM_ERR_MALFORMED.
 */
extern enum evm_status evm_tx_from_json(struct evm_arena *arena, struct evm_tx *out,
										bool *is_signed, const struct evm_json *node,
										struct evm_error *err);

/* EIP-7702: keccak256(0x05 || rlp([chain_id, address, nonce])). */
extern enum evm_status evm_authorization_hash(struct evm_arena *arena, struct evm_hash *out,
											  const struct evm_authorization *authorization);
/* Signs in place. */
extern enum evm_status evm_authorization_sign(struct evm_arena *arena,
											  struct evm_authorization *authorization,
											  const struct evm_key *key);
/* The account that authorizes; EVM_ERR_CRYPTO where a chain would skip the authorization. */
extern enum evm_status evm_authorization_authority(struct evm_arena *arena, struct evm_address *out,
												   const struct evm_authorization *authorization);

/* The address of a contract made by CREATE and by CREATE2 (EIP-1014). */
extern enum evm_status evm_create_address(struct evm_arena *arena, struct evm_address *out,
										  const struct evm_address *sender, uint64_t nonce);
extern void evm_create2_address(struct evm_address *out, const struct evm_address *sender,
								const struct evm_hash *salt, const struct evm_hash *init_code_hash);

#endif /* EVM_TX_H */
