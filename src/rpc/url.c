/*
 * url.c
 *	  An endpoint's URL as it is written, as it is used, and as it may be shown.
 */
#include "rpc/url.h"

#include <string.h>
#include <strings.h>

#include "evm/secp.h"

#define REFERENCE_START "${"
#define REFERENCE_ENV "${env:"
#define VARIABLE_PREFIX "RFLOW_"
/* Of a whole reference; names are short. */
#define REFERENCE_MAX_BYTES 128

/* Shorter pieces of a URL are words, not tokens ("v2", "rpc", "mainnet"). */
#define TOKEN_MIN_BYTES 8
/* Values of variables are taken for secrets from this length on; the mask must not be longer. */
#define VALUE_MIN_BYTES 4
#define MASK "***"

/* No host name, token or list of options is longer; the bound keeps messages and logs sane. */
#define URL_MAX_BYTES 4096

struct expansion
{
	struct evm_arena *arena;
	struct rpc_url *url;
	size_t secret_capacity;
	rpc_url_lookup lookup;
	char text[URL_MAX_BYTES];
	size_t len;
};

/* ---- secrets ------------------------------------------------------------- */

static enum evm_status
add_secret(struct expansion *expansion, const char *text, size_t len)
{
	struct rpc_url *url = expansion->url;

	if (url->secret_count == expansion->secret_capacity)
	{
		size_t capacity = expansion->secret_capacity == 0 ? 8 : expansion->secret_capacity * 2;
		const char **secrets = evm_arena_zalloc(expansion->arena, capacity, sizeof(*secrets));

		if (secrets == NULL)
			return EVM_ERR_MEMORY;
		if (url->secret_count > 0)
			memcpy(secrets, url->secrets, url->secret_count * sizeof(*secrets));
		url->secrets = secrets;
		expansion->secret_capacity = capacity;
	}
	url->secrets[url->secret_count] = evm_arena_strndup(expansion->arena, text, len);
	if (url->secrets[url->secret_count] == NULL)
		return EVM_ERR_MEMORY;
	url->secret_count++;
	return EVM_OK;
}

/* The pieces between separators that are long enough. */
static enum evm_status
add_pieces(struct expansion *expansion, const char *text, size_t len, const char *separators,
		   size_t min_bytes)
{
	size_t start = 0;

	for (size_t at = 0; at <= len; at++)
	{
		if (at < len && strchr(separators, text[at]) == NULL)
			continue;
		if (at - start >= min_bytes && add_secret(expansion, text + start, at - start) != EVM_OK)
			return EVM_ERR_MEMORY;
		start = at + 1;
	}
	return EVM_OK;
}

static void
mask(char *message, size_t at, size_t len)
{
	size_t mask_len = strlen(MASK);

	memcpy(message + at, MASK, mask_len);
	memmove(message + at + mask_len, message + at + len, strlen(message + at + len) + 1);
}

/* How much of the secret the message ends with, if it was cut there; 0 when nothing. */
static size_t
cut_secret(const char *message, const char *secret)
{
	size_t len = strlen(message);
	size_t most = strlen(secret) - 1;

	for (size_t part = most < len ? most : len; part >= VALUE_MIN_BYTES; part--)
	{
		if (memcmp(message + len - part, secret, part) == 0)
			return part;
	}
	return 0;
}

void
rpc_url_scrub(const struct rpc_url *url, char *message)
{
	for (size_t i = 0; i < url->secret_count; i++)
	{
		const char *secret = url->secrets[i];
		char *found;
		size_t cut;

		while ((found = strstr(message, secret)) != NULL)
			mask(message, (size_t) (found - message), strlen(secret));
		cut = cut_secret(message, secret);
		if (cut > 0)
			mask(message, strlen(message) - cut, cut);
	}
}

/* ---- references to the environment --------------------------------------- */

static bool
is_variable_character(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static enum evm_status
append(struct expansion *expansion, const char *text, size_t len, struct evm_error *err)
{
	if (len >= sizeof(expansion->text) - expansion->len)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "a URL is longer than %d bytes", URL_MAX_BYTES - 1);
	memcpy(expansion->text + expansion->len, text, len);
	expansion->len += len;
	expansion->text[expansion->len] = '\0';
	return EVM_OK;
}

/* The length of "${env:RFLOW_NAME}" at the start of text, 0 when it is something else. */
static size_t
reference_len(const char *text)
{
	static const char start[] = REFERENCE_ENV VARIABLE_PREFIX;
	size_t len = sizeof(start) - 1;

	if (strncmp(text, start, len) != 0)
		return 0;
	while (is_variable_character(text[len]))
		len++;
	return text[len] == '}' ? len + 1 : 0;
}

/*
 * Whoever may write a network's URLs must not be able to send the server's signing secrets to a
 * node of his own: a value that is a private key, and variables named after a mnemonic or a
 * password, are not put into a URL. (A mnemonic's blanks have no place in one either.)
 */
static bool
is_signing_secret(const char *name, const char *value)
{
	struct evm_key key;
	bool is_key = evm_key_parse(&key, value, strlen(value), NULL) == EVM_OK;

	evm_wipe(&key, sizeof(key));
	return is_key || strstr(name, "MNEMONIC") != NULL || strstr(name, "PASSWORD") != NULL;
}

/* At "${"; *used is the length of the reference. */
static enum evm_status
expand_reference(struct expansion *expansion, size_t *used, const char *text, size_t position,
				 struct evm_error *err)
{
	char name[REFERENCE_MAX_BYTES];
	size_t name_len;
	const char *value;

	*used = reference_len(text);
	if (*used == 0 || *used > sizeof(name))
		return evm_fail(err, EVM_ERR_SYNTAX, position,
						"a reference in a URL must be ${env:RFLOW_NAME}, "
						"the name in capitals, digits and underscores");
	name_len = *used - strlen(REFERENCE_ENV) - 1;
	memcpy(name, text + strlen(REFERENCE_ENV), name_len);
	name[name_len] = '\0';
	value = expansion->lookup(name);
	if (value == NULL || value[0] == '\0')
		return evm_fail(err, EVM_ERR_MISMATCH, position, "environment variable %s is not set",
						name);
	if (is_signing_secret(name, value))
		return evm_fail(
			err, EVM_ERR_MISMATCH, position,
			"environment variable %s holds a signing secret, which has no place in a URL", name);
	if (strlen(value) >= VALUE_MIN_BYTES && add_secret(expansion, value, strlen(value)) != EVM_OK)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "out of memory");
	return append(expansion, value, strlen(value), err);
}

static enum evm_status
expand(struct expansion *expansion, const char *text, struct evm_error *err)
{
	enum evm_status status = EVM_OK;
	size_t at = 0;

	while (text[at] != '\0' && status == EVM_OK)
	{
		size_t used = 1;

		if (strncmp(text + at, REFERENCE_START, strlen(REFERENCE_START)) == 0)
			status = expand_reference(expansion, &used, text + at, at, err);
		else
			status = append(expansion, text + at, 1, err);
		at += used;
	}
	return status;
}

/* ---- the parts of a URL -------------------------------------------------- */

struct parts
{
	size_t scheme_len; /* with "://"; 0 when it is neither http nor https */
	const char *user;  /* what stands before '@' */
	size_t user_len;
	const char *host; /* host and port */
	size_t host_len;
	const char *rest; /* path, query and fragment */
};

static void
split(struct parts *parts, const char *url)
{
	static const char *const schemes[] = {"http://", "https://"};
	size_t len;

	memset(parts, 0, sizeof(*parts));
	for (int i = 0; i < 2; i++)
	{
		if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
			parts->scheme_len = strlen(schemes[i]);
	}
	parts->user = url + parts->scheme_len;
	len = strcspn(parts->user, "/?#");
	parts->rest = parts->user + len;
	parts->host = parts->user;
	for (size_t i = 0; i < len; i++)
	{
		if (parts->user[i] == '@')
			parts->host = parts->user + i + 1;
	}
	parts->user_len = (size_t) (parts->host - parts->user);
	parts->host_len = (size_t) (parts->rest - parts->host);
}

/* A name or address, "[...]" for IPv6, and an optional ":" and digits. */
static bool
is_host(const char *host, size_t len)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
	size_t at;

	if (len > 0 && host[0] == '[')
	{
		at = 1 + strspn(host + 1, "0123456789abcdefABCDEF:.");
		if (at < 2 || at >= len || host[at] != ']')
			return false;
		at++;
	}
	else
		at = strspn(host, name);
	if (at == 0 || at >= len)
		return at == len && at > 0;
	return host[at] == ':' && at + 1 < len && strspn(host + at + 1, "0123456789") == len - at - 1;
}

static enum evm_status
check(const struct parts *parts, const char *url, struct evm_error *err)
{
	for (const char *c = url; *c != '\0'; c++)
	{
		if (*c <= ' ' || *c > '~')
			return evm_fail(err, EVM_ERR_SYNTAX, 0,
							"a URL holds a blank, a control character or one that is not ASCII");
	}
	if (parts->scheme_len == 0)
		return evm_fail(err, EVM_ERR_SYNTAX, 0, "a URL must begin with http:// or https://");
	if (!is_host(parts->host, parts->host_len))
		return evm_fail(err, EVM_ERR_SYNTAX, 0, "a URL has no valid host and port");
	return EVM_OK;
}

/*
 * From the text as it was written, so that a variable inside the host is not shown either; from
 * the expanded one where a variable holds the scheme.
 */
static const char *
show(struct evm_arena *arena, const char *written, const char *expanded)
{
	struct parts parts;
	char *shown;

	split(&parts, written);
	if (parts.scheme_len == 0)
		split(&parts, expanded);
	shown = evm_arena_alloc(arena, parts.scheme_len + parts.host_len + 1);
	if (shown == NULL)
		return NULL;
	memcpy(shown, parts.user - parts.scheme_len, parts.scheme_len);
	memcpy(shown + parts.scheme_len, parts.host, parts.host_len);
	shown[parts.scheme_len + parts.host_len] = '\0';
	return shown;
}

enum evm_status
rpc_url_parse(struct evm_arena *arena, struct rpc_url *out, const char *text, rpc_url_lookup lookup,
			  struct evm_error *err)
{
	struct expansion expansion = {.arena = arena, .url = out, .lookup = lookup};
	struct parts parts;
	enum evm_status status;

	memset(out, 0, sizeof(*out));
	status = expand(&expansion, text, err);
	if (status != EVM_OK)
		return status;
	split(&parts, expansion.text);
	status = check(&parts, expansion.text, err);
	if (status != EVM_OK)
		return status;
	out->url = evm_arena_strndup(arena, expansion.text, expansion.len);
	out->shown = show(arena, text, expansion.text);
	if (out->url == NULL || out->shown == NULL ||
		add_pieces(&expansion, parts.user, parts.user_len, ":@", VALUE_MIN_BYTES) != EVM_OK ||
		add_pieces(&expansion, parts.rest, strlen(parts.rest), "/?&=#", TOKEN_MIN_BYTES) != EVM_OK)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "out of memory");
	return EVM_OK;
}
