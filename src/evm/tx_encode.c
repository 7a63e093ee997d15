/*
 * tx_encode.c
 *	  Transactions and authorizations to bytes: the hash to sign, signing, raw bytes.
 */
#include "evm/tx.h"

#include <string.h>

#include "evm/keccak.h"
#include "evm/rlp.h"
#include "evm/tx_fields.h"
#include "evm/word.h"

/* EIP-7702: what the hash of an authorization begins with. */
#define AUTHORIZATION_MAGIC 0x05

static void
write_32(struct evm_rlp_writer *writer, const uint8_t number[32])
{
	struct evm_word word;

	evm_word_from_be(&word, number, 32);
	evm_rlp_word(writer, &word);
}

static void
write_access_list(struct evm_rlp_writer *writer, const struct evm_tx *tx)
{
	evm_rlp_open_list(writer);
	for (size_t i = 0; i < tx->access_count; i++)
	{
		const struct evm_access *access = &tx->access_list[i];

		evm_rlp_open_list(writer);
		evm_rlp_bytes(writer, access->address.b, sizeof(access->address.b));
		evm_rlp_open_list(writer);
		for (size_t k = 0; k < access->storage_key_count; k++)
			evm_rlp_bytes(writer, access->storage_keys[k].b, sizeof(access->storage_keys[k].b));
		evm_rlp_close_list(writer);
		evm_rlp_close_list(writer);
	}
	evm_rlp_close_list(writer);
}

static void
write_authorization_head(struct evm_rlp_writer *writer,
						 const struct evm_authorization *authorization)
{
	evm_rlp_word(writer, &authorization->chain_id);
	evm_rlp_bytes(writer, authorization->address.b, sizeof(authorization->address.b));
	evm_rlp_u64(writer, authorization->nonce);
}

static void
write_authorizations(struct evm_rlp_writer *writer, const struct evm_tx *tx)
{
	evm_rlp_open_list(writer);
	for (size_t i = 0; i < tx->authorization_count; i++)
	{
		const struct evm_authorization *authorization = &tx->authorizations[i];

		evm_rlp_open_list(writer);
		write_authorization_head(writer, authorization);
		evm_rlp_u64(writer, authorization->signature.y_parity);
		write_32(writer, authorization->signature.r);
		write_32(writer, authorization->signature.s);
		evm_rlp_close_list(writer);
	}
	evm_rlp_close_list(writer);
}

static void
write_blobs(struct evm_rlp_writer *writer, const struct evm_tx *tx)
{
	evm_rlp_word(writer, &tx->max_fee_per_blob_gas);
	evm_rlp_open_list(writer);
	for (size_t i = 0; i < tx->blob_hash_count; i++)
		evm_rlp_bytes(writer, tx->blob_hashes[i].b, sizeof(tx->blob_hashes[i].b));
	evm_rlp_close_list(writer);
}

/* The fields that are signed, short of the chain id of EIP-155. */
static void
write_fields(struct evm_rlp_writer *writer, const struct evm_tx *tx)
{
	if (tx->type != EVM_TX_LEGACY)
		evm_rlp_u64(writer, tx->chain_id);
	evm_rlp_u64(writer, tx->nonce);
	if (evm_tx_has_priority_fee(tx->type))
	{
		evm_rlp_word(writer, &tx->max_priority_fee_per_gas);
		evm_rlp_word(writer, &tx->max_fee_per_gas);
	}
	else
		evm_rlp_word(writer, &tx->gas_price);
	evm_rlp_word(writer, &tx->gas_limit);
	evm_rlp_bytes(writer, tx->to.b, tx->creates ? 0 : sizeof(tx->to.b));
	evm_rlp_word(writer, &tx->value);
	evm_rlp_bytes(writer, tx->data.data, tx->data.len);
	if (tx->type != EVM_TX_LEGACY)
		write_access_list(writer, tx);
	if (tx->type == EVM_TX_BLOB)
		write_blobs(writer, tx);
	if (tx->type == EVM_TX_SET_CODE)
		write_authorizations(writer, tx);
}

/* chain_id * 2 + 35 may need more than 64 bits. */
static void
write_legacy_v(struct evm_rlp_writer *writer, const struct evm_tx *tx)
{
	struct evm_word v = evm_word_from_u64(EVM_TX_V_PLAIN + tx->signature.y_parity);

	if (tx->has_chain_id)
	{
		const struct evm_word base = evm_word_from_u64(EVM_TX_V_EIP155 + tx->signature.y_parity);
		const struct evm_word chain_id = evm_word_from_u64(tx->chain_id);

		/* Neither step can overflow: the chain id has 64 bits. */
		(void) evm_word_mul_u64(&v, &chain_id, 2);
		(void) evm_word_add(&v, &v, &base);
	}
	evm_rlp_word(writer, &v);
}

static void
write_signature(struct evm_rlp_writer *writer, const struct evm_tx *tx)
{
	if (tx->type == EVM_TX_LEGACY)
		write_legacy_v(writer, tx);
	else
		evm_rlp_u64(writer, tx->signature.y_parity);
	write_32(writer, tx->signature.r);
	write_32(writer, tx->signature.s);
}

/* Typed transactions start with their type's byte, outside the list (EIP-2718). */
static void
open_envelope(struct evm_rlp_writer *writer, struct evm_arena *arena, const struct evm_tx *tx)
{
	evm_rlp_init(writer, arena);
	if (tx->type != EVM_TX_LEGACY)
	{
		const uint8_t type = (uint8_t) tx->type;

		evm_rlp_raw(writer, &type, 1);
	}
	evm_rlp_open_list(writer);
}

static enum evm_status
close_envelope(struct evm_bytes *out, struct evm_rlp_writer *writer, struct evm_error *err)
{
	enum evm_status status;

	evm_rlp_close_list(writer);
	status = evm_rlp_finish(writer, out);
	if (status != EVM_OK)
		return evm_fail(err, status, 0, "transaction does not fit the memory it was given");
	return EVM_OK;
}

enum evm_status
evm_tx_signing_hash(struct evm_arena *arena, struct evm_hash *out, const struct evm_tx *tx,
					struct evm_error *err)
{
	struct evm_rlp_writer writer;
	struct evm_bytes encoded;
	enum evm_status status = evm_tx_check(tx, err);

	if (status != EVM_OK)
		return status;
	open_envelope(&writer, arena, tx);
	write_fields(&writer, tx);
	if (tx->type == EVM_TX_LEGACY && tx->has_chain_id)
	{
		evm_rlp_u64(&writer, tx->chain_id);
		evm_rlp_u64(&writer, 0);
		evm_rlp_u64(&writer, 0);
	}
	status = close_envelope(&encoded, &writer, err);
	if (status == EVM_OK)
		evm_keccak256(out, encoded.data, encoded.len);
	return status;
}

enum evm_status
evm_tx_serialize(struct evm_arena *arena, struct evm_bytes *raw, const struct evm_tx *tx,
				 struct evm_error *err)
{
	struct evm_rlp_writer writer;
	enum evm_status status = evm_tx_check(tx, err);

	if (status != EVM_OK)
		return status;
	if (!evm_signature_is_canonical(&tx->signature))
		return evm_fail(err, EVM_ERR_CRYPTO, 0, "transaction has no valid signature");
	open_envelope(&writer, arena, tx);
	write_fields(&writer, tx);
	write_signature(&writer, tx);
	return close_envelope(raw, &writer, err);
}

enum evm_status
evm_tx_sign(struct evm_arena *arena, struct evm_bytes *raw, struct evm_hash *hash,
			struct evm_tx *tx, const struct evm_key *key, struct evm_error *err)
{
	struct evm_hash signing_hash;
	enum evm_status status = evm_tx_signing_hash(arena, &signing_hash, tx, err);

	if (status != EVM_OK)
		return status;
	status = evm_sign_hash(&tx->signature, key, &signing_hash);
	if (status != EVM_OK)
		return evm_fail(err, status, 0, "key cannot sign: it is not a valid secp256k1 key");
	status = evm_tx_serialize(arena, raw, tx, err);
	if (status == EVM_OK)
		evm_keccak256(hash, raw->data, raw->len);
	return status;
}

enum evm_status
evm_tx_sender(struct evm_arena *arena, struct evm_address *out, const struct evm_tx *tx,
			  struct evm_error *err)
{
	struct evm_hash signing_hash;
	enum evm_status status = evm_tx_signing_hash(arena, &signing_hash, tx, err);

	if (status != EVM_OK)
		return status;
	if (!evm_signature_is_canonical(&tx->signature) ||
		evm_recover(out, &signing_hash, &tx->signature) != EVM_OK)
		return evm_fail(err, EVM_ERR_CRYPTO, 0, "signature of the transaction recovers no sender");
	return EVM_OK;
}

enum evm_status
evm_authorization_hash(struct evm_arena *arena, struct evm_hash *out,
					   const struct evm_authorization *authorization)
{
	const uint8_t magic = AUTHORIZATION_MAGIC;
	struct evm_rlp_writer writer;
	struct evm_bytes encoded;
	enum evm_status status;

	evm_rlp_init(&writer, arena);
	evm_rlp_raw(&writer, &magic, 1);
	evm_rlp_open_list(&writer);
	write_authorization_head(&writer, authorization);
	evm_rlp_close_list(&writer);
	status = evm_rlp_finish(&writer, &encoded);
	if (status == EVM_OK)
		evm_keccak256(out, encoded.data, encoded.len);
	return status;
}

enum evm_status
evm_authorization_sign(struct evm_arena *arena, struct evm_authorization *authorization,
					   const struct evm_key *key)
{
	struct evm_hash hash;
	enum evm_status status = evm_authorization_hash(arena, &hash, authorization);

	if (status == EVM_OK)
		status = evm_sign_hash(&authorization->signature, key, &hash);
	return status;
}

enum evm_status
evm_authorization_authority(struct evm_arena *arena, struct evm_address *out,
							const struct evm_authorization *authorization)
{
	struct evm_hash hash;
	enum evm_status status;

	if (!evm_signature_is_canonical(&authorization->signature) ||
		authorization->nonce == UINT64_MAX)
		return EVM_ERR_CRYPTO;
	status = evm_authorization_hash(arena, &hash, authorization);
	if (status == EVM_OK)
		status = evm_recover(out, &hash, &authorization->signature);
	return status;
}
