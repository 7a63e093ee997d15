/*
 * test_rpc_url.c
 *	  What of an endpoint's URL is used, and what of it is shown.
 */
#include "check.h"

#include "rpc/url.h"

static struct rpc_url url;
static struct evm_error err;

static char *
look_up(const char *name)
{
	static char key[] = "key-4711";
	static char whole[] = "https://node.example/v2/token-0815";
	static char broken[] = "a b";
	static char empty[] = "";
	static char secret[] = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
	static char password[] = "hunter2";

	if (strcmp(name, "RFLOW_KEY") == 0)
		return key;
	if (strcmp(name, "RFLOW_URL") == 0)
		return whole;
	if (strcmp(name, "RFLOW_BROKEN") == 0)
		return broken;
	if (strcmp(name, "RFLOW_EMPTY") == 0)
		return empty;
	if (strcmp(name, "RFLOW_HOT") == 0)
		return secret;
	if (strcmp(name, "RFLOW_PASSWORD_OF_HOT") == 0)
		return password;
	return NULL;
}

static enum evm_status
parse(const char *text)
{
	static struct evm_arena *arena;

	if (arena == NULL)
		arena = evm_arena_create(&evm_malloc_allocator, 100000);
	evm_arena_reset(arena);
	err.message[0] = '\0';
	return rpc_url_parse(arena, &url, text, look_up, &err);
}

static void
shows(const char *text, const char *expanded, const char *shown)
{
	CHECK_NUMBER(parse(text), EVM_OK);
	CHECK_TEXT(url.url, expanded);
	CHECK_TEXT(url.shown, shown);
}

TEST(only_scheme_host_and_port_are_shown)
{
	shows("http://127.0.0.1:8545", "http://127.0.0.1:8545", "http://127.0.0.1:8545");
	shows("https://node.example/v2/token", "https://node.example/v2/token", "https://node.example");
	shows("https://user:pass@node.example:8443?key=token",
		  "https://user:pass@node.example:8443?key=token", "https://node.example:8443");
	shows("https://u@v:p@node.example#x", "https://u@v:p@node.example#x", "https://node.example");
	shows("HTTP://[::1]:8545/", "HTTP://[::1]:8545/", "HTTP://[::1]:8545");
	shows("https://node.example/a@b", "https://node.example/a@b", "https://node.example");
}

TEST(references_are_expanded_and_never_shown)
{
	shows("https://node.example/v2/${env:RFLOW_KEY}", "https://node.example/v2/key-4711",
		  "https://node.example");
	shows("https://${env:RFLOW_KEY}.node.example/", "https://key-4711.node.example/",
		  "https://${env:RFLOW_KEY}.node.example");
	shows("https://x:${env:RFLOW_KEY}@node.example/", "https://x:key-4711@node.example/",
		  "https://node.example");
	shows("${env:RFLOW_URL}", "https://node.example/v2/token-0815", "https://node.example");
}

static void
refuses(const char *text, enum evm_status status, const char *message)
{
	CHECK_NUMBER(parse(text), status);
	CHECK_TEXT(err.message, message);
}

TEST(urls_that_cannot_be_used_are_refused)
{
	static const char reference[] =
		"a reference in a URL must be ${env:RFLOW_NAME}, "
		"the name in capitals, digits and underscores";
	static const char host[] = "a URL has no valid host and port";
	static const char scheme[] = "a URL must begin with http:// or https://";
	static const char blank[] = "a URL holds a blank, a control character or one that is not ASCII";

	refuses("https://a/${env:RFLOW_NONE}", EVM_ERR_MISMATCH,
			"environment variable RFLOW_NONE is not set");
	refuses("https://a/${env:RFLOW_EMPTY}", EVM_ERR_MISMATCH,
			"environment variable RFLOW_EMPTY is not set");
	refuses("https://a/${env:RFLOW_HOT}", EVM_ERR_MISMATCH,
			"environment variable RFLOW_HOT holds a signing secret, which has no place in a URL");
	refuses("https://a/${env:RFLOW_PASSWORD_OF_HOT}", EVM_ERR_MISMATCH,
			"environment variable RFLOW_PASSWORD_OF_HOT holds a signing secret, which has no place "
			"in a URL");
	refuses("https://a/${env:HOME}", EVM_ERR_SYNTAX, reference);
	refuses("https://a/${env:RFLOW_key}", EVM_ERR_SYNTAX, reference);
	refuses("https://a/${RFLOW_KEY}", EVM_ERR_SYNTAX, reference);
	refuses("https://a/${env:RFLOW_KEY", EVM_ERR_SYNTAX, reference);
	refuses("https://a/${", EVM_ERR_SYNTAX, reference);
	refuses("https://a/${env:}", EVM_ERR_SYNTAX, reference);
	refuses("", EVM_ERR_SYNTAX, scheme);
	refuses("ws://a", EVM_ERR_SYNTAX, scheme);
	refuses("file:///etc/passwd", EVM_ERR_SYNTAX, scheme);
	refuses("http://", EVM_ERR_SYNTAX, host);
	refuses("http:///path", EVM_ERR_SYNTAX, host);
	refuses("http://a:b/", EVM_ERR_SYNTAX, host);
	refuses("http://a:/", EVM_ERR_SYNTAX, host);
	refuses("http://a\\b/", EVM_ERR_SYNTAX, host);
	refuses("http://[::1/", EVM_ERR_SYNTAX, host);
	refuses("http://[]/", EVM_ERR_SYNTAX, host);
	refuses("http://[::1]x/", EVM_ERR_SYNTAX, host);
	refuses("http://user:pass@/", EVM_ERR_SYNTAX, host);
	refuses("http://a b/", EVM_ERR_SYNTAX, blank);
	refuses("http://a/${env:RFLOW_BROKEN}", EVM_ERR_SYNTAX, blank);
	refuses("http://a/\xc3\xa9", EVM_ERR_SYNTAX, blank);
}

TEST(long_urls_are_refused)
{
	char text[8192];

	memset(text, 'a', sizeof(text));
	memcpy(text, "http://", 7);
	text[sizeof(text) - 1] = '\0';
	refuses(text, EVM_ERR_LIMIT, "a URL is longer than 4095 bytes");
	text[4095] = '\0';
	CHECK_NUMBER(parse(text), EVM_OK);
}

static void
scrubs(const char *text, const char *message, const char *scrubbed)
{
	char buffer[256];

	CHECK_NUMBER(parse(text), EVM_OK);
	strcpy(buffer, message);
	rpc_url_scrub(&url, buffer);
	CHECK_TEXT(buffer, scrubbed);
}

TEST(messages_are_scrubbed_of_what_a_url_hides)
{
	scrubs("https://node.example/v2/${env:RFLOW_KEY}", "bad key-4711 at /v2/key-4711",
		   "bad *** at /v2/***");
	scrubs("https://node.example/v2/0123456789abcdef?auth=fedcba9876",
		   "0123456789abcdef fedcba9876", "*** ***");
	scrubs("https://me:pass@node.example/", "pass of me", "*** of me");
	scrubs("${env:RFLOW_URL}", "Cannot POST https://node.example/v2/token-0815 (token-0815)",
		   "Cannot POST *** (***)");
	scrubs("https://node.example/v2/0123456789abcdef", "cut at 0123456789", "cut at ***");
	scrubs("https://node.example/v2/0123456789abcdef", "cut at 012", "cut at 012");
	scrubs("https://node.example/v2/0123456789abcdef", "", "");
	/* Words of the path are not secrets. */
	scrubs("https://node.example/v2/mainnet", "no method on mainnet v2", "no method on mainnet v2");
}
