/*
 * abi_packed.c
 *	  The encodings without offsets and lengths: abi.encodePacked, and the
 *	  in-place encoding whose hash is the topic of an indexed dynamic argument.
 *
 * Both pad the elements of arrays to words; they differ outside of arrays, where
 * packed values take as many bytes as their type, and in bytes and strings in
 * arrays and tuples, which only the in-place encoding knows (padded).
 */
#include "evm/abi_internal.h"
#include "evm/keccak.h"

#include <string.h>

/* ---- packed ------------------------------------------------------------------------- */

static size_t
packed_leaf_size(const struct evm_abi_type *type, const struct evm_abi_value *value)
{
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			return type->size / 8;
		case EVM_ABI_BOOL:
			return 1;
		default:
			return value->bytes.len;
	}
}

static const struct evm_abi_type *
innermost_element(const struct evm_abi_type *type)
{
	while (type->kind == EVM_ABI_ARRAY)
		type = type->element;
	return type;
}

/* Value types of an array of any nesting. */
static size_t
count_leaves(const struct evm_abi_type *type, const struct evm_abi_value *value, size_t limit)
{
	size_t count = 0;

	if (type->kind != EVM_ABI_ARRAY)
		return 1;
	if (type->element->kind != EVM_ABI_ARRAY)
		return value->item_count;
	for (size_t i = 0; i < value->item_count && count <= limit; i++)
		count += count_leaves(type->element, &value->items[i], limit);
	return count;
}

static uint8_t *
write_leaves(uint8_t *out, const struct evm_abi_type *type, const struct evm_abi_value *value)
{
	if (type->kind != EVM_ABI_ARRAY)
	{
		evm_abi_write_word(out, type, value);
		return out + EVM_ABI_WORD_BYTES;
	}
	for (size_t i = 0; i < value->item_count; i++)
		out = write_leaves(out, type->element, &value->items[i]);
	return out;
}

static uint8_t *
write_packed_leaf(uint8_t *out, const struct evm_abi_type *type, const struct evm_abi_value *value)
{
	size_t size = packed_leaf_size(type, value);

	if (type->kind == EVM_ABI_UINT || type->kind == EVM_ABI_INT || type->kind == EVM_ABI_BOOL)
	{
		uint8_t word[EVM_ABI_WORD_BYTES];

		evm_abi_write_word(word, type, value);
		memcpy(out, word + EVM_ABI_WORD_BYTES - size, size);
	}
	else if (size > 0)
		memcpy(out, value->bytes.data, size);
	return out + size;
}

static enum evm_status
check_packable(const struct evm_abi_param *params, size_t count, struct evm_error *err)
{
	for (size_t i = 0; i < count; i++)
	{
		struct evm_abi_path path = {.depth = 1, .steps = {{&params[i], i}}};
		const struct evm_abi_type *inner = innermost_element(params[i].type);

		if (inner->kind == EVM_ABI_TUPLE)
			return evm_abi_fail_at(&path, err, EVM_ERR_TYPE, 0, "tuples have no packed encoding");
		if (inner != params[i].type && inner->dynamic)
			return evm_abi_fail_at(&path, err, EVM_ERR_TYPE, 0,
								   "arrays of bytes or string have no packed encoding");
	}
	return EVM_OK;
}

/* False when the size is more than any arena gives. */
static bool
packed_size(size_t *out, const struct evm_abi_param *params, const struct evm_abi_value *values,
			size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
	{
		size_t more = packed_leaf_size(params[i].type, &values[i]);

		if (params[i].type->kind == EVM_ABI_ARRAY)
		{
			more = count_leaves(params[i].type, &values[i], EVM_ABI_MAX_VALUES);
			if (more > EVM_ABI_MAX_VALUES)
				return false;
			more *= EVM_ABI_WORD_BYTES;
		}
		if (more > SIZE_MAX / 2 - size)
			return false;
		size += more;
	}
	*out = size;
	return true;
}

enum evm_status
evm_abi_encode_packed(struct evm_arena *arena, struct evm_bytes *out,
					  const struct evm_abi_param *params, const struct evm_abi_value *values,
					  size_t count, struct evm_error *err)
{
	struct evm_abi_path path = {.depth = 0};
	enum evm_status status = check_packable(params, count, err);
	size_t size;
	uint8_t *start;
	uint8_t *end;

	if (status == EVM_OK)
		status = evm_abi_check_values(&path, params, values, count, err);
	if (status != EVM_OK)
		return status;
	if (!packed_size(&size, params, values, count))
		return evm_fail(err, EVM_ERR_LIMIT, 0, "an array has more than %d values",
						EVM_ABI_MAX_VALUES);
	start = end = evm_arena_alloc(arena, size);
	if (start == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "out of memory for %zu packed bytes", size);
	for (size_t i = 0; i < count; i++)
	{
		if (params[i].type->kind == EVM_ABI_ARRAY)
			end = write_leaves(end, params[i].type, &values[i]);
		else
			end = write_packed_leaf(end, params[i].type, &values[i]);
	}
	out->data = start;
	out->len = size;
	return EVM_OK;
}

/* ---- topics ------------------------------------------------------------------------------ */

/* The in-place encoding goes through the hash as it is made; nothing is kept. */
static void
hash_in_place(struct evm_keccak *hash, const struct evm_abi_type *type,
			  const struct evm_abi_value *value)
{
	static const uint8_t zeros[EVM_ABI_WORD_BYTES];
	uint8_t word[EVM_ABI_WORD_BYTES];

	switch (type->kind)
	{
		case EVM_ABI_ARRAY:
			for (size_t i = 0; i < value->item_count; i++)
				hash_in_place(hash, type->element, &value->items[i]);
			break;
		case EVM_ABI_TUPLE:
			for (size_t i = 0; i < value->item_count; i++)
				hash_in_place(hash, type->components[i].type, &value->items[i]);
			break;
		case EVM_ABI_BYTES:
		case EVM_ABI_STRING:
			evm_keccak_update(hash, value->bytes.data, value->bytes.len);
			evm_keccak_update(hash, zeros, evm_abi_padded(value->bytes.len) - value->bytes.len);
			break;
		default:
			evm_abi_write_word(word, type, value);
			evm_keccak_update(hash, word, sizeof(word));
			break;
	}
}

enum evm_status
evm_abi_encode_topic(struct evm_arena *arena, struct evm_hash *out, const struct evm_abi_type *type,
					 const struct evm_abi_value *value, struct evm_error *err)
{
	struct evm_abi_path path = {.depth = 0};
	struct evm_keccak hash;
	enum evm_status status;

	(void) arena;
	if (value->hashed && value->bytes.len == sizeof(out->b))
	{
		memcpy(out->b, value->bytes.data, sizeof(out->b));
		return EVM_OK;
	}
	status = evm_abi_check_value(&path, type, value, err);
	if (status != EVM_OK)
		return status;
	if (type->kind == EVM_ABI_BYTES || type->kind == EVM_ABI_STRING)
		evm_keccak256(out, value->bytes.data, value->bytes.len);
	else if (!evm_abi_is_reference(type))
		evm_abi_write_word(out->b, type, value);
	else
	{
		evm_keccak_init(&hash);
		hash_in_place(&hash, type, value);
		evm_keccak_final(out, &hash);
	}
	return EVM_OK;
}
