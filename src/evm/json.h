/*
 * json.h
 *	  JSON text to a tree that is read only; the one user of jansson.
 *
 * The whole tree lives in the arena that evm_json_parse is given (jansson's
 * allocator is pointed at it while parsing), so nothing is freed one by one.
 * Duplicate keys are refused; depth and size are bounded.  Strings are UTF-8;
 * they may contain NUL ("\u0000"), hence the lengths.
 */
#ifndef EVM_JSON_H
#define EVM_JSON_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/status.h"

struct evm_json; /* jansson's json_t */

enum evm_json_kind
{
	EVM_JSON_NULL,
	EVM_JSON_FALSE,
	EVM_JSON_TRUE,
	EVM_JSON_INTEGER,
	EVM_JSON_REAL,
	EVM_JSON_STRING,
	EVM_JSON_ARRAY,
	EVM_JSON_OBJECT
};

#define EVM_JSON_MAX_DEPTH 128

/*
 * Parses one JSON value of any kind. EVM_ERR_SYNTAX when it is none or the text has a NUL byte,
 * EVM_ERR_MALFORMED for a duplicate or NUL-containing key and for text that is not UTF-8,
 * EVM_ERR_LIMIT when it is nested too deep, EVM_ERR_RANGE for a real number beyond a double,
 * EVM_ERR_MEMORY when the arena is full (a tree takes 4 times its text as a rule, 80 times at
 * worst: "{},"). Not reentrant.
 */
extern enum evm_status evm_json_parse(struct evm_arena *arena, const struct evm_json **out,
									  const char *text, size_t len, struct evm_error *err);

/* EVM_JSON_NULL for a NULL pointer, so that look-ups can be chained. */
extern enum evm_json_kind evm_json_kind(const struct evm_json *node);

extern size_t evm_json_array_size(const struct evm_json *node); /* 0 when not an array */
extern const struct evm_json *evm_json_array_get(const struct evm_json *node, size_t index);
/* NULL when node is not an object or has no such member. */
extern const struct evm_json *evm_json_object_get(const struct evm_json *node, const char *name);
extern size_t evm_json_object_size(const struct evm_json *node);
/* Calls visit for each member in the order of the text until it returns false. */
extern void evm_json_object_each(const struct evm_json *node,
								 bool (*visit)(void *context, const char *name,
											   const struct evm_json *value),
								 void *context);

/* NULL (and *len 0) when node is not a string. */
extern const char *evm_json_string(const struct evm_json *node, size_t *len);
/* False when node is not an integer that fits 64 bits. */
extern bool evm_json_integer(const struct evm_json *node, int64_t *out);
extern bool evm_json_is_true(const struct evm_json *node);
/*
 * An integer exactly; negative ones are two's complement.  Those beyond 64 bits are kept as their
 * digits (jansson would refuse them), so that typed data can hold them.  False when node is no
 * integer (1e18 is a real: its digits are lost) or needs more than 256 bits.
 */
extern bool evm_json_word(const struct evm_json *node, struct evm_word *out, bool *negative);

#endif /* EVM_JSON_H */
