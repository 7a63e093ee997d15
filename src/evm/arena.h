/*
 * arena.h
 *	  Memory of the pure layer: everything a call makes is freed at once.
 *
 * The caller gives the allocator, so that a server process can pass functions
 * of a memory context and a unit test can pass malloc.  The allocator returns
 * NULL on failure; it must not raise.  An arena never gives out more than its
 * limit, which is what bounds hostile input.
 */
#ifndef EVM_ARENA_H
#define EVM_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evm_allocator
{
	void *(*allocate)(void *context, size_t size);
	void (*release)(void *context, void *pointer);
	void *context;
};

struct evm_arena;

/* malloc and free; for tests and tools. */
extern const struct evm_allocator evm_malloc_allocator;

/* A new arena, or NULL when the allocator has nothing to give.  The allocator is copied. */
extern struct evm_arena *evm_arena_create(const struct evm_allocator *allocator,
										  size_t limit_bytes);

/* Frees everything the arena gave out but one chunk, which the next use begins with. */
extern void evm_arena_reset(struct evm_arena *arena);
/* NULL is allowed. */
extern void evm_arena_destroy(struct evm_arena *arena);

/*
 * size bytes aligned for any type, or NULL when the limit is reached.  The
 * memory is not zeroed.  evm_arena_zalloc zeroes it, and checks that
 * count * size does not overflow.
 */
extern void *evm_arena_alloc(struct evm_arena *arena, size_t size);
extern void *evm_arena_zalloc(struct evm_arena *arena, size_t count, size_t size);
extern char *evm_arena_strndup(struct evm_arena *arena, const char *text, size_t len);

/* Bytes given out since the last reset, each piece rounded up to its alignment. */
extern size_t evm_arena_used(const struct evm_arena *arena);

#endif /* EVM_ARENA_H */
