/*
 * test_arena.c
 *	  Arenas: limits, alignment, reuse, and allocators that fail.
 */
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

/* An allocator that counts what is out, and gives nothing beyond a number of pieces. */
struct counting
{
	size_t outstanding;
	size_t allowed;
};

static void *
counting_allocate(void *context, size_t size)
{
	struct counting *counting = context;

	if (counting->allowed == 0)
		return NULL;
	counting->allowed--;
	counting->outstanding++;
	return malloc(size);
}

static void
counting_release(void *context, void *pointer)
{
	struct counting *counting = context;

	counting->outstanding--;
	free(pointer);
}

TEST(arena_never_gives_more_than_its_limit)
{
	struct evm_arena *arena = test_arena(96);

	CHECK(evm_arena_alloc(arena, 97) == NULL);
	CHECK(evm_arena_alloc(arena, SIZE_MAX) == NULL);
	CHECK(evm_arena_alloc(arena, SIZE_MAX - 8) == NULL);
	CHECK(evm_arena_alloc(arena, 60) != NULL);
	CHECK_NUMBER(evm_arena_used(arena), 64);
	CHECK(evm_arena_alloc(arena, 33) == NULL);
	CHECK(evm_arena_alloc(arena, 31) != NULL);
	CHECK(evm_arena_alloc(arena, 1) == NULL);
	evm_arena_reset(arena);
	CHECK_NUMBER(evm_arena_used(arena), 0);
	CHECK(evm_arena_alloc(arena, 96) != NULL);
}

TEST(arena_without_a_limit_refuses_what_overflows)
{
	struct evm_arena *arena = test_arena(SIZE_MAX);

	CHECK(evm_arena_alloc(arena, SIZE_MAX) == NULL);
	CHECK(evm_arena_alloc(arena, SIZE_MAX - 40) == NULL);
	CHECK(evm_arena_zalloc(arena, SIZE_MAX / 2, 3) == NULL);
	CHECK(evm_arena_zalloc(arena, SIZE_MAX, SIZE_MAX) == NULL);
	CHECK(evm_arena_strndup(arena, "x", SIZE_MAX) == NULL);
	CHECK(evm_arena_alloc(arena, 1) != NULL);
}

TEST(arena_pieces_are_aligned_and_apart)
{
	struct evm_arena *arena = test_arena(1 << 20);
	char *previous = NULL;

	for (size_t size = 0; size < 300; size++)
	{
		char *piece = evm_arena_alloc(arena, size);

		CHECK((uintptr_t) piece % _Alignof(max_align_t) == 0);
		CHECK(piece != previous);
		memset(piece, 0xff, size);
		previous = piece;
	}
}

TEST(arena_zalloc_zeroes_memory_that_was_used)
{
	struct evm_arena *arena = test_arena(1 << 20);
	uint8_t *piece = evm_arena_alloc(arena, 64);

	memset(piece, 0xff, 64);
	evm_arena_reset(arena);
	piece = evm_arena_zalloc(arena, 8, 8);
	for (int i = 0; i < 64; i++)
		CHECK_NUMBER(piece[i], 0);
	CHECK(evm_arena_zalloc(arena, 0, 8) != NULL);
	CHECK_TEXT(evm_arena_strndup(arena, "abcdef", 3), "abc");
	CHECK_TEXT(evm_arena_strndup(arena, NULL, 0), "");
}

TEST(arena_returns_everything_to_its_allocator)
{
	struct counting counting = {0, 100};
	struct evm_allocator allocator = {counting_allocate, counting_release, &counting};
	struct evm_arena *arena = evm_arena_create(&allocator, 10 << 20);

	CHECK(evm_arena_alloc(arena, 10000) != NULL);
	for (int i = 0; i < 1000; i++)
		CHECK(evm_arena_alloc(arena, 1000) != NULL);
	CHECK(counting.outstanding > 2);

	/* A reset keeps one chunk, so that the next use of the same size allocates nothing. */
	evm_arena_reset(arena);
	CHECK_NUMBER(counting.outstanding, 2);
	counting.allowed = 0;
	CHECK(evm_arena_alloc(arena, 4000) != NULL);
	evm_arena_destroy(arena);
	CHECK_NUMBER(counting.outstanding, 0);
}

TEST(arena_survives_an_allocator_that_fails)
{
	struct counting counting = {0, 0};
	struct evm_allocator allocator = {counting_allocate, counting_release, &counting};
	struct evm_arena *arena = evm_arena_create(&allocator, 1 << 20);

	CHECK(arena == NULL);
	counting.allowed = 2;
	arena = evm_arena_create(&allocator, 1 << 20);
	CHECK(evm_arena_alloc(arena, 10) != NULL);
	CHECK(evm_arena_alloc(arena, 100000) == NULL);
	CHECK(evm_arena_alloc(arena, 10) != NULL);
	CHECK_NUMBER(evm_arena_used(arena), 32);
	evm_arena_destroy(arena);
	evm_arena_destroy(NULL);
	CHECK_NUMBER(counting.outstanding, 0);
}
