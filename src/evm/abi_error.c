/*
 * abi_error.c
 *	  What the data of a revert says.
 *
 * The data is the callee's and may be anything: whatever does not decode is
 * shown as bytes, and no text leaves here with characters that cannot be printed.
 */
#include "evm/abi_internal.h"
#include "evm/hex.h"
#include "evm/word.h"

#include <string.h>

#define TEXT_MAX_BYTES 1024
#define UNKNOWN_SHOWN_BYTES 64
/* "0x", 64 digits and a NUL */
#define QUANTITY_TEXT_BYTES 67
#define ELLIPSIS "\xe2\x80\xa6"

static const struct evm_abi_type string_type = {.kind = EVM_ABI_STRING,
												.dynamic = true,
												.head_size = EVM_ABI_WORD_BYTES,
												.nodes = 1};
static const struct evm_abi_type uint256_type = {.kind = EVM_ABI_UINT,
												 .size = 256,
												 .head_size = EVM_ABI_WORD_BYTES,
												 .nodes = 1};
static const struct evm_abi_param error_params[] = {{"", &string_type, false}};
static const struct evm_abi_param panic_params[] = {{"", &uint256_type, false}};

/* Error(string) and Panic(uint256), which the compiler itself makes. */
static const uint8_t error_selector[EVM_ABI_SELECTOR_BYTES] = {0x08, 0xc3, 0x79, 0xa0};
static const uint8_t panic_selector[EVM_ABI_SELECTOR_BYTES] = {0x4e, 0x48, 0x7b, 0x71};

const char *
evm_abi_panic_text(uint64_t code)
{
	switch (code)
	{
		case 0x00:
			return "generic compiler panic";
		case 0x01:
			return "assertion failed";
		case 0x11:
			return "arithmetic overflow or underflow";
		case 0x12:
			return "division or modulo by zero";
		case 0x21:
			return "invalid value for an enum";
		case 0x22:
			return "incorrectly encoded storage byte array";
		case 0x31:
			return "pop of an empty array";
		case 0x32:
			return "array index out of bounds";
		case 0x41:
			return "out of memory";
		case 0x51:
			return "call of an uninitialized function";
		default:
			return NULL;
	}
}

/* Ends the text, with "…" when it was cut. */
static enum evm_status
finish_text(struct evm_revert *out, struct evm_abi_text *text)
{
	if (text->full)
	{
		text->full = false;
		text->limit = 0;
		evm_abi_text_str(text, ELLIPSIS);
	}
	out->text = evm_abi_text_end(text);
	return out->text == NULL ? EVM_ERR_MEMORY : EVM_OK;
}

static enum evm_status
describe_error(struct evm_arena *arena, struct evm_revert *out, struct evm_abi_value *args)
{
	struct evm_abi_text text = {.arena = arena, .limit = TEXT_MAX_BYTES};

	out->kind = EVM_REVERT_ERROR;
	out->args = args;
	evm_abi_show_string(&text, args[0].bytes.data, args[0].bytes.len);
	return finish_text(out, &text);
}

/* "0x11", two digits at least, as Solidity's manual writes the codes. */
static void
write_panic_code(struct evm_abi_text *text, const struct evm_word *code)
{
	char digits[QUANTITY_TEXT_BYTES];

	(void) evm_quantity_encode(digits, code);
	evm_abi_text_str(text, evm_word_bits(code) <= 4 ? "0x0" : "0x");
	evm_abi_text_str(text, digits + strlen("0x"));
}

static enum evm_status
describe_panic(struct evm_arena *arena, struct evm_revert *out, struct evm_abi_value *args)
{
	struct evm_abi_text text = {.arena = arena, .limit = TEXT_MAX_BYTES};
	const char *meaning = NULL;

	out->kind = EVM_REVERT_PANIC;
	out->args = args;
	if (evm_word_to_u64(&out->panic_code, &args[0].word))
		meaning = evm_abi_panic_text(out->panic_code);
	else
		out->panic_code = UINT64_MAX;
	evm_abi_text_str(&text, "panic ");
	write_panic_code(&text, &args[0].word);
	if (meaning != NULL)
	{
		evm_abi_text_str(&text, ": ");
		evm_abi_text_str(&text, meaning);
	}
	return finish_text(out, &text);
}

static enum evm_status
describe_custom(struct evm_arena *arena, struct evm_revert *out, const struct evm_abi_item *error,
				struct evm_abi_value *args)
{
	struct evm_abi_text text = {.arena = arena, .limit = TEXT_MAX_BYTES};

	out->kind = EVM_REVERT_CUSTOM;
	out->error = error;
	out->args = args;
	evm_abi_show_string(&text, (const uint8_t *) error->name, strlen(error->name));
	evm_abi_show_values(&text, error->inputs, args, error->input_count);
	return finish_text(out, &text);
}

static enum evm_status
describe_unknown(struct evm_arena *arena, struct evm_revert *out, const uint8_t *data, size_t len)
{
	struct evm_abi_text text = {.arena = arena};
	char digits[2 * UNKNOWN_SHOWN_BYTES];
	size_t shown = len < UNKNOWN_SHOWN_BYTES ? len : UNKNOWN_SHOWN_BYTES;

	out->kind = EVM_REVERT_UNKNOWN;
	evm_hex_digits(digits, data, shown);
	evm_abi_text_str(&text, "0x");
	evm_abi_text_add(&text, digits, 2 * shown);
	if (len > UNKNOWN_SHOWN_BYTES)
		evm_abi_text_str(&text, ELLIPSIS);
	return finish_text(out, &text);
}

static enum evm_status
describe_empty(struct evm_arena *arena, struct evm_revert *out)
{
	struct evm_abi_text text = {.arena = arena};

	out->kind = EVM_REVERT_EMPTY;
	evm_abi_text_str(&text, "reverted without a reason");
	return finish_text(out, &text);
}

/* The arguments behind a selector; NULL in *args when they do not decode. */
static enum evm_status
decode_args(struct evm_arena *arena, struct evm_abi_value **args,
			const struct evm_abi_param *params, size_t count, const uint8_t *data, size_t len)
{
	enum evm_status status =
		evm_abi_decode(arena, args, params, count, data + EVM_ABI_SELECTOR_BYTES,
					   len - EVM_ABI_SELECTOR_BYTES, NULL);

	if (status != EVM_OK)
		*args = NULL;
	return status == EVM_ERR_MEMORY ? EVM_ERR_MEMORY : EVM_OK;
}

/* Leaves out alone when no error of the ABI has the selector and decodes. */
static enum evm_status
decode_custom(struct evm_arena *arena, struct evm_revert *out, const struct evm_abi *abi,
			  const uint8_t *data, size_t len)
{
	for (size_t i = 0; abi != NULL && i < abi->item_count; i++)
	{
		const struct evm_abi_item *item = &abi->items[i];
		struct evm_abi_value *args;
		enum evm_status status;

		if (item->kind != EVM_ABI_ITEM_ERROR ||
			memcmp(item->hash.b, data, EVM_ABI_SELECTOR_BYTES) != 0)
			continue;
		status = decode_args(arena, &args, item->inputs, item->input_count, data, len);
		if (status != EVM_OK)
			return status;
		if (args != NULL)
			return describe_custom(arena, out, item, args);
	}
	return EVM_OK;
}

static enum evm_status
decode_builtin(struct evm_arena *arena, struct evm_revert *out, const uint8_t *data, size_t len)
{
	struct evm_abi_value *args;
	enum evm_status status = EVM_OK;

	if (memcmp(data, error_selector, EVM_ABI_SELECTOR_BYTES) == 0)
	{
		status = decode_args(arena, &args, error_params, 1, data, len);
		if (status == EVM_OK && args != NULL)
			status = describe_error(arena, out, args);
	}
	else if (memcmp(data, panic_selector, EVM_ABI_SELECTOR_BYTES) == 0)
	{
		status = decode_args(arena, &args, panic_params, 1, data, len);
		if (status == EVM_OK && args != NULL)
			status = describe_panic(arena, out, args);
	}
	return status;
}

enum evm_status
evm_abi_decode_revert(struct evm_arena *arena, struct evm_revert *out, const struct evm_abi *abi,
					  const uint8_t *data, size_t len)
{
	enum evm_status status = EVM_OK;

	memset(out, 0, sizeof(*out));
	if (len == 0)
		return describe_empty(arena, out);
	if (len >= EVM_ABI_SELECTOR_BYTES)
	{
		status = decode_builtin(arena, out, data, len);
		if (status == EVM_OK && out->text == NULL)
			status = decode_custom(arena, out, abi, data, len);
	}
	if (status == EVM_OK && out->text == NULL)
		status = describe_unknown(arena, out, data, len);
	return status;
}
