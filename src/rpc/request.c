/*
 * request.c
 *	  The text of a batch of calls, and of any run of them.
 *
 * Calls are kept as one text with a comma before each, so that a run of them
 * becomes a JSON array by writing "[" and "]" over its two neighbours.
 */
#include "postgres.h"

#include "rpc/request.h"

#include "utils/json.h"

#define FIRST_CAPACITY 16

void
rpc_request_init(struct rpc_request *request)
{
	initStringInfo(&request->text);
	request->capacity = FIRST_CAPACITY;
	request->starts = palloc(sizeof(*request->starts) * request->capacity);
	request->ids = palloc(sizeof(*request->ids) * request->capacity);
	request->count = 0;
	request->closed = 0;
}

void
rpc_request_add(struct rpc_request *request, uint64 id, const char *method, const char *params)
{
	int at = request->count;

	if (at == request->capacity)
	{
		request->capacity *= 2;
		request->starts = repalloc(request->starts, sizeof(*request->starts) * request->capacity);
		request->ids = repalloc(request->ids, sizeof(*request->ids) * request->capacity);
	}
	appendStringInfoChar(&request->text, ',');
	request->starts[at] = request->text.len;
	request->ids[at] = id;
	appendStringInfo(&request->text,
					 "{\"jsonrpc\":\"2.0\",\"id\":" UINT64_FORMAT ",\"method\":", id);
	escape_json(&request->text, method);
	appendStringInfoString(&request->text, ",\"params\":");
	appendStringInfoString(&request->text, params);
	appendStringInfoChar(&request->text, '}');
	request->count++;
}

/* Where the character after a call is: the next one's comma, or the terminator of the text. */
static size_t
call_end(const struct rpc_request *request, int index)
{
	return index + 1 < request->count ? request->starts[index + 1] - 1 : request->text.len;
}

size_t
rpc_request_bytes(const struct rpc_request *request, int first, int end)
{
	if (first == end)
		return 0;
	return call_end(request, end - 1) - request->starts[first] + 2;
}

const char *
rpc_request_body(struct rpc_request *request, int first, int end, size_t *len)
{
	size_t start = request->starts[first];
	size_t behind = call_end(request, end - 1);

	/* What the last run wrote stands inside of this one, if a node took fewer calls. */
	if (request->closed > 0)
	{
		request->text.data[request->opened] = ',';
		request->text.data[request->closed] = request->closed < request->text.len ? ',' : '\0';
		request->closed = 0;
	}
	if (end - first == 1)
	{
		*len = behind - start;
		return request->text.data + start;
	}
	request->opened = start - 1;
	request->closed = behind;
	request->text.data[request->opened] = '[';
	request->text.data[request->closed] = ']';
	*len = behind - start + 2;
	return request->text.data + start - 1;
}
