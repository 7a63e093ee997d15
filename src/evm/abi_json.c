/*
 * abi_json.c
 *	  Reads the JSON ABI, as compilers of every age write it.
 *
 * Old ones say "constant" and "payable" instead of "stateMutability" and leave
 * out "type"; libraries have items whose types are no ABI types.  Names may be
 * anything.  Messages say where: "item 3 (transfer), input 2: …".
 */
#include "evm/abi_internal.h"
#include "evm/json.h"

#include <stdio.h>
#include <string.h>

struct reader
{
	struct evm_arena *arena;
	struct evm_error *err;
	const char *name; /* of the item */
	size_t item;
	const char *list; /* "input" or "output" */
	size_t param;     /* of that list, outermost */
	unsigned depth;   /* of components */
	bool foreign;     /* the item has a type that no ABI has */
};

static enum evm_status
fail_item(const struct reader *reader, enum evm_status status, const char *cause)
{
	return evm_fail(reader->err, status, 0, "item %zu (%.*s): %s", reader->item + 1,
					evm_abi_shown(strlen(reader->name)), reader->name, cause);
}

static enum evm_status
fail_param(const struct reader *reader, enum evm_status status, const char *cause)
{
	return evm_fail(reader->err, status, 0, "item %zu (%.*s), %s %zu: %s", reader->item + 1,
					evm_abi_shown(strlen(reader->name)), reader->name, reader->list,
					reader->param + 1, cause);
}

/* A name, "" when there is none; *out stays NULL when it is no string or has a NUL. */
static enum evm_status
read_name(const struct reader *reader, const char **out, const struct evm_json *node)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	*out = "";
	if (evm_json_kind(node) == EVM_JSON_NULL)
		return EVM_OK;
	if (text == NULL || memchr(text, '\0', len) != NULL)
		return fail_item(reader, EVM_ERR_SYNTAX, "a name is not a string, or has a NUL in it");
	*out = evm_arena_strndup(reader->arena, text, len);
	return *out == NULL ? fail_item(reader, EVM_ERR_MEMORY, "out of memory for names") : EVM_OK;
}

/* ---- types ------------------------------------------------------------------------- */

static enum evm_status read_params(struct reader *reader, const struct evm_abi_param **out,
								   size_t *count, const struct evm_json *node);

static bool
starts_with(struct evm_abi_slice word, const char *prefix)
{
	return word.len >= strlen(prefix) && memcmp(word.text, prefix, strlen(prefix)) == 0;
}

/*
 * Library ABIs have "Lib.Enum", "Lib.Struct storage", "IPool", with suffixes of arrays.  A
 * misspelt type such as uint7 is none of them.
 */
static bool
is_foreign_type(struct evm_abi_parser parser)
{
	struct evm_abi_slice word = evm_abi_peek_word(&parser);
	bool dotted = false;

	if (word.len == 0)
		return false;
	evm_abi_take_word(&parser, word);
	while (evm_abi_accept(&parser, '.'))
	{
		dotted = true;
		word = evm_abi_peek_word(&parser);
		if (word.len == 0)
			return false;
		evm_abi_take_word(&parser, word);
	}
	if (!dotted &&
		(starts_with(word, "uint") || starts_with(word, "int") || starts_with(word, "bytes") ||
		 evm_abi_slice_is(word, "tuple")))
		return false;
	while (evm_abi_accept(&parser, '['))
	{
		while (!evm_abi_accept(&parser, ']'))
		{
			if (parser.pos == parser.len || parser.text[parser.pos] < '0' ||
				parser.text[parser.pos] > '9')
				return false;
			parser.pos++;
		}
	}
	(void) evm_abi_accept_word(&parser, "storage");
	return evm_abi_at_end(&parser);
}

static enum evm_status
read_tuple(struct reader *reader, const struct evm_abi_type **out, const struct evm_json *node)
{
	const struct evm_abi_param *components;
	size_t count;
	struct evm_error cause = {.message = ""};
	enum evm_status status;

	if (reader->depth >= EVM_ABI_MAX_DEPTH)
		return fail_param(reader, EVM_ERR_LIMIT, "the type is nested too deep");
	if (evm_json_kind(node) != EVM_JSON_ARRAY)
		return fail_param(reader, EVM_ERR_SYNTAX, "a tuple has no array of components");
	reader->depth++;
	status = read_params(reader, &components, &count, node);
	reader->depth--;
	if (status != EVM_OK || reader->foreign)
		return status;
	status = evm_abi_type_tuple(reader->arena, out, components, count, 0, &cause);
	return status == EVM_OK ? EVM_OK : fail_param(reader, status, cause.message);
}

/* "tuple[2][]": the tuple is in the components, the rest of the text is suffixes. */
static enum evm_status
read_tuple_type(struct reader *reader, struct evm_abi_parser *parser,
				const struct evm_abi_type **out, const struct evm_json *components)
{
	enum evm_status status = read_tuple(reader, out, components);

	if (status != EVM_OK || reader->foreign)
		return status;
	status = evm_abi_take_suffixes(parser, out);
	if (status == EVM_OK && !evm_abi_at_end(parser))
		status = evm_abi_expected(parser, "the end of the type");
	return status == EVM_OK ? EVM_OK : fail_param(reader, status, parser->err->message);
}

static enum evm_status
read_type(struct reader *reader, const struct evm_abi_type **out, const struct evm_json *node)
{
	struct evm_error cause = {.message = ""};
	struct evm_abi_parser parser = {.arena = reader->arena, .depth = reader->depth, .err = &cause};
	struct evm_abi_parser start;
	enum evm_status status;

	parser.text = evm_json_string(evm_json_object_get(node, "type"), &parser.len);
	if (parser.text == NULL)
		return fail_param(reader, EVM_ERR_SYNTAX, "it has no type");
	start = parser;
	if (evm_abi_accept_word(&parser, "tuple") &&
		(evm_abi_at_end(&parser) || parser.text[parser.pos] == '['))
		return read_tuple_type(reader, &parser, out, evm_json_object_get(node, "components"));
	parser = start;
	status = evm_abi_take_type(&parser, out);
	if (status == EVM_OK && !evm_abi_at_end(&parser))
		status = evm_abi_expected(&parser, "the end of the type");
	if (status == EVM_ERR_SYNTAX && is_foreign_type(start))
	{
		reader->foreign = true;
		return EVM_OK;
	}
	return status == EVM_OK ? EVM_OK : fail_param(reader, status, cause.message);
}

static enum evm_status
read_params(struct reader *reader, const struct evm_abi_param **out, size_t *count,
			const struct evm_json *node)
{
	size_t size = evm_json_array_size(node);
	struct evm_abi_param *params;

	*out = NULL;
	*count = size;
	if (size > EVM_ABI_MAX_COMPONENTS)
		return fail_item(reader, EVM_ERR_LIMIT, "it has too many parameters");
	if (size == 0)
		return EVM_OK;
	params = evm_arena_zalloc(reader->arena, size, sizeof(*params));
	if (params == NULL)
		return fail_item(reader, EVM_ERR_MEMORY, "out of memory for parameters");
	for (size_t i = 0; i < size && !reader->foreign; i++)
	{
		const struct evm_json *param = evm_json_array_get(node, i);
		enum evm_status status;

		if (reader->depth == 0)
			reader->param = i;
		if (evm_json_kind(param) != EVM_JSON_OBJECT)
			return fail_param(reader, EVM_ERR_SYNTAX, "it is not an object");
		status = read_name(reader, &params[i].name, evm_json_object_get(param, "name"));
		if (status == EVM_OK)
			status = read_type(reader, &params[i].type, param);
		if (status != EVM_OK)
			return status;
		params[i].indexed = evm_json_is_true(evm_json_object_get(param, "indexed"));
	}
	*out = params;
	return EVM_OK;
}

static enum evm_status
read_param_list(struct reader *reader, const struct evm_abi_param **out, size_t *count,
				const struct evm_json *item, const char *member, const char *list)
{
	const struct evm_json *node = evm_json_object_get(item, member);

	reader->list = list;
	if (evm_json_kind(node) != EVM_JSON_NULL && evm_json_kind(node) != EVM_JSON_ARRAY)
		return fail_item(reader, EVM_ERR_SYNTAX, "its parameters are not an array");
	return read_params(reader, out, count, node);
}

/* ---- items ---------------------------------------------------------------------------- */

static bool
string_is(const struct evm_json *node, const char *wanted)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	return text != NULL && len == strlen(wanted) && memcmp(text, wanted, len) == 0;
}

static enum evm_status
read_kind(const struct reader *reader, enum evm_abi_item_kind *out, const struct evm_json *node)
{
	static const struct
	{
		const char *name;
		enum evm_abi_item_kind kind;
	} kinds[] = {
		{"function", EVM_ABI_ITEM_FUNCTION}, {"event", EVM_ABI_ITEM_EVENT},
		{"error", EVM_ABI_ITEM_ERROR},       {"constructor", EVM_ABI_ITEM_CONSTRUCTOR},
		{"fallback", EVM_ABI_ITEM_FALLBACK}, {"receive", EVM_ABI_ITEM_RECEIVE},
	};

	*out = EVM_ABI_ITEM_FUNCTION;
	if (evm_json_kind(node) == EVM_JSON_NULL)
		return EVM_OK; /* "type" may be left out of a function */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		if (string_is(node, kinds[i].name))
		{
			*out = kinds[i].kind;
			return EVM_OK;
		}
	}
	return fail_item(reader, EVM_ERR_SYNTAX,
					 "its type is not function, event, error, constructor, fallback or receive");
}

static enum evm_status
read_mutability(const struct reader *reader, enum evm_abi_mutability *out,
				const struct evm_json *item)
{
	static const char *const names[] = {
		[EVM_ABI_NONPAYABLE] = "nonpayable",
		[EVM_ABI_PAYABLE] = "payable",
		[EVM_ABI_VIEW] = "view",
		[EVM_ABI_PURE] = "pure",
	};
	const struct evm_json *node = evm_json_object_get(item, "stateMutability");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (string_is(node, names[i]))
		{
			*out = (enum evm_abi_mutability) i;
			return EVM_OK;
		}
	}
	if (evm_json_kind(node) != EVM_JSON_NULL)
		return fail_item(reader, EVM_ERR_SYNTAX,
						 "its stateMutability is not pure, view, nonpayable or payable");
	if (evm_json_is_true(evm_json_object_get(item, "payable")))
		*out = EVM_ABI_PAYABLE;
	else if (evm_json_is_true(evm_json_object_get(item, "constant")))
		*out = EVM_ABI_VIEW;
	else
		*out = EVM_ABI_NONPAYABLE;
	return EVM_OK;
}

/* Only functions return something, and only events have topics. */
static void
drop_what_the_kind_has_not(struct evm_abi_item *item, struct evm_abi_param *inputs)
{
	if (item->kind != EVM_ABI_ITEM_EVENT)
	{
		for (size_t i = 0; i < item->input_count; i++)
			inputs[i].indexed = false;
		item->anonymous = false;
	}
	if (item->kind == EVM_ABI_ITEM_EVENT || item->kind == EVM_ABI_ITEM_ERROR)
		item->mutability = EVM_ABI_NONPAYABLE;
	if (item->kind == EVM_ABI_ITEM_RECEIVE)
		item->mutability = EVM_ABI_PAYABLE;
}

static enum evm_status
read_item(struct reader *reader, struct evm_abi_item *item, const struct evm_json *node)
{
	struct evm_error cause = {.message = ""};
	enum evm_status status;

	if (evm_json_kind(node) != EVM_JSON_OBJECT)
		return fail_item(reader, EVM_ERR_SYNTAX, "it is not an object");
	status = read_name(reader, &item->name, evm_json_object_get(node, "name"));
	if (status == EVM_OK)
	{
		reader->name = item->name;
		status = read_kind(reader, &item->kind, evm_json_object_get(node, "type"));
	}
	if (status == EVM_OK && item->name[0] == '\0' && evm_abi_is_named(item->kind))
		status = fail_item(reader, EVM_ERR_SYNTAX, "it has no name");
	if (!evm_abi_is_named(item->kind))
		item->name = "";
	if (status == EVM_OK)
		status = read_mutability(reader, &item->mutability, node);
	item->anonymous = evm_json_is_true(evm_json_object_get(node, "anonymous"));
	if (status == EVM_OK && item->kind != EVM_ABI_ITEM_FALLBACK &&
		item->kind != EVM_ABI_ITEM_RECEIVE)
		status =
			read_param_list(reader, &item->inputs, &item->input_count, node, "inputs", "input");
	if (status == EVM_OK && item->kind == EVM_ABI_ITEM_FUNCTION)
		status =
			read_param_list(reader, &item->outputs, &item->output_count, node, "outputs", "output");
	if (status != EVM_OK || reader->foreign)
		return status;
	/* The parameters were made by read_params and are still ours to change. */
	drop_what_the_kind_has_not(item, (struct evm_abi_param *) item->inputs);
	status = evm_abi_item_finish(reader->arena, item, 0, &cause);
	return status == EVM_OK ? EVM_OK : fail_item(reader, status, cause.message);
}

static enum evm_status
read_items(struct evm_arena *arena, struct evm_abi *out, size_t *skipped,
		   const struct evm_json *list, struct evm_error *err)
{
	size_t count = evm_json_array_size(list);
	struct evm_abi_item *items;

	if (count > EVM_ABI_MAX_ITEMS)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "the ABI has more than %d items", EVM_ABI_MAX_ITEMS);
	items = evm_arena_zalloc(arena, count, sizeof(*items));
	if (items == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "out of memory for the items");
	for (size_t i = 0; i < count; i++)
	{
		struct reader reader = {.arena = arena, .err = err, .name = "", .item = i, .list = ""};
		struct evm_abi_item item = {.name = ""};
		enum evm_status status = read_item(&reader, &item, evm_json_array_get(list, i));

		if (status != EVM_OK)
			return status;
		if (reader.foreign)
			(*skipped)++;
		else
			items[out->item_count++] = item;
	}
	out->items = items;
	return EVM_OK;
}

enum evm_status
evm_abi_parse_json(struct evm_arena *arena, struct evm_abi *out, size_t *skipped, const char *text,
				   size_t len, struct evm_error *err)
{
	const struct evm_json *root;
	size_t ignored;
	enum evm_status status = evm_json_parse(arena, &root, text, len, err);

	out->items = NULL;
	out->item_count = 0;
	if (skipped == NULL)
		skipped = &ignored;
	*skipped = 0;
	if (status != EVM_OK)
		return status;
	if (evm_json_kind(root) == EVM_JSON_OBJECT)
		root = evm_json_object_get(root, "abi");
	if (evm_json_kind(root) != EVM_JSON_ARRAY)
		return evm_fail(err, EVM_ERR_SYNTAX, 0,
						"a JSON ABI is an array of items, or an object with the array in \"abi\"");
	return read_items(arena, out, skipped, root, err);
}
