/*
 * arena.c
 *	  A bump allocator over chunks of the caller's allocator.
 *
 * Chunks double in size up to a cap, so that a small parse costs one
 * allocation and a large one few.  Builds with AddressSanitizer leave a
 * poisoned gap behind every piece, so that an overrun of one piece into the
 * next is found although both lie in one chunk.
 */
#include "evm/arena.h"

#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#endif

#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#define ARENA_GAP_BYTES 16
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void) (address), (void) (size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void) (address), (void) (size))
#define ARENA_GAP_BYTES 0
#endif

/* Big enough for one log or one signed transaction, small enough to be wasted. */
#define ARENA_FIRST_CHUNK_BYTES 4096
/* Beyond this, doubling saves nothing and wastes more. */
#define ARENA_CHUNK_MAX_BYTES (1024 * 1024)

#define ARENA_ALIGNMENT _Alignof(max_align_t)

struct arena_chunk
{
	struct arena_chunk *previous;
	size_t size; /* bytes behind this header */
	size_t used;
	max_align_t data[];
};

struct evm_arena
{
	struct evm_allocator allocator;
	size_t limit;
	size_t used; /* bytes given out, each piece rounded up to the alignment */
	size_t next_chunk_size;
	struct arena_chunk *chunk; /* the newest; older ones are full */
};

static void *
malloc_allocate(void *context, size_t size)
{
	(void) context;
	return malloc(size);
}

static void
malloc_release(void *context, void *pointer)
{
	(void) context;
	free(pointer);
}

const struct evm_allocator evm_malloc_allocator = {malloc_allocate, malloc_release, NULL};

struct evm_arena *
evm_arena_create(const struct evm_allocator *allocator, size_t limit_bytes)
{
	struct evm_arena *arena = allocator->allocate(allocator->context, sizeof(*arena));

	if (arena == NULL)
		return NULL;
	arena->allocator = *allocator;
	arena->limit = limit_bytes;
	arena->used = 0;
	arena->next_chunk_size = ARENA_FIRST_CHUNK_BYTES;
	arena->chunk = NULL;
	return arena;
}

static void
release_chunk(struct evm_arena *arena, struct arena_chunk *chunk)
{
	ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->size);
	arena->allocator.release(arena->allocator.context, chunk);
}

/* Keeps the first chunk: a loop that resets its arena each turn allocates nothing. */
void
evm_arena_reset(struct evm_arena *arena)
{
	while (arena->chunk != NULL && arena->chunk->previous != NULL)
	{
		struct arena_chunk *chunk = arena->chunk;

		arena->chunk = chunk->previous;
		release_chunk(arena, chunk);
	}
	if (arena->chunk != NULL)
	{
		arena->chunk->used = 0;
		ASAN_POISON_MEMORY_REGION(arena->chunk->data, arena->chunk->size);
	}
	arena->used = 0;
	arena->next_chunk_size = ARENA_FIRST_CHUNK_BYTES;
}

void
evm_arena_destroy(struct evm_arena *arena)
{
	if (arena == NULL)
		return;
	while (arena->chunk != NULL)
	{
		struct arena_chunk *chunk = arena->chunk;

		arena->chunk = chunk->previous;
		release_chunk(arena, chunk);
	}
	arena->allocator.release(arena->allocator.context, arena);
}

/* Puts a chunk with room for size bytes in front. */
static bool
add_chunk(struct evm_arena *arena, size_t size)
{
	size_t chunk_size = arena->next_chunk_size;
	struct arena_chunk *chunk;

	if (chunk_size < size)
		chunk_size = size;
	if (chunk_size > SIZE_MAX - sizeof(*chunk))
		return false;
	chunk = arena->allocator.allocate(arena->allocator.context, sizeof(*chunk) + chunk_size);
	if (chunk == NULL)
		return false;
	chunk->size = chunk_size;
	chunk->used = 0;
	chunk->previous = arena->chunk;
	arena->chunk = chunk;
	ASAN_POISON_MEMORY_REGION(chunk->data, chunk_size);
	if (arena->next_chunk_size < ARENA_CHUNK_MAX_BYTES)
		arena->next_chunk_size *= 2;
	return true;
}

void *
evm_arena_alloc(struct evm_arena *arena, size_t size)
{
	size_t rounded;
	struct arena_chunk *chunk = arena->chunk;
	char *piece;

	/* Every piece has an address of its own, an empty one too. */
	if (size == 0)
		size = 1;
	if (size > SIZE_MAX - ARENA_ALIGNMENT - ARENA_GAP_BYTES)
		return NULL;
	rounded = (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
	if (rounded > arena->limit - arena->used)
		return NULL;
	if (chunk == NULL || rounded + ARENA_GAP_BYTES > chunk->size - chunk->used)
	{
		if (!add_chunk(arena, rounded + ARENA_GAP_BYTES))
			return NULL;
		chunk = arena->chunk;
	}
	piece = (char *) chunk->data + chunk->used;
	chunk->used += rounded + ARENA_GAP_BYTES;
	arena->used += rounded;
	ASAN_UNPOISON_MEMORY_REGION(piece, size);
	return piece;
}

void *
evm_arena_zalloc(struct evm_arena *arena, size_t count, size_t size)
{
	void *piece;

	if (size != 0 && count > SIZE_MAX / size)
		return NULL;
	piece = evm_arena_alloc(arena, count * size);
	if (piece != NULL)
		memset(piece, 0, count * size);
	return piece;
}

char *
evm_arena_strndup(struct evm_arena *arena, const char *text, size_t len)
{
	char *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = evm_arena_alloc(arena, len + 1);
	if (copy == NULL)
		return NULL;
	if (len > 0)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

size_t
evm_arena_used(const struct evm_arena *arena)
{
	return arena->used;
}
