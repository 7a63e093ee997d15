/*
 * test_units.c
 *	  Amounts: never rounded, never beyond 256 bits.
 */
#include "check.h"

#include "evm/units.h"
#include "evm/word.h"

static enum evm_status
parse(const char *text, unsigned decimals, struct evm_error *err)
{
	struct evm_word amount;
	bool negative;

	return evm_units_parse(&amount, &negative, text, strlen(text), decimals, err);
}

static void
check_amount(const char *text, unsigned decimals, const char *integer)
{
	struct evm_word amount;
	struct evm_word want;
	bool negative;
	bool want_negative;

	CHECK_NUMBER(evm_units_parse(&amount, &negative, text, strlen(text), decimals, NULL), EVM_OK);
	CHECK_NUMBER(evm_word_from_decimal(&want, &want_negative, integer, strlen(integer), NULL),
				 EVM_OK);
	CHECK(evm_word_compare(&amount, &want) == 0);
	CHECK(negative == want_negative);
}

TEST(amounts_are_read_in_all_their_spellings)
{
	check_amount("1.5", 18, "1500000000000000000");
	check_amount("+1.5", 1, "15");
	check_amount(".5", 1, "5");
	check_amount("5.", 1, "50");
	check_amount("0.000", 0, "0");
	check_amount("-0.0", 3, "0");
	check_amount("1.50000000000000000000000000000", 1, "15");
	check_amount(
		"000000000000000000000000000000000000000000000000000000000000000000000000000000000"
		"1",
		0, "1");
	check_amount("0", 255, "0");
}

TEST(amounts_are_never_rounded)
{
	struct evm_error err;

	CHECK_NUMBER(parse("1.23", 1, &err), EVM_ERR_RANGE);
	CHECK_TEXT(err.message, "an amount has 2 digits behind the point, but the unit has 1 decimals");
	CHECK_NUMBER(parse("0.1", 0, &err), EVM_ERR_RANGE);
}

TEST(amounts_beyond_256_bits_are_refused)
{
	struct evm_error err;

	check_amount("115792089237316195423570985008687907853269984665640564039457.584007913129639935",
				 18,
				 "115792089237316195423570985008687907853269984665640564039457584007913129639935");
	CHECK_NUMBER(parse("115792089237316195423570985008687907853269984665640564039457."
					   "584007913129639936",
					   18, &err),
				 EVM_ERR_RANGE);
	CHECK_NUMBER(parse("1", 78, &err), EVM_ERR_RANGE);
	CHECK_NUMBER(parse("-0."
					   "578960446186580977117854925043439539266349923328202820197287920039565648199"
					   "69",
					   77, &err),
				 EVM_ERR_RANGE);
	CHECK_NUMBER(parse("1", 256, &err), EVM_ERR_RANGE);
	CHECK_TEXT(err.message, "256 decimals are more than the maximum of 255");
}

TEST(amounts_that_are_no_numbers_are_refused)
{
	struct evm_error err;

	CHECK_NUMBER(parse("", 18, &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "an amount has no digits");
	CHECK_NUMBER(parse(".", 18, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse("-", 18, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse("1.2.3", 18, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 3);
	CHECK_NUMBER(parse("1,5", 18, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse("1e18", 18, NULL), EVM_ERR_SYNTAX);
}

TEST(amounts_are_written_for_all_decimals)
{
	struct evm_word value = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
	struct evm_word most_negative = {{0, 0, 0, UINT64_C(1) << 63}};
	char text[EVM_UNITS_TEXT_BYTES];

	CHECK_NUMBER(evm_units_format(text, &value, false, 255), 257);
	CHECK_NUMBER(evm_units_format(text, &most_negative, true, 255), 258);
	CHECK_NUMBER(evm_units_format(text, &value, true, 0), 2);
	CHECK_TEXT(text, "-1");
	CHECK_NUMBER(evm_units_format(text, &evm_word_zero, true, 255), 1);
	CHECK_TEXT(text, "0");
	CHECK_NUMBER(evm_units_format(text, &value, false, 256), 0);
	CHECK_TEXT(text, "");
}

TEST(units_have_names_and_numbers)
{
	unsigned decimals = 0;

	CHECK(evm_units_decimals(&decimals, "ether", 5));
	CHECK_NUMBER(decimals, 18);
	CHECK(evm_units_decimals(&decimals, "gwei", 4));
	CHECK_NUMBER(decimals, 9);
	CHECK(evm_units_decimals(&decimals, "255", 3));
	CHECK_NUMBER(decimals, 255);
	CHECK(!evm_units_decimals(&decimals, "256", 3));
	CHECK(!evm_units_decimals(&decimals, "-1", 2));
	CHECK(!evm_units_decimals(&decimals, "Ether", 5));
	CHECK(!evm_units_decimals(&decimals, "", 0));
}
