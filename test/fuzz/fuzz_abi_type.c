/*
 * fuzz_abi_type.c
 *	  Types, parameter lists and human-readable fragments as people write them:
 *	  whatever is accepted is written as text that means the same.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/abi.h"

#define FRAGMENTS_MAX 64

static void
try_type(struct evm_arena *arena, const char *text, size_t len)
{
	const struct evm_abi_type *type;
	const struct evm_abi_type *again;
	struct evm_error err;
	char *canonical;
	enum evm_status status = evm_abi_parse_type(arena, &type, text, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		FUZZ_CHECK(err.position <= len);
		return;
	}
	FUZZ_CHECK(type->depth <= EVM_ABI_MAX_DEPTH && type->head_size >= 32);
	FUZZ_CHECK(!type->dynamic || type->head_size == 32);
	canonical = evm_abi_type_text(arena, type);
	if (canonical == NULL)
		return;
	status = evm_abi_parse_type(arena, &again, canonical, strlen(canonical), NULL);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK && evm_abi_type_equal(type, again));
}

static void
try_params(struct evm_arena *arena, const char *text, size_t len)
{
	const struct evm_abi_param *params;
	size_t count;
	struct evm_error err;
	enum evm_status status = evm_abi_parse_params(arena, &params, &count, text, len, &err);

	if (status != EVM_OK)
		fuzz_check_failure(status, &err);
	else
		FUZZ_CHECK(count <= EVM_ABI_MAX_COMPONENTS);
}

/* One line of Solidity that declares the item says what the item says. */
static void
try_item_text(struct evm_arena *arena, const struct evm_abi_item *item)
{
	struct evm_abi one = {item, 1};
	const struct evm_abi_item *found;
	struct evm_abi again;
	struct evm_bytes line;
	struct evm_bytes json;
	struct evm_bytes json_again;

	line.data = (const uint8_t *) evm_abi_item_text(arena, item);
	if (line.data == NULL)
		return;
	line.len = strlen((const char *) line.data);
	FUZZ_CHECK(evm_abi_find(&found, &one, item->kind, item->signature, NULL) == EVM_OK);
	if (evm_abi_to_json(arena, &json, &one) != EVM_OK)
		return;
	switch (evm_abi_parse_fragments(arena, &again, &line, 1, NULL, NULL))
	{
		case EVM_ERR_MEMORY:
			return;
		case EVM_OK:
			break;
		default:
			FUZZ_CHECK(!"the text of an item parses");
	}
	if (evm_abi_to_json(arena, &json_again, &again) != EVM_OK)
		return;
	FUZZ_CHECK(json.len == json_again.len && memcmp(json.data, json_again.data, json.len) == 0);
}

/* A line is a fragment. */
static void
try_fragments(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct evm_bytes fragments[FRAGMENTS_MAX];
	size_t count = 0;
	size_t which;
	struct evm_abi abi;
	struct evm_error err;
	enum evm_status status;

	while (len > 0 && count < FRAGMENTS_MAX)
	{
		const uint8_t *end = memchr(data, '\n', len);
		size_t line = end == NULL ? len : (size_t) (end - data);

		fragments[count++] = (struct evm_bytes){data, line};
		data += end == NULL ? line : line + 1;
		len -= end == NULL ? line : line + 1;
	}
	status = evm_abi_parse_fragments(arena, &abi, fragments, count, &which, &err);
	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		FUZZ_CHECK(count == 0 || (which < count && err.position <= fragments[which].len));
		return;
	}
	for (size_t i = 0; i < abi.item_count; i++)
		try_item_text(arena, &abi.items[i]);
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	try_type(arena, (const char *) data, len);
	try_params(arena, (const char *) data, len);
	try_fragments(arena, data, len);
}
