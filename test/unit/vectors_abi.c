/*
 * vectors_abi.c
 *	  Vectors of the ABI: values from and to their encoding.
 *
 * Values of the rows are canonical JSON: integers as decimal strings, bytes as
 * lower-case hex, tuples and arrays as arrays.
 */
#include "vectors_abi.h"

#include <string.h>

#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/word.h"

#define WORD_BYTES 32

/* ---- canonical JSON --------------------------------------------------------- */

static bool
items_from_json(struct evm_arena *arena, struct evm_abi_value *out, const struct evm_abi_type *type,
				const struct evm_json *node)
{
	size_t count = evm_json_array_size(node);

	if (evm_json_kind(node) != EVM_JSON_ARRAY ||
		(type->kind == EVM_ABI_TUPLE && count != type->component_count))
		return false;
	out->items = evm_arena_zalloc(arena, count, sizeof(*out->items));
	out->item_count = count;
	for (size_t i = 0; i < count; i++)
	{
		const struct evm_abi_type *inner =
			type->kind == EVM_ABI_TUPLE ? type->components[i].type : type->element;

		if (!abi_value_from_json(arena, &out->items[i], inner, evm_json_array_get(node, i)))
			return false;
	}
	return true;
}

bool
abi_value_from_json(struct evm_arena *arena, struct evm_abi_value *out,
					const struct evm_abi_type *type, const struct evm_json *node)
{
	size_t len;
	const char *text = evm_json_string(node, &len);
	bool negative;

	memset(out, 0, sizeof(*out));
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			return text != NULL &&
				evm_word_from_decimal(&out->word, &negative, text, len, NULL) == EVM_OK;
		case EVM_ABI_BOOL:
			out->word = evm_word_from_u64(evm_json_is_true(node));
			return evm_json_kind(node) == EVM_JSON_TRUE || evm_json_kind(node) == EVM_JSON_FALSE;
		case EVM_ABI_STRING:
			out->bytes.data = (const uint8_t *) text;
			out->bytes.len = len;
			return text != NULL;
		case EVM_ABI_ARRAY:
		case EVM_ABI_TUPLE:
			return items_from_json(arena, out, type, node);
		default:
			return vector_node_bytes(arena, node, &out->bytes);
	}
}

static bool same_as_json(struct evm_arena *arena, const struct evm_abi_value *value,
						 const struct evm_abi_type *type, const struct evm_json *node);

static bool
same_items(struct evm_arena *arena, const struct evm_abi_value *value,
		   const struct evm_abi_type *type, const struct evm_json *node)
{
	if (evm_json_kind(node) != EVM_JSON_ARRAY || evm_json_array_size(node) != value->item_count)
		return false;
	for (size_t i = 0; i < value->item_count; i++)
	{
		const struct evm_abi_type *inner =
			type->kind == EVM_ABI_TUPLE ? type->components[i].type : type->element;

		if (!same_as_json(arena, &value->items[i], inner, evm_json_array_get(node, i)))
			return false;
	}
	return true;
}

bool
abi_same_text(struct evm_bytes bytes, const struct evm_json *node)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	return text != NULL && len == bytes.len && (len == 0 || memcmp(text, bytes.data, len) == 0);
}

/* Whether the value, written as canonical JSON, is the node. */
static bool
same_as_json(struct evm_arena *arena, const struct evm_abi_value *value,
			 const struct evm_abi_type *type, const struct evm_json *node)
{
	char digits[EVM_WORD_DECIMAL_BYTES];
	struct evm_bytes bytes;

	if (!value->hashed && (type->kind == EVM_ABI_ARRAY || type->kind == EVM_ABI_TUPLE))
		return same_items(arena, value, type, node);
	if (!value->hashed && type->kind == EVM_ABI_BOOL)
		return evm_json_kind(node) ==
			(evm_word_is_zero(&value->word) ? EVM_JSON_FALSE : EVM_JSON_TRUE);
	if (!value->hashed && type->kind == EVM_ABI_STRING)
		return abi_same_text(value->bytes, node);
	if (type->kind == EVM_ABI_UINT || type->kind == EVM_ABI_INT)
	{
		bytes.len = evm_word_to_decimal(digits, &value->word, type->kind == EVM_ABI_INT);
		bytes.data = (const uint8_t *) digits;
	}
	else
	{
		bytes.data = (const uint8_t *) evm_hex_encode(arena, value->bytes.data, value->bytes.len);
		bytes.len = strlen((const char *) bytes.data);
	}
	return abi_same_text(bytes, node);
}

/* The types are named by strings, or are parameters already. */
struct arguments
{
	struct evm_abi_param params[ARGUMENTS_MAX];
	struct evm_abi_value values[ARGUMENTS_MAX];
	size_t count;
};

static enum vector_result
read_types(struct evm_arena *arena, struct arguments *out, const struct evm_json *row,
		   struct vector_note *note)
{
	const struct evm_json *types = evm_json_object_get(row, "types");
	struct evm_error err;

	out->count = evm_json_array_size(types);
	if (types == NULL || out->count > ARGUMENTS_MAX)
		return vector_fail(note, "the row has no types, or too many");
	for (size_t i = 0; i < out->count; i++)
	{
		size_t len;
		const char *text = evm_json_string(evm_json_array_get(types, i), &len);
		char *again;

		out->params[i].name = "";
		out->params[i].indexed = false;
		if (text == NULL ||
			evm_abi_parse_type(arena, &out->params[i].type, text, len, &err) != EVM_OK)
			return vector_fail(note, "type %s: %s", text, err.message);
		again = evm_abi_type_text(arena, out->params[i].type);
		if (again == NULL || strcmp(again, text) != 0)
			return vector_fail(note, "type %s is written %s", text, again);
	}
	return VECTOR_PASS;
}

bool
abi_values_from_json(struct evm_arena *arena, struct evm_abi_value *out,
					 const struct evm_abi_param *params, size_t count, const struct evm_json *node)
{
	if (evm_json_array_size(node) != count || count > ARGUMENTS_MAX)
		return false;
	for (size_t i = 0; i < count; i++)
	{
		if (!abi_value_from_json(arena, &out[i], params[i].type, evm_json_array_get(node, i)))
			return false;
	}
	return true;
}

enum vector_result
abi_check_values(struct evm_arena *arena, const struct evm_abi_value *values,
				 const struct evm_abi_param *params, size_t count, const struct evm_json *want,
				 struct vector_note *note)
{
	if (evm_json_array_size(want) != count)
		return vector_fail(note, "%zu values instead of %zu", count, evm_json_array_size(want));
	for (size_t i = 0; i < count; i++)
	{
		if (!same_as_json(arena, &values[i], params[i].type, evm_json_array_get(want, i)))
			return vector_fail(note, "argument %zu decodes to something else", i + 1);
	}
	return VECTOR_PASS;
}

/* ---- encoding and decoding --------------------------------------------------- */

enum vector_result
abi_check_decoding(struct evm_arena *arena, const struct evm_abi_param *params, size_t count,
				   struct evm_bytes data, const struct evm_json *want, struct vector_note *note)
{
	struct evm_abi_value *values;
	struct evm_error err;

	if (evm_abi_decode(arena, &values, params, count, data.data, data.len, &err) != EVM_OK)
		return vector_fail(note, "it is refused: %s", err.message);
	return abi_check_values(arena, values, params, count, want, note);
}

static enum vector_result
check_refusal(struct evm_arena *arena, const struct arguments *arguments, struct evm_bytes data,
			  struct vector_note *note)
{
	struct evm_abi_value *values;
	struct evm_error err = {.message = ""};

	if (evm_abi_decode(arena, &values, arguments->params, arguments->count, data.data, data.len,
					   &err) == EVM_OK)
		return vector_fail(note, "it is accepted");
	if (err.message[0] == '\0')
		return vector_fail(note, "it is refused without a message");
	return VECTOR_PASS;
}

static enum vector_result
check_roundtrip(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const struct evm_json *want = evm_json_object_get(row, "values");
	struct arguments arguments;
	struct evm_bytes encoded;
	struct evm_bytes got;
	struct evm_error err;
	enum vector_result result = read_types(arena, &arguments, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (!vector_bytes(arena, row, "enc", &encoded) ||
		!abi_values_from_json(arena, arguments.values, arguments.params, arguments.count, want))
		return vector_fail(note, "the row lacks enc or values");
	if (evm_abi_encode(arena, &got, arguments.params, arguments.values, arguments.count, &err) !=
		EVM_OK)
		return vector_fail(note, "the values do not encode: %s", err.message);
	result = vector_same_bytes(note, "encoding", got.data, got.len, encoded.data, encoded.len);
	if (result != VECTOR_PASS)
		return result;
	return abi_check_decoding(arena, arguments.params, arguments.count, encoded, want, note);
}

static enum vector_result
check_hostile(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *expect = vector_text(row, "expect");
	struct arguments arguments;
	struct evm_bytes encoded;
	enum vector_result result = read_types(arena, &arguments, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (expect == NULL || !vector_bytes(arena, row, "enc", &encoded))
		return vector_fail(note, "the row lacks enc or expect");
	if (strcmp(expect, "reject") == 0)
		return check_refusal(arena, &arguments, encoded, note);
	return abi_check_decoding(arena, arguments.params, arguments.count, encoded,
							  evm_json_object_get(row, "values"), note);
}

/* Strings that are no UTF-8 have no canonical JSON: libraries show them with U+FFFD. */
static bool
has_bad_string(const struct evm_abi_value *value, const struct evm_abi_type *type)
{
	if (type->kind == EVM_ABI_STRING)
		return !evm_utf8_is_text(value->bytes.data, value->bytes.len);
	for (size_t i = 0; i < value->item_count; i++)
	{
		if (has_bad_string(&value->items[i],
						   type->kind == EVM_ABI_TUPLE ? type->components[i].type : type->element))
			return true;
	}
	return false;
}

/* Whether a library of the row decodes it to the same values. */
static bool
some_library_agrees(struct evm_arena *arena, const struct arguments *arguments,
					const struct evm_abi_value *values, const struct evm_json *row)
{
	static const char *const libraries[] = {"ethers", "viem", "metamask"};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
	{
		struct vector_note ignored;

		if (abi_check_values(arena, values, arguments->params, arguments->count,
							 evm_json_object_get(row, libraries[i]), &ignored) == VECTOR_PASS)
			return true;
	}
	return false;
}

/*
 * Where libraries disagree, abi.h decides: numbers that are not padded as their
 * encoder does are refused, as Solidity does; bytes are not looked into.
 */
static enum vector_result
check_policy(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct arguments arguments;
	struct evm_bytes encoded;
	struct evm_abi_value *values;
	struct evm_error err = {.message = ""};
	enum vector_result result = read_types(arena, &arguments, row, note);
	enum evm_status status;

	if (result != VECTOR_PASS)
		return result;
	if (!vector_bytes(arena, row, "enc", &encoded))
		return vector_fail(note, "the row lacks enc");
	status = evm_abi_decode(arena, &values, arguments.params, arguments.count, encoded.data,
							encoded.len, &err);
	if (status == EVM_ERR_RANGE)
		return strstr(err.message, "argument ") != NULL
			? VECTOR_PASS
			: vector_fail(note, "the message names no argument: %s", err.message);
	/* A head is whole words; some libraries read bytesN from what is left of one. */
	if (status == EVM_ERR_TRUNCATED && encoded.len % WORD_BYTES != 0)
		return VECTOR_PASS;
	if (status != EVM_OK)
		return vector_fail(note, "it is refused for another reason: %s", err.message);
	for (size_t i = 0; i < arguments.count; i++)
	{
		if (has_bad_string(&values[i], arguments.params[i].type))
			return VECTOR_PASS;
	}
	return some_library_agrees(arena, &arguments, values, row)
		? VECTOR_PASS
		: vector_fail(note, "no library decodes it to the same");
}

static enum vector_result
check_bomb(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct arguments arguments;
	struct evm_bytes encoded;
	struct evm_abi_value *values;
	size_t before;
	enum vector_result result = read_types(arena, &arguments, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (!vector_bytes(arena, row, "enc", &encoded))
		return vector_fail(note, "the row lacks enc");
	before = evm_arena_used(arena);
	(void) evm_abi_decode(arena, &values, arguments.params, arguments.count, encoded.data,
						  encoded.len, NULL);
	/* Leaves, and as many containers on the way to them at worst. */
	if (evm_arena_used(arena) - before >
		(encoded.len / WORD_BYTES * EVM_ABI_MAX_LEAVES_PER_WORD + 1024) * 2 * sizeof(*values))
		return vector_fail(note, "it took %zu bytes", evm_arena_used(arena) - before);
	return VECTOR_PASS;
}

static enum vector_result
check_packed(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct arguments arguments;
	struct evm_bytes packed;
	struct evm_bytes want_hash;
	struct evm_bytes got;
	struct evm_hash hash;
	struct evm_error err;
	enum vector_result result = read_types(arena, &arguments, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (!vector_bytes(arena, row, "packed", &packed) ||
		!vector_bytes(arena, row, "keccak256", &want_hash) ||
		!abi_values_from_json(arena, arguments.values, arguments.params, arguments.count,
							  evm_json_object_get(row, "values")))
		return vector_fail(note, "the row lacks packed, keccak256 or values");
	if (evm_abi_encode_packed(arena, &got, arguments.params, arguments.values, arguments.count,
							  &err) != EVM_OK)
		return vector_fail(note, "the values do not encode: %s", err.message);
	result = vector_same_bytes(note, "encoding", got.data, got.len, packed.data, packed.len);
	if (result != VECTOR_PASS)
		return result;
	evm_keccak256(&hash, got.data, got.len);
	return vector_same_bytes(note, "hash", hash.b, sizeof(hash.b), want_hash.data, want_hash.len);
}

static const struct vector_family abi_value_families[] = {{"abi_roundtrip", check_roundtrip},
														  {"abi_hostile", check_hostile},
														  {"abi_hostile_policy", check_policy},
														  {"abi_bomb", check_bomb},
														  {"packed", check_packed},
														  {NULL, NULL}};

VECTOR_FAMILIES(abi_value_families);
