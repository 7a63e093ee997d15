/*
 * fuzz.h
 *	  What a fuzz target is: one function over an arena and some bytes.
 *
 * A target is one file fuzz_NAME.c that defines fuzz_one, and a line in
 * seeds.pl that says where its first inputs come from.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/status.h"

/* The arena is empty at each call and bounded, as a server's is. */
extern void fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len);

/* The rules of status.h for a failure: a code, and a message that is safe to show. */
extern void fuzz_check_failure(enum evm_status status, const struct evm_error *err);

/* A property that must hold for every input; the fuzzer keeps the input that breaks it. */
#define FUZZ_CHECK(condition) \
	do \
	{ \
		if (!(condition)) \
		{ \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

#endif /* TEST_FUZZ_H */
