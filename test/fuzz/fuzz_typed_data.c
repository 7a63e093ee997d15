/*
 * fuzz_typed_data.c
 *	  Typed data: any JSON is hashed or refused, and hashed the same way twice.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/typed_data.h"

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct evm_typed_data first;
	struct evm_typed_data second;
	struct evm_error err;
	enum evm_status status = evm_typed_data_hash(arena, &first, (const char *) data, len, &err);
	size_t name_len;

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	name_len = strlen(first.primary_type);
	FUZZ_CHECK(strncmp(first.encode_type, first.primary_type, name_len) == 0);
	FUZZ_CHECK(first.encode_type[name_len] == '(');
	status = evm_typed_data_hash(arena, &second, (const char *) data, len, &err);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK);
	FUZZ_CHECK(memcmp(&first.digest, &second.digest, sizeof(first.digest)) == 0);
}
