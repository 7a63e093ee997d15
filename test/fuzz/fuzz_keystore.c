/*
 * fuzz_keystore.c
 *	  Key files: whatever they say, they cost no more than the limits allow.
 *
 * An input is the length of the password in one byte, the password, and the file.
 */
#include "fuzz.h"

#include "evm/keystore.h"

/* Low, so that inputs are tried by the thousand; a time-out of the fuzzer is a finding. */
static const struct evm_keystore_limits limits = {.memory_bytes = 1024 * 1024,
												  .scrypt_cost = 8192,
												  .iterations = 1024};

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct evm_key key;
	struct evm_error err;
	size_t password_len;
	enum evm_status status;

	if (len == 0 || data[0] >= len)
		return;
	password_len = data[0];
	status = evm_keystore_decrypt(arena, &key, (const char *) data + 1 + password_len,
								  len - 1 - password_len, data + 1, password_len, &limits, &err);
	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
	else
		FUZZ_CHECK(evm_key_check(&key) == EVM_OK);
}
