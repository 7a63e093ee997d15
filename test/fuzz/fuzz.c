/*
 * fuzz.c
 *	  The part that all fuzz targets share: libFuzzer's entry point.
 */
#include "fuzz.h"

#include <string.h>

/* Small, so that inputs reach the limit and what happens there. */
#define FUZZ_ARENA_BYTES ((size_t) 512 * 1024)

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evm_arena *arena;

	if (arena == NULL)
		arena = evm_arena_create(&evm_malloc_allocator, FUZZ_ARENA_BYTES);
	FUZZ_CHECK(arena != NULL);
	evm_arena_reset(arena);
	fuzz_one(arena, data, size);
	return 0;
}

void
fuzz_check_failure(enum evm_status status, const struct evm_error *err)
{
	FUZZ_CHECK(status != EVM_OK);
	FUZZ_CHECK(err->status == status);
	FUZZ_CHECK(err->message[0] != '\0');
	FUZZ_CHECK(memchr(err->message, '\0', sizeof(err->message)) != NULL);
	for (const char *p = err->message; *p != '\0'; p++)
		FUZZ_CHECK(*p >= 0x20 && *p < 0x7f);
}
