/*
 * datum_jsonb.c
 *	  ABI values as jsonb.
 *
 * Integers of up to 48 declared bits are numbers and wider ones decimal strings, so that the form
 * depends on the type alone and no reader of JSON rounds an amount.
 */
#include "postgres.h"

#include "db/datum.h"

#include "evm/address.h"
#include "evm/hex.h"
#include "evm/word.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

/* Every JSON reader keeps integers of up to 53 bits; 48 is the last size of the ABI below. */
#define JSON_NUMBER_BITS 48

#define PREFIX_BYTES 2

/* ---- names of members -------------------------------------------------------------- */

/* Whether a name is that of another position: "arg3" of the parameter at 2. */
static bool
is_arg_name_of_other(const char *name, size_t position)
{
	char own[DB_ARG_NAME_BYTES];

	if (strncmp(name, "arg", 3) != 0 || name[3] == '\0' ||
		strspn(name + 3, "0123456789") != strlen(name + 3))
		return false;
	snprintf(own, sizeof(own), "arg%zu", position);
	return strcmp(name, own) != 0;
}

static bool
is_unique_name(const struct evm_abi_param *params, size_t count, size_t position)
{
	const char *name = params[position].name;

	if (name[0] == '\0')
		return false;
	for (size_t i = 0; i < count; i++)
	{
		if (i != position && strcmp(params[i].name, name) == 0)
			return false;
	}
	return true;
}

const char *
db_abi_member_name(char buffer[DB_ARG_NAME_BYTES], const struct evm_abi_param *params, size_t count,
				   size_t position)
{
	if (is_unique_name(params, count, position) &&
		!is_arg_name_of_other(params[position].name, position))
		return params[position].name;
	snprintf(buffer, DB_ARG_NAME_BYTES, "arg%zu", position);
	return buffer;
}

bool
db_abi_tuple_is_object(const struct evm_abi_type *tuple)
{
	for (size_t i = 0; i < tuple->component_count; i++)
	{
		if (!is_unique_name(tuple->components, tuple->component_count, i))
			return false;
	}
	return true;
}

/* ---- values ------------------------------------------------------------------------- */

/* A scalar becomes a member's value, an element, or, where there is no container, the whole. */
static JsonbValue *
push_scalar(JsonbParseState **state, const JsonbValue *scalar)
{
	JsonbValue *copy;

	if (*state != NULL)
		return pushJsonbValue(state, (*state)->contVal.type == jbvArray ? WJB_ELEM : WJB_VALUE,
							  (JsonbValue *) scalar);
	copy = palloc(sizeof(*copy));
	*copy = *scalar;
	return copy;
}

static JsonbValue *
push_string(JsonbParseState **state, const char *text, size_t len)
{
	JsonbValue string;

	string.type = jbvString;
	string.val.string.val = (char *) text;
	string.val.string.len = (int) len;
	return push_scalar(state, &string);
}

static void
push_key(JsonbParseState **state, const char *name)
{
	JsonbValue key;

	key.type = jbvString;
	key.val.string.val = (char *) name;
	key.val.string.len = (int) strlen(name);
	pushJsonbValue(state, WJB_KEY, &key);
}

static JsonbValue *
push_hex(JsonbParseState **state, struct evm_bytes bytes)
{
	size_t len = PREFIX_BYTES + 2 * bytes.len;
	char *text = palloc(len);

	memcpy(text, "0x", PREFIX_BYTES);
	evm_hex_digits(text + PREFIX_BYTES, bytes.data, bytes.len);
	return push_string(state, text, len);
}

static JsonbValue *
push_marked_hex(JsonbParseState **state, const char *mark, struct evm_bytes bytes)
{
	pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	push_key(state, mark);
	push_hex(state, bytes);
	return pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

static JsonbValue *
push_integer(JsonbParseState **state, const struct evm_abi_type *type, const struct evm_word *word)
{
	bool is_signed = type->kind == EVM_ABI_INT;
	JsonbValue number;
	char *text;
	size_t len;

	if (type->size <= JSON_NUMBER_BITS)
	{
		number.type = jbvNumeric;
		number.val.numeric = DatumGetNumeric(db_word_numeric(word, is_signed));
		return push_scalar(state, &number);
	}
	text = palloc(EVM_WORD_DECIMAL_BYTES);
	len = evm_word_to_decimal(text, word, is_signed);
	return push_string(state, text, len);
}

static JsonbValue *
push_address(JsonbParseState **state, struct evm_bytes bytes)
{
	char *text = palloc(EVM_ADDRESS_TEXT_BYTES);

	evm_address_format(text, (const struct evm_address *) bytes.data);
	return push_string(state, text, EVM_ADDRESS_TEXT_BYTES - 1);
}

static JsonbValue *
push_bool(JsonbParseState **state, bool value)
{
	JsonbValue boolean;

	boolean.type = jbvBool;
	boolean.val.boolean = value;
	return push_scalar(state, &boolean);
}

static JsonbValue *
push_text(JsonbParseState **state, struct evm_bytes utf8)
{
	size_t len;
	const char *text = db_utf8_to_server(&len, utf8);

	if (text == NULL)
		return push_marked_hex(state, "bytes", utf8);
	return push_string(state, text, len);
}

static JsonbValue *
push_array(JsonbParseState **state, const struct evm_abi_type *element,
		   const struct evm_abi_value *value)
{
	pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	for (size_t i = 0; i < value->item_count; i++)
		db_abi_to_jsonb(state, element, &value->items[i]);
	return pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

static JsonbValue *
push_tuple(JsonbParseState **state, const struct evm_abi_type *tuple,
		   const struct evm_abi_value *value)
{
	bool is_object = db_abi_tuple_is_object(tuple);

	pushJsonbValue(state, is_object ? WJB_BEGIN_OBJECT : WJB_BEGIN_ARRAY, NULL);
	for (size_t i = 0; i < tuple->component_count; i++)
	{
		if (is_object)
			push_key(state, tuple->components[i].name);
		db_abi_to_jsonb(state, tuple->components[i].type, &value->items[i]);
	}
	return pushJsonbValue(state, is_object ? WJB_END_OBJECT : WJB_END_ARRAY, NULL);
}

JsonbValue *
db_abi_to_jsonb(JsonbParseState **state, const struct evm_abi_type *type,
				const struct evm_abi_value *value)
{
	if (value->hashed)
		return push_marked_hex(state, "hash", value->bytes);
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			return push_integer(state, type, &value->word);
		case EVM_ABI_ADDRESS:
			return push_address(state, value->bytes);
		case EVM_ABI_BOOL:
			return push_bool(state, !evm_word_is_zero(&value->word));
		case EVM_ABI_STRING:
			return push_text(state, value->bytes);
		case EVM_ABI_ARRAY:
			return push_array(state, type->element, value);
		case EVM_ABI_TUPLE:
			return push_tuple(state, type, value);
		case EVM_ABI_FIXED_BYTES:
		case EVM_ABI_FUNCTION:
		case EVM_ABI_BYTES:
			break;
	}
	return push_hex(state, value->bytes);
}

Jsonb *
db_abi_params_to_jsonb(const struct evm_abi_param *params, size_t count,
					   const struct evm_abi_value *values)
{
	JsonbParseState *state = NULL;
	char *names = palloc(count * DB_ARG_NAME_BYTES + 1);

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (size_t i = 0; i < count; i++)
	{
		push_key(&state, db_abi_member_name(names + i * DB_ARG_NAME_BYTES, params, count, i));
		db_abi_to_jsonb(&state, params[i].type, &values[i]);
	}
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}
