/*
 * vectors_abi.h
 *	  Canonical JSON of ABI values, and ABI items of rows, for the vectors_abi*.c files.
 */
#ifndef TEST_VECTORS_ABI_H
#define TEST_VECTORS_ABI_H

#include "evm/abi.h"
#include "vectors.h"

/* What one argument list holds at most in the rows. */
#define ARGUMENTS_MAX 256

/* ---- values (vectors_abi.c) ---- */

/* False when the node is not a canonical value of the type. */
extern bool abi_value_from_json(struct evm_arena *arena, struct evm_abi_value *out,
								const struct evm_abi_type *type, const struct evm_json *node);
/* An array of count values, at most ARGUMENTS_MAX. */
extern bool abi_values_from_json(struct evm_arena *arena, struct evm_abi_value *out,
								 const struct evm_abi_param *params, size_t count,
								 const struct evm_json *node);
/* Whether the values, written as canonical JSON, are the array. */
extern enum vector_result abi_check_values(struct evm_arena *arena,
										   const struct evm_abi_value *values,
										   const struct evm_abi_param *params, size_t count,
										   const struct evm_json *want, struct vector_note *note);
/* Whether the data decodes to the values. */
extern enum vector_result abi_check_decoding(struct evm_arena *arena,
											 const struct evm_abi_param *params, size_t count,
											 struct evm_bytes data, const struct evm_json *want,
											 struct vector_note *note);
extern bool abi_same_text(struct evm_bytes bytes, const struct evm_json *node);

/* ---- items (vectors_abi_items.c) ---- */

/* The ABI of a node that is an item, or an array of items. */
extern enum vector_result abi_read(struct evm_arena *arena, struct evm_abi *out, size_t *skipped,
								   const struct evm_json *node, struct vector_note *note);
/* The only item of a member. */
extern enum vector_result abi_read_item(struct evm_arena *arena, const struct evm_abi_item **out,
										const struct evm_json *row, const char *member,
										struct vector_note *note);
/* Signature, and selector or topic0, of the row. */
extern enum vector_result abi_check_hashes(struct evm_arena *arena, const struct evm_abi_item *item,
										   const struct evm_json *row, struct vector_note *note);

#endif /* TEST_VECTORS_ABI_H */
