/*
 * word.c
 *	  256-bit integers in four 64-bit limbs.
 *
 * Needs a compiler with unsigned __int128 (GCC and Clang on 64-bit targets).
 * Decimal text is made and read in chunks of 19 digits, the most that fit a limb.
 */
#include "evm/word.h"

#include <string.h>

#define LIMBS 4
#define LIMB_BITS 64
#define WORD_BITS (LIMBS * LIMB_BITS)
#define WORD_BYTES (WORD_BITS / 8)

#define CHUNK_DIGITS 19
#define CHUNK_BASE UINT64_C(10000000000000000000) /* 10^19 */

const struct evm_word evm_word_zero = {{0, 0, 0, 0}};

struct evm_word
evm_word_from_u64(uint64_t value)
{
	struct evm_word word = {{value, 0, 0, 0}};

	return word;
}

static bool
fits_one_limb(const struct evm_word *value)
{
	return (value->limb[1] | value->limb[2] | value->limb[3]) == 0;
}

bool
evm_word_to_u64(uint64_t *out, const struct evm_word *value)
{
	if (!fits_one_limb(value))
		return false;
	*out = value->limb[0];
	return true;
}

void
evm_word_to_be(uint8_t out[32], const struct evm_word *value)
{
	for (int i = 0; i < LIMBS; i++)
	{
		uint64_t limb = value->limb[LIMBS - 1 - i];

		for (int j = 0; j < 8; j++)
			out[8 * i + j] = (uint8_t) (limb >> (LIMB_BITS - 8 - 8 * j));
	}
}

void
evm_word_from_be(struct evm_word *out, const uint8_t *data, size_t len)
{
	uint8_t padded[WORD_BYTES] = {0};

	if (len > WORD_BYTES)
	{
		/* Only the low bytes can count; callers check the length. */
		data += len - WORD_BYTES;
		len = WORD_BYTES;
	}
	if (len > 0)
		memcpy(padded + WORD_BYTES - len, data, len);
	for (int i = 0; i < LIMBS; i++)
	{
		const uint8_t *p = padded + 8 * (LIMBS - 1 - i);

		out->limb[i] = (uint64_t) p[0] << 56 | (uint64_t) p[1] << 48 | (uint64_t) p[2] << 40 |
			(uint64_t) p[3] << 32 | (uint64_t) p[4] << 24 | (uint64_t) p[5] << 16 |
			(uint64_t) p[6] << 8 | (uint64_t) p[7];
	}
}

bool
evm_word_is_zero(const struct evm_word *value)
{
	return value->limb[0] == 0 && fits_one_limb(value);
}

bool
evm_word_is_negative(const struct evm_word *value)
{
	return value->limb[LIMBS - 1] >> (LIMB_BITS - 1) != 0;
}

int
evm_word_compare(const struct evm_word *a, const struct evm_word *b)
{
	for (int i = LIMBS - 1; i >= 0; i--)
	{
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	}
	return 0;
}

unsigned
evm_word_bits(const struct evm_word *value)
{
	for (int i = LIMBS - 1; i >= 0; i--)
	{
		if (value->limb[i] != 0)
			return (unsigned) (LIMB_BITS * (i + 1) - __builtin_clzll(value->limb[i]));
	}
	return 0;
}

bool
evm_word_fits_unsigned(const struct evm_word *value, unsigned bits)
{
	return evm_word_bits(value) <= bits;
}

bool
evm_word_fits_signed(const struct evm_word *value, unsigned bits)
{
	struct evm_word magnitude = *value;

	if (bits == 0)
		return evm_word_is_zero(value);
	/* The complement of a negative number has the bits its magnitude less one has. */
	if (evm_word_is_negative(value))
	{
		for (int i = 0; i < LIMBS; i++)
			magnitude.limb[i] = ~magnitude.limb[i];
	}
	return evm_word_bits(&magnitude) <= bits - 1;
}

bool
evm_word_add(struct evm_word *out, const struct evm_word *a, const struct evm_word *b)
{
	unsigned __int128 sum = 0;

	for (int i = 0; i < LIMBS; i++)
	{
		sum += (unsigned __int128) a->limb[i] + b->limb[i];
		out->limb[i] = (uint64_t) sum;
		sum >>= LIMB_BITS;
	}
	return sum != 0;
}

bool
evm_word_sub(struct evm_word *out, const struct evm_word *a, const struct evm_word *b)
{
	uint64_t borrow = 0;

	for (int i = 0; i < LIMBS; i++)
	{
		unsigned __int128 difference = (unsigned __int128) a->limb[i] - b->limb[i] - borrow;

		out->limb[i] = (uint64_t) difference;
		borrow = (uint64_t) (difference >> LIMB_BITS) & 1;
	}
	return borrow != 0;
}

void
evm_word_negate(struct evm_word *out, const struct evm_word *a)
{
	evm_word_sub(out, &evm_word_zero, a);
}

bool
evm_word_apply_sign(struct evm_word *value, bool *negative)
{
	if (evm_word_is_zero(value))
		*negative = false;
	if (!*negative)
		return true;
	evm_word_negate(value, value);
	return evm_word_is_negative(value);
}

/* *value = *value * factor + addend; what leaves the word at the top is returned. */
static uint64_t
multiply_add(struct evm_word *value, uint64_t factor, uint64_t addend)
{
	unsigned __int128 carry = addend;

	for (int i = 0; i < LIMBS; i++)
	{
		carry += (unsigned __int128) value->limb[i] * factor;
		value->limb[i] = (uint64_t) carry;
		carry >>= LIMB_BITS;
	}
	return (uint64_t) carry;
}

bool
evm_word_mul_u64(struct evm_word *out, const struct evm_word *a, uint64_t b)
{
	*out = *a;
	return multiply_add(out, b, 0) != 0;
}

bool
evm_word_mul(struct evm_word *out, const struct evm_word *a, const struct evm_word *b)
{
	struct evm_word product = evm_word_zero;
	bool overflow = false;

	/* From the highest limb of b down: what has been summed moves up by one limb each time. */
	for (int i = LIMBS - 1; i >= 0; i--)
	{
		struct evm_word part;

		overflow |= product.limb[LIMBS - 1] != 0;
		memmove(product.limb + 1, product.limb, (LIMBS - 1) * sizeof(product.limb[0]));
		product.limb[0] = 0;
		overflow |= evm_word_mul_u64(&part, a, b->limb[i]);
		overflow |= evm_word_add(&product, &product, &part);
	}
	*out = product;
	return overflow;
}

uint64_t
evm_word_div_u64(struct evm_word *out, const struct evm_word *a, uint64_t b)
{
	uint64_t remainder = 0;

	for (int i = LIMBS - 1; i >= 0; i--)
	{
		unsigned __int128 dividend = (unsigned __int128) remainder << LIMB_BITS | a->limb[i];

		/* Leading zero limbs are common, and a 128-bit division is a library call. */
		if (dividend >> LIMB_BITS == 0)
		{
			out->limb[i] = (uint64_t) dividend / b;
			remainder = (uint64_t) dividend % b;
		}
		else
		{
			out->limb[i] = (uint64_t) (dividend / b);
			remainder = (uint64_t) dividend - out->limb[i] * b;
		}
	}
	return remainder;
}

/* Writes the digits of value so that they end before end; at least min_digits of them. */
static char *
write_digits_before(char *end, uint64_t value, int min_digits)
{
	char *p = end;

	while (value != 0)
	{
		*--p = (char) ('0' + value % 10);
		value /= 10;
	}
	while (end - p < min_digits)
		*--p = '0';
	return p;
}

size_t
evm_word_to_decimal(char out[EVM_WORD_DECIMAL_BYTES], const struct evm_word *value, bool is_signed)
{
	char buffer[EVM_WORD_DECIMAL_BYTES];
	char *end = buffer + sizeof(buffer);
	char *p = end;
	struct evm_word rest = *value;
	bool negative = is_signed && evm_word_is_negative(value);
	size_t len;

	if (negative)
		evm_word_negate(&rest, value);
	while (!fits_one_limb(&rest))
	{
		uint64_t chunk = evm_word_div_u64(&rest, &rest, CHUNK_BASE);

		p = write_digits_before(p, chunk, CHUNK_DIGITS);
	}
	/* The last chunk has no leading zeros, but zero itself has one digit. */
	if (rest.limb[0] != 0 || p == end)
		p = write_digits_before(p, rest.limb[0], 1);
	if (negative)
		*--p = '-';
	len = (size_t) (end - p);
	memcpy(out, p, len);
	out[len] = '\0';
	return len;
}

/* Reads digits[0..len) into *out; false when the value needs more than 256 bits. */
static bool
read_digits(struct evm_word *out, const char *digits, size_t len)
{
	*out = evm_word_zero;
	while (len > 0)
	{
		/* The first chunk takes what is left over, the others 19 digits each. */
		size_t take = len % CHUNK_DIGITS == 0 ? CHUNK_DIGITS : len % CHUNK_DIGITS;
		uint64_t chunk = 0;

		for (size_t i = 0; i < take; i++)
			chunk = chunk * 10 + (uint64_t) (digits[i] - '0');
		if (multiply_add(out, CHUNK_BASE, chunk) != 0)
			return false;
		digits += take;
		len -= take;
	}
	return true;
}

enum evm_status
evm_word_from_decimal(struct evm_word *out, bool *negative, const char *text, size_t len,
					  struct evm_error *err)
{
	size_t start = 0;

	*out = evm_word_zero;
	*negative = len > 0 && text[0] == '-';
	if (*negative || (len > 0 && text[0] == '+'))
		start = 1;
	if (start == len)
		return evm_fail(err, EVM_ERR_SYNTAX, start, "an integer has no digits");
	for (size_t i = start; i < len; i++)
	{
		if (text[i] < '0' || text[i] > '9')
			return evm_fail(err, EVM_ERR_SYNTAX, i, "\"%c\" is not a decimal digit", text[i]);
	}
	while (start < len && text[start] == '0')
		start++;
	if (!read_digits(out, text + start, len - start))
		return evm_fail(err, EVM_ERR_RANGE, start,
						"an integer of %zu digits needs more than 256 bits", len - start);
	if (!evm_word_apply_sign(out, negative))
		return evm_fail(err, EVM_ERR_RANGE, 0, "a negative integer is below -2^255");
	return EVM_OK;
}
