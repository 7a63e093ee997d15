/*
 * fuzz_abi_json.c
 *	  JSON ABIs of foreign contracts: what is accepted is written as JSON that
 *	  reads back the same.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/abi.h"

static void
try_item(struct evm_arena *arena, const struct evm_abi *abi, const struct evm_abi_item *item)
{
	struct evm_abi one = {item, 1};
	const struct evm_abi_item *found;
	struct evm_error err = {.message = ""};
	enum evm_status status;

	FUZZ_CHECK(item->name != NULL && item->signature != NULL);
	(void) evm_abi_item_text(arena, item);
	status = evm_abi_find(&found, abi, item->kind, item->name, &err);
	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
	FUZZ_CHECK(evm_abi_find(&found, &one, item->kind, item->name, NULL) == EVM_OK);
	if (item->kind == EVM_ABI_ITEM_EVENT)
		(void) evm_abi_find_log(&found, abi, &item->hash, 1, NULL);
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct evm_abi abi;
	struct evm_abi again;
	struct evm_bytes json;
	struct evm_bytes json_again;
	size_t skipped;
	struct evm_error err;
	enum evm_status status =
		evm_abi_parse_json(arena, &abi, &skipped, (const char *) data, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	for (size_t i = 0; i < abi.item_count; i++)
		try_item(arena, &abi, &abi.items[i]);
	if (evm_abi_to_json(arena, &json, &abi) != EVM_OK)
		return;
	status = evm_abi_parse_json(arena, &again, &skipped, (const char *) json.data, json.len, &err);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK && skipped == 0);
	if (evm_abi_to_json(arena, &json_again, &again) != EVM_OK)
		return;
	FUZZ_CHECK(json.len == json_again.len && memcmp(json.data, json_again.data, json.len) == 0);
}
