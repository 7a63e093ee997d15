/*
 * fuzz_name.c
 *	  ENS names: what normalizes can be hashed, and normalizing twice changes nothing.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/namehash.h"

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	const char *name = (const char *) data;
	struct evm_bytes normal;
	struct evm_bytes twice;
	struct evm_hash hash;
	struct evm_error err;
	enum evm_status status = evm_namehash(&hash, name, len, &err);

	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
	status = evm_ens_normalize(arena, &normal, name, len, &err);
	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		FUZZ_CHECK(err.position <= len);
		return;
	}
	if (len == 0)
		return;
	FUZZ_CHECK(evm_namehash(&hash, (const char *) normal.data, normal.len, NULL) == EVM_OK);
	status = evm_ens_normalize(arena, &twice, (const char *) normal.data, normal.len, NULL);
	if (memchr(data, '\'', len) != NULL)
		FUZZ_CHECK(status == EVM_ERR_LIMIT);
	else
		FUZZ_CHECK(status == EVM_OK && twice.len == normal.len &&
				   memcmp(twice.data, normal.data, normal.len) == 0);
}
