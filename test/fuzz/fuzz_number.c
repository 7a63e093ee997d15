/*
 * fuzz_number.c
 *	  Decimal integers and amounts: text to words and back without loss.
 *
 * The first byte is the number of decimals, the rest is text.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/units.h"
#include "evm/word.h"

static void
check_integer(const char *text, size_t len)
{
	struct evm_word word;
	struct evm_word again;
	struct evm_error err;
	char decimal[EVM_WORD_DECIMAL_BYTES];
	size_t decimal_len;
	bool negative;
	bool again_negative;
	enum evm_status status = evm_word_from_decimal(&word, &negative, text, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	decimal_len = evm_word_to_decimal(decimal, &word, negative);
	FUZZ_CHECK(decimal_len == strlen(decimal) && decimal_len <= len);
	FUZZ_CHECK((decimal[0] == '-') == negative);
	FUZZ_CHECK(memcmp(decimal + negative, text + len - decimal_len + negative,
					  decimal_len - negative) == 0);
	FUZZ_CHECK(evm_word_from_decimal(&again, &again_negative, decimal, decimal_len, NULL) ==
			   EVM_OK);
	FUZZ_CHECK(evm_word_compare(&again, &word) == 0 && again_negative == negative);
}

static void
check_amount(const char *text, size_t len, unsigned decimals)
{
	struct evm_word amount;
	struct evm_word again;
	struct evm_error err;
	char formatted[EVM_UNITS_TEXT_BYTES];
	size_t formatted_len;
	bool negative;
	bool again_negative;
	enum evm_status status = evm_units_parse(&amount, &negative, text, len, decimals, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	formatted_len = evm_units_format(formatted, &amount, negative, decimals);
	FUZZ_CHECK(formatted_len == strlen(formatted));
	FUZZ_CHECK(evm_units_parse(&again, &again_negative, formatted, formatted_len, decimals, NULL) ==
			   EVM_OK);
	FUZZ_CHECK(evm_word_compare(&again, &amount) == 0 && again_negative == negative);
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	unsigned decimals;

	(void) arena;
	if (len == 0)
		return;
	check_integer((const char *) data + 1, len - 1);
	check_amount((const char *) data + 1, len - 1, data[0]);
	evm_units_decimals(&decimals, (const char *) data + 1, len - 1);
}
