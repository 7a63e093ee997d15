/*
 * abi_parse.c
 *	  Reads types and parameter lists as people write them in Solidity.
 *
 * A recursive descent over the text; depth is counted before each recursion.
 */
#include "evm/abi_internal.h"

#include <string.h>

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
starts_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/* ---- words and punctuation ------------------------------------------------------- */

void
evm_abi_skip_blanks(struct evm_abi_parser *parser)
{
	while (parser->pos < parser->len && is_blank(parser->text[parser->pos]))
		parser->pos++;
}

bool
evm_abi_at_end(struct evm_abi_parser *parser)
{
	evm_abi_skip_blanks(parser);
	return parser->pos == parser->len;
}

static bool
next_is(struct evm_abi_parser *parser, char wanted)
{
	evm_abi_skip_blanks(parser);
	return parser->pos < parser->len && parser->text[parser->pos] == wanted;
}

bool
evm_abi_accept(struct evm_abi_parser *parser, char wanted)
{
	if (!next_is(parser, wanted))
		return false;
	parser->pos++;
	return true;
}

struct evm_abi_slice
evm_abi_peek_word(struct evm_abi_parser *parser)
{
	struct evm_abi_slice word = {parser->text, 0};
	size_t end;

	evm_abi_skip_blanks(parser);
	word.text = parser->text + parser->pos;
	if (parser->pos == parser->len || !starts_word(parser->text[parser->pos]))
		return word;
	end = parser->pos + 1;
	while (end < parser->len && (starts_word(parser->text[end]) || is_digit(parser->text[end])))
		end++;
	word.len = end - parser->pos;
	return word;
}

void
evm_abi_take_word(struct evm_abi_parser *parser, struct evm_abi_slice word)
{
	parser->pos = (size_t) (word.text - parser->text) + word.len;
}

bool
evm_abi_slice_is(struct evm_abi_slice slice, const char *word)
{
	return strlen(word) == slice.len && memcmp(word, slice.text, slice.len) == 0;
}

bool
evm_abi_accept_word(struct evm_abi_parser *parser, const char *wanted)
{
	struct evm_abi_slice word = evm_abi_peek_word(parser);

	if (!evm_abi_slice_is(word, wanted))
		return false;
	evm_abi_take_word(parser, word);
	return true;
}

enum evm_status
evm_abi_expected(struct evm_abi_parser *parser, const char *what)
{
	struct evm_abi_slice word = evm_abi_peek_word(parser);

	if (parser->pos == parser->len)
		return evm_fail(parser->err, EVM_ERR_SYNTAX, parser->pos, "expected %s, but the text ends",
						what);
	if (word.len == 0)
		return evm_fail(parser->err, EVM_ERR_SYNTAX, parser->pos, "expected %s, got \"%c\"", what,
						parser->text[parser->pos]);
	return evm_fail(parser->err, EVM_ERR_SYNTAX, parser->pos, "expected %s, got \"%.*s\"", what,
					evm_abi_shown(word.len), word.text);
}

/* ---- types --------------------------------------------------------------------- */

static enum evm_status
take_length(struct evm_abi_parser *parser, uint64_t *out)
{
	uint64_t length = 0;
	size_t start;

	evm_abi_skip_blanks(parser);
	start = parser->pos;
	while (parser->pos < parser->len && is_digit(parser->text[parser->pos]))
	{
		uint64_t digit = (uint64_t) (parser->text[parser->pos] - '0');

		/* The highest value means a dynamic length and is no length. */
		if (length > (EVM_ABI_DYNAMIC_LENGTH - 1 - digit) / 10)
			return evm_fail(parser->err, EVM_ERR_LIMIT, start, "the array length is too large");
		length = length * 10 + digit;
		parser->pos++;
	}
	if (parser->pos == start)
		return evm_abi_expected(parser, "a length or \"]\"");
	*out = length;
	return EVM_OK;
}

enum evm_status
evm_abi_take_suffixes(struct evm_abi_parser *parser, const struct evm_abi_type **type)
{
	while (next_is(parser, '['))
	{
		size_t start = parser->pos;
		uint64_t length = EVM_ABI_DYNAMIC_LENGTH;
		enum evm_status status = EVM_OK;

		parser->pos++;
		if (!next_is(parser, ']'))
			status = take_length(parser, &length);
		if (status != EVM_OK)
			return status;
		if (!evm_abi_accept(parser, ']'))
			return evm_abi_expected(parser, "\"]\"");
		status = evm_abi_type_array(parser->arena, type, *type, length, start, parser->err);
		if (status != EVM_OK)
			return status;
	}
	return EVM_OK;
}

static enum evm_status
take_tuple(struct evm_abi_parser *parser, const struct evm_abi_type **out)
{
	const struct evm_abi_param *components;
	size_t count;
	size_t start = parser->pos;
	enum evm_status status;

	if (parser->depth >= EVM_ABI_MAX_DEPTH)
		return evm_fail(parser->err, EVM_ERR_LIMIT, start, "the type is nested deeper than %d",
						EVM_ABI_MAX_DEPTH);
	parser->depth++;
	status = evm_abi_take_params(parser, &components, &count, EVM_ABI_INDEXED_REFUSED);
	parser->depth--;
	if (status != EVM_OK)
		return status;
	return evm_abi_type_tuple(parser->arena, out, components, count, start, parser->err);
}

static enum evm_status
unknown_type(struct evm_abi_parser *parser, struct evm_abi_slice word)
{
	return evm_fail(parser->err, EVM_ERR_SYNTAX, (size_t) (word.text - parser->text),
					"unknown type \"%.*s\"", evm_abi_shown(word.len), word.text);
}

static enum evm_status
take_named_type(struct evm_abi_parser *parser, const struct evm_abi_type **out)
{
	struct evm_abi_slice word = evm_abi_peek_word(parser);
	enum evm_status status;

	if (word.len == 0)
		return evm_abi_expected(parser, "a type");
	status = evm_abi_type_elementary(parser->arena, out, word.text, word.len);
	if (status != EVM_OK)
		return evm_fail(parser->err, status, parser->pos, "out of memory for types");
	if (*out == NULL && parser->scope != NULL)
	{
		status = evm_abi_scope_find(parser, out, word);
		if (status != EVM_OK)
			return status;
	}
	if (*out == NULL)
		return unknown_type(parser, word);
	evm_abi_take_word(parser, word);
	if ((*out)->kind == EVM_ABI_ADDRESS)
		(void) evm_abi_accept_word(parser, "payable");
	return EVM_OK;
}

enum evm_status
evm_abi_take_type(struct evm_abi_parser *parser, const struct evm_abi_type **out)
{
	enum evm_status status;
	struct evm_abi_slice word = evm_abi_peek_word(parser);

	if (evm_abi_slice_is(word, "tuple"))
	{
		evm_abi_take_word(parser, word);
		if (!next_is(parser, '('))
			return evm_abi_expected(parser, "\"(\" and the components of the tuple");
	}
	if (next_is(parser, '('))
		status = take_tuple(parser, out);
	else
		status = take_named_type(parser, out);
	if (status != EVM_OK)
		return status;
	return evm_abi_take_suffixes(parser, out);
}

/* ---- parameters ------------------------------------------------------------------ */

static bool
is_data_location(struct evm_abi_slice word)
{
	return evm_abi_slice_is(word, "memory") || evm_abi_slice_is(word, "calldata") ||
		evm_abi_slice_is(word, "storage");
}

/* "indexed" and a data location, each at most once. */
static enum evm_status
take_param_modifiers(struct evm_abi_parser *parser, struct evm_abi_param *param,
					 enum evm_abi_indexing indexing)
{
	bool located = false;

	for (;;)
	{
		struct evm_abi_slice word = evm_abi_peek_word(parser);

		if (evm_abi_slice_is(word, "indexed") && !param->indexed)
		{
			if (indexing == EVM_ABI_INDEXED_REFUSED)
				return evm_fail(parser->err, EVM_ERR_SYNTAX, parser->pos,
								"only the parameters of an event are indexed");
			param->indexed = true;
		}
		else if (is_data_location(word) && !located)
		{
			if (!evm_abi_is_reference(param->type))
				return evm_fail(parser->err, EVM_ERR_SYNTAX, parser->pos,
								"only arrays, structs, bytes and strings have a data location");
			located = true;
		}
		else
			return EVM_OK;
		evm_abi_take_word(parser, word);
	}
}

enum evm_status
evm_abi_take_param(struct evm_abi_parser *parser, struct evm_abi_param *out,
				   enum evm_abi_indexing indexing)
{
	struct evm_abi_slice word;
	enum evm_status status;

	out->name = "";
	out->indexed = false;
	status = evm_abi_take_type(parser, &out->type);
	if (status == EVM_OK)
		status = take_param_modifiers(parser, out, indexing);
	if (status != EVM_OK)
		return status;
	word = evm_abi_peek_word(parser);
	if (word.len == 0)
		return EVM_OK;
	out->name = evm_arena_strndup(parser->arena, word.text, word.len);
	if (out->name == NULL)
		return evm_fail(parser->err, EVM_ERR_MEMORY, parser->pos, "out of memory for names");
	evm_abi_take_word(parser, word);
	return EVM_OK;
}

/* Parameters up to what does not continue with a comma. */
static enum evm_status
take_param_list(struct evm_abi_parser *parser, const struct evm_abi_param **out, size_t *count,
				enum evm_abi_indexing indexing)
{
	struct evm_abi_list list = {NULL, 0, 0};

	do
	{
		struct evm_abi_param *param;
		enum evm_status status;

		if (list.count == EVM_ABI_MAX_COMPONENTS)
			return evm_fail(parser->err, EVM_ERR_LIMIT, parser->pos, "more than %d parameters",
							EVM_ABI_MAX_COMPONENTS);
		param = evm_abi_list_push(parser->arena, &list, sizeof(*param));
		if (param == NULL)
			return evm_fail(parser->err, EVM_ERR_MEMORY, parser->pos,
							"out of memory for parameters");
		status = evm_abi_take_param(parser, param, indexing);
		if (status != EVM_OK)
			return status;
	} while (evm_abi_accept(parser, ','));
	*out = list.data;
	*count = list.count;
	return EVM_OK;
}

enum evm_status
evm_abi_take_params(struct evm_abi_parser *parser, const struct evm_abi_param **out, size_t *count,
					enum evm_abi_indexing indexing)
{
	enum evm_status status;

	*out = NULL;
	*count = 0;
	if (!evm_abi_accept(parser, '('))
		return evm_abi_expected(parser, "\"(\"");
	if (evm_abi_accept(parser, ')'))
		return EVM_OK;
	status = take_param_list(parser, out, count, indexing);
	if (status != EVM_OK)
		return status;
	if (!evm_abi_accept(parser, ')'))
		return evm_abi_expected(parser, "\",\" or \")\"");
	return EVM_OK;
}

/* ---- entry points ------------------------------------------------------------------ */

enum evm_status
evm_abi_parse_type(struct evm_arena *arena, const struct evm_abi_type **out, const char *text,
				   size_t len, struct evm_error *err)
{
	struct evm_abi_parser parser = {.arena = arena, .text = text, .len = len, .err = err};
	enum evm_status status = evm_abi_take_type(&parser, out);

	if (status == EVM_OK && !evm_abi_at_end(&parser))
		return evm_abi_expected(&parser, "the end of the type");
	return status;
}

enum evm_status
evm_abi_parse_params(struct evm_arena *arena, const struct evm_abi_param **out, size_t *count,
					 const char *text, size_t len, struct evm_error *err)
{
	struct evm_abi_parser parser = {.arena = arena, .text = text, .len = len, .err = err};
	enum evm_status status;

	*out = NULL;
	*count = 0;
	if (evm_abi_at_end(&parser))
		return EVM_OK;
	status = take_param_list(&parser, out, count, EVM_ABI_INDEXED_ALLOWED);
	if (status == EVM_OK && !evm_abi_at_end(&parser))
		return evm_abi_expected(&parser, "\",\" or the end");
	return status;
}
