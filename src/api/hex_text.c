/*
 * hex_text.c
 *	  What rflow.hex and rflow.address have in common where they meet text.
 *
 * A text is equal to bytes when it is written as "0x" and their digits, whatever their case: a
 * column of a user's table may hold checksummed, lower-case or mixed text.  Text that is not
 * written so is equal to no bytes, which is why these comparisons never raise.
 */
#include "postgres.h"

#include "api/hex_text.h"

#include "catalog/pg_collation.h"
#include "db/compat.h"
#include "evm/hex.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#define PREFIX_BYTES 2

/* Bytes of refused input that a message shows. */
#define SHOWN_INPUT_BYTES 100

void
api_refuse_input(Node *escontext, const char *type, const char *text, const struct evm_error *err,
				 const char *hint)
{
	int len = (int) strlen(text);
	int shown = pg_mbcliplen(text, len, SHOWN_INPUT_BYTES);

	errsave(escontext,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%.*s%s\"", type, shown, text,
					shown < len ? "..." : ""),
			 errdetail("%c%s.", pg_toupper((unsigned char) err->message[0]), err->message + 1),
			 hint == NULL ? 0 : errhint("%s", hint)));
}

bool
api_text_is_hex_of(const char *text, size_t len, struct evm_bytes bytes)
{
	char digits[2];

	if (len != PREFIX_BYTES + 2 * bytes.len || text[0] != '0' || (text[1] | 0x20) != 'x')
		return false;
	text += PREFIX_BYTES;
	for (size_t i = 0; i < bytes.len; i++, text += 2)
	{
		evm_hex_digits(digits, &bytes.data[i], 1);
		if (digits[0] != pg_ascii_tolower((unsigned char) text[0]) ||
			digits[1] != pg_ascii_tolower((unsigned char) text[1]))
			return false;
	}
	return true;
}

text *
api_hex_to_text(struct evm_bytes bytes)
{
	size_t len = VARHDRSZ + PREFIX_BYTES + 2 * bytes.len;
	text *result = palloc(len);

	SET_VARSIZE(result, len);
	memcpy(VARDATA(result), "0x", PREFIX_BYTES);
	evm_hex_digits(VARDATA(result) + PREFIX_BYTES, bytes.data, bytes.len);
	return result;
}

bool
api_hex_like(struct evm_bytes bytes, text *pattern)
{
	size_t len = VARSIZE_ANY_EXHDR(pattern);
	text *lower = cstring_to_text_with_len(VARDATA_ANY(pattern), (int) len);
	char *letters = VARDATA(lower);

	for (size_t i = 0; i < len; i++)
		letters[i] = (char) pg_ascii_tolower((unsigned char) letters[i]);
	return DatumGetBool(DirectFunctionCall2Coll(textlike, C_COLLATION_OID,
												PointerGetDatum(api_hex_to_text(bytes)),
												PointerGetDatum(lower)));
}
