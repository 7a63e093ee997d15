/*
 * vectors_tx.c
 *	  Vectors of transactions: signing, decoding, authorizations, addresses of contracts.
 */
#include "vectors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "evm/keccak.h"
#include "evm/tx.h"
#include "evm/word.h"
#include "vectors_read.h"

/* The chain whose rules the rows of tx_decode follow. */
#define MAINNET 1

static bool
read_access_list(struct evm_arena *arena, const struct evm_json *tx, struct evm_tx *out)
{
	const struct evm_json *list = evm_json_object_get(tx, "accessList");
	const size_t n = evm_json_array_size(list);
	struct evm_access *accesses = evm_arena_zalloc(arena, n, sizeof(*accesses));

	for (size_t i = 0; i < n; i++)
	{
		const struct evm_json *entry = evm_json_array_get(list, i);
		struct evm_hash *keys;

		if (!read_fixed(arena, entry, "address", accesses[i].address.b, 20) ||
			!read_hashes(arena, entry, "storageKeys", &keys, &accesses[i].storage_key_count))
			return false;
		accesses[i].storage_keys = keys;
	}
	out->access_list = accesses;
	out->access_count = n;
	return true;
}

static bool
read_authorizations(struct evm_arena *arena, const struct evm_json *tx, struct evm_tx *out)
{
	const struct evm_json *list = evm_json_object_get(tx, "authorizationList");
	const size_t n = evm_json_array_size(list);
	struct evm_authorization *authorizations = evm_arena_zalloc(arena, n, sizeof(*authorizations));

	for (size_t i = 0; i < n; i++)
	{
		const struct evm_json *entry = evm_json_array_get(list, i);
		struct evm_authorization *authorization = &authorizations[i];
		int64_t parity;

		if (!read_word(entry, "chainId", &authorization->chain_id) ||
			!read_fixed(arena, entry, "address", authorization->address.b, 20) ||
			!read_u64(entry, "nonce", &authorization->nonce) ||
			!read_fixed(arena, entry, "r", authorization->signature.r, 32) ||
			!read_fixed(arena, entry, "s", authorization->signature.s, 32) ||
			!evm_json_integer(evm_json_object_get(entry, "yParity"), &parity))
			return false;
		authorization->signature.y_parity = (uint8_t) parity;
	}
	out->authorizations = authorizations;
	out->authorization_count = n;
	return true;
}

static bool
read_fees(const struct evm_json *tx, struct evm_tx *out)
{
	if (out->type >= EVM_TX_DYNAMIC_FEE)
		return read_word(tx, "maxFeePerGas", &out->max_fee_per_gas) &&
			read_word(tx, "maxPriorityFeePerGas", &out->max_priority_fee_per_gas);
	return read_word(tx, "gasPrice", &out->gas_price);
}

static bool
read_tx(struct evm_arena *arena, const struct evm_json *tx, struct evm_tx *out)
{
	struct evm_hash *blob_hashes = NULL;
	int64_t type;

	memset(out, 0, sizeof(*out));
	if (!evm_json_integer(evm_json_object_get(tx, "type"), &type))
		return false;
	out->type = (enum evm_tx_type) type;
	out->has_chain_id = evm_json_object_get(tx, "chainId") != NULL;
	if (out->has_chain_id && !read_u64(tx, "chainId", &out->chain_id))
		return false;
	out->creates = evm_json_kind(evm_json_object_get(tx, "to")) == EVM_JSON_NULL;
	if (!out->creates && !read_fixed(arena, tx, "to", out->to.b, 20))
		return false;
	if (!read_u64(tx, "nonce", &out->nonce) || !read_fees(tx, out) ||
		!read_word(tx, "gas", &out->gas_limit) || !read_word(tx, "value", &out->value) ||
		!vector_bytes(arena, tx, "data", &out->data) || !read_access_list(arena, tx, out))
		return false;
	if (out->type == EVM_TX_BLOB)
	{
		if (!read_word(tx, "maxFeePerBlobGas", &out->max_fee_per_blob_gas) ||
			!read_hashes(arena, tx, "blobVersionedHashes", &blob_hashes, &out->blob_hash_count))
			return false;
		out->blob_hashes = blob_hashes;
	}
	return out->type != EVM_TX_SET_CODE || read_authorizations(arena, tx, out);
}

/* Raw bytes decode to a transaction that gives the same bytes, sender and signature. */
static enum vector_result
check_raw(struct evm_arena *arena, struct vector_note *note, const struct evm_bytes *raw,
		  const struct evm_address *from)
{
	struct evm_tx decoded;
	struct evm_bytes again;
	struct evm_address sender;
	struct evm_error err;

	if (evm_tx_decode(arena, &decoded, raw->data, raw->len, &err) != EVM_OK ||
		evm_tx_serialize(arena, &again, &decoded, &err) != EVM_OK ||
		evm_tx_sender(arena, &sender, &decoded, &err) != EVM_OK)
		return vector_fail(note, "decode: %s", err.message);
	if (vector_same_bytes(note, "bytes after decoding", again.data, again.len, raw->data,
						  raw->len) != VECTOR_PASS)
		return VECTOR_FAIL;
	return vector_same_bytes(note, "sender", sender.b, sizeof(sender.b), from->b, sizeof(from->b));
}

/* No prefix of a transaction decodes, nor one with a byte behind it. */
static enum vector_result
check_strictness(struct evm_arena *arena, struct vector_note *note, const struct evm_bytes *raw)
{
	uint8_t *longer = evm_arena_alloc(arena, raw->len + 1);
	struct evm_tx decoded;

	memcpy(longer, raw->data, raw->len);
	longer[raw->len] = 0;
	if (evm_tx_decode(arena, &decoded, longer, raw->len + 1, NULL) == EVM_OK)
		return vector_fail(note, "a byte behind the transaction is accepted");
	for (size_t len = 0; len < raw->len; len++)
	{
		if (evm_tx_decode(arena, &decoded, raw->data, len, NULL) == EVM_OK)
			return vector_fail(note, "the first %zu bytes of the transaction decode", len);
	}
	return VECTOR_PASS;
}

static enum vector_result
check_tx_sign(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const struct evm_json *json = evm_json_object_get(row, "tx");
	struct evm_tx tx;
	struct evm_key key;
	struct evm_hash signing_hash;
	struct evm_hash hash;
	struct evm_hash want_signing_hash;
	struct evm_hash want_hash;
	struct evm_address from;
	struct evm_bytes raw;
	struct evm_bytes want_raw;
	struct evm_error err;

	if (!read_tx(arena, json, &tx) || !read_fixed(arena, row, "key", key.secret, 32) ||
		!read_fixed(arena, row, "sighash", want_signing_hash.b, 32) ||
		!read_fixed(arena, row, "hash", want_hash.b, 32) ||
		!read_fixed(arena, row, "from", from.b, 20) || !vector_bytes(arena, row, "raw", &want_raw))
		return vector_fail(note, "the row cannot be read");
	if (evm_tx_signing_hash(arena, &signing_hash, &tx, &err) != EVM_OK ||
		evm_tx_sign(arena, &raw, &hash, &tx, &key, &err) != EVM_OK)
		return vector_fail(note, "sign: %s", err.message);
	if (vector_same_bytes(note, "signing hash", signing_hash.b, 32, want_signing_hash.b, 32) ||
		vector_same_bytes(note, "raw", raw.data, raw.len, want_raw.data, want_raw.len) ||
		vector_same_bytes(note, "hash", hash.b, 32, want_hash.b, 32) ||
		check_raw(arena, note, &want_raw, &from))
		return VECTOR_FAIL;
	return check_strictness(arena, note, &want_raw);
}

static enum evm_status
decode_as_mainnet(struct evm_arena *arena, struct evm_tx *tx, struct evm_address *sender,
				  const struct evm_bytes *raw, struct evm_error *err)
{
	enum evm_status status = evm_tx_decode(arena, tx, raw->data, raw->len, err);
	uint64_t gas;

	if (status != EVM_OK)
		return status;
	if (tx->has_chain_id && tx->chain_id != MAINNET)
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "another chain");
	/* The gas limit of a block, which bounds it, is a number of 64 bits. */
	if (!evm_word_to_u64(&gas, &tx->gas_limit))
		return evm_fail(err, EVM_ERR_RANGE, 0, "gas limit beyond that of any block");
	if (evm_tx_intrinsic_gas(NULL, tx) > gas)
		return evm_fail(err, EVM_ERR_RANGE, 0, "gas limit below the intrinsic gas");
	return evm_tx_sender(arena, sender, tx, err);
}

static enum vector_result
check_tx_decode(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const bool valid = evm_json_is_true(evm_json_object_get(row, "valid"));
	struct evm_bytes raw;
	struct evm_tx tx;
	struct evm_address sender;
	struct evm_address from;
	struct evm_hash hash;
	struct evm_hash want_hash;
	struct evm_error err;
	uint64_t gas;

	if (!vector_bytes(arena, row, "raw", &raw))
		return vector_fail(note, "the row cannot be read");
	if (decode_as_mainnet(arena, &tx, &sender, &raw, &err) != EVM_OK)
		return valid ? vector_fail(note, "refused: %s", err.message) : VECTOR_PASS;
	if (!valid)
		return vector_fail(note, "accepted, but %s", vector_text(row, "exception"));
	if (!read_fixed(arena, row, "from", from.b, 20) ||
		!read_fixed(arena, row, "hash", want_hash.b, 32) || !read_u64(row, "intrinsic_gas", &gas))
		return vector_fail(note, "the row cannot be read");
	if (evm_tx_intrinsic_gas(NULL, &tx) != gas)
		return vector_fail(note, "intrinsic gas is %" PRIu64 " instead of %" PRIu64,
						   evm_tx_intrinsic_gas(NULL, &tx), gas);
	evm_keccak256(&hash, raw.data, raw.len);
	if (vector_same_bytes(note, "hash", hash.b, 32, want_hash.b, 32))
		return VECTOR_FAIL;
	return check_raw(arena, note, &raw, &from);
}

static enum vector_result
check_authorization(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct evm_authorization authorization = {0};
	struct evm_key key;
	struct evm_hash hash;
	struct evm_hash want_hash;
	struct evm_signature want = {0};
	struct evm_address authority;
	struct evm_address want_authority;
	int64_t parity;

	if (!read_word(row, "chainId", &authorization.chain_id) ||
		!read_fixed(arena, row, "address", authorization.address.b, 20) ||
		!read_u64(row, "nonce", &authorization.nonce) ||
		!read_fixed(arena, row, "key", key.secret, 32) ||
		!read_fixed(arena, row, "sighash", want_hash.b, 32) ||
		!read_fixed(arena, row, "authority", want_authority.b, 20) ||
		!read_fixed(arena, row, "r", want.r, 32) || !read_fixed(arena, row, "s", want.s, 32) ||
		!evm_json_integer(evm_json_object_get(row, "yParity"), &parity))
		return vector_fail(note, "the row cannot be read");
	want.y_parity = (uint8_t) parity;
	if (evm_authorization_hash(arena, &hash, &authorization) != EVM_OK ||
		evm_authorization_sign(arena, &authorization, &key) != EVM_OK)
		return vector_fail(note, "cannot be signed");
	if (evm_authorization_authority(arena, &authority, &authorization) != EVM_OK)
	{
		if (authorization.nonce == UINT64_MAX)
			return VECTOR_PASS;
		return vector_fail(note, "has no authority");
	}
	if (vector_same_bytes(note, "hash", hash.b, 32, want_hash.b, 32) ||
		vector_same_bytes(note, "r", authorization.signature.r, 32, want.r, 32) ||
		vector_same_bytes(note, "s", authorization.signature.s, 32, want.s, 32) ||
		vector_same_bytes(note, "y parity", &authorization.signature.y_parity, 1, &want.y_parity,
						  1))
		return VECTOR_FAIL;
	return vector_same_bytes(note, "authority", authority.b, 20, want_authority.b, 20);
}

static enum vector_result
check_create(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *op = vector_text(row, "op");
	struct evm_address sender;
	struct evm_address got;
	struct evm_address want;
	struct evm_hash salt;
	struct evm_hash code_hash;
	uint64_t nonce;

	if (op == NULL || !read_fixed(arena, row, "sender", sender.b, 20) ||
		!read_fixed(arena, row, "address", want.b, 20))
		return vector_fail(note, "the row cannot be read");
	if (strcmp(op, "create2") == 0)
	{
		if (!read_fixed(arena, row, "salt", salt.b, 32) ||
			!read_fixed(arena, row, "init_code_hash", code_hash.b, 32))
			return vector_fail(note, "the row cannot be read");
		evm_create2_address(&got, &sender, &salt, &code_hash);
	}
	else if (!read_u64(row, "nonce", &nonce) ||
			 evm_create_address(arena, &got, &sender, nonce) != EVM_OK)
		return vector_fail(note, "the row cannot be read");
	return vector_same_bytes(note, "address", got.b, 20, want.b, 20);
}

static const struct vector_family tx_families[] = {{"tx_sign", check_tx_sign},
												   {"tx_decode", check_tx_decode},
												   {"auth7702", check_authorization},
												   {"create", check_create},
												   {NULL, NULL}};

VECTOR_FAMILIES(tx_families);
