/*
 * abi_type.c
 *	  Types and items: how they are made, measured, limited and compared.
 *
 * Every type is made here, so that dynamic, head_size, depth and nodes are
 * right by construction and the limits of abi.h hold for all that walk a type.
 */
#include "evm/abi_internal.h"
#include "evm/keccak.h"

#include <stdio.h>
#include <string.h>

#define MAX_STATIC_BYTES ((size_t) EVM_ABI_MAX_VALUES * EVM_ABI_WORD_BYTES)
#define MAX_INTEGER_BITS 256
#define LIST_FIRST_CAPACITY 4

bool
evm_abi_is_reference(const struct evm_abi_type *type)
{
	return type->kind == EVM_ABI_BYTES || type->kind == EVM_ABI_STRING ||
		type->kind == EVM_ABI_ARRAY || type->kind == EVM_ABI_TUPLE;
}

void
evm_abi_leaf_name(char out[EVM_ABI_LEAF_NAME_BYTES], const struct evm_abi_type *type)
{
	const char *name = "";
	bool sized = false;

	switch (type->kind)
	{
		case EVM_ABI_UINT:
			name = "uint";
			sized = true;
			break;
		case EVM_ABI_INT:
			name = "int";
			sized = true;
			break;
		case EVM_ABI_FIXED_BYTES:
			name = "bytes";
			sized = true;
			break;
		case EVM_ABI_ADDRESS:
			name = "address";
			break;
		case EVM_ABI_BOOL:
			name = "bool";
			break;
		case EVM_ABI_FUNCTION:
			name = "function";
			break;
		case EVM_ABI_BYTES:
			name = "bytes";
			break;
		case EVM_ABI_STRING:
			name = "string";
			break;
		case EVM_ABI_ARRAY:
			name = "array";
			break;
		case EVM_ABI_TUPLE:
			name = "tuple";
			break;
	}
	if (sized)
		snprintf(out, EVM_ABI_LEAF_NAME_BYTES, "%s%u", name, type->size);
	else
		snprintf(out, EVM_ABI_LEAF_NAME_BYTES, "%s", name);
}

/* ---- elementary types ------------------------------------------------------- */

/* The number behind a prefix ("256"), or 0 when it is none, has leading zeros or is over max. */
static unsigned
parse_size(const char *digits, size_t len, unsigned max)
{
	unsigned size = 0;

	if (len == 0 || digits[0] == '0')
		return 0;
	for (size_t i = 0; i < len; i++)
	{
		if (digits[i] < '0' || digits[i] > '9')
			return 0;
		size = size * 10 + (unsigned) (digits[i] - '0');
		if (size > max)
			return 0;
	}
	return size;
}

static bool
has_prefix(const char *word, size_t len, const char *prefix)
{
	size_t prefix_len = strlen(prefix);

	return len >= prefix_len && memcmp(word, prefix, prefix_len) == 0;
}

/* "uint", "uint8" … "uint256". */
static bool
parse_integer_type(struct evm_abi_type *out, const char *word, size_t len, const char *prefix,
				   enum evm_abi_kind kind)
{
	size_t prefix_len = strlen(prefix);

	if (!has_prefix(word, len, prefix))
		return false;
	out->kind = kind;
	if (len == prefix_len)
		out->size = MAX_INTEGER_BITS;
	else
		out->size = parse_size(word + prefix_len, len - prefix_len, MAX_INTEGER_BITS);
	return out->size > 0 && out->size % 8 == 0;
}

static bool
parse_named_type(struct evm_abi_type *out, const char *word, size_t len)
{
	static const struct
	{
		const char *name;
		enum evm_abi_kind kind;
		bool dynamic;
	} names[] = {
		{"address", EVM_ABI_ADDRESS, false},   {"bool", EVM_ABI_BOOL, false},
		{"function", EVM_ABI_FUNCTION, false}, {"bytes", EVM_ABI_BYTES, true},
		{"string", EVM_ABI_STRING, true},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (strlen(names[i].name) == len && memcmp(names[i].name, word, len) == 0)
		{
			out->kind = names[i].kind;
			out->dynamic = names[i].dynamic;
			return true;
		}
	}
	return false;
}

static bool
parse_elementary(struct evm_abi_type *out, const char *word, size_t len)
{
	if (parse_named_type(out, word, len))
		return true;
	if (has_prefix(word, len, "bytes"))
	{
		out->kind = EVM_ABI_FIXED_BYTES;
		out->size = parse_size(word + strlen("bytes"), len - strlen("bytes"), EVM_ABI_WORD_BYTES);
		return out->size > 0;
	}
	return parse_integer_type(out, word, len, "uint", EVM_ABI_UINT) ||
		parse_integer_type(out, word, len, "int", EVM_ABI_INT);
}

enum evm_status
evm_abi_type_elementary(struct evm_arena *arena, const struct evm_abi_type **out, const char *word,
						size_t len)
{
	struct evm_abi_type parsed = {.head_size = EVM_ABI_WORD_BYTES, .nodes = 1};
	struct evm_abi_type *type;

	*out = NULL;
	if (!parse_elementary(&parsed, word, len))
		return EVM_OK;
	type = evm_arena_alloc(arena, sizeof(*type));
	if (type == NULL)
		return EVM_ERR_MEMORY;
	*type = parsed;
	*out = type;
	return EVM_OK;
}

/* ---- arrays and tuples -------------------------------------------------------- */

static enum evm_status
check_limits(const struct evm_abi_type *type, size_t position, struct evm_error *err)
{
	if (type->depth > EVM_ABI_MAX_DEPTH)
		return evm_fail(err, EVM_ERR_LIMIT, position, "the type is nested deeper than %d",
						EVM_ABI_MAX_DEPTH);
	if (type->nodes > EVM_ABI_MAX_TYPE_NODES)
		return evm_fail(err, EVM_ERR_LIMIT, position, "the type has more than %d types in it",
						EVM_ABI_MAX_TYPE_NODES);
	if (type->head_size > MAX_STATIC_BYTES)
		return evm_fail(err, EVM_ERR_LIMIT, position, "the type holds more than %d values",
						EVM_ABI_MAX_VALUES);
	return EVM_OK;
}

static enum evm_status
publish(struct evm_arena *arena, const struct evm_abi_type **out, const struct evm_abi_type *made,
		size_t position, struct evm_error *err)
{
	struct evm_abi_type *type;
	enum evm_status status = check_limits(made, position, err);

	if (status != EVM_OK)
		return status;
	type = evm_arena_alloc(arena, sizeof(*type));
	if (type == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, position, "out of memory for types");
	*type = *made;
	*out = type;
	return EVM_OK;
}

enum evm_status
evm_abi_type_array(struct evm_arena *arena, const struct evm_abi_type **out,
				   const struct evm_abi_type *element, uint64_t length, size_t position,
				   struct evm_error *err)
{
	struct evm_abi_type made = {.kind = EVM_ABI_ARRAY,
								.length = length,
								.element = element,
								.dynamic = element->dynamic || length == EVM_ABI_DYNAMIC_LENGTH,
								.head_size = EVM_ABI_WORD_BYTES,
								.depth = element->depth + 1,
								.nodes = element->nodes + 1};

	if (length == 0)
		return evm_fail(err, EVM_ERR_SYNTAX, position, "an array has a length of at least 1");
	if (!made.dynamic)
	{
		if (length > MAX_STATIC_BYTES / element->head_size)
			made.head_size = MAX_STATIC_BYTES + 1;
		else
			made.head_size = (size_t) length * element->head_size;
	}
	return publish(arena, out, &made, position, err);
}

enum evm_status
evm_abi_type_tuple(struct evm_arena *arena, const struct evm_abi_type **out,
				   const struct evm_abi_param *components, size_t count, size_t position,
				   struct evm_error *err)
{
	struct evm_abi_type made = {.kind = EVM_ABI_TUPLE,
								.components = components,
								.component_count = count,
								.nodes = 1};

	if (count == 0)
		return evm_fail(err, EVM_ERR_SYNTAX, position, "a tuple has at least one component");
	if (count > EVM_ABI_MAX_COMPONENTS)
		return evm_fail(err, EVM_ERR_LIMIT, position, "a tuple has more than %d components",
						EVM_ABI_MAX_COMPONENTS);
	for (size_t i = 0; i < count; i++)
	{
		const struct evm_abi_type *type = components[i].type;

		made.dynamic = made.dynamic || type->dynamic;
		made.head_size += type->head_size;
		made.nodes += type->nodes;
		if (made.depth < type->depth)
			made.depth = type->depth;
		if (made.head_size > MAX_STATIC_BYTES)
			break;
	}
	made.depth++;
	if (made.dynamic)
		made.head_size = EVM_ABI_WORD_BYTES;
	return publish(arena, out, &made, position, err);
}

static bool
params_equal(const struct evm_abi_param *a, size_t a_count, const struct evm_abi_param *b,
			 size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
	{
		if (!evm_abi_type_equal(a[i].type, b[i].type))
			return false;
	}
	return true;
}

bool
evm_abi_type_equal(const struct evm_abi_type *a, const struct evm_abi_type *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind)
		return false;
	if (a->kind == EVM_ABI_ARRAY)
		return a->length == b->length && evm_abi_type_equal(a->element, b->element);
	if (a->kind == EVM_ABI_TUPLE)
		return params_equal(a->components, a->component_count, b->components, b->component_count);
	return a->size == b->size;
}

/* ---- items -------------------------------------------------------------------- */

size_t
evm_abi_indexed_count(const struct evm_abi_item *event)
{
	size_t count = 0;

	for (size_t i = 0; i < event->input_count; i++)
		count += event->inputs[i].indexed;
	return count;
}

const char *
evm_abi_kind_word(enum evm_abi_item_kind kind)
{
	static const char *const words[] = {
		[EVM_ABI_ITEM_FUNCTION] = "function", [EVM_ABI_ITEM_EVENT] = "event",
		[EVM_ABI_ITEM_ERROR] = "error",       [EVM_ABI_ITEM_CONSTRUCTOR] = "constructor",
		[EVM_ABI_ITEM_FALLBACK] = "fallback", [EVM_ABI_ITEM_RECEIVE] = "receive",
	};

	return words[kind];
}

bool
evm_abi_is_named(enum evm_abi_item_kind kind)
{
	return kind == EVM_ABI_ITEM_FUNCTION || kind == EVM_ABI_ITEM_EVENT ||
		kind == EVM_ABI_ITEM_ERROR;
}

enum evm_status
evm_abi_item_finish(struct evm_arena *arena, struct evm_abi_item *item, size_t position,
					struct evm_error *err)
{
	struct evm_abi_text signature = {.arena = arena};
	size_t max_indexed = EVM_ABI_MAX_INDEXED + (item->anonymous ? 1 : 0);

	if (item->input_count > EVM_ABI_MAX_COMPONENTS || item->output_count > EVM_ABI_MAX_COMPONENTS)
		return evm_fail(err, EVM_ERR_LIMIT, position, "more than %d parameters",
						EVM_ABI_MAX_COMPONENTS);
	if (evm_abi_indexed_count(item) > max_indexed)
		return evm_fail(err, EVM_ERR_LIMIT, position, "more than %zu indexed parameters",
						max_indexed);
	evm_abi_text_str(&signature,
					 evm_abi_is_named(item->kind) ? item->name : evm_abi_kind_word(item->kind));
	evm_abi_text_types(&signature, item->inputs, item->input_count);
	item->signature = evm_abi_text_end(&signature);
	if (item->signature == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, position, "out of memory for signatures");
	if (evm_abi_is_named(item->kind))
		evm_keccak256(&item->hash, item->signature, signature.len);
	else
		memset(&item->hash, 0, sizeof(item->hash));
	return EVM_OK;
}

/* ---- growing arrays -------------------------------------------------------------- */

void *
evm_abi_list_push(struct evm_arena *arena, struct evm_abi_list *list, size_t element_size)
{
	if (list->count == list->capacity)
	{
		size_t capacity = list->capacity == 0 ? LIST_FIRST_CAPACITY : list->capacity * 2;
		void *bigger = evm_arena_zalloc(arena, capacity, element_size);

		if (bigger == NULL)
			return NULL;
		if (list->count > 0)
			memcpy(bigger, list->data, list->count * element_size);
		list->data = bigger;
		list->capacity = capacity;
	}
	list->count++;
	return (char *) list->data + (list->count - 1) * element_size;
}
