/*
 * put.c
 *	  Parameters of JSON-RPC calls, appended to a text.
 */
#include "postgres.h"

#include "relay/put.h"

#include "evm/hex.h"
#include "evm/word.h"

#define QUANTITY_BYTES 80 /* "0x", 64 digits and a NUL; rounded up */

void
relay_put_hex(StringInfo out, const uint8 *data, size_t len)
{
	appendStringInfoString(out, "\"0x");
	enlargeStringInfo(out, (int) (2 * len + 1));
	evm_hex_digits(out->data + out->len, data, len);
	out->len += (int) (2 * len);
	out->data[out->len] = '\0';
	appendStringInfoChar(out, '"');
}

void
relay_put_word(StringInfo out, const struct evm_word *word)
{
	char text[QUANTITY_BYTES];

	evm_quantity_encode(text, word);
	appendStringInfo(out, "\"%s\"", text);
}

void
relay_put_u64(StringInfo out, uint64 number)
{
	struct evm_word word = evm_word_from_u64(number);

	relay_put_word(out, &word);
}

void
relay_put_call(StringInfo out, const struct evm_address *from, const struct evm_address *to,
			   const struct evm_word *value, struct evm_bytes data)
{
	appendStringInfoString(out, "{\"from\":");
	relay_put_hex(out, from->b, sizeof(from->b));
	if (to != NULL)
	{
		appendStringInfoString(out, ",\"to\":");
		relay_put_hex(out, to->b, sizeof(to->b));
	}
	appendStringInfoString(out, ",\"value\":");
	relay_put_word(out, value);
	appendStringInfoString(out, ",\"data\":");
	relay_put_hex(out, data.data, data.len);
	appendStringInfoChar(out, '}');
}
