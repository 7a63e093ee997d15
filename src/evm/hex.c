/*
 * hex.c
 *	  Hexadecimal text to bytes and words, and back (JSON-RPC's DATA and QUANTITY).
 */
#include "evm/hex.h"

#include <string.h>

#include "evm/word.h"

#define PREFIX_BYTES 2
#define WORD_DIGITS 64
#define U64_DIGITS 16

/* What a character is worth, plus one so that all others are zero. */
static const uint8_t digit_value_plus_one[256] =
	{['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
	 ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	 ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

static const char digits[] = "0123456789abcdef";

/* 0..15, or -1. */
static inline int
digit_value(char c)
{
	return (int) digit_value_plus_one[(unsigned char) c] - 1;
}

void
evm_hex_digits(char *out, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
	{
		out[2 * i] = digits[data[i] >> 4];
		out[2 * i + 1] = digits[data[i] & 15];
	}
}

char *
evm_hex_encode(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	char *text;

	if (len > (SIZE_MAX - PREFIX_BYTES - 1) / 2)
		return NULL;
	text = evm_arena_alloc(arena, PREFIX_BYTES + 2 * len + 1);
	if (text == NULL)
		return NULL;
	memcpy(text, "0x", PREFIX_BYTES);
	evm_hex_digits(text + PREFIX_BYTES, data, len);
	text[PREFIX_BYTES + 2 * len] = '\0';
	return text;
}

static bool
has_prefix(const char *text, size_t len)
{
	return len >= PREFIX_BYTES && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static enum evm_status
fail_without_prefix(struct evm_error *err)
{
	return evm_fail(err, EVM_ERR_SYNTAX, 0, "hexadecimal text must begin with \"0x\"");
}

static enum evm_status
fail_at_digit(struct evm_error *err, const char *text, size_t position)
{
	return evm_fail(err, EVM_ERR_SYNTAX, position, "\"%c\" is not a hexadecimal digit",
					text[position]);
}

/* Bytes from pairs of digits; false when some character is none, looked at once for all. */
static bool
decode_pairs(uint8_t *restrict out, const char *restrict pairs, size_t count)
{
	int seen = 0;

	for (size_t i = 0; i < count; i++)
	{
		const int high = digit_value(pairs[2 * i]);
		const int low = digit_value(pairs[2 * i + 1]);

		seen |= high | low;
		out[i] = (uint8_t) ((unsigned) high << 4 | (unsigned) low);
	}
	return seen >= 0;
}

static enum evm_status
fail_at_first_bad_digit(struct evm_error *err, const char *text)
{
	size_t position = PREFIX_BYTES;

	while (digit_value(text[position]) >= 0)
		position++;
	return fail_at_digit(err, text, position);
}

enum evm_status
evm_hex_decode(uint8_t *out, size_t *out_len, const char *text, size_t len, struct evm_error *err)
{
	size_t count;

	*out_len = 0;
	if (!has_prefix(text, len))
		return fail_without_prefix(err);
	count = (len - PREFIX_BYTES) / 2;
	if (!decode_pairs(out, text + PREFIX_BYTES, count))
		return fail_at_first_bad_digit(err, text);
	if (len % 2 != 0)
	{
		if (digit_value(text[len - 1]) < 0)
			return fail_at_digit(err, text, len - 1);
		return evm_fail(err, EVM_ERR_SYNTAX, len, "an odd number of hexadecimal digits");
	}
	*out_len = count;
	return EVM_OK;
}

enum evm_status
evm_quantity_decode(struct evm_word *out, const char *text, size_t len, struct evm_error *err)
{
	*out = evm_word_zero;
	if (!has_prefix(text, len))
		return fail_without_prefix(err);
	if (len == PREFIX_BYTES)
		return evm_fail(err, EVM_ERR_SYNTAX, len, "a hexadecimal integer has no digits");
	for (size_t i = PREFIX_BYTES; i < len; i++)
	{
		if (digit_value(text[i]) < 0)
			return fail_at_digit(err, text, i);
	}
	if (len - PREFIX_BYTES > WORD_DIGITS)
		return evm_fail(err, EVM_ERR_RANGE, PREFIX_BYTES,
						"%zu hexadecimal digits, more than the %d of 256 bits", len - PREFIX_BYTES,
						WORD_DIGITS);
	for (size_t i = 0; i < len - PREFIX_BYTES; i++)
	{
		uint64_t value = (uint64_t) digit_value(text[len - 1 - i]);

		out->limb[i / U64_DIGITS] |= value << (4 * (i % U64_DIGITS));
	}
	return EVM_OK;
}

enum evm_status
evm_quantity_decode_u64(uint64_t *out, const char *text, size_t len, struct evm_error *err)
{
	struct evm_word word;
	enum evm_status status;

	*out = 0;
	status = evm_quantity_decode(&word, text, len, err);
	if (status != EVM_OK)
		return status;
	if (!evm_word_to_u64(out, &word))
		return evm_fail(err, EVM_ERR_RANGE, PREFIX_BYTES,
						"a hexadecimal integer needs more than 64 bits");
	return EVM_OK;
}

size_t
evm_quantity_encode(char out[EVM_QUANTITY_TEXT_BYTES], const struct evm_word *value)
{
	size_t count = (evm_word_bits(value) + 3) / 4;

	if (count == 0)
		count = 1;
	memcpy(out, "0x", PREFIX_BYTES);
	for (size_t i = 0; i < count; i++)
	{
		size_t place = count - 1 - i;

		out[PREFIX_BYTES + i] =
			digits[value->limb[place / U64_DIGITS] >> (4 * (place % U64_DIGITS)) & 15];
	}
	out[PREFIX_BYTES + count] = '\0';
	return PREFIX_BYTES + count;
}

size_t
evm_quantity_encode_u64(char out[EVM_QUANTITY_TEXT_BYTES], uint64_t value)
{
	struct evm_word word = evm_word_from_u64(value);

	return evm_quantity_encode(out, &word);
}
