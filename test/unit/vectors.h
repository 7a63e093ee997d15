/*
 * vectors.h
 *	  Conformance vectors: files of JSON rows, each checked by a function.
 *
 * A family is what the rows of FILE.jsonl.gz are checked with.  Each
 * vectors_*.c has a table of families and registers it with VECTOR_FAMILIES;
 * the runner (vectors.c) needs no change for a new file.
 */
#ifndef TEST_VECTORS_H
#define TEST_VECTORS_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/json.h"
#include "evm/status.h"

enum vector_result
{
	VECTOR_PASS,
	VECTOR_FAIL,
	VECTOR_SKIP /* out of scope on purpose; the reason is counted and shown */
};

/* Why a row failed or was skipped; reasons of skips are grouped, so keep them general. */
#define VECTOR_NOTE_BYTES 512

struct vector_note
{
	char text[VECTOR_NOTE_BYTES];
};

/* The arena is empty at the start of each row but for the row's own tree. */
typedef enum vector_result (*vector_check)(struct evm_arena *arena, const struct evm_json *row,
										   struct vector_note *note);

struct vector_family
{
	const char *file; /* without ".jsonl.gz"; NULL ends a table */
	vector_check check;
};

extern void vector_register(const struct vector_family *families);

#define VECTOR_FAMILIES(table) \
	__attribute__((constructor)) static void register_##table(void) \
	{ \
		vector_register(table); \
	} \
	struct vector_note /* takes the semicolon */

/* Both fill the note from a printf format and return VECTOR_FAIL or VECTOR_SKIP. */
extern enum vector_result vector_fail(struct vector_note *note, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
extern enum vector_result vector_skip(struct vector_note *note, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A member that is a string, NUL terminated; NULL when there is none. */
extern const char *vector_text(const struct evm_json *row, const char *name);
/* A member that is 0x hex, decoded into the arena; false when it is not. */
extern bool vector_bytes(struct evm_arena *arena, const struct evm_json *row, const char *name,
						 struct evm_bytes *out);
/* A string node that is 0x hex, likewise. */
extern bool vector_node_bytes(struct evm_arena *arena, const struct evm_json *node,
							  struct evm_bytes *out);
/* A member that is a decimal string or a JSON integer. */
extern bool vector_word(const struct evm_json *row, const char *name, struct evm_word *out,
						bool *negative);
/* Compares bytes; on a difference the note says both in hex (cut). */
extern enum vector_result vector_same_bytes(struct vector_note *note, const char *what,
											const uint8_t *got, size_t got_len, const uint8_t *want,
											size_t want_len);

#endif /* TEST_VECTORS_H */
