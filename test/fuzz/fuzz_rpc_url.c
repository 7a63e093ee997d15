/*
 * fuzz_rpc_url.c
 *	  URLs of endpoints, which users write, and messages that may quote them.
 *
 * The input is a length, a URL of that length, and a message.
 */
#include "fuzz.h"

#include <string.h>

#include "rpc/url.h"

static char *
look_up(const char *name)
{
	static char value[] = "http://key-4711/x@y";

	return strcmp(name, "RFLOW_NONE") == 0 ? NULL : value;
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct rpc_url url;
	struct evm_error err;
	enum evm_status status;
	size_t url_len;
	char *text;
	char *message;

	if (len == 0)
		return;
	url_len = data[0] < len ? data[0] : len - 1;
	text = evm_arena_strndup(arena, (const char *) data + 1, url_len);
	message = evm_arena_strndup(arena, (const char *) data + 1 + url_len, len - 1 - url_len);
	FUZZ_CHECK(text != NULL && message != NULL);
	status = rpc_url_parse(arena, &url, text, look_up, &err);
	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		return;
	}
	FUZZ_CHECK(strncasecmp(url.shown, "http", 4) == 0 && strchr(url.shown, '@') == NULL);
	rpc_url_scrub(&url, message);
	for (size_t i = 0; i < url.secret_count; i++)
		FUZZ_CHECK(strstr(message, url.secrets[i]) == NULL);
}
