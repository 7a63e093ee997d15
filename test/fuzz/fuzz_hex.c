/*
 * fuzz_hex.c
 *	  Hexadecimal text: what is accepted comes back the same from the encoder.
 */
#include "fuzz.h"

#include <strings.h>

#include "evm/address.h"
#include "evm/hex.h"

static void
check_data(struct evm_arena *arena, const char *text, size_t len)
{
	uint8_t *out = evm_arena_alloc(arena, len / 2);
	size_t out_len;
	struct evm_error err;
	enum evm_status status;
	char *again;

	if (out == NULL)
		return;
	status = evm_hex_decode(out, &out_len, text, len, &err);
	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		FUZZ_CHECK(err.position <= len && out_len == 0);
		return;
	}
	again = evm_hex_encode(arena, out, out_len);
	FUZZ_CHECK(again == NULL || strncasecmp(again, text, len) == 0);
}

static void
check_quantity(const char *text, size_t len)
{
	struct evm_word word;
	struct evm_word again;
	struct evm_error err;
	char encoded[EVM_QUANTITY_TEXT_BYTES];
	size_t encoded_len;
	enum evm_status status = evm_quantity_decode(&word, text, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	encoded_len = evm_quantity_encode(encoded, &word);
	FUZZ_CHECK(encoded_len <= len);
	FUZZ_CHECK(strncasecmp(encoded + 2, text + len - encoded_len + 2, encoded_len - 2) == 0);
	FUZZ_CHECK(evm_quantity_decode(&again, encoded, encoded_len, NULL) == EVM_OK);
}

static void
check_address(const char *text, size_t len)
{
	struct evm_address address;
	struct evm_error err;
	char formatted[EVM_ADDRESS_TEXT_BYTES];
	enum evm_status status = evm_address_parse(&address, text, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	evm_address_format(formatted, &address);
	FUZZ_CHECK(strncasecmp(formatted, text, len) == 0);
	FUZZ_CHECK(evm_address_parse(&address, formatted, len, NULL) == EVM_OK);
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	const char *text = (const char *) data;

	check_data(arena, text, len);
	check_quantity(text, len);
	check_address(text, len);
}
