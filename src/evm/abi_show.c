/*
 * abi_show.c
 *	  Values and places in messages, for people to read.
 */
#include "evm/abi_internal.h"
#include "evm/hex.h"
#include "evm/address.h"
#include "evm/word.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a value that are shown before "…". */
#define SHOWN_VALUE_BYTES 64
#define ELLIPSIS "\xe2\x80\xa6"

int
evm_abi_shown(size_t len)
{
	return len < EVM_ABI_SHOWN_BYTES ? (int) len : EVM_ABI_SHOWN_BYTES;
}

/* ---- where ------------------------------------------------------------------------ */

static size_t
format_step(char *out, size_t size, const struct evm_abi_step *step, bool first)
{
	int written;
	const char *name = step->param == NULL ? "" : step->param->name;
	int shown = evm_abi_shown(strlen(name));
	unsigned long long index = step->index;

	if (first)
		written = snprintf(out, size, name[0] == '\0' ? "argument %llu" : "argument %llu (%.*s)",
						   index + 1, shown, name);
	else if (step->param == NULL)
		written = snprintf(out, size, "[%llu]", index);
	else if (name[0] == '\0')
		written = snprintf(out, size, ".%llu", index);
	else
		written = snprintf(out, size, ".%.*s", shown, name);
	if (written < 0)
		return 0;
	return (size_t) written < size ? (size_t) written : size - 1;
}

enum evm_status
evm_abi_fail_at(const struct evm_abi_path *path, struct evm_error *err, enum evm_status status,
				size_t position, const char *format, ...)
{
	char place[EVM_ERROR_MESSAGE_BYTES / 2];
	char cause[EVM_ERROR_MESSAGE_BYTES];
	size_t len = 0;
	va_list args;

	if (err == NULL)
		return status;
	place[0] = '\0';
	for (unsigned i = 0; i < path->depth; i++)
		len += format_step(place + len, sizeof(place) - len, &path->steps[i], i == 0);
	va_start(args, format);
	if (vsnprintf(cause, sizeof(cause), format, args) < 0)
		cause[0] = '\0';
	va_end(args);
	return evm_fail(err, status, position, "%s%s%s", place, path->depth > 0 ? ": " : "", cause);
}

/* ---- values -------------------------------------------------------------------------- */

/* Characters that are invisible, or that reorder what follows them. */
static bool
is_printable(uint32_t character)
{
	if (character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0xad)
		return false;
	if (character >= 0x200b && character <= 0x200f)
		return false; /* zero width, left-to-right and right-to-left marks */
	if (character >= 0x2028 && character <= 0x202e)
		return false; /* line separators, embeddings and overrides */
	if (character >= 0x2060 && character <= 0x206f)
		return false; /* invisible operators, isolates */
	if (character >= 0xfff0 && character <= 0xfffb)
		return false; /* interlinear annotation */
	if (character >= 0xe0000 && character <= 0xe0fff)
		return false; /* tags */
	return character != 0x061c && character != 0xfeff && (character & 0xfffe) != 0xfffe;
}

void
evm_abi_show_string(struct evm_abi_text *text, const uint8_t *data, size_t len)
{
	size_t pos = 0;

	while (pos < len && !text->full)
	{
		uint32_t character;
		size_t taken = evm_utf8_next(&character, data + pos, len - pos);
		char escape[sizeof("\\u{10ffff}")];

		if (taken == 0)
		{
			snprintf(escape, sizeof(escape), "\\x%02x", data[pos]);
			evm_abi_text_str(text, escape);
			taken = 1;
		}
		else if (is_printable(character))
			evm_abi_text_add(text, (const char *) data + pos, taken);
		else
		{
			snprintf(escape, sizeof(escape), "\\u{%x}", (unsigned) character);
			evm_abi_text_str(text, escape);
		}
		pos += taken;
	}
}

static void
show_bytes(struct evm_abi_text *text, const uint8_t *data, size_t len)
{
	char digits[2 * SHOWN_VALUE_BYTES];
	size_t shown = len < SHOWN_VALUE_BYTES ? len : SHOWN_VALUE_BYTES;

	evm_hex_digits(digits, data, shown);
	evm_abi_text_str(text, "0x");
	evm_abi_text_add(text, digits, 2 * shown);
	if (len > SHOWN_VALUE_BYTES)
		evm_abi_text_str(text, ELLIPSIS);
}

static void
show_address(struct evm_abi_text *text, struct evm_bytes bytes)
{
	struct evm_address address;
	char formatted[EVM_ADDRESS_TEXT_BYTES];

	memcpy(address.b, bytes.data, sizeof(address.b));
	evm_address_format(formatted, &address);
	evm_abi_text_str(text, formatted);
}

static void
show_integer(struct evm_abi_text *text, const struct evm_word *word, bool is_signed)
{
	char digits[EVM_WORD_DECIMAL_BYTES];

	evm_word_to_decimal(digits, word, is_signed);
	evm_abi_text_str(text, digits);
}

static void
show_array(struct evm_abi_text *text, const struct evm_abi_type *type,
		   const struct evm_abi_value *value)
{
	evm_abi_text_str(text, "[");
	for (size_t i = 0; i < value->item_count && !text->full; i++)
	{
		if (i > 0)
			evm_abi_text_str(text, ", ");
		evm_abi_show_value(text, type->element, &value->items[i]);
	}
	evm_abi_text_str(text, "]");
}

void
evm_abi_show_value(struct evm_abi_text *text, const struct evm_abi_type *type,
				   const struct evm_abi_value *value)
{
	if (value->hashed)
	{
		show_bytes(text, value->bytes.data, value->bytes.len);
		return;
	}
	switch (type->kind)
	{
		case EVM_ABI_UINT:
		case EVM_ABI_INT:
			show_integer(text, &value->word, type->kind == EVM_ABI_INT);
			break;
		case EVM_ABI_BOOL:
			evm_abi_text_str(text, evm_word_is_zero(&value->word) ? "false" : "true");
			break;
		case EVM_ABI_ADDRESS:
			show_address(text, value->bytes);
			break;
		case EVM_ABI_FIXED_BYTES:
		case EVM_ABI_FUNCTION:
		case EVM_ABI_BYTES:
			show_bytes(text, value->bytes.data, value->bytes.len);
			break;
		case EVM_ABI_STRING:
			evm_abi_text_str(text, "\"");
			evm_abi_show_string(text, value->bytes.data, value->bytes.len);
			evm_abi_text_str(text, "\"");
			break;
		case EVM_ABI_ARRAY:
			show_array(text, type, value);
			break;
		case EVM_ABI_TUPLE:
			evm_abi_show_values(text, type->components, value->items, value->item_count);
			break;
	}
}

void
evm_abi_show_values(struct evm_abi_text *text, const struct evm_abi_param *params,
					const struct evm_abi_value *values, size_t count)
{
	evm_abi_text_str(text, "(");
	for (size_t i = 0; i < count && !text->full; i++)
	{
		const char *name = params[i].name;

		if (i > 0)
			evm_abi_text_str(text, ", ");
		if (name[0] != '\0')
		{
			evm_abi_show_string(text, (const uint8_t *) name, strlen(name));
			evm_abi_text_str(text, ": ");
		}
		evm_abi_show_value(text, params[i].type, &values[i]);
	}
	evm_abi_text_str(text, ")");
}
