/*
 * datum_read.c
 *	  jsonb as ABI values: arguments written by people, and results of earlier steps.
 */
#include "postgres.h"

#include "db/datum.h"

#include "db/datum_place.h"
#include "evm/address.h"
#include "evm/hex.h"
#include "evm/word.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

static void read_value(struct evm_arena *arena, struct evm_abi_value *out,
					   const struct evm_abi_type *type, const JsonbValue *json,
					   const struct db_place *place);

pg_noreturn static void
refuse_kind(const struct evm_abi_type *type, const JsonbValue *json, const char *wanted,
			const struct db_place *place)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s: %s takes a JSON %s, not %s", db_place_text(place), db_abi_type_name(type),
					wanted, JsonbTypeName((JsonbValue *) json))));
}

pg_noreturn static void
refuse_text(const struct evm_error *err, const struct db_place *place)
{
	db_raise(err, db_place_text(place));
}

/* ---- scalars ------------------------------------------------------------------------ */

static bool
has_hex_prefix(const char *text, int len)
{
	return len >= 2 && text[0] == '0' && text[1] == 'x';
}

static void
read_integer(struct evm_abi_value *out, const struct evm_abi_type *type, const JsonbValue *json,
			 const struct db_place *place)
{
	const char *text = json->val.string.val;
	int len = json->val.string.len;
	struct evm_error err;
	struct evm_word word;
	bool negative = false;
	enum evm_status status;

	if (json->type == jbvNumeric)
	{
		db_set_integer(out, type, NumericGetDatum(json->val.numeric), place);
		return;
	}
	if (json->type != jbvString)
		refuse_kind(type, json, "number or string", place);
	if (has_hex_prefix(text, len))
		status = evm_quantity_decode(&word, text, (size_t) len, &err);
	else
		status = evm_word_from_decimal(&word, &negative, text, (size_t) len, &err);
	if (status != EVM_OK)
		refuse_text(&err, place);
	db_set_integer(out, type, db_word_numeric(&word, negative), place);
}

static struct evm_bytes
decode_hex(const JsonbValue *json, const struct db_place *place)
{
	size_t len = (size_t) json->val.string.len;
	uint8 *data = palloc(len / 2 + 1);
	struct evm_bytes bytes = {data, 0};
	struct evm_error err;

	if (evm_hex_decode(data, &bytes.len, json->val.string.val, len, &err) != EVM_OK)
		refuse_text(&err, place);
	return bytes;
}

static void
read_bytes(struct evm_abi_value *out, const struct evm_abi_type *type, const JsonbValue *json,
		   const struct db_place *place)
{
	if (json->type != jbvString)
		refuse_kind(type, json, "string of 0x digits", place);
	db_set_bytes(out, type, decode_hex(json, place), place);
}

static void
read_address(struct evm_abi_value *out, const struct evm_abi_type *type, const JsonbValue *json,
			 const struct db_place *place)
{
	struct evm_address *address = palloc(sizeof(*address));
	struct evm_error err;

	if (json->type != jbvString)
		refuse_kind(type, json, "string of 0x digits", place);
	if (evm_address_parse(address, json->val.string.val, (size_t) json->val.string.len, &err) !=
		EVM_OK)
		refuse_text(&err, place);
	out->bytes.data = address->b;
	out->bytes.len = sizeof(*address);
}

static JsonbContainer *
container_of(const JsonbValue *json, bool is_array)
{
	JsonbContainer *container;

	if (json->type != jbvBinary)
		return NULL;
	container = json->val.binary.data;
	if (JsonContainerIsScalar(container))
		return NULL;
	return (is_array ? JsonContainerIsArray(container) : JsonContainerIsObject(container))
		? container
		: NULL;
}

/* The digits of {"bytes": "0x…"} or {"hash": "0x…"}, as db_abi_to_jsonb writes them; or NULL. */
static JsonbValue *
marked_hex(const JsonbValue *json, const char *mark)
{
	JsonbContainer *object = container_of(json, false);
	JsonbValue *digits;

	if (object == NULL || JsonContainerSize(object) != 1)
		return NULL;
	digits = getKeyJsonValueFromContainer(object, mark, (int) strlen(mark), NULL);
	return digits != NULL && digits->type == jbvString ? digits : NULL;
}

static void
read_string(struct evm_abi_value *out, const struct evm_abi_type *type, const JsonbValue *json,
			const struct db_place *place)
{
	JsonbValue *bytes;

	if (json->type == jbvString)
	{
		out->bytes = db_server_to_utf8(json->val.string.val, (size_t) json->val.string.len);
		return;
	}
	bytes = marked_hex(json, "bytes");
	if (bytes != NULL)
		out->bytes = decode_hex(bytes, place);
	else
		refuse_kind(type, json, "string", place);
}

/* ---- arrays and tuples --------------------------------------------------------------- */

static void
read_array(struct evm_arena *arena, struct evm_abi_value *out, const struct evm_abi_type *type,
		   const JsonbValue *json, const struct db_place *place)
{
	JsonbContainer *array = container_of(json, true);

	if (array == NULL)
		refuse_kind(type, json, "array", place);
	db_set_items(arena, out, type, JsonContainerSize(array), place);
	for (size_t i = 0; i < out->item_count; i++)
	{
		struct db_place element = {place, DB_PLACE_ELEMENT, NULL, i};

		read_value(arena, &out->items[i], type->element,
				   getIthJsonbValueFromContainer(array, (uint32) i), &element);
	}
}

static const char *
member_name(char buffer[DB_ARG_NAME_BYTES], const struct evm_abi_param *params, size_t count,
			size_t position, enum db_place_kind kind)
{
	return kind == DB_PLACE_ARGUMENT ? db_abi_member_name(buffer, params, count, position)
									 : params[position].name;
}

/* Which member no parameter is called like. */
static void
refuse_unknown_member(JsonbContainer *object, const struct evm_abi_param *params, size_t count,
					  enum db_place_kind kind, const struct db_place *place)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue key;
	char buffer[DB_ARG_NAME_BYTES];

	while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE)
	{
		bool known = token != WJB_KEY;

		for (size_t i = 0; i < count && !known; i++)
		{
			const char *name = member_name(buffer, params, count, i, kind);

			known = strlen(name) == (size_t) key.val.string.len &&
				memcmp(name, key.val.string.val, key.val.string.len) == 0;
		}
		if (!known)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s has no member \"%.*s\"", db_place_text(place), key.val.string.len,
							key.val.string.val)));
	}
}

/* What a log has of an indexed value of a dynamic type. */
static void
read_indexed_hash(struct evm_abi_value *out, const JsonbValue *digits, const struct db_place *place)
{
	out->hashed = true;
	out->bytes = decode_hex(digits, place);
	if (out->bytes.len != sizeof(struct evm_hash))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: a hash has %zu bytes, not %zu", db_place_text(place),
						sizeof(struct evm_hash), out->bytes.len)));
}

/* kind: ARGUMENT or COMPONENT. */
static void
read_object(struct evm_arena *arena, struct evm_abi_value *items, JsonbContainer *object,
			const struct evm_abi_param *params, size_t count, enum db_place_kind kind,
			const struct db_place *place)
{
	char buffer[DB_ARG_NAME_BYTES];

	for (size_t i = 0; i < count; i++)
	{
		const char *name = member_name(buffer, params, count, i, kind);
		struct db_place member = {place, kind, params[i].name, i};
		JsonbValue *value = getKeyJsonValueFromContainer(object, name, (int) strlen(name), NULL);

		if (value == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: member \"%s\" is missing", db_place_text(place), name)));
		if (params[i].indexed && marked_hex(value, "hash") != NULL)
			read_indexed_hash(&items[i], marked_hex(value, "hash"), &member);
		else
			read_value(arena, &items[i], params[i].type, value, &member);
	}
	if (JsonContainerSize(object) != count)
		refuse_unknown_member(object, params, count, kind, place);
}

static void
read_list(struct evm_arena *arena, struct evm_abi_value *items, JsonbContainer *array,
		  const struct evm_abi_param *params, size_t count, enum db_place_kind kind,
		  const struct db_place *place)
{
	if (JsonContainerSize(array) != count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: %zu values are wanted, not %u", db_place_text(place), count,
						JsonContainerSize(array))));
	for (size_t i = 0; i < count; i++)
	{
		struct db_place member = {place, kind, params[i].name, i};

		read_value(arena, &items[i], params[i].type,
				   getIthJsonbValueFromContainer(array, (uint32) i), &member);
	}
}

static void
read_tuple(struct evm_arena *arena, struct evm_abi_value *out, const struct evm_abi_type *type,
		   const JsonbValue *json, const struct db_place *place)
{
	JsonbContainer *object = container_of(json, false);
	JsonbContainer *array = container_of(json, true);
	bool named = db_abi_tuple_is_object(type);

	if (array == NULL && (object == NULL || !named))
		refuse_kind(type, json, named ? "object or array" : "array", place);
	db_set_items(arena, out, type, type->component_count, place);
	if (object != NULL)
		read_object(arena, out->items, object, type->components, type->component_count,
					DB_PLACE_COMPONENT, place);
	else
		read_list(arena, out->items, array, type->components, type->component_count,
				  DB_PLACE_COMPONENT, place);
}

static void
read_value(struct evm_arena *arena, struct evm_abi_value *out, const struct evm_abi_type *type,
		   const JsonbValue *json, const struct db_place *place)
{
	memset(out, 0, sizeof(*out));
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			read_integer(out, type, json, place);
			break;
		case EVM_ABI_ADDRESS:
			read_address(out, type, json, place);
			break;
		case EVM_ABI_BOOL:
			if (json->type != jbvBool)
				refuse_kind(type, json, "boolean", place);
			out->word = evm_word_from_u64(json->val.boolean ? 1 : 0);
			break;
		case EVM_ABI_STRING:
			read_string(out, type, json, place);
			break;
		case EVM_ABI_ARRAY:
			read_array(arena, out, type, json, place);
			break;
		case EVM_ABI_TUPLE:
			read_tuple(arena, out, type, json, place);
			break;
		case EVM_ABI_FIXED_BYTES:
		case EVM_ABI_FUNCTION:
		case EVM_ABI_BYTES:
			read_bytes(out, type, json, place);
			break;
	}
}

void
db_abi_from_jsonb(struct evm_arena *arena, struct evm_abi_value *out,
				  const struct evm_abi_type *type, const JsonbValue *json, const char *what)
{
	struct db_place place = {NULL, DB_PLACE_WHOLE, what, 0};

	read_value(arena, out, type, json, &place);
}

struct evm_abi_value *
db_abi_params_from_jsonb(struct evm_arena *arena, const struct evm_abi_param *params, size_t count,
						 Jsonb *json, const char *what)
{
	struct db_place place = {NULL, DB_PLACE_WHOLE, what, 0};
	struct evm_abi_value *values = evm_arena_zalloc(arena, count, sizeof(*values));

	if (values == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s: %zu values need more memory than allowed", what, count)));
	if (JB_ROOT_IS_SCALAR(json))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s: a JSON array or object is wanted", what)));
	if (JB_ROOT_IS_OBJECT(json))
		read_object(arena, values, &json->root, params, count, DB_PLACE_ARGUMENT, &place);
	else
		read_list(arena, values, &json->root, params, count, DB_PLACE_ARGUMENT, &place);
	return values;
}
