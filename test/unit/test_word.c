/*
 * test_word.c
 *	  256-bit arithmetic at its edges.
 */
#include "check.h"

#include "evm/word.h"

#define MAX_UINT256 "115792089237316195423570985008687907853269984665640564039457584007913129639935"
#define TWO_TO_256 "115792089237316195423570985008687907853269984665640564039457584007913129639936"
#define MIN_INT256 "-57896044618658097711785492504343953926634992332820282019728792003956564819968"
#define BELOW_INT256 \
	"-57896044618658097711785492504343953926634992332820282019728792003956564819969"

static const struct evm_word all_ones = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};

static struct evm_word
word(const char *decimal)
{
	struct evm_word out;
	bool negative;

	CHECK_NUMBER(evm_word_from_decimal(&out, &negative, decimal, strlen(decimal), NULL), EVM_OK);
	CHECK(negative == (decimal[0] == '-'));
	return out;
}

static void
check_decimal(const char *decimal)
{
	struct evm_word value = word(decimal);
	char text[EVM_WORD_DECIMAL_BYTES];

	CHECK_NUMBER(evm_word_to_decimal(text, &value, decimal[0] == '-'), strlen(decimal));
	CHECK_TEXT(text, decimal);
}

static enum evm_status
parse(const char *decimal, struct evm_error *err)
{
	struct evm_word out;
	bool negative;

	return evm_word_from_decimal(&out, &negative, decimal, strlen(decimal), err);
}

/* A xorshift: any values do, but the same on each run. */
static uint64_t
next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static struct evm_word
random_word(void)
{
	struct evm_word out = {{next_random(), next_random(), next_random(), next_random()}};

	/* Limbs of zeros and of ones find what random ones do not. */
	for (int i = 0; i < 4; i++)
	{
		if (next_random() % 4 == 0)
			out.limb[i] = next_random() % 2 == 0 ? 0 : UINT64_MAX;
	}
	return out;
}

TEST(decimal_text_is_exact_at_the_edges)
{
	check_decimal("0");
	check_decimal("9999999999999999999");
	check_decimal("10000000000000000000");
	check_decimal("18446744073709551615");
	check_decimal("18446744073709551616");
	check_decimal("100000000000000000000000000000000000000");
	check_decimal("340282366920938463463374607431768211456");
	check_decimal("100000000000000000000000000000000000000000000000000000000000000000000000000000");
	check_decimal(MAX_UINT256);
	check_decimal(MIN_INT256);
	check_decimal("-1");
}

TEST(decimal_text_allows_signs_and_leading_zeros)
{
	struct evm_word out = word(
		"+0000000000000000000000000000000000000000000000000000000000"
		"00000000000000000000000000000000000000000000000000000000000012");
	bool negative = true;

	CHECK_NUMBER(out.limb[0], 12);
	CHECK_NUMBER(evm_word_from_decimal(&out, &negative, "-0", 2, NULL), EVM_OK);
	CHECK(!negative && evm_word_is_zero(&out));
}

TEST(decimal_text_out_of_range_is_refused)
{
	struct evm_error err;
	char long_text[1000];

	CHECK_NUMBER(parse(TWO_TO_256, &err), EVM_ERR_RANGE);
	CHECK_TEXT(err.message, "an integer of 78 digits needs more than 256 bits");
	CHECK_NUMBER(parse(BELOW_INT256, &err), EVM_ERR_RANGE);
	CHECK_NUMBER(parse("-" MAX_UINT256, &err), EVM_ERR_RANGE);
	memset(long_text, '9', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	CHECK_NUMBER(parse(long_text, &err), EVM_ERR_RANGE);
}

TEST(decimal_text_that_is_no_integer_is_refused)
{
	struct evm_error err;

	CHECK_NUMBER(parse("", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "an integer has no digits");
	CHECK_NUMBER(parse("-", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse("--1", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse(" 1", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse("1e18", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 1);
	CHECK_TEXT(err.message, "\"e\" is not a decimal digit");
	CHECK_NUMBER(parse("1.0", NULL), EVM_ERR_SYNTAX);
}

TEST(addition_and_subtraction_carry_through_all_limbs)
{
	struct evm_word one = evm_word_from_u64(1);
	struct evm_word out;

	CHECK(evm_word_add(&out, &all_ones, &one));
	CHECK(evm_word_is_zero(&out));
	CHECK(evm_word_sub(&out, &out, &one));
	CHECK(evm_word_compare(&out, &all_ones) == 0);
	CHECK(evm_word_add(&out, &all_ones, &all_ones));
	CHECK(!evm_word_sub(&out, &all_ones, &all_ones));
	evm_word_negate(&out, &one);
	CHECK(evm_word_compare(&out, &all_ones) == 0);
	for (int i = 0; i < 1000; i++)
	{
		struct evm_word a = random_word();
		struct evm_word b = random_word();
		struct evm_word sum;
		bool carry = evm_word_add(&sum, &a, &b);

		CHECK(carry == (evm_word_compare(&sum, &a) < 0));
		CHECK(evm_word_sub(&out, &sum, &b) == carry);
		CHECK(evm_word_compare(&out, &a) == 0);
	}
}

TEST(division_undoes_multiplication)
{
	for (int i = 0; i < 1000; i++)
	{
		struct evm_word a = random_word();
		struct evm_word quotient;
		struct evm_word product;
		struct evm_word remainder_word;
		uint64_t b = next_random() >> (next_random() % 64);
		uint64_t remainder;

		if (b == 0)
			b = 1;
		remainder = evm_word_div_u64(&quotient, &a, b);
		CHECK(remainder < b);
		CHECK(!evm_word_mul_u64(&product, &quotient, b));
		remainder_word = evm_word_from_u64(remainder);
		CHECK(!evm_word_add(&product, &product, &remainder_word));
		CHECK(evm_word_compare(&product, &a) == 0);
	}
}

TEST(multiplication_tells_of_overflow)
{
	struct evm_word half = {{0, 0, 0, UINT64_C(1) << 63}};
	struct evm_word out;

	CHECK(!evm_word_mul_u64(&out, &half, 1));
	CHECK(evm_word_mul_u64(&out, &half, 2));
	CHECK(evm_word_mul_u64(&out, &all_ones, UINT64_MAX));
	CHECK(!evm_word_mul_u64(&out, &all_ones, 0));
	CHECK(evm_word_is_zero(&out));
}

TEST(products_of_words_tell_of_overflow)
{
	struct evm_word half = {{0, 0, 1, 0}};
	struct evm_word below = {{UINT64_MAX, UINT64_MAX, 0, 0}};
	struct evm_word out;
	char text[EVM_WORD_DECIMAL_BYTES];

	/* 2^128 * (2^128 - 1) is the largest that fits; 2^128 * 2^128 does not. */
	CHECK(!evm_word_mul(&out, &half, &below));
	CHECK(out.limb[3] == UINT64_MAX && out.limb[2] == UINT64_MAX && out.limb[1] == 0);
	CHECK(evm_word_mul(&out, &half, &half));
	CHECK(evm_word_mul(&out, &all_ones, &all_ones));
	CHECK(!evm_word_mul(&out, &all_ones, &evm_word_zero));
	CHECK(evm_word_is_zero(&out));

	/* (2^128 - 1)^2 */
	CHECK(!evm_word_mul(&below, &below, &below));
	evm_word_to_decimal(text, &below, false);
	CHECK_TEXT(text,
			   "115792089237316195423570985008687907852589419931798687112530834793049593217025");
	for (int i = 0; i < 2000; i++)
	{
		const struct evm_word a = random_word();
		const struct evm_word b = evm_word_from_u64(next_random());
		struct evm_word by_u64;
		const bool overflow = evm_word_mul_u64(&by_u64, &a, b.limb[0]);

		CHECK(evm_word_mul(&out, &a, &b) == overflow);
		CHECK(overflow || evm_word_compare(&out, &by_u64) == 0);
		CHECK(evm_word_mul(&out, &b, &a) == overflow);
	}
}

TEST(widths_are_checked_bit_by_bit)
{
	struct evm_word value = evm_word_from_u64(255);

	CHECK(evm_word_fits_unsigned(&value, 8));
	CHECK(!evm_word_fits_unsigned(&value, 7));
	CHECK(!evm_word_fits_signed(&value, 8));
	CHECK(evm_word_fits_signed(&value, 16));
	value = word("-128");
	CHECK(evm_word_fits_signed(&value, 8));
	CHECK(!evm_word_fits_unsigned(&value, 248));
	value = word("-129");
	CHECK(!evm_word_fits_signed(&value, 8));
	value = word("127");
	CHECK(evm_word_fits_signed(&value, 8));
	value = word("128");
	CHECK(!evm_word_fits_signed(&value, 8));
	CHECK(evm_word_fits_signed(&all_ones, 8));
	CHECK(evm_word_fits_unsigned(&all_ones, 256));
	value = word(MIN_INT256);
	CHECK(evm_word_fits_signed(&value, 256));
	CHECK(!evm_word_fits_signed(&value, 248));
	CHECK(evm_word_fits_signed(&evm_word_zero, 0));
	CHECK(!evm_word_fits_signed(&all_ones, 0));
	CHECK_NUMBER(evm_word_bits(&evm_word_zero), 0);
	CHECK_NUMBER(evm_word_bits(&all_ones), 256);
	value = (struct evm_word){{0, 1, 0, 0}};
	CHECK_NUMBER(evm_word_bits(&value), 65);
}

TEST(bytes_are_big_endian_and_right_aligned)
{
	static const uint8_t bytes[34] = {0xff, 0xff, 0x01, [31] = 0x02, [32] = 0x03, [33] = 0x04};
	struct evm_word value;
	uint8_t out[32];

	evm_word_from_be(&value, bytes + 2, 1);
	CHECK(value.limb[0] == 1 && value.limb[1] == 0);
	evm_word_from_be(&value, NULL, 0);
	CHECK(evm_word_is_zero(&value));
	evm_word_from_be(&value, bytes, sizeof(bytes));
	CHECK(value.limb[3] == UINT64_C(0x01) << 56 && value.limb[0] == 0x020304);
	evm_word_to_be(out, &value);
	CHECK(memcmp(out, bytes + 2, 32) == 0);
}

TEST(words_compare_and_convert)
{
	struct evm_word a = {{0, 0, 0, 1}};
	struct evm_word b = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, 0}};
	uint64_t small = 0;

	CHECK_NUMBER(evm_word_compare(&a, &b), 1);
	CHECK_NUMBER(evm_word_compare(&b, &a), -1);
	CHECK_NUMBER(evm_word_compare(&a, &a), 0);
	CHECK(!evm_word_to_u64(&small, &a));
	a = evm_word_from_u64(UINT64_MAX);
	CHECK(evm_word_to_u64(&small, &a) && small == UINT64_MAX);
	CHECK(!evm_word_is_negative(&b) && evm_word_is_negative(&all_ones));
}
