/*
 * datum_error.c
 *	  Memory and failures of the pure layer, in the server's terms.
 */
#include "postgres.h"

#include "db/datum.h"

#include "utils/memutils.h"

static void *
context_allocate(void *context, size_t size)
{
	if (!AllocHugeSizeIsValid(size))
		return NULL;
	return MemoryContextAllocExtended((MemoryContext) context, size,
									  MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
}

static void
context_release(void *context, void *pointer)
{
	pfree(pointer);
}

struct evm_arena *
db_arena_create(MemoryContext context, size_t limit_bytes)
{
	struct evm_allocator allocator = {context_allocate, context_release, context};
	struct evm_arena *arena = evm_arena_create(&allocator, limit_bytes);

	if (arena == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return arena;
}

int
db_sqlstate(enum evm_status status)
{
	switch (status)
	{
		case EVM_OK:
			break;
		case EVM_ERR_MEMORY:
			/* The arena's limit, nearly always: what was given is too large for us. */
		case EVM_ERR_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case EVM_ERR_SYNTAX:
		case EVM_ERR_CHECKSUM:
			return ERRCODE_INVALID_TEXT_REPRESENTATION;
		case EVM_ERR_RANGE:
			return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
		case EVM_ERR_TRUNCATED:
		case EVM_ERR_MALFORMED:
			return ERRCODE_INVALID_BINARY_REPRESENTATION;
		case EVM_ERR_TYPE:
			return ERRCODE_DATATYPE_MISMATCH;
		case EVM_ERR_MISMATCH:
		case EVM_ERR_CRYPTO:
			return ERRCODE_INVALID_PARAMETER_VALUE;
	}
	return ERRCODE_INTERNAL_ERROR;
}

void
db_raise(const struct evm_error *error, const char *what)
{
	ereport(ERROR,
			(errcode(db_sqlstate(error->status)),
			 what == NULL ? errmsg("%s", error->message) : errmsg("%s: %s", what, error->message)));
	pg_unreachable();
}
