/*
 * codec_transaction.c
 *	  Transactions of all types: raw bytes to jsonb, and jsonb to what is signed and to raw bytes.
 */
#include "postgres.h"

#include "api/codec_source.h"
#include "api/jsonb_build.h"
#include "db/datum.h"
#include "evm/keccak.h"
#include "evm/personal.h"
#include "evm/tx.h"
#include "fmgr.h"

static struct evm_bytes
hash_bytes(const struct evm_hash *hash)
{
	struct evm_bytes bytes = {hash->b, sizeof(hash->b)};

	return bytes;
}

static void
push_fees(JsonbParseState **state, const struct evm_tx *tx)
{
	if (tx->type == EVM_TX_LEGACY || tx->type == EVM_TX_ACCESS_LIST)
		api_push_word(state, "gas_price", &tx->gas_price);
	else
	{
		api_push_word(state, "max_priority_fee_per_gas", &tx->max_priority_fee_per_gas);
		api_push_word(state, "max_fee_per_gas", &tx->max_fee_per_gas);
	}
	if (tx->type == EVM_TX_BLOB)
		api_push_word(state, "max_fee_per_blob_gas", &tx->max_fee_per_blob_gas);
}

static void
push_access_list(JsonbParseState **state, const struct evm_tx *tx)
{
	api_push_begin(state, "access_list", WJB_BEGIN_ARRAY);
	for (size_t i = 0; i < tx->access_count; i++)
	{
		const struct evm_access *access = &tx->access_list[i];

		api_push_begin(state, NULL, WJB_BEGIN_OBJECT);
		api_push_address(state, "address", &access->address);
		api_push_begin(state, "storage_keys", WJB_BEGIN_ARRAY);
		for (size_t j = 0; j < access->storage_key_count; j++)
			api_push_hex(state, NULL, hash_bytes(&access->storage_keys[j]));
		pushJsonbValue(state, WJB_END_ARRAY, NULL);
		pushJsonbValue(state, WJB_END_OBJECT, NULL);
	}
	pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

static void
push_blob_hashes(JsonbParseState **state, const struct evm_tx *tx)
{
	api_push_begin(state, "blob_hashes", WJB_BEGIN_ARRAY);
	for (size_t i = 0; i < tx->blob_hash_count; i++)
		api_push_hex(state, NULL, hash_bytes(&tx->blob_hashes[i]));
	pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

static void
push_signature(JsonbParseState **state, const struct evm_signature *signature)
{
	struct evm_bytes r = {signature->r, sizeof(signature->r)};
	struct evm_bytes s = {signature->s, sizeof(signature->s)};

	api_push_number(state, "y_parity", signature->y_parity);
	api_push_hex(state, "r", r);
	api_push_hex(state, "s", s);
}

/* An authorization whose signature is wrong has no authority; a chain skips it. */
static void
push_authorizations(JsonbParseState **state, struct evm_arena *arena, const struct evm_tx *tx)
{
	api_push_begin(state, "authorizations", WJB_BEGIN_ARRAY);
	for (size_t i = 0; i < tx->authorization_count; i++)
	{
		const struct evm_authorization *authorization = &tx->authorizations[i];
		struct evm_address authority;

		api_push_begin(state, NULL, WJB_BEGIN_OBJECT);
		api_push_word(state, "chain_id", &authorization->chain_id);
		api_push_address(state, "address", &authorization->address);
		api_push_u64(state, "nonce", authorization->nonce);
		push_signature(state, &authorization->signature);
		if (evm_authorization_authority(arena, &authority, authorization) == EVM_OK)
			api_push_address(state, "authority", &authority);
		else
			api_push_null(state, "authority");
		pushJsonbValue(state, WJB_END_OBJECT, NULL);
	}
	pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

static void
push_fields(JsonbParseState **state, struct evm_arena *arena, const struct evm_tx *tx)
{
	api_push_number(state, "type", (int32) tx->type);
	if (tx->has_chain_id)
		api_push_u64(state, "chain_id", tx->chain_id);
	else
		api_push_null(state, "chain_id");
	api_push_u64(state, "nonce", tx->nonce);
	push_fees(state, tx);
	api_push_word(state, "gas_limit", &tx->gas_limit);
	if (tx->creates)
		api_push_null(state, "to");
	else
		api_push_address(state, "to", &tx->to);
	api_push_word(state, "value", &tx->value);
	api_push_hex(state, "data", tx->data);
	if (tx->type != EVM_TX_LEGACY)
		push_access_list(state, tx);
	if (tx->type == EVM_TX_BLOB)
		push_blob_hashes(state, tx);
	if (tx->type == EVM_TX_SET_CODE)
		push_authorizations(state, arena, tx);
	push_signature(state, &tx->signature);
}

PG_FUNCTION_INFO_V1(rflow_decode_transaction);
Datum
rflow_decode_transaction(PG_FUNCTION_ARGS)
{
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes raw = db_datum_hex(PG_GETARG_DATUM(0));
	JsonbParseState *state = NULL;
	struct evm_address sender;
	struct evm_hash hash;
	struct evm_error err;
	struct evm_tx tx;

	if (evm_tx_decode(arena, &tx, raw.data, raw.len, &err) != EVM_OK ||
		evm_tx_sender(arena, &sender, &tx, &err) != EVM_OK)
		db_raise(&err, NULL);
	evm_keccak256(&hash, raw.data, raw.len);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	api_push_hex(&state, "hash", hash_bytes(&hash));
	api_push_address(&state, "from", &sender);
	push_fields(&state, arena, &tx);
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

/* ---- from jsonb ------------------------------------------------------------------------ */

static struct evm_tx
read_transaction(struct evm_arena *arena, Jsonb *jsonb, bool *is_signed)
{
	char *text = JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb));
	struct evm_bytes utf8 = db_server_to_utf8(text, strlen(text));
	const struct evm_json *node;
	struct evm_error err;
	struct evm_tx tx;

	if (evm_json_parse(arena, &node, (const char *) utf8.data, utf8.len, &err) != EVM_OK ||
		evm_tx_from_json(arena, &tx, is_signed, node, &err) != EVM_OK)
		db_raise(&err, NULL);
	return tx;
}

PG_FUNCTION_INFO_V1(rflow_hash_transaction);
Datum
rflow_hash_transaction(PG_FUNCTION_ARGS)
{
	struct evm_arena *arena = api_codec_arena();
	struct evm_error err;
	struct evm_hash hash;
	struct evm_tx tx;
	bool is_signed;

	tx = read_transaction(arena, PG_GETARG_JSONB_P(0), &is_signed);
	if (evm_tx_signing_hash(arena, &hash, &tx, &err) != EVM_OK)
		db_raise(&err, NULL);
	return db_hex_datum(hash.b, sizeof(hash.b));
}

static Datum
encode_transaction(struct evm_arena *arena, const struct evm_tx *tx)
{
	struct evm_bytes raw;
	struct evm_error err;

	if (evm_tx_serialize(arena, &raw, tx, &err) != EVM_OK)
		db_raise(&err, NULL);
	return db_hex_datum(raw.data, raw.len);
}

PG_FUNCTION_INFO_V1(rflow_encode_transaction);
Datum
rflow_encode_transaction(PG_FUNCTION_ARGS)
{
	struct evm_arena *arena = api_codec_arena();
	struct evm_tx tx;
	bool is_signed;

	tx = read_transaction(arena, PG_GETARG_JSONB_P(0), &is_signed);
	if (!is_signed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the transaction has no signature"),
				 errhint("Sign rflow.hash_transaction(transaction) and pass the signature.")));
	return encode_transaction(arena, &tx);
}

PG_FUNCTION_INFO_V1(rflow_encode_transaction_signed);
Datum
rflow_encode_transaction_signed(PG_FUNCTION_ARGS)
{
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes signature = db_datum_hex(PG_GETARG_DATUM(1));
	struct evm_error err;
	struct evm_tx tx;
	bool is_signed;

	tx = read_transaction(arena, PG_GETARG_JSONB_P(0), &is_signed);
	if (evm_signature_from_bytes(&tx.signature, signature.data, signature.len, &err) != EVM_OK)
		db_raise(&err, NULL);
	return encode_transaction(arena, &tx);
}
