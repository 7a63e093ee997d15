/*
 * hex_text.h
 *	  Text that is compared with, or read as, rflow.hex and rflow.address.
 */
#ifndef API_HEX_TEXT_H
#define API_HEX_TEXT_H

#include "postgres.h"

#include "evm/bytes.h"
#include "evm/status.h"
#include "nodes/nodes.h"

/*
 * Reports that text is no value of the type; hint may be NULL.  Returns only where the caller of an
 * input function wants to be told (escontext, PostgreSQL 16).
 */
extern void api_refuse_input(Node *escontext, const char *type, const char *text,
							 const struct evm_error *err, const char *hint);

/* Whether text is "0x" and the digits of the bytes, in any case. */
extern bool api_text_is_hex_of(const char *text, size_t len, struct evm_bytes bytes);

/* "0x" and the digits, lower case, not terminated; palloc'd text. */
extern text *api_hex_to_text(struct evm_bytes bytes);

/* LIKE where the case of letters means nothing, as for hexadecimal digits. */
extern bool api_hex_like(struct evm_bytes bytes, text *pattern);

#endif /* API_HEX_TEXT_H */
