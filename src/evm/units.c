/*
 * units.c
 *	  Amounts with a decimal point, exactly.
 */
#include "evm/units.h"

#include <string.h>

#include "evm/word.h"

static const struct
{
	const char *name;
	unsigned decimals;
} units[] = {{"wei", 0},    {"kwei", 3},    {"mwei", 6},  {"gwei", 9},
			 {"szabo", 12}, {"finney", 15}, {"ether", 18}};

size_t
evm_units_format(char out[EVM_UNITS_TEXT_BYTES], const struct evm_word *value, bool is_signed,
				 unsigned decimals)
{
	char decimal[EVM_WORD_DECIMAL_BYTES];
	const char *digits = decimal;
	size_t count = evm_word_to_decimal(decimal, value, is_signed);
	size_t whole;
	size_t len = 0;

	out[0] = '\0';
	if (decimals > EVM_UNITS_MAX_DECIMALS)
		return 0;
	if (*digits == '-')
	{
		out[len++] = *digits++;
		count--;
	}

	/* What is in front of the point, "0" at least. */
	whole = count > decimals ? count - decimals : 0;
	if (whole == 0)
		out[len++] = '0';
	memcpy(out + len, digits, whole);
	len += whole;

	/* What is behind it, padded with the zeros that the digits lack. */
	out[len++] = '.';
	memset(out + len, '0', decimals - (count - whole));
	len += decimals - (count - whole);
	memcpy(out + len, digits + whole, count - whole);
	len += count - whole;

	while (out[len - 1] == '0')
		len--;
	if (out[len - 1] == '.')
		len--;
	out[len] = '\0';
	return len;
}

/* *value = *value * 10 + digit; false on overflow. */
static bool
append_digit(struct evm_word *value, unsigned digit)
{
	struct evm_word addend = evm_word_from_u64(digit);

	return !evm_word_mul_u64(value, value, 10) && !evm_word_add(value, value, &addend);
}

struct amount_text
{
	size_t start; /* of the digits, behind the sign */
	size_t point; /* index of the point, or len */
	size_t end;   /* behind the last digit that says something */
};

/* Finds the parts of an amount and checks that there is nothing else. */
static enum evm_status
split_amount(struct amount_text *out, const char *text, size_t len, struct evm_error *err)
{
	size_t digits = 0;

	out->start = len > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
	out->point = len;
	out->end = len;
	for (size_t i = out->start; i < len; i++)
	{
		if (text[i] == '.' && out->point == len)
			out->point = i;
		else if (text[i] >= '0' && text[i] <= '9')
			digits++;
		else
			return evm_fail(err, EVM_ERR_SYNTAX, i, "\"%c\" does not belong in an amount", text[i]);
	}
	if (digits == 0)
		return evm_fail(err, EVM_ERR_SYNTAX, len, "an amount has no digits");
	while (out->end > out->point && (text[out->end - 1] == '0' || text[out->end - 1] == '.'))
		out->end--;
	return EVM_OK;
}

static enum evm_status
fail_out_of_range(struct evm_error *err)
{
	return evm_fail(err, EVM_ERR_RANGE, 0, "an amount is beyond what 256 bits hold");
}

enum evm_status
evm_units_parse(struct evm_word *out, bool *negative, const char *text, size_t len,
				unsigned decimals, struct evm_error *err)
{
	struct amount_text amount;
	size_t behind;
	enum evm_status status;

	*out = evm_word_zero;
	*negative = false;
	if (decimals > EVM_UNITS_MAX_DECIMALS)
		return evm_fail(err, EVM_ERR_RANGE, 0, "%u decimals are more than the maximum of %d",
						decimals, EVM_UNITS_MAX_DECIMALS);
	status = split_amount(&amount, text, len, err);
	if (status != EVM_OK)
		return status;
	behind = amount.end > amount.point ? amount.end - amount.point - 1 : 0;
	if (behind > decimals)
		return evm_fail(err, EVM_ERR_RANGE, amount.point,
						"an amount has %zu digits behind the point, but the unit has %u decimals",
						behind, decimals);
	for (size_t i = amount.start; i < amount.end; i++)
	{
		if (i != amount.point && !append_digit(out, (unsigned) (text[i] - '0')))
			return fail_out_of_range(err);
	}
	for (size_t i = behind; i < decimals; i++)
	{
		if (!append_digit(out, 0))
			return fail_out_of_range(err);
	}
	*negative = text[0] == '-';
	if (!evm_word_apply_sign(out, negative))
		return fail_out_of_range(err);
	return EVM_OK;
}

bool
evm_units_decimals(unsigned *out, const char *name, size_t len)
{
	struct evm_word number;
	uint64_t small;
	bool negative;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
	{
		if (strlen(units[i].name) == len && memcmp(units[i].name, name, len) == 0)
		{
			*out = units[i].decimals;
			return true;
		}
	}
	if (evm_word_from_decimal(&number, &negative, name, len, NULL) != EVM_OK || negative ||
		!evm_word_to_u64(&small, &number) || small > EVM_UNITS_MAX_DECIMALS)
		return false;
	*out = (unsigned) small;
	return true;
}
