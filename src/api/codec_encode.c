/*
 * codec_encode.c
 *	  SQL functions that encode: arguments, packed arguments, and calls.
 */
#include "postgres.h"

#include "api/codec_argument.h"
#include "api/codec_source.h"
#include "db/datum.h"
#include "fmgr.h"
#include "utils/jsonb.h"

static Datum
hex_or_raise(enum evm_status status, struct evm_bytes bytes, const struct evm_error *err,
			 const char *what)
{
	if (status != EVM_OK)
		db_raise(err, what);
	return db_hex_datum(bytes.data, bytes.len);
}

PG_FUNCTION_INFO_V1(rflow_abi_encode);
Datum
rflow_abi_encode(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_TYPES);
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes encoded;
	struct evm_error err;
	struct evm_abi_value *values =
		api_arguments(fcinfo, arena, source->params, source->param_count, "abi_encode");

	return hex_or_raise(evm_abi_encode(arena, &encoded, source->params, values, source->param_count,
									   &err),
						encoded, &err, "abi_encode");
}

PG_FUNCTION_INFO_V1(rflow_abi_encode_json);
Datum
rflow_abi_encode_json(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_TYPES);
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes encoded;
	struct evm_error err;
	struct evm_abi_value *values =
		db_abi_params_from_jsonb(arena, source->params, source->param_count, PG_GETARG_JSONB_P(1),
								 "abi_encode_json");

	return hex_or_raise(evm_abi_encode(arena, &encoded, source->params, values, source->param_count,
									   &err),
						encoded, &err, "abi_encode_json");
}

PG_FUNCTION_INFO_V1(rflow_abi_encode_packed);
Datum
rflow_abi_encode_packed(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_TYPES);
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes encoded;
	struct evm_error err;
	struct evm_abi_value *values =
		api_arguments(fcinfo, arena, source->params, source->param_count, "abi_encode_packed");

	return hex_or_raise(evm_abi_encode_packed(arena, &encoded, source->params, values,
											  source->param_count, &err),
						encoded, &err, "abi_encode_packed");
}

PG_FUNCTION_INFO_V1(rflow_abi_encode_packed_json);
Datum
rflow_abi_encode_packed_json(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_TYPES);
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes encoded;
	struct evm_error err;
	struct evm_abi_value *values =
		db_abi_params_from_jsonb(arena, source->params, source->param_count, PG_GETARG_JSONB_P(1),
								 "abi_encode_packed_json");

	return hex_or_raise(evm_abi_encode_packed(arena, &encoded, source->params, values,
											  source->param_count, &err),
						encoded, &err, "abi_encode_packed_json");
}

static const struct evm_abi_item *
function_argument(FunctionCallInfo fcinfo)
{
	const struct evm_abi_item *item = api_source(fcinfo, 0, API_SOURCE_FUNCTION)->item;

	if (item->kind != EVM_ABI_ITEM_FUNCTION)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("only a function can be called"),
				 errhint("Write it as \"transfer(address to, uint256 value)\".")));
	return item;
}

PG_FUNCTION_INFO_V1(rflow_encode_call);
Datum
rflow_encode_call(PG_FUNCTION_ARGS)
{
	const struct evm_abi_item *item = function_argument(fcinfo);
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes encoded;
	struct evm_error err;
	struct evm_abi_value *values =
		api_arguments(fcinfo, arena, item->inputs, item->input_count, item->signature);

	return hex_or_raise(evm_abi_encode_call(arena, &encoded, item, values, item->input_count, &err),
						encoded, &err, item->signature);
}

PG_FUNCTION_INFO_V1(rflow_encode_call_json);
Datum
rflow_encode_call_json(PG_FUNCTION_ARGS)
{
	const struct evm_abi_item *item = function_argument(fcinfo);
	struct evm_arena *arena = api_codec_arena();
	struct evm_bytes encoded;
	struct evm_error err;
	struct evm_abi_value *values = db_abi_params_from_jsonb(arena, item->inputs, item->input_count,
															PG_GETARG_JSONB_P(1), item->signature);

	return hex_or_raise(evm_abi_encode_call(arena, &encoded, item, values, item->input_count, &err),
						encoded, &err, item->signature);
}

PG_FUNCTION_INFO_V1(rflow_encode_topic);
Datum
rflow_encode_topic(PG_FUNCTION_ARGS)
{
	const struct api_source *source = api_source(fcinfo, 0, API_SOURCE_TYPES);
	struct evm_arena *arena = api_codec_arena();
	struct evm_abi_value *values;
	struct evm_error err;
	struct evm_hash topic;

	if (source->param_count != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a topic is of one type, not of %zu", source->param_count)));
	values = api_arguments(fcinfo, arena, source->params, 1, "encode_topic");
	if (evm_abi_encode_topic(arena, &topic, source->params[0].type, &values[0], &err) != EVM_OK)
		db_raise(&err, "encode_topic");
	return db_hex_datum(topic.b, sizeof(topic.b));
}
