/*
 * vectors_read.h
 *	  Members of rows as the types of src/evm; shared by vectors_tx.c and its neighbours.
 */
#ifndef TEST_VECTORS_READ_H
#define TEST_VECTORS_READ_H

#include <string.h>

#include "evm/word.h"
#include "vectors.h"

/* Exactly len bytes of 0x hex. */
static inline bool
read_fixed(struct evm_arena *arena, const struct evm_json *row, const char *name, uint8_t *out,
		   size_t len)
{
	struct evm_bytes bytes;

	if (!vector_bytes(arena, row, name, &bytes) || bytes.len != len)
		return false;
	memcpy(out, bytes.data, len);
	return true;
}

/* An unsigned decimal string or integer. */
static inline bool
read_word(const struct evm_json *row, const char *name, struct evm_word *out)
{
	bool negative;

	return vector_word(row, name, out, &negative) && !negative;
}

static inline bool
read_u64(const struct evm_json *row, const char *name, uint64_t *out)
{
	struct evm_word word;

	return read_word(row, name, &word) && evm_word_to_u64(out, &word);
}

/* An array of 32-byte hex strings. */
static inline bool
read_hashes(struct evm_arena *arena, const struct evm_json *row, const char *name,
			struct evm_hash **out, size_t *count)
{
	const struct evm_json *list = evm_json_object_get(row, name);

	*count = evm_json_array_size(list);
	*out = evm_arena_zalloc(arena, *count, sizeof(**out));
	for (size_t i = 0; i < *count; i++)
	{
		struct evm_bytes bytes;

		if (!vector_node_bytes(arena, evm_json_array_get(list, i), &bytes) || bytes.len != 32)
			return false;
		memcpy((*out)[i].b, bytes.data, 32);
	}
	return true;
}

#endif /* TEST_VECTORS_READ_H */
