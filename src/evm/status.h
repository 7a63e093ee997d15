/*
 * status.h
 *	  How the pure layer reports failure: a code, and text a user can act on.
 *
 * Functions of src/evm return an enum evm_status and never raise.  Those that
 * read input written by people or by foreign machines also take a struct
 * evm_error (may be NULL), which they fill only on failure.  Messages are lower
 * case, without a period, and never contain unescaped bytes of the input.
 */
#ifndef EVM_STATUS_H
#define EVM_STATUS_H

#include <stddef.h>

enum evm_status
{
	EVM_OK = 0,
	EVM_ERR_MEMORY,    /* the arena's limit was reached or malloc failed */
	EVM_ERR_SYNTAX,    /* text that does not parse */
	EVM_ERR_RANGE,     /* a value outside what its type can hold */
	EVM_ERR_TRUNCATED, /* the data ends before the value does */
	EVM_ERR_MALFORMED, /* data that breaks its encoding's rules */
	EVM_ERR_LIMIT,     /* deeper, larger or longer than we accept */
	EVM_ERR_TYPE,      /* a value of another kind than the type wants */
	EVM_ERR_MISMATCH,  /* well-formed, but not what was asked for (topic, selector, length) */
	EVM_ERR_CHECKSUM,  /* an address whose mixed case is not its EIP-55 checksum */
	EVM_ERR_CRYPTO     /* a key or signature that the curve refuses */
};

#define EVM_ERROR_MESSAGE_BYTES 256

struct evm_error
{
	enum evm_status status;
	size_t position; /* byte offset in the input where it was noticed */
	char message[EVM_ERROR_MESSAGE_BYTES];
};

/*
 * Fills *err (which may be NULL) from a printf format and returns status, so
 * that callers write: return evm_fail(err, EVM_ERR_RANGE, pos, "...").
 */
extern enum evm_status evm_fail(struct evm_error *err, enum evm_status status, size_t position,
								const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif /* EVM_STATUS_H */
