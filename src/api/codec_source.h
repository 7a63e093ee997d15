/*
 * codec_source.h
 *	  The first argument of an encoder or decoder, parsed once and kept while it stays the same.
 */
#ifndef API_CODEC_SOURCE_H
#define API_CODEC_SOURCE_H

#include "postgres.h"

#include "db/compat.h"
#include "evm/abi.h"
#include "fmgr.h"

/* Memory that one call may take: a bound on hostile data, far above what real data needs. */
#define API_CODEC_ARENA_BYTES ((size_t) 64 * 1024 * 1024)

enum api_source_kind
{
	API_SOURCE_ABI,      /* jsonb: fills abi */
	API_SOURCE_EVENT,    /* text of one fragment, the word "event" may be missing: item */
	API_SOURCE_FUNCTION, /* text of one fragment, a function, error or constructor: item */
	API_SOURCE_TYPES     /* text of types or parameters, separated by commas: params */
};

struct api_source
{
	MemoryContext context; /* of all that follows; lives as long as the call site */
	char *given;           /* the argument's bytes */
	size_t given_len;
	struct evm_abi abi;
	const struct evm_abi_item *item;
	const struct evm_abi_param *params;
	size_t param_count;
};

/*
 * Parses argument n of an SQL function.  Raises on what is not of its kind; the error of a text
 * carries the text and the position in it.
 */
extern const struct api_source *api_source(FunctionCallInfo fcinfo, int n,
										   enum api_source_kind kind);

/* An arena in the current context for one call. */
extern struct evm_arena *api_codec_arena(void);

/* db_raise with the text that was parsed and the position in it. */
pg_noreturn extern void api_raise_in_text(const struct evm_error *err, const char *what,
										  const char *text);

#endif /* API_CODEC_SOURCE_H */
