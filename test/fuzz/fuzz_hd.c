/*
 * fuzz_hd.c
 *	  Phrases, paths, extended keys and private keys as people type them.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/hd.h"

static void
try_mnemonic(const char *text, size_t len)
{
	struct evm_mnemonic first;
	struct evm_mnemonic second;
	struct evm_error err;
	const enum evm_status status = evm_mnemonic_parse(&first, text, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	FUZZ_CHECK(strlen(first.text) == first.len);
	FUZZ_CHECK(evm_mnemonic_parse(&second, first.text, first.len, NULL) == EVM_OK);
	FUZZ_CHECK(memcmp(&first, &second, sizeof(first)) == 0);
}

static void
try_path(const char *text, size_t len)
{
	static const uint8_t seed[16] = {1};
	struct evm_hd_node master;
	struct evm_hd_node node;
	struct evm_error err;
	enum evm_status status;

	FUZZ_CHECK(evm_hd_master(&master, seed, sizeof(seed), NULL) == EVM_OK);
	status = evm_hd_derive(&node, &master, text, len, &err);
	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
	else
		FUZZ_CHECK(evm_key_check(&node.key) == EVM_OK && node.depth <= len);
}

static void
try_keys(const char *text, size_t len)
{
	struct evm_hd_node node;
	struct evm_key key;
	uint8_t public_key[33];
	uint8_t chain_code[32];
	struct evm_error err;
	enum evm_status status = evm_hd_parse_private(&node, text, len, &err);

	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
	status = evm_hd_parse_public(public_key, chain_code, text, len, &err);
	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
	status = evm_key_parse(&key, text, len, &err);
	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	(void) arena;
	try_mnemonic((const char *) data, len);
	try_path((const char *) data, len);
	try_keys((const char *) data, len);
}
