/*
 * abi_text.c
 *	  Text that grows in an arena, and the canonical names of types in it.
 *
 * Appending never fails on its own: a writer appends all it has and looks at
 * the end whether there was room.
 */
#include "evm/abi_internal.h"

#include <stdio.h>
#include <string.h>

#define TEXT_FIRST_BYTES 64
/* 20 digits and a NUL */
#define NUMBER_BYTES 21

/* Makes room for extra bytes and a NUL. */
static bool
text_reserve(struct evm_abi_text *text, size_t extra)
{
	size_t wanted;
	size_t size = text->size == 0 ? TEXT_FIRST_BYTES : text->size;
	char *bigger;

	if (extra > SIZE_MAX / 4 - text->len)
		return false;
	wanted = text->len + extra + 1;
	if (wanted <= text->size)
		return true;
	while (size < wanted)
		size *= 2;
	bigger = evm_arena_alloc(text->arena, size);
	if (bigger == NULL)
		return false;
	if (text->len > 0)
		memcpy(bigger, text->data, text->len);
	text->data = bigger;
	text->size = size;
	return true;
}

void
evm_abi_text_add(struct evm_abi_text *text, const char *bytes, size_t len)
{
	if (text->full)
		return;
	if ((text->limit != 0 && len > text->limit - text->len) || !text_reserve(text, len))
	{
		text->full = true;
		return;
	}
	if (len > 0)
		memcpy(text->data + text->len, bytes, len);
	text->len += len;
}

void
evm_abi_text_str(struct evm_abi_text *text, const char *string)
{
	evm_abi_text_add(text, string, strlen(string));
}

void
evm_abi_text_number(struct evm_abi_text *text, uint64_t number)
{
	char digits[NUMBER_BYTES];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long) number);
	evm_abi_text_str(text, digits);
}

void
evm_abi_text_types(struct evm_abi_text *text, const struct evm_abi_param *params, size_t count)
{
	evm_abi_text_str(text, "(");
	for (size_t i = 0; i < count && !text->full; i++)
	{
		if (i > 0)
			evm_abi_text_str(text, ",");
		evm_abi_text_type(text, params[i].type);
	}
	evm_abi_text_str(text, ")");
}

void
evm_abi_text_type(struct evm_abi_text *text, const struct evm_abi_type *type)
{
	char name[EVM_ABI_LEAF_NAME_BYTES];

	switch (type->kind)
	{
		case EVM_ABI_TUPLE:
			evm_abi_text_types(text, type->components, type->component_count);
			break;
		case EVM_ABI_ARRAY:
			evm_abi_text_type(text, type->element);
			evm_abi_text_str(text, "[");
			if (type->length != EVM_ABI_DYNAMIC_LENGTH)
				evm_abi_text_number(text, type->length);
			evm_abi_text_str(text, "]");
			break;
		default:
			evm_abi_leaf_name(name, type);
			evm_abi_text_str(text, name);
			break;
	}
}

char *
evm_abi_text_end(struct evm_abi_text *text)
{
	if (!text_reserve(text, 0) || (text->full && text->limit == 0))
		return NULL;
	text->data[text->len] = '\0';
	return text->data;
}

char *
evm_abi_type_text(struct evm_arena *arena, const struct evm_abi_type *type)
{
	struct evm_abi_text text = {.arena = arena};

	evm_abi_text_type(&text, type);
	return evm_abi_text_end(&text);
}
