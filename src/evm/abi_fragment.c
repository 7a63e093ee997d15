/*
 * abi_fragment.c
 *	  Human-readable ABI fragments, as Solidity, ethers and viem write them.
 *
 * Structs are found first and resolved when they are named, so that their order
 * does not matter; one that is being resolved and is named again contains
 * itself.  How deep structs name each other is bounded like any nesting.
 */
#include "evm/abi_internal.h"

#include <stdlib.h>
#include <string.h>

struct named_struct
{
	struct evm_abi_slice name;
	size_t fragment; /* where it is declared */
	size_t body;     /* offset behind its "{" */
	bool resolving;
	const struct evm_abi_type *type; /* NULL until resolved */
};

struct evm_abi_scope
{
	const struct evm_bytes *fragments;
	struct named_struct *structs; /* sorted by name */
	size_t count;
	size_t current; /* the fragment that is being read */
};

static struct evm_abi_parser
parser_of(struct evm_arena *arena, struct evm_abi_scope *scope, size_t fragment,
		  struct evm_error *err)
{
	struct evm_abi_parser parser = {.arena = arena,
									.text = (const char *) scope->fragments[fragment].data,
									.len = scope->fragments[fragment].len,
									.scope = scope,
									.err = err};

	scope->current = fragment;
	return parser;
}

/* A declaration may end with one semicolon. */
static enum evm_status
take_end(struct evm_abi_parser *parser)
{
	(void) evm_abi_accept(parser, ';');
	if (!evm_abi_at_end(parser))
		return evm_abi_expected(parser, "the end of the declaration");
	return EVM_OK;
}

/* ---- structs -------------------------------------------------------------------- */

static int
compare_slices(struct evm_abi_slice a, struct evm_abi_slice b)
{
	int order = memcmp(a.text, b.text, a.len < b.len ? a.len : b.len);

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

static int
compare_structs(const void *a, const void *b)
{
	return compare_slices(((const struct named_struct *) a)->name,
						  ((const struct named_struct *) b)->name);
}

/* Members "type name;" up to the closing brace. */
static enum evm_status
take_members(struct evm_abi_parser *parser, const struct evm_abi_type **out)
{
	struct evm_abi_list members = {NULL, 0, 0};
	size_t start = parser->pos;

	while (!evm_abi_accept(parser, '}'))
	{
		struct evm_abi_param *member;
		enum evm_status status;

		if (members.count == EVM_ABI_MAX_COMPONENTS)
			return evm_fail(parser->err, EVM_ERR_LIMIT, parser->pos,
							"a struct has more than %d members", EVM_ABI_MAX_COMPONENTS);
		member = evm_abi_list_push(parser->arena, &members, sizeof(*member));
		if (member == NULL)
			return evm_fail(parser->err, EVM_ERR_MEMORY, parser->pos, "out of memory for structs");
		status = evm_abi_take_param(parser, member, EVM_ABI_INDEXED_REFUSED);
		if (status != EVM_OK)
			return status;
		if (member->name[0] == '\0')
			return evm_abi_expected(parser, "the name of the member");
		if (!evm_abi_accept(parser, ';'))
			return evm_abi_expected(parser, "\";\"");
	}
	return evm_abi_type_tuple(parser->arena, out, members.data, members.count, start, parser->err);
}

static enum evm_status
resolve_struct(struct evm_arena *arena, struct evm_abi_scope *scope, struct named_struct *named,
			   unsigned depth, struct evm_error *err)
{
	struct evm_abi_parser parser = parser_of(arena, scope, named->fragment, err);
	enum evm_status status;

	parser.pos = named->body;
	parser.depth = depth;
	named->resolving = true;
	status = take_members(&parser, &named->type);
	named->resolving = false;
	if (status != EVM_OK)
		return status;
	return take_end(&parser);
}

enum evm_status
evm_abi_scope_find(struct evm_abi_parser *parser, const struct evm_abi_type **out,
				   struct evm_abi_slice name)
{
	struct evm_abi_scope *scope = parser->scope;
	struct named_struct wanted = {.name = name};
	size_t outer = scope->current;
	struct named_struct *found;

	*out = NULL;
	if (scope->count == 0)
		return EVM_OK;
	found = bsearch(&wanted, scope->structs, scope->count, sizeof(wanted), compare_structs);
	if (found == NULL)
		return EVM_OK;
	if (found->resolving)
		return evm_fail(parser->err, EVM_ERR_SYNTAX, parser->pos, "the struct %.*s contains itself",
						evm_abi_shown(name.len), name.text);
	if (found->type == NULL)
	{
		enum evm_status status;

		if (parser->depth >= EVM_ABI_MAX_DEPTH)
			return evm_fail(parser->err, EVM_ERR_LIMIT, parser->pos,
							"structs are nested deeper than %d", EVM_ABI_MAX_DEPTH);
		status = resolve_struct(parser->arena, scope, found, parser->depth + 1, parser->err);
		if (status != EVM_OK)
			return status;
		scope->current = outer;
	}
	*out = found->type;
	return EVM_OK;
}

/* "struct Name {"; false when the fragment declares something else. */
static bool
take_struct_head(struct evm_abi_parser *parser, struct evm_abi_slice *name)
{
	if (!evm_abi_accept_word(parser, "struct"))
		return false;
	*name = evm_abi_peek_word(parser);
	if (name->len == 0)
		return false;
	evm_abi_take_word(parser, *name);
	return evm_abi_accept(parser, '{');
}

static enum evm_status
register_structs(struct evm_arena *arena, struct evm_abi_scope *scope, size_t fragment_count,
				 struct evm_error *err)
{
	struct evm_abi_list list = {NULL, 0, 0};

	for (size_t i = 0; i < fragment_count; i++)
	{
		struct evm_abi_parser parser = parser_of(arena, scope, i, err);
		struct named_struct *named;
		struct evm_abi_slice name;

		if (!take_struct_head(&parser, &name))
			continue;
		named = evm_abi_list_push(arena, &list, sizeof(*named));
		if (named == NULL)
			return evm_fail(err, EVM_ERR_MEMORY, parser.pos, "out of memory for structs");
		named->name = name;
		named->fragment = i;
		named->body = parser.pos;
	}
	scope->structs = list.data;
	scope->count = list.count;
	if (scope->count > 1)
		qsort(scope->structs, scope->count, sizeof(*scope->structs), compare_structs);
	return EVM_OK;
}

/* Names are declared once and are not the names of types; every struct is valid, named or not. */
static enum evm_status
check_structs(struct evm_arena *arena, struct evm_abi_scope *scope, struct evm_error *err)
{
	for (size_t i = 0; i < scope->count; i++)
	{
		struct named_struct *named = &scope->structs[i];
		const struct evm_abi_type *elementary;
		enum evm_status status;

		scope->current = named->fragment;
		status = evm_abi_type_elementary(arena, &elementary, named->name.text, named->name.len);
		if (status != EVM_OK)
			return evm_fail(err, status, 0, "out of memory for types");
		if (elementary != NULL)
			return evm_fail(err, EVM_ERR_SYNTAX, 0, "%.*s is a type and no name for a struct",
							evm_abi_shown(named->name.len), named->name.text);
		if (i > 0 && compare_structs(named - 1, named) == 0)
			return evm_fail(err, EVM_ERR_SYNTAX, 0, "the struct %.*s is declared twice",
							evm_abi_shown(named->name.len), named->name.text);
	}
	for (size_t i = 0; i < scope->count; i++)
	{
		enum evm_status status = EVM_OK;

		if (scope->structs[i].type == NULL)
			status = resolve_struct(arena, scope, &scope->structs[i], 0, err);
		if (status != EVM_OK)
			return status;
	}
	return EVM_OK;
}

/* ---- items ------------------------------------------------------------------------- */

struct modifiers
{
	bool has_mutability;
	enum evm_abi_mutability mutability;
	bool has_visibility;
	bool is_virtual;
	bool overrides;
};

static bool
mutability_of(struct evm_abi_slice word, enum evm_abi_mutability *out)
{
	static const struct
	{
		const char *word;
		enum evm_abi_mutability mutability;
	} words[] = {
		{"view", EVM_ABI_VIEW},       {"pure", EVM_ABI_PURE},
		{"payable", EVM_ABI_PAYABLE}, {"nonpayable", EVM_ABI_NONPAYABLE},
		{"constant", EVM_ABI_VIEW},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
	{
		if (evm_abi_slice_is(word, words[i].word))
		{
			*out = words[i].mutability;
			return true;
		}
	}
	return false;
}

static bool
is_visibility(struct evm_abi_slice word)
{
	return evm_abi_slice_is(word, "external") || evm_abi_slice_is(word, "public") ||
		evm_abi_slice_is(word, "internal") || evm_abi_slice_is(word, "private");
}

/* "override", and "(A, B.C)" behind it. */
static enum evm_status
take_override_list(struct evm_abi_parser *parser)
{
	if (!evm_abi_accept(parser, '('))
		return EVM_OK;
	do
	{
		do
		{
			struct evm_abi_slice word = evm_abi_peek_word(parser);

			if (word.len == 0)
				return evm_abi_expected(parser, "the name of a contract");
			evm_abi_take_word(parser, word);
		} while (evm_abi_accept(parser, '.'));
	} while (evm_abi_accept(parser, ','));
	if (!evm_abi_accept(parser, ')'))
		return evm_abi_expected(parser, "\")\"");
	return EVM_OK;
}

static bool
set_once(bool *flag)
{
	if (*flag)
		return false;
	*flag = true;
	return true;
}

/* Stops at the first word that is no modifier, or that comes a second time. */
static enum evm_status
take_modifiers(struct evm_abi_parser *parser, struct modifiers *out)
{
	for (;;)
	{
		struct evm_abi_slice word = evm_abi_peek_word(parser);
		enum evm_abi_mutability mutability;
		bool taken = false;
		bool is_override = evm_abi_slice_is(word, "override");

		if (mutability_of(word, &mutability))
		{
			taken = set_once(&out->has_mutability);
			if (taken)
				out->mutability = mutability;
		}
		else if (is_visibility(word))
			taken = set_once(&out->has_visibility);
		else if (evm_abi_slice_is(word, "virtual"))
			taken = set_once(&out->is_virtual);
		else if (is_override)
			taken = set_once(&out->overrides);
		if (!taken)
			return EVM_OK;
		evm_abi_take_word(parser, word);
		if (is_override)
		{
			enum evm_status status = take_override_list(parser);

			if (status != EVM_OK)
				return status;
		}
	}
}

static enum evm_status
take_name(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	struct evm_abi_slice word = evm_abi_peek_word(parser);

	if (word.len == 0)
		return evm_abi_expected(parser, "a name");
	item->name = evm_arena_strndup(parser->arena, word.text, word.len);
	if (item->name == NULL)
		return evm_fail(parser->err, EVM_ERR_MEMORY, parser->pos, "out of memory for names");
	evm_abi_take_word(parser, word);
	return EVM_OK;
}

static enum evm_status
take_function(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	struct modifiers modifiers = {.mutability = EVM_ABI_NONPAYABLE};
	enum evm_status status = take_name(parser, item);

	if (status == EVM_OK)
		status =
			evm_abi_take_params(parser, &item->inputs, &item->input_count, EVM_ABI_INDEXED_REFUSED);
	if (status == EVM_OK)
		status = take_modifiers(parser, &modifiers);
	item->mutability = modifiers.mutability;
	if (status == EVM_OK && evm_abi_accept_word(parser, "returns"))
		status = evm_abi_take_params(parser, &item->outputs, &item->output_count,
									 EVM_ABI_INDEXED_REFUSED);
	return status;
}

static enum evm_status
take_event(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	enum evm_status status = take_name(parser, item);

	if (status == EVM_OK)
		status =
			evm_abi_take_params(parser, &item->inputs, &item->input_count, EVM_ABI_INDEXED_ALLOWED);
	if (status == EVM_OK)
		item->anonymous = evm_abi_accept_word(parser, "anonymous");
	return status;
}

static enum evm_status
take_error(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	enum evm_status status = take_name(parser, item);

	if (status != EVM_OK)
		return status;
	return evm_abi_take_params(parser, &item->inputs, &item->input_count, EVM_ABI_INDEXED_REFUSED);
}

static enum evm_status
take_constructor(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	struct modifiers modifiers = {.mutability = EVM_ABI_NONPAYABLE};
	enum evm_status status =
		evm_abi_take_params(parser, &item->inputs, &item->input_count, EVM_ABI_INDEXED_REFUSED);

	if (status == EVM_OK)
		status = take_modifiers(parser, &modifiers);
	item->mutability = modifiers.mutability;
	return status;
}

/* "fallback(bytes calldata) returns (bytes memory)": its parameters are no part of an ABI. */
static enum evm_status
take_fallback(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	const struct evm_abi_param *ignored;
	size_t count;
	size_t start = parser->pos;
	struct modifiers modifiers = {.mutability = EVM_ABI_NONPAYABLE};
	enum evm_status status = evm_abi_take_params(parser, &ignored, &count, EVM_ABI_INDEXED_REFUSED);

	if (status == EVM_OK && (count > 1 || (count == 1 && ignored[0].type->kind != EVM_ABI_BYTES)))
		return evm_fail(parser->err, EVM_ERR_SYNTAX, start,
						"a fallback has no parameters, or one of type bytes");
	if (status == EVM_OK)
		status = take_modifiers(parser, &modifiers);
	item->mutability = modifiers.mutability;
	if (status == EVM_OK && evm_abi_accept_word(parser, "returns"))
		status = evm_abi_take_params(parser, &ignored, &count, EVM_ABI_INDEXED_REFUSED);
	return status;
}

static enum evm_status
take_receive(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	struct modifiers modifiers = {.mutability = EVM_ABI_PAYABLE};
	size_t start = parser->pos;
	enum evm_status status =
		evm_abi_take_params(parser, &item->inputs, &item->input_count, EVM_ABI_INDEXED_REFUSED);

	if (status == EVM_OK && item->input_count > 0)
		return evm_fail(parser->err, EVM_ERR_SYNTAX, start, "receive has no parameters");
	if (status == EVM_OK)
		status = take_modifiers(parser, &modifiers);
	if (status == EVM_OK && modifiers.mutability != EVM_ABI_PAYABLE)
		return evm_fail(parser->err, EVM_ERR_SYNTAX, start, "receive is payable");
	item->mutability = EVM_ABI_PAYABLE;
	return status;
}

struct declaration
{
	const char *keyword;
	enum evm_abi_item_kind kind;
	enum evm_status (*take)(struct evm_abi_parser *parser, struct evm_abi_item *item);
};

/* A bare "transfer(address)" is a function, and so is "error(uint256)". */
static const struct declaration *
find_declaration(struct evm_abi_parser *parser)
{
	static const struct declaration declarations[] = {
		{"function", EVM_ABI_ITEM_FUNCTION, take_function},
		{"event", EVM_ABI_ITEM_EVENT, take_event},
		{"error", EVM_ABI_ITEM_ERROR, take_error},
		{"constructor", EVM_ABI_ITEM_CONSTRUCTOR, take_constructor},
		{"fallback", EVM_ABI_ITEM_FALLBACK, take_fallback},
		{"receive", EVM_ABI_ITEM_RECEIVE, take_receive},
	};
	struct evm_abi_parser ahead = *parser;
	struct evm_abi_slice word = evm_abi_peek_word(&ahead);

	for (size_t i = 0; i < sizeof(declarations) / sizeof(declarations[0]); i++)
	{
		if (!evm_abi_slice_is(word, declarations[i].keyword))
			continue;
		evm_abi_take_word(&ahead, word);
		/* Solidity reserves the other keywords. */
		if (declarations[i].kind == EVM_ABI_ITEM_ERROR && evm_abi_peek_word(&ahead).len == 0)
			break;
		*parser = ahead;
		return &declarations[i];
	}
	return &declarations[0];
}

static enum evm_status
take_item(struct evm_abi_parser *parser, struct evm_abi_item *item)
{
	const struct declaration *declaration;
	enum evm_status status;

	if (evm_abi_at_end(parser))
		return evm_fail(parser->err, EVM_ERR_SYNTAX, parser->pos, "the fragment is empty");
	declaration = find_declaration(parser);
	item->kind = declaration->kind;
	item->name = "";
	status = declaration->take(parser, item);
	if (status == EVM_OK)
		status = take_end(parser);
	if (status == EVM_OK)
		status = evm_abi_item_finish(parser->arena, item, 0, parser->err);
	return status;
}

/* A struct is left out: it was read before. */
static bool
is_struct(const struct evm_abi_parser *parser)
{
	struct evm_abi_parser ahead = *parser;
	struct evm_abi_slice name;

	return take_struct_head(&ahead, &name);
}

static enum evm_status
take_items(struct evm_arena *arena, struct evm_abi *out, struct evm_abi_scope *scope, size_t count,
		   struct evm_error *err)
{
	struct evm_abi_list items = {NULL, 0, 0};

	for (size_t i = 0; i < count; i++)
	{
		struct evm_abi_parser parser = parser_of(arena, scope, i, err);
		struct evm_abi_item *item;
		enum evm_status status;

		if (is_struct(&parser))
			continue;
		item = evm_abi_list_push(arena, &items, sizeof(*item));
		if (item == NULL)
			return evm_fail(err, EVM_ERR_MEMORY, 0, "out of memory for the items");
		status = take_item(&parser, item);
		if (status != EVM_OK)
			return status;
	}
	out->items = items.data;
	out->item_count = items.count;
	if (items.count == 0 && count > 0)
		return evm_fail(err, EVM_ERR_SYNTAX, 0,
						"there are only structs, and no function, event or error that uses them");
	return EVM_OK;
}

enum evm_status
evm_abi_parse_fragments(struct evm_arena *arena, struct evm_abi *out,
						const struct evm_bytes *fragments, size_t count, size_t *which,
						struct evm_error *err)
{
	struct evm_abi_scope scope = {.fragments = fragments};
	enum evm_status status;

	out->items = NULL;
	out->item_count = 0;
	if (count > EVM_ABI_MAX_ITEMS)
	{
		status = evm_fail(err, EVM_ERR_LIMIT, 0, "more than %d fragments", EVM_ABI_MAX_ITEMS);
		scope.current = EVM_ABI_MAX_ITEMS;
	}
	else
		status = register_structs(arena, &scope, count, err);
	if (status == EVM_OK)
		status = check_structs(arena, &scope, err);
	if (status == EVM_OK)
		status = take_items(arena, out, &scope, count, err);
	if (which != NULL)
		*which = scope.current;
	return status;
}
