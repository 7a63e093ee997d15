/*
 * vectors_abi_items.c
 *	  Vectors of ABI items: JSON and human-readable, signatures, calls.
 */
#include "vectors_abi.h"

#include <string.h>

/*
 * JSON of a node, for the parser of the library.  The runner keeps no text of a
 * row, so it is written again from the tree.
 */
struct json_text
{
	char *data;
	size_t len;
	size_t size;
};

static void
add_text(struct json_text *out, const char *text, size_t len)
{
	if (len > out->size - out->len)
		len = out->size - out->len;
	memcpy(out->data + out->len, text, len);
	out->len += len;
}

static void
add_string(struct json_text *out, const char *text, size_t len)
{
	add_text(out, "\"", 1);
	for (size_t i = 0; i < len; i++)
	{
		if (text[i] == '"' || text[i] == '\\')
			add_text(out, "\\", 1);
		add_text(out, &text[i], 1);
	}
	add_text(out, "\"", 1);
}

static void write_json(struct json_text *out, const struct evm_json *node);

static bool
write_member(void *context, const char *name, const struct evm_json *value)
{
	struct json_text *out = context;

	if (out->data[out->len - 1] != '{')
		add_text(out, ",", 1);
	add_string(out, name, strlen(name));
	add_text(out, ":", 1);
	write_json(out, value);
	return true;
}

static void
write_json(struct json_text *out, const struct evm_json *node)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	switch (evm_json_kind(node))
	{
		case EVM_JSON_STRING:
			add_string(out, text, len);
			break;
		case EVM_JSON_TRUE:
			add_text(out, "true", strlen("true"));
			break;
		case EVM_JSON_FALSE:
			add_text(out, "false", strlen("false"));
			break;
		case EVM_JSON_ARRAY:
			add_text(out, "[", 1);
			for (size_t i = 0; i < evm_json_array_size(node); i++)
			{
				if (i > 0)
					add_text(out, ",", 1);
				write_json(out, evm_json_array_get(node, i));
			}
			add_text(out, "]", 1);
			break;
		case EVM_JSON_OBJECT:
			add_text(out, "{", 1);
			evm_json_object_each(node, write_member, out);
			add_text(out, "}", 1);
			break;
		default:
			add_text(out, "null", strlen("null"));
			break;
	}
}

/* The largest ABI of a row, with room. */
#define ABI_TEXT_BYTES 200000

/* The ABI of a member that is an item, or an array of items. */
enum vector_result
abi_read(struct evm_arena *arena, struct evm_abi *out, size_t *skipped, const struct evm_json *node,
		 struct vector_note *note)
{
	struct json_text text = {.size = ABI_TEXT_BYTES};
	struct evm_error err;

	text.data = evm_arena_alloc(arena, text.size);
	if (node == NULL || text.data == NULL)
		return vector_fail(note, "the row lacks an ABI");
	if (evm_json_kind(node) == EVM_JSON_OBJECT)
		add_text(&text, "[", 1);
	write_json(&text, node);
	if (evm_json_kind(node) == EVM_JSON_OBJECT)
		add_text(&text, "]", 1);
	if (evm_abi_parse_json(arena, out, skipped, text.data, text.len, &err) != EVM_OK)
		return vector_fail(note, "the ABI is refused: %s", err.message);
	return VECTOR_PASS;
}

enum vector_result
abi_read_item(struct evm_arena *arena, const struct evm_abi_item **out, const struct evm_json *row,
			  const char *member, struct vector_note *note)
{
	struct evm_abi abi;
	enum vector_result result = abi_read(arena, &abi, NULL, evm_json_object_get(row, member), note);

	if (result != VECTOR_PASS)
		return result;
	if (abi.item_count != 1)
		return vector_fail(note, "the ABI has %zu items", abi.item_count);
	*out = &abi.items[0];
	return VECTOR_PASS;
}

/* signature, and selector or topic0, of the row. */
enum vector_result
abi_check_hashes(struct evm_arena *arena, const struct evm_abi_item *item,
				 const struct evm_json *row, struct vector_note *note)
{
	const char *signature = vector_text(row, "signature");
	struct evm_bytes hash;

	if (signature == NULL)
		return VECTOR_PASS; /* constructor, fallback, receive */
	if (strcmp(item->signature, signature) != 0)
		return vector_fail(note, "the signature is %s", item->signature);
	if (!vector_bytes(arena, row, "selector", &hash) && !vector_bytes(arena, row, "topic0", &hash))
		return VECTOR_PASS;
	return vector_same_bytes(note, "hash", item->hash.b, hash.len, hash.data, hash.len);
}

static enum vector_result
same_json(struct evm_arena *arena, const struct evm_abi_item *a, const struct evm_abi_item *b,
		  const char *what, struct vector_note *note)
{
	struct evm_abi abi_a = {a, 1};
	struct evm_abi abi_b = {b, 1};
	struct evm_bytes json_a;
	struct evm_bytes json_b;

	if (evm_abi_to_json(arena, &json_a, &abi_a) != EVM_OK ||
		evm_abi_to_json(arena, &json_b, &abi_b) != EVM_OK)
		return vector_fail(note, "it has no JSON");
	if (json_a.len != json_b.len || memcmp(json_a.data, json_b.data, json_a.len) != 0)
		return vector_fail(note, "%s: %.200s instead of %.200s", what, (const char *) json_a.data,
						   (const char *) json_b.data);
	return VECTOR_PASS;
}

static enum vector_result
parse_fragment(struct evm_arena *arena, const struct evm_abi_item **out, const char *text,
			   struct vector_note *note)
{
	struct evm_bytes fragment = {(const uint8_t *) text, strlen(text)};
	struct evm_abi abi;
	size_t which;
	struct evm_error err;

	if (evm_abi_parse_fragments(arena, &abi, &fragment, 1, &which, &err) != EVM_OK)
		return vector_fail(note, "\"%.200s\" is refused: %s", text, err.message);
	*out = &abi.items[0];
	return abi.item_count == 1 ? VECTOR_PASS : vector_fail(note, "it is no item");
}

/* JSON and one line of Solidity both lead back to the item. */
static enum vector_result
check_item_text(struct evm_arena *arena, const struct evm_abi_item *item, struct vector_note *note)
{
	struct evm_abi abi = {item, 1};
	struct evm_abi again;
	struct evm_bytes json;
	const struct evm_abi_item *parsed;
	const struct evm_abi_item *found;
	struct evm_error err;
	enum vector_result result;

	if (evm_abi_to_json(arena, &json, &abi) != EVM_OK ||
		evm_abi_parse_json(arena, &again, NULL, (const char *) json.data, json.len, &err) !=
			EVM_OK ||
		again.item_count != 1)
		return vector_fail(note, "its JSON does not parse");
	result = same_json(arena, &again.items[0], item, "JSON of its JSON", note);
	if (result == VECTOR_PASS)
		result = parse_fragment(arena, &parsed, evm_abi_item_text(arena, item), note);
	if (result == VECTOR_PASS)
		result = same_json(arena, parsed, item, "JSON of its text", note);
	if (result != VECTOR_PASS)
		return result;
	if (evm_abi_find(&found, &abi, item->kind, item->name, &err) != EVM_OK ||
		evm_abi_find(&found, &abi, item->kind, item->signature, &err) != EVM_OK)
		return vector_fail(note, "it is not found: %s", err.message);
	return VECTOR_PASS;
}

static enum vector_result
check_signature(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const struct evm_abi_item *item;
	enum vector_result result = abi_read_item(arena, &item, row, "abi", note);

	if (result == VECTOR_PASS)
		result = abi_check_hashes(arena, item, row, note);
	if (result == VECTOR_PASS)
		result = check_item_text(arena, item, note);
	return result;
}

/* An item whose types are not of the ABI is left out and counted. */
static enum vector_result
check_library_types(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct evm_abi abi;
	size_t skipped;
	enum vector_result result =
		abi_read(arena, &abi, &skipped, evm_json_object_get(row, "abi"), note);

	if (result != VECTOR_PASS)
		return result;
	if (abi.item_count != 0 || skipped != 1)
		return vector_fail(note, "%zu items, %zu left out", abi.item_count, skipped);
	return VECTOR_PASS;
}

static enum vector_result
check_human(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *text = vector_text(row, "text");
	const struct evm_abi_item *item;
	const struct evm_abi_item *want;
	enum vector_result result;

	if (text == NULL)
		return vector_fail(note, "the row lacks text");
	result = parse_fragment(arena, &item, text, note);
	if (result == VECTOR_PASS)
		result = abi_read_item(arena, &want, row, "abi", note);
	if (result == VECTOR_PASS)
		result = same_json(arena, item, want, "JSON", note);
	if (result == VECTOR_PASS)
		result = abi_check_hashes(arena, item, row, note);
	if (result == VECTOR_PASS)
		result = check_item_text(arena, item, note);
	return result;
}

static enum vector_result
check_human_reject(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *text = vector_text(row, "text");
	const struct evm_abi_item *item;

	if (text == NULL)
		return vector_fail(note, "the row lacks text");
	if (parse_fragment(arena, &item, text, note) == VECTOR_PASS)
		return vector_fail(note, "it is accepted");
	return VECTOR_PASS;
}

static enum vector_result
check_calldata(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const struct evm_json *args = evm_json_object_get(row, "args");
	const struct evm_json *returns = evm_json_object_get(row, "returns");
	const struct evm_abi_item *item;
	struct evm_abi_value values[ARGUMENTS_MAX];
	struct evm_bytes calldata;
	struct evm_bytes returndata;
	struct evm_bytes got;
	struct evm_error err;
	enum vector_result result = abi_read_item(arena, &item, row, "abi", note);

	if (result == VECTOR_PASS)
		result = abi_check_hashes(arena, item, row, note);
	if (result != VECTOR_PASS)
		return result;
	if (!vector_bytes(arena, row, "calldata", &calldata) || calldata.len < 4 ||
		!vector_bytes(arena, row, "returndata", &returndata) ||
		!abi_values_from_json(arena, values, item->inputs, item->input_count, args))
		return vector_fail(note, "the row lacks calldata, returndata or args");
	if (evm_abi_encode_call(arena, &got, item, values, item->input_count, &err) != EVM_OK)
		return vector_fail(note, "the arguments do not encode: %s", err.message);
	result = vector_same_bytes(note, "call", got.data, got.len, calldata.data, calldata.len);
	if (result != VECTOR_PASS)
		return result;
	calldata.data += 4;
	calldata.len -= 4;
	result = abi_check_decoding(arena, item->inputs, item->input_count, calldata, args, note);
	if (result != VECTOR_PASS)
		return result;
	return abi_check_decoding(arena, item->outputs, item->output_count, returndata, returns, note);
}

static const struct vector_family abi_item_families[] = {{"abi_signature", check_signature},
														 {"abi_library_types", check_library_types},
														 {"human_abi", check_human},
														 {"human_abi_reject", check_human_reject},
														 {"calldata", check_calldata},
														 {NULL, NULL}};

VECTOR_FAMILIES(abi_item_families);
