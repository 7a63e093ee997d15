/*
 * namehash.c
 *	  EIP-137 names: the ASCII part of ENSIP-15's normal form, and the recursive hash.
 */
#include "evm/namehash.h"

#include <string.h>

#include "evm/keccak.h"

/* U+2019, the right single quotation mark that ENSIP-15 maps the apostrophe to. */
static const char apostrophe[] = "\xe2\x80\x99";

#define APOSTROPHE_BYTES (sizeof(apostrophe) - 1)

/* U+20E3, the combining enclosing keycap: behind "#", "*" or a digit it makes an emoji. */
static const char keycap[] = "\xe2\x83\xa3";

#define KEYCAP_BYTES (sizeof(keycap) - 1)

/* The first byte that is not ASCII. */
#define ASCII_END 0x80

static bool
is_ascii(char c)
{
	return (unsigned char) c < ASCII_END;
}

static bool
is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool
is_normal(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '$';
}

static enum evm_status
fail_at_character(struct evm_error *err, size_t position, char c)
{
	return evm_fail(err, EVM_ERR_SYNTAX, position, "\"%c\" is not allowed in a normalized ENS name",
					c);
}

static enum evm_status
fail_empty_label(struct evm_error *err, size_t position)
{
	return evm_fail(err, EVM_ERR_SYNTAX, position, "an ENS name has an empty label");
}

/* ---- normal form -------------------------------------------------------- */

/* The rules about where in a label a character may stand. */
static enum evm_status
check_label(const char *name, size_t start, size_t end, struct evm_error *err)
{
	bool only_underscores = true;
	bool has_apostrophe = false;

	if (start == end)
		return fail_empty_label(err, start);
	for (size_t i = start; i < end; i++)
	{
		if (name[i] == '_' && !only_underscores)
			return evm_fail(err, EVM_ERR_SYNTAX, i,
							"\"_\" is allowed only at the start of an ENS label");
		if (name[i] != '_')
			only_underscores = false;
		if (name[i] != '\'')
			continue;
		has_apostrophe = true;
		if (i == start || i + 1 == end || name[i + 1] == '\'')
			return evm_fail(err, EVM_ERR_SYNTAX, i,
							"\"'\" must stand alone between other characters of an ENS label");
	}
	/* The apostrophe's normal form makes the label one that is not ASCII, which may. */
	if (!has_apostrophe && end - start >= 4 && memcmp(name + start + 2, "--", 2) == 0)
		return evm_fail(err, EVM_ERR_SYNTAX, start + 2,
						"an ENS label must not have \"--\" as its third and fourth characters");
	return EVM_OK;
}

static enum evm_status
check_labels(const char *name, size_t len, struct evm_error *err)
{
	size_t start = 0;

	for (size_t i = 0; i <= len; i++)
	{
		enum evm_status status;

		if (i < len && name[i] != '.')
			continue;
		status = check_label(name, start, i, err);
		if (status != EVM_OK)
			return status;
		start = i + 1;
	}
	return EVM_OK;
}

/* Checks the characters and counts the apostrophes. */
static enum evm_status
check_characters(size_t *apostrophes, const char *name, size_t len, struct evm_error *err)
{
	*apostrophes = 0;
	/* First, because "#" is wrong by itself but part of a keycap emoji. */
	for (size_t i = 0; i < len; i++)
	{
		if (!is_ascii(name[i]))
			return evm_fail(err, EVM_ERR_LIMIT, i,
							"ENS names with other than ASCII characters are not normalized here; "
							"give the normalized form");
	}
	for (size_t i = 0; i < len; i++)
	{
		if (name[i] == '\'')
			(*apostrophes)++;
		else if (!is_normal(name[i]) && !is_upper(name[i]) && name[i] != '.')
			return fail_at_character(err, i, name[i]);
	}
	return EVM_OK;
}

enum evm_status
evm_ens_normalize(struct evm_arena *arena, struct evm_bytes *out, const char *name, size_t len,
				  struct evm_error *err)
{
	size_t apostrophes;
	size_t at = 0;
	char *normal;
	enum evm_status status;

	out->data = NULL;
	out->len = 0;
	if (len == 0)
		return EVM_OK;
	status = check_characters(&apostrophes, name, len, err);
	if (status == EVM_OK)
		status = check_labels(name, len, err);
	if (status != EVM_OK)
		return status;
	if (len > SIZE_MAX / APOSTROPHE_BYTES)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "an ENS name is too long");
	normal = evm_arena_alloc(arena, len + apostrophes * (APOSTROPHE_BYTES - 1));
	if (normal == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "an ENS name of %zu bytes is too long", len);
	for (size_t i = 0; i < len; i++)
	{
		if (name[i] == '\'')
		{
			memcpy(normal + at, apostrophe, APOSTROPHE_BYTES);
			at += APOSTROPHE_BYTES;
		}
		else
			normal[at++] = is_upper(name[i]) ? (char) (name[i] - 'A' + 'a') : name[i];
	}
	out->data = (const uint8_t *) normal;
	out->len = at;
	return EVM_OK;
}

/* ---- hash --------------------------------------------------------------- */

/* The only two characters of ASCII that the normal form has in emoji alone. */
static bool
is_keycap(const char *text, size_t len)
{
	return len > KEYCAP_BYTES && (text[0] == '#' || text[0] == '*') &&
		memcmp(text + 1, keycap, KEYCAP_BYTES) == 0;
}

enum evm_status
evm_namehash(struct evm_hash *out, const char *name, size_t len, struct evm_error *err)
{
	size_t end = len;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < len; i++)
	{
		if (is_ascii(name[i]) && !is_normal(name[i]) && name[i] != '.' &&
			!is_keycap(name + i, len - i))
			return fail_at_character(err, i, name[i]);
	}
	/* From the last label to the first: node = keccak256(node || keccak256(label)). */
	while (len > 0)
	{
		size_t start = end;
		struct evm_hash pair[2];

		while (start > 0 && name[start - 1] != '.')
			start--;
		if (start == end)
		{
			memset(out, 0, sizeof(*out));
			return fail_empty_label(err, start);
		}
		pair[0] = *out;
		evm_keccak256(&pair[1], name + start, end - start);
		evm_keccak256(out, pair, sizeof(pair));
		if (start == 0)
			break;
		end = start - 1;
	}
	return EVM_OK;
}
