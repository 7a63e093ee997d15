/*
 * abi_decode.c
 *	  ABI encoding to values.
 *
 * Every read is checked against the data before it happens: the head of a tuple
 * component by component, the head of an array as a whole, offsets and lengths
 * on all of their 256 bits.  What offsets that share a tail can blow up is
 * bounded by budgets of leaves and of bytes, which grow with the data.
 */
#include "evm/abi_internal.h"
#include "evm/word.h"

#include <string.h>

/* So that short data may still share a little. */
#define MIN_BUDGET 1024

static size_t
budget(size_t amount, size_t inflation, size_t max)
{
	if (amount > (max - MIN_BUDGET) / inflation)
		return max;
	return MIN_BUDGET + amount * inflation;
}

void
evm_abi_decoder_init(struct evm_abi_decoder *decoder, struct evm_arena *arena, const uint8_t *data,
					 size_t len, struct evm_error *err)
{
	decoder->arena = arena;
	decoder->data = data;
	decoder->len = len;
	decoder->leaves_left =
		budget(len / EVM_ABI_WORD_BYTES, EVM_ABI_MAX_LEAVES_PER_WORD, EVM_ABI_MAX_VALUES);
	decoder->bytes_left = budget(len, EVM_ABI_MAX_BYTES_PER_BYTE, SIZE_MAX);
	decoder->path.depth = 0;
	decoder->err = err;
}

/* ---- failures --------------------------------------------------------------------------- */

static enum evm_status
fail_truncated(struct evm_abi_decoder *decoder, size_t position)
{
	return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_TRUNCATED, position,
						   "the data ends at byte %zu, inside the value", decoder->len);
}

static enum evm_status
fail_inflated(struct evm_abi_decoder *decoder, size_t position)
{
	return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_LIMIT, position,
						   "the value is too large for its %zu bytes of data", decoder->len);
}

static enum evm_status
fail_memory(struct evm_abi_decoder *decoder, size_t position)
{
	return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_MEMORY, position,
						   "out of memory for the value");
}

static enum evm_status
fail_integer(struct evm_abi_decoder *decoder, const struct evm_abi_type *type,
			 const struct evm_word *word, size_t position)
{
	char digits[EVM_WORD_DECIMAL_BYTES];
	char name[EVM_ABI_LEAF_NAME_BYTES];

	evm_word_to_decimal(digits, word, type->kind == EVM_ABI_INT);
	evm_abi_leaf_name(name, type);
	return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_RANGE, position,
						   "%s does not fit %s", digits, name);
}

/* ---- words -------------------------------------------------------------------------------- */

static uint64_t
load_u64(const uint8_t *data)
{
	uint64_t value = 0;

	for (size_t i = 0; i < sizeof(value); i++)
		value = value << 8 | data[i];
	return value;
}

static void
load_word(struct evm_word *out, const uint8_t *data)
{
	out->limb[3] = load_u64(data);
	out->limb[2] = load_u64(data + 8);
	out->limb[1] = load_u64(data + 16);
	out->limb[0] = load_u64(data + 24);
}

static bool
fits(const struct evm_abi_type *type, const struct evm_word *word)
{
	if (type->size == 256)
		return true;
	if (type->kind == EVM_ABI_INT)
		return evm_word_fits_signed(word, type->size);
	return evm_word_fits_unsigned(word, type->size);
}

static bool
has_address_padding(const uint8_t *word)
{
	return load_u64(word) == 0 && word[8] == 0 && word[9] == 0 && word[10] == 0 && word[11] == 0;
}

static void
set_bytes(struct evm_abi_value *out, const uint8_t *data, size_t len)
{
	out->bytes.data = data;
	out->bytes.len = len;
}

enum evm_status
evm_abi_decode_word(struct evm_abi_decoder *decoder, struct evm_abi_value *out,
					const struct evm_abi_type *type, const uint8_t *word, size_t position)
{
	memset(out, 0, sizeof(*out));
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			load_word(&out->word, word);
			if (!fits(type, &out->word))
				return fail_integer(decoder, type, &out->word, position);
			return EVM_OK;
		case EVM_ABI_BOOL:
			load_word(&out->word, word);
			if (evm_word_bits(&out->word) > 1)
				return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_RANGE, position,
									   "a bool is 0 or 1");
			return EVM_OK;
		case EVM_ABI_ADDRESS:
			if (!has_address_padding(word))
				return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_RANGE, position,
									   "an address has 20 bytes, and more are not zero");
			set_bytes(out, word + EVM_ABI_WORD_BYTES - EVM_ABI_ADDRESS_BYTES,
					  EVM_ABI_ADDRESS_BYTES);
			return EVM_OK;
		case EVM_ABI_FIXED_BYTES:
			set_bytes(out, word, type->size);
			return EVM_OK;
		case EVM_ABI_FUNCTION:
			set_bytes(out, word, EVM_ABI_FUNCTION_BYTES);
			return EVM_OK;
		default:
			return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_TYPE, position,
								   "the type is not a value type");
	}
}

/* An offset, or a length: a word of which there are 32 bytes at position. */
static bool
read_size(const struct evm_abi_decoder *decoder, size_t position, size_t *out)
{
	struct evm_word word;

	load_word(&word, decoder->data + position);
	*out = (size_t) word.limb[0];
	return (word.limb[1] | word.limb[2] | word.limb[3]) == 0 && word.limb[0] <= SIZE_MAX;
}

/* A length in the data, in front of what it counts. */
static enum evm_status
read_length(struct evm_abi_decoder *decoder, size_t position, size_t *out)
{
	if (decoder->len - position < EVM_ABI_WORD_BYTES)
		return fail_truncated(decoder, position);
	if (!read_size(decoder, position, out))
		return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_TRUNCATED, position,
							   "the length is beyond the end of the data");
	return EVM_OK;
}

static bool
spend(size_t *left, size_t amount)
{
	if (amount > *left)
		return false;
	*left -= amount;
	return true;
}

/* ---- composite types ---------------------------------------------------------------------- */

static enum evm_status decode_component(struct evm_abi_decoder *decoder, struct evm_abi_value *out,
										const struct evm_abi_type *type, size_t base,
										size_t position);

/* The caller sets the step before anything can fail in it. */
static bool
push_step(struct evm_abi_decoder *decoder)
{
	if (decoder->path.depth > EVM_ABI_MAX_DEPTH)
		return false;
	decoder->path.depth++;
	return true;
}

static void
set_step(struct evm_abi_decoder *decoder, const struct evm_abi_param *param, uint64_t index)
{
	struct evm_abi_step *step = &decoder->path.steps[decoder->path.depth - 1];

	step->param = param;
	step->index = index;
}

enum evm_status
evm_abi_decode_params(struct evm_abi_decoder *decoder, struct evm_abi_value *values,
					  const struct evm_abi_param *params, size_t count, size_t base,
					  enum evm_abi_selection selection)
{
	size_t position = base;
	enum evm_status status = EVM_OK;

	if (!push_step(decoder))
		return fail_inflated(decoder, position);
	for (size_t i = 0; i < count && status == EVM_OK; i++)
	{
		const struct evm_abi_type *type = params[i].type;

		if (selection == EVM_ABI_NOT_INDEXED && params[i].indexed)
			continue;
		set_step(decoder, &params[i], i);
		if (decoder->len - position < type->head_size)
			return fail_truncated(decoder, position);
		status = decode_component(decoder, &values[i], type, base, position);
		position += type->head_size;
	}
	if (status == EVM_OK)
		decoder->path.depth--;
	return status;
}

static struct evm_abi_value *
new_items(struct evm_abi_decoder *decoder, struct evm_abi_value *out, size_t count)
{
	if (count > SIZE_MAX / sizeof(*out->items))
		return NULL;
	memset(out, 0, sizeof(*out));
	out->items = evm_arena_alloc(decoder->arena, count * sizeof(*out->items));
	out->item_count = count;
	return out->items;
}

static enum evm_status
decode_tuple(struct evm_abi_decoder *decoder, struct evm_abi_value *out,
			 const struct evm_abi_type *type, size_t position)
{
	if (new_items(decoder, out, type->component_count) == NULL)
		return fail_memory(decoder, position);
	return evm_abi_decode_params(decoder, out->items, type->components, type->component_count,
								 position, EVM_ABI_ALL_PARAMS);
}

/* count elements that begin at base; offsets in them count from there. */
static enum evm_status
decode_elements(struct evm_abi_decoder *decoder, struct evm_abi_value *out,
				const struct evm_abi_type *element, size_t count, size_t base)
{
	size_t position = base;
	enum evm_status status = EVM_OK;

	if (count > (decoder->len - base) / element->head_size)
		return fail_truncated(decoder, base);
	if (count > decoder->leaves_left)
		return fail_inflated(decoder, base);
	if (new_items(decoder, out, count) == NULL)
		return fail_memory(decoder, base);
	if (!push_step(decoder))
		return fail_inflated(decoder, base);
	for (size_t i = 0; i < count && status == EVM_OK; i++)
	{
		set_step(decoder, NULL, i);
		status = decode_component(decoder, &out->items[i], element, base, position);
		position += element->head_size;
	}
	if (status == EVM_OK)
		decoder->path.depth--;
	return status;
}

static enum evm_status
decode_bytes(struct evm_abi_decoder *decoder, struct evm_abi_value *out, size_t position)
{
	size_t len;
	enum evm_status status = read_length(decoder, position, &len);

	if (status != EVM_OK)
		return status;
	position += EVM_ABI_WORD_BYTES;
	if (len > decoder->len - position)
		return fail_truncated(decoder, position);
	if (!spend(&decoder->bytes_left, len))
		return fail_inflated(decoder, position);
	memset(out, 0, sizeof(*out));
	set_bytes(out, decoder->data + position, len);
	return EVM_OK;
}

/* A value of a dynamic type, behind its offset. */
static enum evm_status
decode_tail(struct evm_abi_decoder *decoder, struct evm_abi_value *out,
			const struct evm_abi_type *type, size_t position)
{
	size_t count;
	enum evm_status status;

	if (!spend(&decoder->leaves_left, 1))
		return fail_inflated(decoder, position);
	if (type->kind == EVM_ABI_TUPLE)
		return decode_tuple(decoder, out, type, position);
	if (type->kind != EVM_ABI_ARRAY)
		return decode_bytes(decoder, out, position);
	if (type->length != EVM_ABI_DYNAMIC_LENGTH)
	{
		if (type->length > SIZE_MAX)
			return fail_truncated(decoder, position);
		return decode_elements(decoder, out, type->element, (size_t) type->length, position);
	}
	status = read_length(decoder, position, &count);
	if (status != EVM_OK)
		return status;
	return decode_elements(decoder, out, type->element, count, position + EVM_ABI_WORD_BYTES);
}

/* The head of a value is at position, and inside the data. */
static enum evm_status
decode_component(struct evm_abi_decoder *decoder, struct evm_abi_value *out,
				 const struct evm_abi_type *type, size_t base, size_t position)
{
	size_t offset;

	if (type->dynamic)
	{
		if (!read_size(decoder, position, &offset) || offset > decoder->len - base)
			return evm_abi_fail_at(&decoder->path, decoder->err, EVM_ERR_TRUNCATED, position,
								   "the offset is beyond the end of the data");
		return decode_tail(decoder, out, type, base + offset);
	}
	if (type->kind == EVM_ABI_TUPLE)
		return decode_tuple(decoder, out, type, position);
	if (type->kind == EVM_ABI_ARRAY)
		return decode_elements(decoder, out, type->element, (size_t) type->length, position);
	if (!spend(&decoder->leaves_left, 1))
		return fail_inflated(decoder, position);
	return evm_abi_decode_word(decoder, out, type, decoder->data + position, position);
}

enum evm_status
evm_abi_decode(struct evm_arena *arena, struct evm_abi_value **values,
			   const struct evm_abi_param *params, size_t count, const uint8_t *data, size_t len,
			   struct evm_error *err)
{
	struct evm_abi_decoder decoder;

	evm_abi_decoder_init(&decoder, arena, data, len, err);
	*values = evm_arena_zalloc(arena, count, sizeof(**values));
	if (*values == NULL)
		return fail_memory(&decoder, 0);
	return evm_abi_decode_params(&decoder, *values, params, count, 0, EVM_ABI_ALL_PARAMS);
}
