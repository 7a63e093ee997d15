/*
 * json.c
 *	  JSON text to a tree in an arena; the only file that includes jansson.h.
 *
 * json_object() of jansson must never be called: a PostgreSQL server exports a
 * function of that name, and the call would bind to it.
 *
 * jansson refuses integers beyond 64 bits, but amounts have 256.  So the text
 * is scanned once before it is parsed; integers of more digits than surely fit
 * are copied into strings, and after the parse the first byte of each such
 * string becomes 0xff.  No string that came from text can begin with that byte:
 * jansson accepts valid UTF-8 only.  The same scan bounds the depth, which
 * jansson would let grow to 2048.
 *
 * jansson 2.14 follows null pointers after some allocations that fail.  So none
 * fails: when the arena is full, the allocator jumps out of the parse.  All of
 * the parser's state is on the stack and in the arena, so nothing is lost.
 */
#include "evm/json.h"

#include <jansson.h>
#include <setjmp.h>
#include <string.h>

#include "evm/word.h"

/* Integers of fewer digits fit jansson's 64 bits whatever they are. */
#define LONG_INTEGER_DIGITS 19

/* First byte of a string node that holds the digits of an integer. */
#define INTEGER_MARK 0xff
/* What stands there until the tree is built. */
#define INTEGER_PLACEHOLDER '?'
/* Two quotes and the placeholder. */
#define QUOTING_BYTES 3

enum token_kind
{
	TOKEN_END,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_STRING_VALUE, /* a string that is not the name of a member */
	TOKEN_LONG_INTEGER,
	TOKEN_OTHER /* whatever else: short numbers, names, punctuation, blanks */
};

struct scanner
{
	const char *text;
	size_t len;
	size_t start; /* of the current token */
	size_t end;   /* behind it */
};

/* A long integer that was copied as a string. */
struct quoted_integer
{
	size_t ordinal; /* among the strings that are values, in the order of the text */
	size_t end;     /* behind it in the rewritten text */
};

struct rewrite
{
	const char *text;
	size_t len;
	const struct quoted_integer *integers;
	size_t integer_count;
};

/* ---- memory ------------------------------------------------------------- */

/* jansson's allocator takes no context.  Both are set only while evm_json_parse runs. */
static struct evm_arena *parsing_arena;
static jmp_buf arena_is_full;

static void *
arena_malloc(size_t size)
{
	void *piece = evm_arena_alloc(parsing_arena, size);

	if (piece == NULL)
		longjmp(arena_is_full, 1);
	return piece;
}

static void
arena_free(void *pointer)
{
	(void) pointer;
}

/* ---- the scan ----------------------------------------------------------- */

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
is_number_character(char c)
{
	return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Is the current token the name of an object's member? */
static bool
colon_follows(const struct scanner *scanner)
{
	size_t at = scanner->end;

	while (at < scanner->len && is_blank(scanner->text[at]))
		at++;
	return at < scanner->len && scanner->text[at] == ':';
}

static enum token_kind
scan_string(struct scanner *scanner)
{
	size_t at = scanner->start + 1;

	while (at < scanner->len && scanner->text[at] != '"')
		at += scanner->text[at] == '\\' ? 2 : 1;
	scanner->end = at < scanner->len ? at + 1 : scanner->len;
	return colon_follows(scanner) ? TOKEN_OTHER : TOKEN_STRING_VALUE;
}

/*
 * Only what is a correct integer becomes a string: an incorrect number must
 * reach jansson as it is, to be refused, and so must one in a name's place.
 */
static enum token_kind
scan_number(struct scanner *scanner)
{
	size_t first;
	size_t at = scanner->start;

	while (at < scanner->len && is_number_character(scanner->text[at]))
		at++;
	scanner->end = at;
	first = scanner->text[scanner->start] == '-' ? scanner->start + 1 : scanner->start;
	if (scanner->end - first < LONG_INTEGER_DIGITS || scanner->text[first] == '0')
		return TOKEN_OTHER;
	for (at = first; at < scanner->end; at++)
	{
		if (!is_digit(scanner->text[at]))
			return TOKEN_OTHER;
	}
	return colon_follows(scanner) ? TOKEN_OTHER : TOKEN_LONG_INTEGER;
}

static enum token_kind
scan_token(struct scanner *scanner)
{
	scanner->start = scanner->end;
	if (scanner->start == scanner->len)
		return TOKEN_END;
	scanner->end = scanner->start + 1;
	switch (scanner->text[scanner->start])
	{
		case '[':
		case '{':
			return TOKEN_OPEN;
		case ']':
		case '}':
			return TOKEN_CLOSE;
		case '"':
			return scan_string(scanner);
		default:
			if (is_number_character(scanner->text[scanner->start]))
				return scan_number(scanner);
			return TOKEN_OTHER;
	}
}

/*
 * Checks the depth and counts the long integers. A NUL has no place in JSON text, but jansson
 * loses one that follows a number.
 */
static enum evm_status
survey(size_t *long_integers, const char *text, size_t len, struct evm_error *err)
{
	struct scanner scanner = {text, len, 0, 0};
	const char *nul = len == 0 ? NULL : memchr(text, '\0', len);
	enum token_kind kind;
	size_t depth = 0;

	*long_integers = 0;
	if (nul != NULL)
		return evm_fail(err, EVM_ERR_SYNTAX, (size_t) (nul - text), "JSON text has a NUL byte");
	while ((kind = scan_token(&scanner)) != TOKEN_END)
	{
		if (kind == TOKEN_LONG_INTEGER)
			(*long_integers)++;
		else if (kind == TOKEN_CLOSE && depth > 0)
			depth--;
		else if (kind == TOKEN_OPEN && ++depth > EVM_JSON_MAX_DEPTH)
			return evm_fail(err, EVM_ERR_LIMIT, scanner.start,
							"JSON is nested deeper than %d levels", EVM_JSON_MAX_DEPTH);
	}
	return EVM_OK;
}

/* Copies the text with its long integers quoted. */
static enum evm_status
quote_long_integers(struct evm_arena *arena, struct rewrite *out, const char *text, size_t len,
					size_t long_integers)
{
	struct scanner scanner = {text, len, 0, 0};
	enum token_kind kind;
	size_t ordinal = 0;
	size_t count = 0;
	size_t at = 0;
	struct quoted_integer *integers = evm_arena_zalloc(arena, long_integers, sizeof(*integers));
	/* A long integer has more digits than its quoting, so this cannot overflow. */
	char *copy = evm_arena_alloc(arena, len + QUOTING_BYTES * long_integers);

	if (integers == NULL || copy == NULL)
		return EVM_ERR_MEMORY;
	while ((kind = scan_token(&scanner)) != TOKEN_END)
	{
		size_t size = scanner.end - scanner.start;

		if (kind == TOKEN_LONG_INTEGER)
		{
			copy[at++] = '"';
			copy[at++] = INTEGER_PLACEHOLDER;
		}
		memcpy(copy + at, text + scanner.start, size);
		at += size;
		if (kind == TOKEN_LONG_INTEGER)
		{
			copy[at++] = '"';
			integers[count].ordinal = ordinal;
			integers[count++].end = at;
		}
		if (kind == TOKEN_LONG_INTEGER || kind == TOKEN_STRING_VALUE)
			ordinal++;
	}
	out->text = copy;
	out->len = at;
	out->integers = integers;
	out->integer_count = count;
	return EVM_OK;
}

/* ---- the parse ---------------------------------------------------------- */

struct marking
{
	const struct rewrite *rewrite;
	size_t ordinal; /* of the next string */
	size_t next;    /* index of the next quoted integer */
};

static void
mark_integers(struct marking *marking, json_t *node)
{
	const struct rewrite *rewrite = marking->rewrite;

	if (marking->next == rewrite->integer_count)
		return;
	if (json_is_object(node))
	{
		for (void *member = json_object_iter(node); member != NULL;
			 member = json_object_iter_next(node, member))
			mark_integers(marking, json_object_iter_value(member));
	}
	else if (json_is_array(node))
	{
		for (size_t i = 0; i < json_array_size(node); i++)
			mark_integers(marking, json_array_get(node, i));
	}
	else if (json_is_string(node))
	{
		if (marking->ordinal == rewrite->integers[marking->next].ordinal)
		{
			/* The bytes are ours: they came from the arena. */
			*(unsigned char *) json_string_value(node) = INTEGER_MARK;
			marking->next++;
		}
		marking->ordinal++;
	}
}

/* Where a position of the rewritten text is in the text that the caller gave. */
static size_t
original_position(const struct rewrite *rewrite, size_t position)
{
	size_t original_len = rewrite->len - QUOTING_BYTES * rewrite->integer_count;
	size_t added = 0;

	for (size_t i = 0; i < rewrite->integer_count; i++)
	{
		if (rewrite->integers[i].end > position)
			break;
		added += QUOTING_BYTES;
	}
	/* jansson can point into a quoted integer, where its positions are not exact. */
	return position - added < original_len ? position - added : original_len;
}

static enum evm_status
status_of(const json_error_t *error)
{
	switch (json_error_code(error))
	{
		case json_error_stack_overflow:
			return EVM_ERR_LIMIT;
		case json_error_numeric_overflow:
			return EVM_ERR_RANGE;
		case json_error_duplicate_key:
		case json_error_invalid_utf8:
		case json_error_null_byte_in_key:
			return EVM_ERR_MALFORMED;
		default:
			return EVM_ERR_SYNTAX;
	}
}

/* Holds no variable that could be lost in the jump. */
static bool
load_or_jump(json_t **root, const struct rewrite *source, json_error_t *error)
{
	if (setjmp(arena_is_full) != 0)
		return false;
	*root = json_loadb(source->text, source->len,
					   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, error);
	return true;
}

/* Puts jansson on the arena for one call, and back.  False when the arena is full. */
static bool
load_into(struct evm_arena *arena, json_t **root, const struct rewrite *source, json_error_t *error)
{
	json_malloc_t previous_malloc;
	json_free_t previous_free;
	bool fits;

	json_get_alloc_funcs(&previous_malloc, &previous_free);
	json_set_alloc_funcs(arena_malloc, arena_free);
	parsing_arena = arena;
	fits = load_or_jump(root, source, error);
	parsing_arena = NULL;
	json_set_alloc_funcs(previous_malloc, previous_free);
	return fits;
}

static enum evm_status
fail_for_memory(struct evm_error *err, size_t len)
{
	return evm_fail(err, EVM_ERR_MEMORY, 0, "JSON of %zu bytes needs more memory than allowed",
					len);
}

enum evm_status
evm_json_parse(struct evm_arena *arena, const struct evm_json **out, const char *text, size_t len,
			   struct evm_error *err)
{
	struct rewrite rewrite = {text, len, NULL, 0};
	struct marking marking = {&rewrite, 0, 0};
	json_error_t error;
	json_t *root;
	size_t long_integers;
	enum evm_status status;

	*out = NULL;
	status = survey(&long_integers, text, len, err);
	if (status != EVM_OK)
		return status;
	if (long_integers > 0 &&
		quote_long_integers(arena, &rewrite, text, len, long_integers) != EVM_OK)
		return fail_for_memory(err, len);
	if (!load_into(arena, &root, &rewrite, &error))
		return fail_for_memory(err, len);
	if (root == NULL)
		return evm_fail(err, status_of(&error),
						original_position(&rewrite, (size_t) error.position),
						"JSON does not parse: %s", error.text);
	mark_integers(&marking, root);
	*out = (const struct evm_json *) root;
	return EVM_OK;
}

/* ---- reading the tree --------------------------------------------------- */

static const json_t *
node_of(const struct evm_json *node)
{
	return (const json_t *) node;
}

static bool
is_marked(const json_t *string)
{
	return *(const unsigned char *) json_string_value(string) == INTEGER_MARK;
}

enum evm_json_kind
evm_json_kind(const struct evm_json *node)
{
	if (node == NULL)
		return EVM_JSON_NULL;
	switch (json_typeof(node_of(node)))
	{
		case JSON_OBJECT:
			return EVM_JSON_OBJECT;
		case JSON_ARRAY:
			return EVM_JSON_ARRAY;
		case JSON_STRING:
			return is_marked(node_of(node)) ? EVM_JSON_INTEGER : EVM_JSON_STRING;
		case JSON_INTEGER:
			return EVM_JSON_INTEGER;
		case JSON_REAL:
			return EVM_JSON_REAL;
		case JSON_TRUE:
			return EVM_JSON_TRUE;
		case JSON_FALSE:
			return EVM_JSON_FALSE;
		case JSON_NULL:
			break;
	}
	return EVM_JSON_NULL;
}

size_t
evm_json_array_size(const struct evm_json *node)
{
	return json_array_size(node_of(node));
}

const struct evm_json *
evm_json_array_get(const struct evm_json *node, size_t index)
{
	return (const struct evm_json *) json_array_get(node_of(node), index);
}

const struct evm_json *
evm_json_object_get(const struct evm_json *node, const char *name)
{
	return (const struct evm_json *) json_object_get(node_of(node), name);
}

size_t
evm_json_object_size(const struct evm_json *node)
{
	return json_object_size(node_of(node));
}

void
evm_json_object_each(const struct evm_json *node,
					 bool (*visit)(void *context, const char *name, const struct evm_json *value),
					 void *context)
{
	/* jansson's iterators take a tree that may change; this one does not. */
	json_t *object = (json_t *) node_of(node);

	for (void *member = json_object_iter(object); member != NULL;
		 member = json_object_iter_next(object, member))
	{
		if (!visit(context, json_object_iter_key(member),
				   (const struct evm_json *) json_object_iter_value(member)))
			return;
	}
}

const char *
evm_json_string(const struct evm_json *node, size_t *len)
{
	*len = 0;
	if (evm_json_kind(node) != EVM_JSON_STRING)
		return NULL;
	*len = json_string_length(node_of(node));
	return json_string_value(node_of(node));
}

bool
evm_json_is_true(const struct evm_json *node)
{
	return evm_json_kind(node) == EVM_JSON_TRUE;
}

bool
evm_json_word(const struct evm_json *node, struct evm_word *out, bool *negative)
{
	const json_t *number = node_of(node);

	if (evm_json_kind(node) != EVM_JSON_INTEGER)
		return false;
	if (json_is_string(number))
		return evm_word_from_decimal(out, negative, json_string_value(number) + 1,
									 json_string_length(number) - 1, NULL) == EVM_OK;
	*negative = json_integer_value(number) < 0;
	*out = evm_word_from_u64((uint64_t) json_integer_value(number));
	if (*negative)
	{
		/* Sign-extend. */
		for (int i = 1; i < 4; i++)
			out->limb[i] = UINT64_MAX;
	}
	return true;
}

bool
evm_json_integer(const struct evm_json *node, int64_t *out)
{
	struct evm_word word;
	bool negative;

	if (!evm_json_word(node, &word, &negative))
		return false;
	if (!evm_word_fits_signed(&word, 64) || evm_word_is_negative(&word) != negative)
		return false;
	*out = (int64_t) word.limb[0];
	return true;
}
