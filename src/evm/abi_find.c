/*
 * abi_find.c
 *	  Finds an item of an ABI by its name or signature.
 *
 * A signature is compared as it is read, so that nothing is allocated: what a
 * person may write beyond the canonical form is skipped, word by word.
 */
#include "evm/abi_internal.h"

#include <string.h>

/* A signature that somebody wrote, reduced to the canonical one as it is read. */
struct comparison
{
	struct evm_abi_parser text;
	const char *canonical; /* what has not been matched yet */
	unsigned depth;
	size_t param;   /* of the outermost parentheses */
	bool type_seen; /* of the parameter: words behind it are no types */
	bool says_indexed;
	bool wrong_indexed;
};

static bool
match(struct comparison *comparison, const char *wanted, size_t len)
{
	if (strncmp(comparison->canonical, wanted, len) != 0)
		return false;
	comparison->canonical += len;
	return true;
}

static bool
match_word(struct comparison *comparison, struct evm_abi_slice word,
		   const struct evm_abi_item *item)
{
	if (evm_abi_slice_is(word, "indexed") && comparison->type_seen && comparison->depth == 1)
	{
		comparison->says_indexed = true;
		if (comparison->param >= item->input_count || !item->inputs[comparison->param].indexed)
			comparison->wrong_indexed = true;
		return true;
	}
	if (comparison->type_seen)
		return true; /* a data location, "payable", or a name */
	if (evm_abi_slice_is(word, "tuple"))
		return true;
	comparison->type_seen = true;
	if (evm_abi_slice_is(word, "uint"))
		return match(comparison, "uint256", strlen("uint256"));
	if (evm_abi_slice_is(word, "int"))
		return match(comparison, "int256", strlen("int256"));
	return match(comparison, word.text, word.len);
}

static bool
match_punctuation(struct comparison *comparison, char c)
{
	if (c == '(')
	{
		comparison->depth++;
		comparison->type_seen = false;
	}
	else if (c == ',')
	{
		comparison->type_seen = false;
		if (comparison->depth == 1)
			comparison->param++;
	}
	else if (c == ')')
	{
		if (comparison->depth == 0)
			return false;
		comparison->depth--;
		comparison->type_seen = true;
	}
	return match(comparison, &c, 1);
}

/* Whether as many parameters of the item are indexed as the text says, if it says so at all. */
static size_t
count_indexed_words(const char *text)
{
	struct evm_abi_parser parser = {.text = text, .len = strlen(text)};
	size_t count = 0;

	while (!evm_abi_at_end(&parser))
	{
		struct evm_abi_slice word = evm_abi_peek_word(&parser);

		count += evm_abi_slice_is(word, "indexed");
		if (word.len == 0)
			parser.pos++;
		else
			evm_abi_take_word(&parser, word);
	}
	return count;
}

static bool
signature_matches(const struct evm_abi_item *item, const char *text)
{
	const char *open = strchr(text, '(');
	size_t name_len = (size_t) (open - text);
	struct comparison comparison = {.text = {.text = open, .len = strlen(open)},
									.canonical = item->signature};

	while (name_len > 0 && text[name_len - 1] == ' ')
		name_len--;
	if (!match(&comparison, text, name_len))
		return false;
	while (!evm_abi_at_end(&comparison.text))
	{
		struct evm_abi_slice word = evm_abi_peek_word(&comparison.text);
		bool matched;

		if (word.len > 0)
		{
			matched = match_word(&comparison, word, item);
			evm_abi_take_word(&comparison.text, word);
		}
		else
		{
			matched = match_punctuation(&comparison, open[comparison.text.pos]);
			comparison.text.pos++;
		}
		if (!matched)
			return false;
	}
	if (*comparison.canonical != '\0' || comparison.wrong_indexed)
		return false;
	return !comparison.says_indexed || count_indexed_words(open) == evm_abi_indexed_count(item);
}

static bool
is_wanted(const struct evm_abi_item *item, enum evm_abi_item_kind kind, const char *wanted)
{
	if (item->kind != kind)
		return false;
	if (evm_abi_is_named(kind))
	{
		if (strcmp(item->name, wanted) == 0)
			return true;
	}
	else if (wanted[0] == '\0' ||
			 (strncmp(item->signature, wanted, strlen(wanted)) == 0 &&
			  item->signature[strlen(wanted)] == '('))
		return true;
	return strchr(wanted, '(') != NULL && signature_matches(item, wanted);
}

/* The same item written twice, as merged ABIs have it. */
static bool
is_same(const struct evm_abi_item *a, const struct evm_abi_item *b)
{
	if (strcmp(a->signature, b->signature) != 0 || a->anonymous != b->anonymous)
		return false;
	for (size_t i = 0; i < a->input_count; i++)
	{
		if (a->inputs[i].indexed != b->inputs[i].indexed)
			return false;
	}
	return true;
}

/* ---- messages -------------------------------------------------------------------------- */

/* A list of signatures or names that ends where the message does. */
struct listing
{
	char text[EVM_ERROR_MESSAGE_BYTES];
	size_t len;
};

static void
list_text(struct listing *listing, const char *text)
{
	size_t len = strlen(text);
	size_t room = sizeof(listing->text) - 1 - listing->len;

	if (len > room)
		len = room;
	memcpy(listing->text + listing->len, text, len);
	listing->len += len;
	listing->text[listing->len] = '\0';
}

static void
list_entry(struct listing *listing, const char *text)
{
	if (listing->len > 0)
		list_text(listing, ", ");
	list_text(listing, text);
}

/* With "indexed" in it, which is all that tells some events apart. */
static void
list_item(struct listing *listing, const struct evm_abi_item *item)
{
	const char *rest = item->signature;
	unsigned depth = 0;
	size_t param = 0;

	if (evm_abi_indexed_count(item) == 0)
	{
		list_entry(listing, item->signature);
		return;
	}
	list_entry(listing, "");
	for (; *rest != '\0'; rest++)
	{
		char c[2] = {*rest, '\0'};

		if (depth == 1 && (*rest == ',' || *rest == ')'))
		{
			if (param < item->input_count && item->inputs[param].indexed)
				list_text(listing, " indexed");
			param++;
		}
		depth += *rest == '(';
		depth -= *rest == ')';
		list_text(listing, c);
	}
}

static enum evm_status
fail_unknown(const struct evm_abi *abi, enum evm_abi_item_kind kind, const char *wanted,
			 struct evm_error *err)
{
	struct listing listing = {.len = 0};
	const char *word = evm_abi_kind_word(kind);
	int shown = evm_abi_shown(strlen(wanted));

	for (size_t i = 0; i < abi->item_count && listing.len + 1 < sizeof(listing.text); i++)
	{
		if (abi->items[i].kind == kind)
			list_entry(&listing, abi->items[i].signature);
	}
	if (listing.len == 0)
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "the ABI has no %s", word);
	return evm_fail(err, EVM_ERR_MISMATCH, 0, "the ABI has no %s \"%.*s\", but: %s", word, shown,
					wanted, listing.text);
}

static enum evm_status
fail_ambiguous(const struct evm_abi *abi, enum evm_abi_item_kind kind, const char *wanted,
			   struct evm_error *err)
{
	struct listing listing = {.len = 0};

	for (size_t i = 0; i < abi->item_count && listing.len + 1 < sizeof(listing.text); i++)
	{
		if (is_wanted(&abi->items[i], kind, wanted))
			list_item(&listing, &abi->items[i]);
	}
	return evm_fail(err, EVM_ERR_MISMATCH, 0, "several are named \"%.*s\", say which: %s",
					evm_abi_shown(strlen(wanted)), wanted, listing.text);
}

enum evm_status
evm_abi_find(const struct evm_abi_item **out, const struct evm_abi *abi,
			 enum evm_abi_item_kind kind, const char *name_or_signature, struct evm_error *err)
{
	const struct evm_abi_item *found = NULL;

	*out = NULL;
	for (size_t i = 0; i < abi->item_count; i++)
	{
		const struct evm_abi_item *item = &abi->items[i];

		if (!is_wanted(item, kind, name_or_signature))
			continue;
		if (found != NULL && !is_same(found, item))
			return fail_ambiguous(abi, kind, name_or_signature, err);
		if (found == NULL)
			found = item;
	}
	if (found == NULL)
		return fail_unknown(abi, kind, name_or_signature, err);
	*out = found;
	return EVM_OK;
}
