/*
 * address.c
 *	  EIP-55: the case of a letter tells one bit of the hash of the lower-case digits.
 */
#include "evm/address.h"

#include <string.h>

#include "evm/hex.h"
#include "evm/keccak.h"

#define ADDRESS_DIGITS 40
#define PREFIX_BYTES 2

/* The case bit that separates 'a' from 'A'. */
#define LOWER_CASE_BIT 0x20

static inline bool
is_lower_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool
is_upper_letter(char c)
{
	return c >= 'A' && c <= 'Z';
}

void
evm_address_format(char out[EVM_ADDRESS_TEXT_BYTES], const struct evm_address *address)
{
	char *text = out + PREFIX_BYTES;
	struct evm_hash hash;

	memcpy(out, "0x", PREFIX_BYTES);
	evm_hex_digits(text, address->b, sizeof(address->b));
	evm_keccak256(&hash, text, ADDRESS_DIGITS);
	for (int i = 0; i < ADDRESS_DIGITS; i++)
	{
		uint8_t nibble = i % 2 == 0 ? hash.b[i / 2] >> 4 : hash.b[i / 2] & 15;

		if (is_lower_letter(text[i]) && nibble >= 8)
			text[i] = (char) (text[i] & ~LOWER_CASE_BIT);
	}
	text[ADDRESS_DIGITS] = '\0';
}

static bool
mixes_case(const char *text)
{
	bool lower = false;
	bool upper = false;

	for (int i = 0; i < ADDRESS_DIGITS; i++)
	{
		lower = lower || is_lower_letter(text[i]);
		upper = upper || is_upper_letter(text[i]);
	}
	return lower && upper;
}

enum evm_status
evm_address_parse(struct evm_address *out, const char *text, size_t len, struct evm_error *err)
{
	char expected[EVM_ADDRESS_TEXT_BYTES];
	size_t decoded;
	enum evm_status status;

	if (len != PREFIX_BYTES + ADDRESS_DIGITS)
		return evm_fail(err, EVM_ERR_SYNTAX, 0,
						"an address is \"0x\" and %d hexadecimal digits, not %zu characters",
						ADDRESS_DIGITS, len);
	if (text[1] == 'X')
		return evm_fail(err, EVM_ERR_SYNTAX, 1, "the \"x\" of an address is in lower case");
	status = evm_hex_decode(out->b, &decoded, text, len, err);
	if (status != EVM_OK || !mixes_case(text + PREFIX_BYTES))
		return status;
	evm_address_format(expected, out);
	if (memcmp(expected + PREFIX_BYTES, text + PREFIX_BYTES, ADDRESS_DIGITS) != 0)
		return evm_fail(err, EVM_ERR_CHECKSUM, 0,
						"address has a wrong EIP-55 checksum; if it is the one meant, write %s",
						expected);
	return EVM_OK;
}
