/*
 * jsonb_build.c
 *	  Pushes members and elements in the forms that chain data has in jsonb.
 */
#include "postgres.h"

#include "api/jsonb_build.h"

#include "db/datum.h"
#include "evm/address.h"
#include "evm/hex.h"
#include "evm/word.h"
#include "utils/numeric.h"

#define PREFIX_BYTES 2

static void
push_string(JsonbParseState **state, JsonbIteratorToken token, const char *text, size_t len)
{
	JsonbValue value;

	value.type = jbvString;
	value.val.string.val = (char *) text;
	value.val.string.len = (int) len;
	pushJsonbValue(state, token, &value);
}

static void
push_key(JsonbParseState **state, const char *key)
{
	if (key != NULL)
		push_string(state, WJB_KEY, key, strlen(key));
}

static JsonbIteratorToken
token_of(const char *key)
{
	return key == NULL ? WJB_ELEM : WJB_VALUE;
}

void
api_push_value(JsonbParseState **state, const char *key, JsonbValue *value)
{
	push_key(state, key);
	pushJsonbValue(state, token_of(key), value);
}

void
api_push_text(JsonbParseState **state, const char *key, const char *text)
{
	push_key(state, key);
	push_string(state, token_of(key), text, strlen(text));
}

void
api_push_hex(JsonbParseState **state, const char *key, struct evm_bytes bytes)
{
	size_t len = PREFIX_BYTES + 2 * bytes.len;
	char *text = palloc(len);

	memcpy(text, "0x", PREFIX_BYTES);
	evm_hex_digits(text + PREFIX_BYTES, bytes.data, bytes.len);
	push_key(state, key);
	push_string(state, token_of(key), text, len);
}

void
api_push_address(JsonbParseState **state, const char *key, const struct evm_address *address)
{
	char *text = palloc(EVM_ADDRESS_TEXT_BYTES);

	evm_address_format(text, address);
	api_push_text(state, key, text);
}

void
api_push_word(JsonbParseState **state, const char *key, const struct evm_word *word)
{
	char *text = palloc(EVM_WORD_DECIMAL_BYTES);

	evm_word_to_decimal(text, word, false);
	api_push_text(state, key, text);
}

void
api_push_u64(JsonbParseState **state, const char *key, uint64 value)
{
	struct evm_word word = evm_word_from_u64(value);

	api_push_word(state, key, &word);
}

void
api_push_number(JsonbParseState **state, const char *key, int32 value)
{
	JsonbValue number;

	number.type = jbvNumeric;
	number.val.numeric = int64_to_numeric(value);
	api_push_value(state, key, &number);
}

void
api_push_null(JsonbParseState **state, const char *key)
{
	JsonbValue null;

	null.type = jbvNull;
	api_push_value(state, key, &null);
}

void
api_push_begin(JsonbParseState **state, const char *key, JsonbIteratorToken token)
{
	push_key(state, key);
	pushJsonbValue(state, token, NULL);
}
