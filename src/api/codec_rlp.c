/*
 * codec_rlp.c
 *	  Recursive Length Prefix as jsonb: bytes are "0x…", lists are arrays.
 *
 * Both directions are bounded by EVM_RLP_MAX_DEPTH; decoding accepts the canonical form alone.
 */
#include "postgres.h"

#include "api/codec_source.h"
#include "api/jsonb_build.h"
#include "db/datum.h"
#include "evm/hex.h"
#include "evm/rlp.h"
#include "fmgr.h"

/* The items of a validated input, as elements; recursion ends at EVM_RLP_MAX_DEPTH. */
static void
push_items(JsonbParseState **state, struct evm_bytes cursor)
{
	struct evm_rlp_item item;
	struct evm_error err;

	while (cursor.len > 0)
	{
		if (evm_rlp_next(&item, &cursor, &err) != EVM_OK)
			db_raise(&err, NULL);
		if (!item.is_list)
		{
			api_push_hex(state, NULL, item.payload);
			continue;
		}
		api_push_begin(state, NULL, WJB_BEGIN_ARRAY);
		push_items(state, item.payload);
		pushJsonbValue(state, WJB_END_ARRAY, NULL);
	}
}

PG_FUNCTION_INFO_V1(rflow_rlp_decode);
Datum
rflow_rlp_decode(PG_FUNCTION_ARGS)
{
	struct evm_bytes data = db_datum_hex(PG_GETARG_DATUM(0));
	JsonbParseState *state = NULL;
	JsonbValue *whole;
	struct evm_error err;

	if (evm_rlp_validate(data.data, data.len, &err) != EVM_OK)
		db_raise(&err, NULL);
	pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
	push_items(&state, data);
	whole = pushJsonbValue(&state, WJB_END_ARRAY, NULL);
	/* The input is one item. */
	return JsonbPGetDatum(JsonbValueToJsonb(&whole->val.array.elems[0]));
}

static void
write_bytes(struct evm_rlp_writer *writer, const JsonbValue *text)
{
	uint8 *bytes = palloc(text->val.string.len / 2 + 1);
	size_t len;
	struct evm_error err;

	if (evm_hex_decode(bytes, &len, text->val.string.val, text->val.string.len, &err) != EVM_OK)
		db_raise(&err, "rlp");
	evm_rlp_bytes(writer, bytes, len);
	pfree(bytes);
}

/* A scalar is wrapped into an array that is none: it has no list of its own. */
static void
write_token(struct evm_rlp_writer *writer, JsonbIteratorToken token, const JsonbValue *value)
{
	switch (token)
	{
		case WJB_BEGIN_ARRAY:
			if (!value->val.array.rawScalar)
				evm_rlp_open_list(writer);
			break;
		case WJB_END_ARRAY:
			if (!value->val.array.rawScalar)
				evm_rlp_close_list(writer);
			break;
		case WJB_ELEM:
			if (value->type == jbvString)
			{
				write_bytes(writer, value);
				break;
			}
			/* FALLTHROUGH */
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("RLP has bytes and lists alone"),
					 errhint("Write bytes as \"0x…\" and lists as arrays; an integer is its bytes "
							 "without zeros in front, 0 is \"0x\".")));
	}
}

PG_FUNCTION_INFO_V1(rflow_rlp_encode);
Datum
rflow_rlp_encode(PG_FUNCTION_ARGS)
{
	Jsonb *value = PG_GETARG_JSONB_P(0);
	JsonbIterator *iterator = JsonbIteratorInit(&value->root);
	struct evm_rlp_writer writer;
	struct evm_bytes encoded;
	JsonbIteratorToken token;
	JsonbValue part;
	enum evm_status status;

	evm_rlp_init(&writer, api_codec_arena());
	while ((token = JsonbIteratorNext(&iterator, &part, false)) != WJB_DONE)
		write_token(&writer, token, &part);
	status = evm_rlp_finish(&writer, &encoded);
	if (status != EVM_OK)
		ereport(ERROR,
				(errcode(db_sqlstate(status)),
				 errmsg("RLP nested deeper than %d lists, or too large", EVM_RLP_MAX_DEPTH)));
	return db_hex_datum(encoded.data, encoded.len);
}
