/*
 * jsonb_build.h
 *	  Members and elements of a jsonb that is being built.
 *
 * key is the member's name, or NULL for an element of an array.  Texts are not copied: they must
 * live until the whole is finished.
 */
#ifndef API_JSONB_BUILD_H
#define API_JSONB_BUILD_H

#include "postgres.h"

#include "evm/bytes.h"
#include "utils/jsonb.h"

extern void api_push_value(JsonbParseState **state, const char *key, JsonbValue *value);
extern void api_push_text(JsonbParseState **state, const char *key, const char *text);
extern void api_push_hex(JsonbParseState **state, const char *key, struct evm_bytes bytes);
extern void api_push_address(JsonbParseState **state, const char *key,
							 const struct evm_address *address);
/* A decimal string, as all integers of more than 48 bits. */
extern void api_push_word(JsonbParseState **state, const char *key, const struct evm_word *word);
extern void api_push_u64(JsonbParseState **state, const char *key, uint64 value);
extern void api_push_number(JsonbParseState **state, const char *key, int32 value);
extern void api_push_null(JsonbParseState **state, const char *key);
/* Begins an object or array (WJB_BEGIN_OBJECT, WJB_BEGIN_ARRAY) as a member or element. */
extern void api_push_begin(JsonbParseState **state, const char *key, JsonbIteratorToken token);

#endif /* API_JSONB_BUILD_H */
