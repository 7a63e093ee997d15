/*
 * abi_encode.c
 *	  Values to their ABI encoding.
 *
 * All values are checked first, then the size is computed and the bytes are
 * written in one pass that cannot fail: heads in place, tails behind each other
 * in the order of the heads.
 */
#include "evm/abi_internal.h"
#include "evm/word.h"

#include <string.h>

/* Values may share items, so that their size is not bounded by memory. */
#define MAX_ENCODED_BYTES ((size_t) 1 << 30)

size_t
evm_abi_padded(size_t len)
{
	return (len + EVM_ABI_WORD_BYTES - 1) / EVM_ABI_WORD_BYTES * EVM_ABI_WORD_BYTES;
}

/* ---- checking ----------------------------------------------------------------------- */

static enum evm_status
check_integer(const struct evm_abi_path *path, const struct evm_abi_type *type,
			  const struct evm_word *word, struct evm_error *err)
{
	bool is_signed = type->kind == EVM_ABI_INT;
	bool fits = is_signed ? evm_word_fits_signed(word, type->size)
						  : evm_word_fits_unsigned(word, type->size);
	char digits[EVM_WORD_DECIMAL_BYTES];
	char name[EVM_ABI_LEAF_NAME_BYTES];

	if (fits)
		return EVM_OK;
	evm_word_to_decimal(digits, word, is_signed);
	evm_abi_leaf_name(name, type);
	return evm_abi_fail_at(path, err, EVM_ERR_RANGE, 0, "%s does not fit %s", digits, name);
}

static enum evm_status
check_length(const struct evm_abi_path *path, const struct evm_abi_type *type, size_t wanted,
			 const struct evm_abi_value *value, struct evm_error *err)
{
	char name[EVM_ABI_LEAF_NAME_BYTES];

	if (value->bytes.len == wanted)
		return EVM_OK;
	evm_abi_leaf_name(name, type);
	return evm_abi_fail_at(path, err, EVM_ERR_TYPE, 0, "%s has %zu bytes, got %zu", name, wanted,
						   value->bytes.len);
}

static enum evm_status
check_array(struct evm_abi_path *path, const struct evm_abi_type *type,
			const struct evm_abi_value *value, struct evm_error *err)
{
	enum evm_status status = EVM_OK;

	if (type->length != EVM_ABI_DYNAMIC_LENGTH && value->item_count != type->length)
		return evm_abi_fail_at(path, err, EVM_ERR_MISMATCH, 0,
							   "the array has %llu elements, got %zu",
							   (unsigned long long) type->length, value->item_count);
	if (path->depth > EVM_ABI_MAX_DEPTH)
		return evm_abi_fail_at(path, err, EVM_ERR_LIMIT, 0, "the value is nested too deep");
	path->depth++;
	for (size_t i = 0; i < value->item_count && status == EVM_OK; i++)
	{
		path->steps[path->depth - 1] = (struct evm_abi_step){NULL, i};
		status = evm_abi_check_value(path, type->element, &value->items[i], err);
	}
	path->depth--;
	return status;
}

static enum evm_status
check_tuple(struct evm_abi_path *path, const struct evm_abi_type *type,
			const struct evm_abi_value *value, struct evm_error *err)
{
	if (value->item_count != type->component_count)
		return evm_abi_fail_at(path, err, EVM_ERR_MISMATCH, 0,
							   "the tuple has %zu components, got %zu", type->component_count,
							   value->item_count);
	return evm_abi_check_values(path, type->components, value->items, value->item_count, err);
}

enum evm_status
evm_abi_check_value(struct evm_abi_path *path, const struct evm_abi_type *type,
					const struct evm_abi_value *value, struct evm_error *err)
{
	if (value->hashed)
		return evm_abi_fail_at(path, err, EVM_ERR_TYPE, 0,
							   "only the hash of the value is known, not the value");
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			return check_integer(path, type, &value->word, err);
		case EVM_ABI_BOOL:
			if (evm_word_bits(&value->word) > 1)
				return evm_abi_fail_at(path, err, EVM_ERR_RANGE, 0, "a bool is 0 or 1");
			return EVM_OK;
		case EVM_ABI_ADDRESS:
			return check_length(path, type, EVM_ABI_ADDRESS_BYTES, value, err);
		case EVM_ABI_FIXED_BYTES:
			return check_length(path, type, type->size, value, err);
		case EVM_ABI_FUNCTION:
			return check_length(path, type, EVM_ABI_FUNCTION_BYTES, value, err);
		case EVM_ABI_BYTES:
		case EVM_ABI_STRING:
			return EVM_OK;
		case EVM_ABI_ARRAY:
			return check_array(path, type, value, err);
		case EVM_ABI_TUPLE:
			return check_tuple(path, type, value, err);
	}
	return evm_abi_fail_at(path, err, EVM_ERR_TYPE, 0, "the type is not one of the ABI");
}

enum evm_status
evm_abi_check_values(struct evm_abi_path *path, const struct evm_abi_param *params,
					 const struct evm_abi_value *values, size_t count, struct evm_error *err)
{
	enum evm_status status = EVM_OK;

	if (path->depth > EVM_ABI_MAX_DEPTH)
		return evm_abi_fail_at(path, err, EVM_ERR_LIMIT, 0, "the value is nested too deep");
	path->depth++;
	for (size_t i = 0; i < count && status == EVM_OK; i++)
	{
		path->steps[path->depth - 1] = (struct evm_abi_step){&params[i], i};
		status = evm_abi_check_value(path, params[i].type, &values[i], err);
	}
	path->depth--;
	return status;
}

/* ---- measuring ------------------------------------------------------------------------ */

/* Sizes add up to at most this, which stands for "too large". */
#define TOO_LARGE (MAX_ENCODED_BYTES + 1)

static size_t
add_sizes(size_t a, size_t b)
{
	if (a > MAX_ENCODED_BYTES || b > MAX_ENCODED_BYTES - a)
		return TOO_LARGE;
	return a + b;
}

static size_t tail_size(const struct evm_abi_type *type, const struct evm_abi_value *value);

/* Head and tail of one component. */
static size_t
component_size(const struct evm_abi_type *type, const struct evm_abi_value *value)
{
	if (!type->dynamic)
		return type->head_size;
	return add_sizes(EVM_ABI_WORD_BYTES, tail_size(type, value));
}

static size_t
array_size(const struct evm_abi_type *element, const struct evm_abi_value *value)
{
	size_t size = 0;

	if (!element->dynamic)
	{
		if (value->item_count > MAX_ENCODED_BYTES / element->head_size)
			return TOO_LARGE;
		return value->item_count * element->head_size;
	}
	for (size_t i = 0; i < value->item_count && size <= MAX_ENCODED_BYTES; i++)
		size = add_sizes(size, component_size(element, &value->items[i]));
	return size;
}

static size_t
sequence_size(const struct evm_abi_param *params, const struct evm_abi_value *values, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count && size <= MAX_ENCODED_BYTES; i++)
		size = add_sizes(size, component_size(params[i].type, &values[i]));
	return size;
}

/* What a value of a dynamic type takes behind its offset. */
static size_t
tail_size(const struct evm_abi_type *type, const struct evm_abi_value *value)
{
	if (type->kind == EVM_ABI_TUPLE)
		return sequence_size(type->components, value->items, value->item_count);
	if (type->kind == EVM_ABI_ARRAY)
	{
		size_t size = array_size(type->element, value);

		return type->length == EVM_ABI_DYNAMIC_LENGTH ? add_sizes(size, EVM_ABI_WORD_BYTES) : size;
	}
	if (value->bytes.len > MAX_ENCODED_BYTES)
		return TOO_LARGE;
	return add_sizes(evm_abi_padded(value->bytes.len), EVM_ABI_WORD_BYTES);
}

/* ---- writing ---------------------------------------------------------------------------- */

static void
write_number(uint8_t *out, size_t number)
{
	struct evm_word word = evm_word_from_u64(number);

	evm_word_to_be(out, &word);
}

void
evm_abi_write_word(uint8_t out[EVM_ABI_WORD_BYTES], const struct evm_abi_type *type,
				   const struct evm_abi_value *value)
{
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
		case EVM_ABI_BOOL:
			evm_word_to_be(out, &value->word);
			break;
		case EVM_ABI_ADDRESS:
			memset(out, 0, EVM_ABI_WORD_BYTES - EVM_ABI_ADDRESS_BYTES);
			memcpy(out + EVM_ABI_WORD_BYTES - EVM_ABI_ADDRESS_BYTES, value->bytes.data,
				   EVM_ABI_ADDRESS_BYTES);
			break;
		default:
			memset(out, 0, EVM_ABI_WORD_BYTES);
			memcpy(out, value->bytes.data, value->bytes.len);
			break;
	}
}

/* Where the next head and the next tail go; offsets count from base. */
struct cursor
{
	uint8_t *base;
	uint8_t *head;
	uint8_t *tail;
};

static void write_component(struct cursor *cursor, const struct evm_abi_type *type,
							const struct evm_abi_value *value);

static void
write_elements(struct cursor *cursor, const struct evm_abi_type *element,
			   const struct evm_abi_value *value)
{
	for (size_t i = 0; i < value->item_count; i++)
		write_component(cursor, element, &value->items[i]);
}

static void
write_components(struct cursor *cursor, const struct evm_abi_param *params,
				 const struct evm_abi_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		write_component(cursor, params[i].type, &values[i]);
}

/* A value of a static type has no offsets in it: words one after another. */
static void
write_static(struct cursor *cursor, const struct evm_abi_type *type,
			 const struct evm_abi_value *value)
{
	if (type->kind == EVM_ABI_ARRAY)
		write_elements(cursor, type->element, value);
	else if (type->kind == EVM_ABI_TUPLE)
		write_components(cursor, type->components, value->items, value->item_count);
	else
	{
		evm_abi_write_word(cursor->head, type, value);
		cursor->head += EVM_ABI_WORD_BYTES;
	}
}

/* Returns the end of what it writes at out. */
static uint8_t *
write_bytes(uint8_t *out, struct evm_bytes bytes)
{
	size_t padded = evm_abi_padded(bytes.len);

	write_number(out, bytes.len);
	out += EVM_ABI_WORD_BYTES;
	if (bytes.len > 0)
		memcpy(out, bytes.data, bytes.len);
	memset(out + bytes.len, 0, padded - bytes.len);
	return out + padded;
}

static uint8_t *
write_array(uint8_t *out, const struct evm_abi_type *type, const struct evm_abi_value *value)
{
	struct cursor inner;

	if (type->length == EVM_ABI_DYNAMIC_LENGTH)
	{
		write_number(out, value->item_count);
		out += EVM_ABI_WORD_BYTES;
	}
	inner.base = inner.head = out;
	inner.tail = out + value->item_count * type->element->head_size;
	write_elements(&inner, type->element, value);
	return inner.tail;
}

static uint8_t *
write_tuple(uint8_t *out, const struct evm_abi_param *params, const struct evm_abi_value *values,
			size_t count)
{
	struct cursor inner = {.base = out, .head = out, .tail = out};

	for (size_t i = 0; i < count; i++)
		inner.tail += params[i].type->head_size;
	write_components(&inner, params, values, count);
	return inner.tail;
}

static void
write_component(struct cursor *cursor, const struct evm_abi_type *type,
				const struct evm_abi_value *value)
{
	if (!type->dynamic)
	{
		write_static(cursor, type, value);
		return;
	}
	write_number(cursor->head, (size_t) (cursor->tail - cursor->base));
	cursor->head += EVM_ABI_WORD_BYTES;
	if (type->kind == EVM_ABI_TUPLE)
		cursor->tail = write_tuple(cursor->tail, type->components, value->items, value->item_count);
	else if (type->kind == EVM_ABI_ARRAY)
		cursor->tail = write_array(cursor->tail, type, value);
	else
		cursor->tail = write_bytes(cursor->tail, value->bytes);
}

/* ---- entry points ------------------------------------------------------------------------- */

/* prefix_len bytes are left free in front. */
static enum evm_status
encode_behind(struct evm_arena *arena, struct evm_bytes *out, size_t prefix_len,
			  const struct evm_abi_param *params, const struct evm_abi_value *values, size_t count,
			  uint8_t **written, struct evm_error *err)
{
	struct evm_abi_path path = {.depth = 0};
	enum evm_status status = evm_abi_check_values(&path, params, values, count, err);
	size_t size;

	if (status != EVM_OK)
		return status;
	size = sequence_size(params, values, count);
	if (size > MAX_ENCODED_BYTES)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "the values take more than %zu bytes",
						MAX_ENCODED_BYTES);
	*written = evm_arena_alloc(arena, prefix_len + size);
	if (*written == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "out of memory for %zu encoded bytes", size);
	(void) write_tuple(*written + prefix_len, params, values, count);
	out->data = *written;
	out->len = prefix_len + size;
	return EVM_OK;
}

enum evm_status
evm_abi_encode(struct evm_arena *arena, struct evm_bytes *out, const struct evm_abi_param *params,
			   const struct evm_abi_value *values, size_t count, struct evm_error *err)
{
	uint8_t *written;

	return encode_behind(arena, out, 0, params, values, count, &written, err);
}

enum evm_status
evm_abi_encode_call(struct evm_arena *arena, struct evm_bytes *out,
					const struct evm_abi_item *function, const struct evm_abi_value *values,
					size_t count, struct evm_error *err)
{
	uint8_t *written;
	enum evm_status status;

	if (count != function->input_count)
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "%.*s takes %zu arguments, got %zu",
						evm_abi_shown(strlen(function->signature)), function->signature,
						function->input_count, count);
	status = encode_behind(arena, out, EVM_ABI_SELECTOR_BYTES, function->inputs, values, count,
						   &written, err);
	if (status == EVM_OK)
		memcpy(written, function->hash.b, EVM_ABI_SELECTOR_BYTES);
	return status;
}
