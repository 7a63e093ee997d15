/*
 * codec_decode.c
 *	  SQL functions that decode: values, logs, calls, results and reverts.
 */
#include "postgres.h"

#include "api/codec_source.h"
#include "api/jsonb_build.h"
#include "catalog/pg_type.h"
#include "db/datum.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#define SELECTOR_BYTES 4

/* A log has no more. */
#define MAX_TOPICS 4

/* ---- pieces ------------------------------------------------------------------------- */

static Datum
decode_params(const struct evm_abi_param *params, size_t count, struct evm_bytes data,
			  const char *what)
{
	struct evm_arena *arena = api_codec_arena();
	struct evm_abi_value *values;
	struct evm_error err;

	if (evm_abi_decode(arena, &values, params, count, data.data, data.len, &err) != EVM_OK)
		db_raise(&err, what);
	return JsonbPGetDatum(db_abi_params_to_jsonb(params, count, values));
}

static size_t
read_topics(struct evm_hash topics[MAX_TOPICS], ArrayType *array)
{
	Datum *datums;
	bool *nulls;
	int count;

	deconstruct_array(array, db_types()->hex, -1, false, TYPALIGN_INT, &datums, &nulls, &count);
	if (count > MAX_TOPICS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a log has at most %d topics, not %d", MAX_TOPICS, count)));
	for (int i = 0; i < count; i++)
	{
		struct evm_bytes topic = {NULL, 0};

		if (!nulls[i])
			topic = db_datum_hex(datums[i]);
		if (topic.len != sizeof(struct evm_hash))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("topic %d has %zu bytes instead of %zu", i + 1, topic.len,
							sizeof(struct evm_hash))));
		memcpy(topics[i].b, topic.data, topic.len);
	}
	return (size_t) count;
}

static Jsonb *
decode_log(struct evm_arena *arena, const struct evm_abi_item *event, const struct evm_hash *topics,
		   size_t topic_count, struct evm_bytes data)
{
	struct evm_abi_value *values;
	struct evm_error err;

	if (evm_abi_decode_log(arena, &values, event, topics, topic_count, data.data, data.len, &err) !=
		EVM_OK)
		db_raise(&err, "decode_log");
	return db_abi_params_to_jsonb(event->inputs, event->input_count, values);
}

/* {kind: name, "signature": …, "args": {…}} */
static Datum
describe(const struct evm_abi_item *item, const char *kind, Jsonb *args)
{
	JsonbParseState *state = NULL;
	JsonbValue arguments;

	JsonbToJsonbValue(args, &arguments);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	api_push_text(&state, kind, item->name);
	api_push_text(&state, "signature", item->signature);
	api_push_value(&state, "args", &arguments);
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

/* The arguments behind the selector; raises when the selector is another one. */
static Datum
decode_call(const struct evm_abi_item *item, struct evm_bytes data)
{
	struct evm_bytes arguments;

	if (data.len < SELECTOR_BYTES || memcmp(data.data, item->hash.b, SELECTOR_BYTES) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the data is no call of %s", item->signature)));
	arguments.data = data.data + SELECTOR_BYTES;
	arguments.len = data.len - SELECTOR_BYTES;
	return decode_params(item->inputs, item->input_count, arguments, item->signature);
}

static Datum
decode_revert(const struct evm_abi *abi, struct evm_bytes data)
{
	struct evm_revert revert;

	if (evm_abi_decode_revert(api_codec_arena(), &revert, abi, data.data, data.len) != EVM_OK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the revert's data needs more memory than allowed")));
	return CStringGetTextDatum(db_utf8_for_people(revert.text));
}

/* ---- SQL functions ------------------------------------------------------------------- */

PG_FUNCTION_INFO_V1(rflow_abi_decode);
Datum
rflow_abi_decode(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_TYPES);

	return decode_params(source->params, source->param_count, db_datum_hex(PG_GETARG_DATUM(1)),
						 "abi_decode");
}

PG_FUNCTION_INFO_V1(rflow_decode_log);
Datum
rflow_decode_log(PG_FUNCTION_ARGS)
{
	const struct evm_abi_item *event = api_source(fcinfo, 0, API_SOURCE_EVENT)->item;
	struct evm_hash topics[MAX_TOPICS];
	size_t count = read_topics(topics, PG_GETARG_ARRAYTYPE_P(1));

	return JsonbPGetDatum(
		decode_log(api_codec_arena(), event, topics, count, db_datum_hex(PG_GETARG_DATUM(2))));
}

PG_FUNCTION_INFO_V1(rflow_decode_log_of_abi);
Datum
rflow_decode_log_of_abi(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_ABI);
	const struct evm_abi_item *event;
	struct evm_hash topics[MAX_TOPICS];
	size_t count = read_topics(topics, PG_GETARG_ARRAYTYPE_P(1));

	if (evm_abi_find_log(&event, &source->abi, topics, count, NULL) != EVM_OK)
		PG_RETURN_NULL();
	return describe(event, "event",
					decode_log(api_codec_arena(), event, topics, count,
							   db_datum_hex(PG_GETARG_DATUM(2))));
}

PG_FUNCTION_INFO_V1(rflow_decode_call);
Datum
rflow_decode_call(PG_FUNCTION_ARGS)
{
	const struct evm_abi_item *item = api_source(fcinfo, 0, API_SOURCE_FUNCTION)->item;

	return decode_call(item, db_datum_hex(PG_GETARG_DATUM(1)));
}

PG_FUNCTION_INFO_V1(rflow_decode_call_of_abi);
Datum
rflow_decode_call_of_abi(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_ABI);
	struct evm_bytes data = db_datum_hex(PG_GETARG_DATUM(1));

	for (size_t i = 0; i < source->abi.item_count && data.len >= SELECTOR_BYTES; i++)
	{
		const struct evm_abi_item *item = &source->abi.items[i];

		if (item->kind == EVM_ABI_ITEM_FUNCTION &&
			memcmp(item->hash.b, data.data, SELECTOR_BYTES) == 0)
			return describe(item, "function", DatumGetJsonbP(decode_call(item, data)));
	}
	PG_RETURN_NULL();
}

PG_FUNCTION_INFO_V1(rflow_decode_result);
Datum
rflow_decode_result(PG_FUNCTION_ARGS)
{
	const struct evm_abi_item *item = api_source(fcinfo, 0, API_SOURCE_FUNCTION)->item;

	return decode_params(item->outputs, item->output_count, db_datum_hex(PG_GETARG_DATUM(1)),
						 item->signature);
}

PG_FUNCTION_INFO_V1(rflow_decode_revert);
Datum
rflow_decode_revert(PG_FUNCTION_ARGS)
{
	static const struct evm_abi no_abi = {NULL, 0};

	return decode_revert(&no_abi, db_datum_hex(PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(rflow_decode_revert_of_abi);
Datum
rflow_decode_revert_of_abi(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_ABI);

	return decode_revert(&source->abi, db_datum_hex(PG_GETARG_DATUM(1)));
}

/* What every contract may revert with, as Solidity declares it. */
static const char *
builtin_error(enum evm_revert_kind kind)
{
	switch (kind)
	{
		case EVM_REVERT_ERROR:
			return "error Error(string reason)";
		case EVM_REVERT_PANIC:
			return "error Panic(uint256 code)";
		default:
			return NULL;
	}
}

static const struct evm_abi_item *
parse_error(struct evm_arena *arena, const char *fragment)
{
	struct evm_bytes text = {(const uint8 *) fragment, strlen(fragment)};
	struct evm_error err;
	struct evm_abi abi;

	if (evm_abi_parse_fragments(arena, &abi, &text, 1, NULL, &err) != EVM_OK)
		db_raise(&err, "decode_error");
	return abi.items;
}

PG_FUNCTION_INFO_V1(rflow_decode_error);
Datum
rflow_decode_error(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_ABI);
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes data = db_datum_hex(PG_GETARG_DATUM(1));
	const struct evm_abi_item *error;
	struct evm_revert revert;

	if (evm_abi_decode_revert(arena, &revert, &source->abi, data.data, data.len) != EVM_OK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the revert's data needs more memory than allowed")));
	if (revert.kind == EVM_REVERT_EMPTY || revert.kind == EVM_REVERT_UNKNOWN)
		PG_RETURN_NULL();
	error = revert.kind == EVM_REVERT_CUSTOM ? revert.error
											 : parse_error(arena, builtin_error(revert.kind));
	return describe(error, "error", DatumGetJsonbP(decode_call(error, data)));
}
