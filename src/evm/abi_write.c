/*
 * abi_write.c
 *	  Items as text: the JSON form of an ABI, and one line of Solidity an item.
 */
#include "evm/abi_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- types with names in them -------------------------------------------------------- */

/* The type at the bottom of arrays of arrays. */
static const struct evm_abi_type *
element_of(const struct evm_abi_type *type)
{
	while (type->kind == EVM_ABI_ARRAY)
		type = type->element;
	return type;
}

/* "[2][]", outermost last. */
static void
write_suffixes(struct evm_abi_text *text, const struct evm_abi_type *type)
{
	if (type->kind != EVM_ABI_ARRAY)
		return;
	write_suffixes(text, type->element);
	evm_abi_text_str(text, "[");
	if (type->length != EVM_ABI_DYNAMIC_LENGTH)
		evm_abi_text_number(text, type->length);
	evm_abi_text_str(text, "]");
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void
write_json_string(struct evm_abi_text *text, const char *string)
{
	char escape[sizeof("\\u0000")];

	evm_abi_text_str(text, "\"");
	for (const char *c = string; *c != '\0'; c++)
	{
		if (*c == '"' || *c == '\\')
		{
			evm_abi_text_str(text, "\\");
			evm_abi_text_add(text, c, 1);
		}
		else if ((unsigned char) *c < 0x20)
		{
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned) (unsigned char) *c);
			evm_abi_text_str(text, escape);
		}
		else
			evm_abi_text_add(text, c, 1);
	}
	evm_abi_text_str(text, "\"");
}

static void write_json_params(struct evm_abi_text *text, const struct evm_abi_param *params,
							  size_t count, bool of_event);

static void
write_json_param(struct evm_abi_text *text, const struct evm_abi_param *param, bool of_event)
{
	const struct evm_abi_type *element = element_of(param->type);

	evm_abi_text_str(text, "{\"name\":");
	write_json_string(text, param->name);
	evm_abi_text_str(text, ",\"type\":\"");
	if (element->kind == EVM_ABI_TUPLE)
	{
		evm_abi_text_str(text, "tuple");
		write_suffixes(text, param->type);
		evm_abi_text_str(text, "\",\"components\":");
		write_json_params(text, element->components, element->component_count, false);
	}
	else
	{
		evm_abi_text_type(text, param->type);
		evm_abi_text_str(text, "\"");
	}
	if (of_event)
		evm_abi_text_str(text, param->indexed ? ",\"indexed\":true" : ",\"indexed\":false");
	evm_abi_text_str(text, "}");
}

static void
write_json_params(struct evm_abi_text *text, const struct evm_abi_param *params, size_t count,
				  bool of_event)
{
	evm_abi_text_str(text, "[");
	for (size_t i = 0; i < count && !text->full; i++)
	{
		if (i > 0)
			evm_abi_text_str(text, ",");
		write_json_param(text, &params[i], of_event);
	}
	evm_abi_text_str(text, "]");
}

static const char *
mutability_word(enum evm_abi_mutability mutability)
{
	static const char *const words[] = {
		[EVM_ABI_NONPAYABLE] = "nonpayable",
		[EVM_ABI_PAYABLE] = "payable",
		[EVM_ABI_VIEW] = "view",
		[EVM_ABI_PURE] = "pure",
	};

	return words[mutability];
}

static void
write_json_item(struct evm_abi_text *text, const struct evm_abi_item *item)
{
	bool is_function = item->kind == EVM_ABI_ITEM_FUNCTION;
	bool is_event = item->kind == EVM_ABI_ITEM_EVENT;

	evm_abi_text_str(text, "{\"type\":\"");
	evm_abi_text_str(text, evm_abi_kind_word(item->kind));
	evm_abi_text_str(text, "\"");
	if (evm_abi_is_named(item->kind))
	{
		evm_abi_text_str(text, ",\"name\":");
		write_json_string(text, item->name);
	}
	if (item->kind != EVM_ABI_ITEM_FALLBACK && item->kind != EVM_ABI_ITEM_RECEIVE)
	{
		evm_abi_text_str(text, ",\"inputs\":");
		write_json_params(text, item->inputs, item->input_count, is_event);
	}
	if (is_function)
	{
		evm_abi_text_str(text, ",\"outputs\":");
		write_json_params(text, item->outputs, item->output_count, false);
	}
	if (is_event)
		evm_abi_text_str(text, item->anonymous ? ",\"anonymous\":true" : ",\"anonymous\":false");
	else if (item->kind != EVM_ABI_ITEM_ERROR)
	{
		evm_abi_text_str(text, ",\"stateMutability\":\"");
		evm_abi_text_str(text, mutability_word(item->mutability));
		evm_abi_text_str(text, "\"");
	}
	evm_abi_text_str(text, "}");
}

enum evm_status
evm_abi_to_json(struct evm_arena *arena, struct evm_bytes *out, const struct evm_abi *abi)
{
	struct evm_abi_text text = {.arena = arena};

	evm_abi_text_str(&text, "[");
	for (size_t i = 0; i < abi->item_count && !text.full; i++)
	{
		if (i > 0)
			evm_abi_text_str(&text, ",");
		write_json_item(&text, &abi->items[i]);
	}
	evm_abi_text_str(&text, "]");
	out->data = (const uint8_t *) evm_abi_text_end(&text);
	out->len = text.len;
	return out->data == NULL ? EVM_ERR_MEMORY : EVM_OK;
}

/* ---- one line of Solidity ---------------------------------------------------------------- */

static void write_params(struct evm_abi_text *text, const struct evm_abi_param *params,
						 size_t count);

static void
write_param(struct evm_abi_text *text, const struct evm_abi_param *param)
{
	const struct evm_abi_type *element = element_of(param->type);

	if (element->kind == EVM_ABI_TUPLE)
	{
		write_params(text, element->components, element->component_count);
		write_suffixes(text, param->type);
	}
	else
		evm_abi_text_type(text, param->type);
	if (param->indexed)
		evm_abi_text_str(text, " indexed");
	if (param->name[0] != '\0')
	{
		evm_abi_text_str(text, " ");
		evm_abi_text_str(text, param->name);
	}
}

static void
write_params(struct evm_abi_text *text, const struct evm_abi_param *params, size_t count)
{
	evm_abi_text_str(text, "(");
	for (size_t i = 0; i < count && !text->full; i++)
	{
		if (i > 0)
			evm_abi_text_str(text, ", ");
		write_param(text, &params[i]);
	}
	evm_abi_text_str(text, ")");
}

char *
evm_abi_item_text(struct evm_arena *arena, const struct evm_abi_item *item)
{
	struct evm_abi_text text = {.arena = arena};

	evm_abi_text_str(&text, evm_abi_kind_word(item->kind));
	if (item->name[0] != '\0')
	{
		evm_abi_text_str(&text, " ");
		evm_abi_text_str(&text, item->name);
	}
	write_params(&text, item->inputs, item->input_count);
	if (item->anonymous)
		evm_abi_text_str(&text, " anonymous");
	if (item->kind == EVM_ABI_ITEM_FALLBACK || item->kind == EVM_ABI_ITEM_RECEIVE)
		evm_abi_text_str(&text, " external");
	if (item->mutability != EVM_ABI_NONPAYABLE)
	{
		evm_abi_text_str(&text, " ");
		evm_abi_text_str(&text, mutability_word(item->mutability));
	}
	if (item->output_count > 0)
	{
		evm_abi_text_str(&text, " returns ");
		write_params(&text, item->outputs, item->output_count);
	}
	return evm_abi_text_end(&text);
}
