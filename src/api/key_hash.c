/*
 * key_hash.c
 *	  Keccak-256, and the addresses that follow from hashes: of contracts and of signers.
 */
#include "postgres.h"

#include "api/codec_source.h"
#include "api/jsonb_build.h"
#include "db/datum.h"
#include "evm/keccak.h"
#include "evm/namehash.h"
#include "evm/personal.h"
#include "evm/tx.h"
#include "evm/typed_data.h"
#include "fmgr.h"
#include "utils/builtins.h"

static Datum
hash_datum(const struct evm_hash *hash)
{
	return db_hex_datum(hash->b, sizeof(hash->b));
}

static struct evm_hash
hash_argument(Datum datum, const char *what)
{
	struct evm_bytes bytes = db_datum_hex(datum);
	struct evm_hash hash;

	if (bytes.len != sizeof(hash))
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_LENGTH_MISMATCH),
				 errmsg("%s has %zu bytes instead of %zu", what, bytes.len, sizeof(hash))));
	memcpy(hash.b, bytes.data, sizeof(hash));
	return hash;
}

static struct evm_bytes
utf8_argument(text *argument)
{
	return db_server_to_utf8(VARDATA_ANY(argument), VARSIZE_ANY_EXHDR(argument));
}

PG_FUNCTION_INFO_V1(rflow_keccak256);
Datum
rflow_keccak256(PG_FUNCTION_ARGS)
{
	struct evm_bytes bytes = db_datum_hex(PG_GETARG_DATUM(0));
	struct evm_hash hash;

	evm_keccak256(&hash, bytes.data, bytes.len);
	return hash_datum(&hash);
}

PG_FUNCTION_INFO_V1(rflow_keccak256_text);
Datum
rflow_keccak256_text(PG_FUNCTION_ARGS)
{
	struct evm_bytes bytes = utf8_argument(PG_GETARG_TEXT_PP(0));
	struct evm_hash hash;

	evm_keccak256(&hash, bytes.data, bytes.len);
	return hash_datum(&hash);
}

PG_FUNCTION_INFO_V1(rflow_namehash);
Datum
rflow_namehash(PG_FUNCTION_ARGS)
{
	struct evm_bytes name = utf8_argument(PG_GETARG_TEXT_PP(0));
	struct evm_bytes normal = name;
	bool is_normalized = PG_GETARG_BOOL(1);
	struct evm_hash hash;
	struct evm_error err;

	if ((!is_normalized &&
		 evm_ens_normalize(api_codec_arena(), &normal, (const char *) name.data, name.len, &err) !=
			 EVM_OK) ||
		evm_namehash(&hash, (const char *) normal.data, normal.len, &err) != EVM_OK)
		db_raise(&err, NULL);
	return hash_datum(&hash);
}

PG_FUNCTION_INFO_V1(rflow_ens_normalize);
Datum
rflow_ens_normalize(PG_FUNCTION_ARGS)
{
	struct evm_bytes name = utf8_argument(PG_GETARG_TEXT_PP(0));
	struct evm_bytes normal;
	struct evm_error err;
	const char *text;
	size_t len;

	if (evm_ens_normalize(api_codec_arena(), &normal, (const char *) name.data, name.len, &err) !=
		EVM_OK)
		db_raise(&err, NULL);
	text = db_utf8_to_server(&len, normal);
	if (text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("the encoding of the database cannot hold the normal form of the name")));
	return PointerGetDatum(cstring_to_text_with_len(text, (int) len));
}

PG_FUNCTION_INFO_V1(rflow_create_address);
Datum
rflow_create_address(PG_FUNCTION_ARGS)
{
	int64 nonce = PG_GETARG_INT64(1);
	struct evm_address address;

	if (nonce < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("a nonce is not negative")));
	if (evm_create_address(api_codec_arena(), &address, db_datum_address(PG_GETARG_DATUM(0)),
						   (uint64) nonce) != EVM_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return db_address_datum(&address);
}

PG_FUNCTION_INFO_V1(rflow_create2_address);
Datum
rflow_create2_address(PG_FUNCTION_ARGS)
{
	struct evm_hash salt = hash_argument(PG_GETARG_DATUM(1), "salt");
	struct evm_hash code = hash_argument(PG_GETARG_DATUM(2), "init_code_hash");
	struct evm_address address;

	evm_create2_address(&address, db_datum_address(PG_GETARG_DATUM(0)), &salt, &code);
	return db_address_datum(&address);
}

/* ---- signers ------------------------------------------------------------------------- */

static Datum
recover(const struct evm_hash *hash, Datum signature_bytes)
{
	struct evm_bytes bytes = db_datum_hex(signature_bytes);
	struct evm_signature signature;
	struct evm_address address;
	struct evm_error err;

	if (evm_signature_from_bytes(&signature, bytes.data, bytes.len, &err) != EVM_OK)
		db_raise(&err, NULL);
	if (evm_recover(&address, hash, &signature) != EVM_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no key can have made the signature for this hash")));
	return db_address_datum(&address);
}

static struct evm_hash
message_hash(struct evm_bytes message)
{
	struct evm_hash hash;

	evm_personal_hash(&hash, message.data, message.len);
	return hash;
}

static Datum
recover_message(struct evm_bytes message, Datum signature)
{
	struct evm_hash hash = message_hash(message);

	return recover(&hash, signature);
}

PG_FUNCTION_INFO_V1(rflow_recover_address);
Datum
rflow_recover_address(PG_FUNCTION_ARGS)
{
	struct evm_hash hash = hash_argument(PG_GETARG_DATUM(0), "hash");

	return recover(&hash, PG_GETARG_DATUM(1));
}

PG_FUNCTION_INFO_V1(rflow_recover_message);
Datum
rflow_recover_message(PG_FUNCTION_ARGS)
{
	return recover_message(db_datum_hex(PG_GETARG_DATUM(0)), PG_GETARG_DATUM(1));
}

PG_FUNCTION_INFO_V1(rflow_recover_message_text);
Datum
rflow_recover_message_text(PG_FUNCTION_ARGS)
{
	return recover_message(utf8_argument(PG_GETARG_TEXT_PP(0)), PG_GETARG_DATUM(1));
}

PG_FUNCTION_INFO_V1(rflow_hash_message);
Datum
rflow_hash_message(PG_FUNCTION_ARGS)
{
	struct evm_hash hash = message_hash(db_datum_hex(PG_GETARG_DATUM(0)));

	return hash_datum(&hash);
}

PG_FUNCTION_INFO_V1(rflow_hash_message_text);
Datum
rflow_hash_message_text(PG_FUNCTION_ARGS)
{
	struct evm_hash hash = message_hash(utf8_argument(PG_GETARG_TEXT_PP(0)));

	return hash_datum(&hash);
}

PG_FUNCTION_INFO_V1(rflow_hash_validator_message);
Datum
rflow_hash_validator_message(PG_FUNCTION_ARGS)
{
	struct evm_bytes data = db_datum_hex(PG_GETARG_DATUM(1));
	struct evm_hash hash;

	evm_validator_hash(&hash, db_datum_address(PG_GETARG_DATUM(0)), data.data, data.len);
	return hash_datum(&hash);
}

static struct evm_typed_data
read_typed_data(text *json)
{
	struct evm_bytes utf8 = utf8_argument(json);
	struct evm_typed_data typed_data;
	struct evm_error err;

	if (evm_typed_data_hash(api_codec_arena(), &typed_data, (const char *) utf8.data, utf8.len,
							&err) != EVM_OK)
		db_raise(&err, NULL);
	return typed_data;
}

PG_FUNCTION_INFO_V1(rflow_hash_typed_data);
Datum
rflow_hash_typed_data(PG_FUNCTION_ARGS)
{
	struct evm_typed_data typed_data = read_typed_data(PG_GETARG_TEXT_PP(0));

	return hash_datum(&typed_data.digest);
}

PG_FUNCTION_INFO_V1(rflow_recover_typed_data);
Datum
rflow_recover_typed_data(PG_FUNCTION_ARGS)
{
	struct evm_typed_data typed_data = read_typed_data(PG_GETARG_TEXT_PP(0));

	return recover(&typed_data.digest, PG_GETARG_DATUM(1));
}

static void
push_hash(JsonbParseState **state, const char *key, const struct evm_hash *hash)
{
	struct evm_bytes bytes = {hash->b, sizeof(hash->b)};

	api_push_hex(state, key, bytes);
}

PG_FUNCTION_INFO_V1(rflow_describe_typed_data);
Datum
rflow_describe_typed_data(PG_FUNCTION_ARGS)
{
	struct evm_typed_data typed_data = read_typed_data(PG_GETARG_TEXT_PP(0));
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_hash(&state, "hash", &typed_data.digest);
	push_hash(&state, "domain_separator", &typed_data.domain_separator);
	push_hash(&state, "struct_hash", &typed_data.struct_hash);
	api_push_text(&state, "primary_type", db_utf8_for_people(typed_data.primary_type));
	api_push_text(&state, "encode_type", db_utf8_for_people(typed_data.encode_type));
	if (typed_data.has_chain_id)
		api_push_word(&state, "chain_id", &typed_data.chain_id);
	else
		api_push_null(&state, "chain_id");
	if (typed_data.has_verifying_contract)
		api_push_address(&state, "verifying_contract", &typed_data.verifying_contract);
	else
		api_push_null(&state, "verifying_contract");
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}
