/*
 * datum_sql.c
 *	  ABI values as Datums of the SQL types that DESIGN gives them, and back.
 *
 * Scalars and one-dimensional arrays of scalars have SQL types of their own; all else is jsonb.
 */
#include "postgres.h"

#include "db/datum.h"

#include "catalog/pg_type.h"
#include "db/datum_place.h"
#include "evm/word.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

struct element_type
{
	Oid oid;
	int16 len;
	bool by_value;
	char align;
};

static bool
is_scalar(const struct evm_abi_type *type)
{
	return type->kind != EVM_ABI_ARRAY && type->kind != EVM_ABI_TUPLE;
}

static bool
is_scalar_array(const struct evm_abi_type *type)
{
	return type->kind == EVM_ABI_ARRAY && is_scalar(type->element);
}

static struct element_type
scalar_type(const struct evm_abi_type *type)
{
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			return (struct element_type){NUMERICOID, -1, false, TYPALIGN_INT};
		case EVM_ABI_ADDRESS:
			return (struct element_type){db_types()->address, sizeof(struct evm_address), false,
										 TYPALIGN_CHAR};
		case EVM_ABI_BOOL:
			return (struct element_type){BOOLOID, 1, true, TYPALIGN_CHAR};
		case EVM_ABI_STRING:
			return (struct element_type){TEXTOID, -1, false, TYPALIGN_INT};
		case EVM_ABI_FIXED_BYTES:
		case EVM_ABI_FUNCTION:
		case EVM_ABI_BYTES:
			return (struct element_type){db_types()->hex, -1, false, TYPALIGN_INT};
		case EVM_ABI_ARRAY:
		case EVM_ABI_TUPLE:
			break;
	}
	elog(ERROR, "ABI type of kind %d is no scalar", (int) type->kind);
}

static Oid
array_type(const struct evm_abi_type *element)
{
	switch (element->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			return NUMERICARRAYOID;
		case EVM_ABI_ADDRESS:
			return db_types()->address_array;
		case EVM_ABI_BOOL:
			return BOOLARRAYOID;
		case EVM_ABI_STRING:
			return TEXTARRAYOID;
		default:
			return db_types()->hex_array;
	}
}

Oid
db_abi_type_oid(const struct evm_abi_type *type, bool indexed_dynamic_hash)
{
	if (indexed_dynamic_hash)
		return db_types()->hex;
	if (is_scalar(type))
		return scalar_type(type).oid;
	if (is_scalar_array(type))
		return array_type(type->element);
	return JSONBOID;
}

/* ---- to SQL ---------------------------------------------------------------------- */

static Datum
scalar_to_datum(const struct evm_abi_type *type, const struct evm_abi_value *value, bool *isnull)
{
	const char *text;
	size_t len;

	*isnull = false;
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			return db_word_numeric(&value->word, type->kind == EVM_ABI_INT);
		case EVM_ABI_BOOL:
			return BoolGetDatum(!evm_word_is_zero(&value->word));
		case EVM_ABI_ADDRESS:
			return db_address_datum((const struct evm_address *) value->bytes.data);
		case EVM_ABI_STRING:
			text = db_utf8_to_server(&len, value->bytes);
			*isnull = text == NULL;
			return text == NULL ? (Datum) 0
								: PointerGetDatum(cstring_to_text_with_len(text, (int) len));
		default:
			return db_hex_datum(value->bytes.data, value->bytes.len);
	}
}

static Datum
array_to_datum(const struct evm_abi_type *element, const struct evm_abi_value *value)
{
	struct element_type sql = scalar_type(element);
	int count = (int) value->item_count;
	int lower_bound = 1;
	Datum *datums;
	bool *nulls;

	if (count == 0)
		return PointerGetDatum(construct_empty_array(sql.oid));
	datums = palloc(count * sizeof(*datums));
	nulls = palloc(count * sizeof(*nulls));
	for (int i = 0; i < count; i++)
		datums[i] = scalar_to_datum(element, &value->items[i], &nulls[i]);
	return PointerGetDatum(construct_md_array(datums, nulls, 1, &count, &lower_bound, sql.oid,
											  sql.len, sql.by_value, sql.align));
}

Datum
db_abi_to_datum(const struct evm_abi_type *type, const struct evm_abi_value *value, bool *isnull)
{
	JsonbParseState *state = NULL;

	*isnull = false;
	if (value->hashed)
		return db_hex_datum(value->bytes.data, value->bytes.len);
	if (is_scalar(type))
		return scalar_to_datum(type, value, isnull);
	if (is_scalar_array(type))
		return array_to_datum(type->element, value);
	return JsonbPGetDatum(JsonbValueToJsonb(db_abi_to_jsonb(&state, type, value)));
}

/* ---- from SQL -------------------------------------------------------------------- */

pg_noreturn static void
refuse_null(const struct db_place *place)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s is NULL", db_place_text(place))));
}

static void
scalar_from_datum(struct evm_abi_value *out, const struct evm_abi_type *type, Datum datum,
				  const struct db_place *place)
{
	struct evm_bytes bytes;
	text *string;

	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			db_set_integer(out, type, datum, place);
			break;
		case EVM_ABI_BOOL:
			out->word = evm_word_from_u64(DatumGetBool(datum) ? 1 : 0);
			break;
		case EVM_ABI_ADDRESS:
			bytes.data = db_datum_address(datum)->b;
			bytes.len = sizeof(struct evm_address);
			out->bytes = bytes;
			break;
		case EVM_ABI_STRING:
			string = DatumGetTextPP(datum);
			out->bytes = db_server_to_utf8(VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
			break;
		default:
			db_set_bytes(out, type, db_datum_hex(datum), place);
			break;
	}
}

static void
array_from_datum(struct evm_arena *arena, struct evm_abi_value *out,
				 const struct evm_abi_type *type, Datum datum, const struct db_place *place)
{
	struct element_type sql = scalar_type(type->element);
	ArrayType *array = DatumGetArrayTypeP(datum);
	Datum *datums;
	bool *nulls;
	int count;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s: %s takes an array of one dimension, not of %d", db_place_text(place),
						db_abi_type_name(type), ARR_NDIM(array))));
	deconstruct_array(array, sql.oid, sql.len, sql.by_value, sql.align, &datums, &nulls, &count);
	db_set_items(arena, out, type, (size_t) count, place);
	for (int i = 0; i < count; i++)
	{
		struct db_place element = {place, DB_PLACE_ELEMENT, NULL, (uint64) i};

		if (nulls[i])
			refuse_null(&element);
		scalar_from_datum(&out->items[i], type->element, datums[i], &element);
	}
}

/* A scalar at the top stands in an array of its own in the binary form. */
static void
whole_jsonb(JsonbValue *out, Jsonb *json)
{
	if (!JB_ROOT_IS_SCALAR(json) || !JsonbExtractScalar(&json->root, out))
		JsonbToJsonbValue(json, out);
}

void
db_abi_from_datum(struct evm_arena *arena, struct evm_abi_value *out,
				  const struct evm_abi_type *type, Datum datum, bool isnull, const char *what)
{
	struct db_place place = {NULL, DB_PLACE_WHOLE, what, 0};
	JsonbValue json;

	memset(out, 0, sizeof(*out));
	if (isnull)
		refuse_null(&place);
	if (is_scalar(type))
		scalar_from_datum(out, type, datum, &place);
	else if (is_scalar_array(type))
		array_from_datum(arena, out, type, datum, &place);
	else
	{
		whole_jsonb(&json, DatumGetJsonbP(datum));
		db_abi_from_jsonb(arena, out, type, &json, what);
	}
}
