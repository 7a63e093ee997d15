/*
 * answer.c
 *	  The body of a JSON-RPC response to answers of the calls that were sent.
 *
 * Nodes and the gateways before them differ most in how they refuse.  What is
 * known here: an array of answers in any order; one error object for the whole
 * batch, with and without id; an array of one error without id; gateways that
 * answer {"error": "text"} or {"message": "text"}; revert data in error.data, in
 * error.data.data (hardhat), in error.data.originalError.data (wallets), and after
 * the word "Reverted" (OpenEthereum).
 */
#include "rpc/answer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "evm/hex.h"

#define CODE_PARSE_ERROR (-32700)
#define CODE_INVALID_REQUEST (-32600)
#define CODE_INVALID_PARAMS (-32602)
/* The code of hosted nodes that think in HTTP. */
#define CODE_TOO_MANY_REQUESTS 429

/* error.data.originalError.data: deeper than that nobody nests. */
#define DATA_MAX_DEPTH 3

/* Of an id: fits 64 bits. */
#define ID_MAX_DIGITS 18

#define REVERTED_PREFIX "Reverted "

/* An error object of a node, cleaned. */
struct node_error
{
	int64_t code;
	char message[RPC_MESSAGE_BYTES];
	struct evm_bytes data;
	bool has_data;
};

struct reading_state
{
	struct evm_arena *arena;
	const struct rpc_url *url;
	struct rpc_reading *reading;
	struct rpc_answer *answers;
	const uint64_t *ids;
	size_t count;
	size_t answered;
};

/* Also the mark of an answer that nothing was read for yet. */
static const char no_such_id[] = "the node's answer lacks this call's id";
static const char neither[] = "the node's answer has neither a result nor an error";
static const char not_ours[] = "the node's answer has none of the ids that were sent";
static const char empty_answer[] = "the answer is empty";
static const char markup_answer[] = "the answer is a web page, not JSON";
static const char out_of_memory[] = "the answer needs more memory than allowed";

/* ---- text ---------------------------------------------------------------- */

/*
 * Appends foreign text to a message of RPC_MESSAGE_BYTES: what is not printable ASCII becomes
 * one '?' for each character, since the database may have any encoding.
 */
static void
append_foreign(char *message, const char *text, size_t len)
{
	size_t at = strlen(message);

	for (size_t i = 0; i < len && at < RPC_MESSAGE_BYTES - 1; i++)
	{
		unsigned char c = (unsigned char) text[i];

		/* Continuation bytes of UTF-8. */
		if ((c & 0xc0) == 0x80)
			continue;
		message[at++] = c >= 0x20 && c < 0x7f ? (char) c : '?';
	}
	message[at] = '\0';
}

static bool
contains(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text != '\0'; text++)
	{
		if (strncasecmp(text, word, len) == 0)
			return true;
	}
	return false;
}

/*
 * Must not be taken for a refused call, which can fail a run; nor may a contract that reverts with
 * such words be asked for ever.  Code -32005 alone is also what a too wide range of logs gets.
 */
static bool
is_rate_limit(const struct node_error *error)
{
	static const char *const words[] = {"too many requests", "rate limit",
										"ratelimit",         "rate-limit",
										"request rate",      "requests per second",
										"compute units",     "request count exceeded",
										"capacity exceeded"};

	if (error->code == CODE_TOO_MANY_REQUESTS)
		return true;
	if (error->has_data || error->code > 0 || contains(error->message, "revert"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
	{
		if (contains(error->message, words[i]))
			return true;
	}
	return false;
}

/*
 * Nodes word it differently: too many calls, too many bytes, batches not served at all.  Old ones
 * take the array for a malformed call.
 */
static bool
is_about_batches(const struct node_error *error)
{
	return error->code == CODE_PARSE_ERROR || error->code == CODE_INVALID_REQUEST ||
		contains(error->message, "batch");
}

/* ---- errors -------------------------------------------------------------- */

static bool
decode_data(struct evm_arena *arena, struct evm_bytes *out, const char *text, size_t len)
{
	size_t prefix = strlen(REVERTED_PREFIX);
	uint8_t *data;

	if (len >= prefix && memcmp(text, REVERTED_PREFIX, prefix) == 0)
	{
		text += prefix;
		len -= prefix;
	}
	data = evm_arena_alloc(arena, len / 2 + 1);
	if (data == NULL || evm_hex_decode(data, &out->len, text, len, NULL) != EVM_OK)
		return false;
	out->data = data;
	return true;
}

static bool
find_data(struct evm_arena *arena, struct evm_bytes *out, const struct evm_json *node, int depth)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	if (text != NULL)
		return decode_data(arena, out, text, len);
	if (depth == DATA_MAX_DEPTH || evm_json_kind(node) != EVM_JSON_OBJECT)
		return false;
	return find_data(arena, out, evm_json_object_get(node, "data"), depth + 1) ||
		find_data(arena, out, evm_json_object_get(node, "originalError"), depth + 1);
}

/* node is the error member, or what stands in its place. */
static void
read_error(const struct reading_state *state, struct node_error *error, const struct evm_json *node)
{
	const struct evm_json *data = evm_json_object_get(node, "data");
	size_t len;
	const char *text = evm_json_string(node, &len);

	memset(error, 0, sizeof(*error));
	if (text == NULL)
	{
		evm_json_integer(evm_json_object_get(node, "code"), &error->code);
		text = evm_json_string(evm_json_object_get(node, "message"), &len);
	}
	if (text != NULL && len > 0)
		append_foreign(error->message, text, len);
	else
		snprintf(error->message, sizeof(error->message), "error %lld without a message",
				 (long long) error->code);
	error->has_data = find_data(state->arena, &error->data, data, 0);
	text = evm_json_string(data, &len);
	if (!error->has_data && text != NULL && len > 0)
	{
		append_foreign(error->message, ": ", 2);
		append_foreign(error->message, text, len);
	}
	rpc_url_scrub(state->url, error->message);
}

/* ---- answers ------------------------------------------------------------- */

static const char *
keep_message(struct evm_arena *arena, const char *message)
{
	const char *copy = evm_arena_strndup(arena, message, strlen(message));

	return copy != NULL ? copy : out_of_memory;
}

/* Some gateways give numbers back as strings. */
static bool
read_id(int64_t *out, const struct evm_json *id)
{
	size_t len;
	const char *text = evm_json_string(id, &len);

	if (text == NULL)
		return evm_json_integer(id, out);
	if (len == 0 || len > ID_MAX_DIGITS)
		return false;
	*out = 0;
	for (size_t i = 0; i < len; i++)
	{
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = *out * 10 + (text[i] - '0');
	}
	return true;
}

/* The answer that a node's id belongs to, or NULL. */
static struct rpc_answer *
find_answer(const struct reading_state *state, const struct evm_json *id)
{
	size_t low = 0;
	size_t high = state->count;
	int64_t value;

	if (!read_id(&value, id) || value < 0)
		return NULL;
	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (state->ids[middle] == (uint64_t) value)
			return &state->answers[middle];
		if (state->ids[middle] < (uint64_t) value)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The first error that belongs to no call speaks for those without an answer. */
static void
note_refusal(struct reading_state *state, const struct node_error *error)
{
	struct rpc_reading *reading = state->reading;

	if (is_rate_limit(error))
		reading->rate_limited = true;
	else if (state->count > 1 && is_about_batches(error))
		reading->batch_refused = true;
	if (reading->body == RPC_BODY_REFUSED)
		return;
	reading->body = RPC_BODY_REFUSED;
	reading->code = error->code;
	memcpy(reading->message, error->message, sizeof(reading->message));
}

static void
take_error(struct reading_state *state, struct rpc_answer *answer, const struct evm_json *node)
{
	struct node_error error;

	read_error(state, &error, node);
	answer->message = keep_message(state->arena, error.message);
	if (is_rate_limit(&error))
	{
		note_refusal(state, &error);
		return;
	}
	answer->outcome = RPC_ERROR;
	answer->code = error.code;
	answer->data = error.data;
	answer->has_data = error.has_data;
	state->answered++;
}

static void
take_element(struct reading_state *state, const struct evm_json *element)
{
	const struct evm_json *id = evm_json_object_get(element, "id");
	struct rpc_answer *answer = find_answer(state, id);
	const struct evm_json *error = evm_json_object_get(element, "error");
	const struct evm_json *result = evm_json_object_get(element, "result");
	struct node_error refusal;

	/* Some nodes send "error": null beside a result. */
	if (evm_json_kind(error) == EVM_JSON_NULL)
		error = NULL;
	if (answer == NULL)
	{
		if (error != NULL && evm_json_kind(id) == EVM_JSON_NULL)
		{
			read_error(state, &refusal, error);
			note_refusal(state, &refusal);
		}
		return;
	}
	if (answer->message != no_such_id)
		return;
	if (error != NULL)
		take_error(state, answer, error);
	else if (result != NULL)
	{
		answer->outcome = RPC_RESULT;
		answer->result = result;
		answer->message = NULL;
		state->answered++;
	}
	else
		answer->message = neither;
}

/*
 * Errors that JSON-RPC itself defines for requests (section 5.1).  A node that could not read the
 * id of the only call says null there.
 */
static bool
is_about_the_call(int64_t code)
{
	return code == CODE_PARSE_ERROR ||
		(code <= CODE_INVALID_REQUEST && code >= CODE_INVALID_PARAMS);
}

/* An object where an array was due speaks for the whole batch when it is an error. */
static void
take_object(struct reading_state *state, const struct evm_json *object)
{
	const struct evm_json *error = evm_json_object_get(object, "error");
	bool alone = state->count == 1;
	struct node_error refusal;

	if (evm_json_kind(error) == EVM_JSON_NULL)
		error = NULL;
	if (error == NULL && evm_json_kind(evm_json_object_get(object, "message")) == EVM_JSON_STRING)
		error = object;
	if (error == NULL || (alone && find_answer(state, evm_json_object_get(object, "id")) != NULL))
	{
		take_element(state, object);
		return;
	}
	read_error(state, &refusal, error);
	if (alone && is_about_the_call(refusal.code))
		take_error(state, &state->answers[0], error);
	else
		note_refusal(state, &refusal);
}

/* ---- the body ------------------------------------------------------------ */

static void
describe_unreadable(const struct reading_state *state, const char *body, size_t len,
					const struct evm_error *error)
{
	struct rpc_reading *reading = state->reading;
	size_t at = 0;

	while (at < len && strchr(" \t\r\n", body[at]) != NULL && body[at] != '\0')
		at++;
	if (at == len)
		append_foreign(reading->message, empty_answer, strlen(empty_answer));
	else if (body[at] == '<')
		append_foreign(reading->message, markup_answer, strlen(markup_answer));
	else
		append_foreign(reading->message, error->message, strlen(error->message));
	rpc_url_scrub(state->url, reading->message);
}

static void
finish(struct reading_state *state)
{
	struct rpc_reading *reading = state->reading;
	const char *message = no_such_id;

	if (reading->body == RPC_BODY_REFUSED)
		message = keep_message(state->arena, reading->message);
	else if (state->answered == 0)
		append_foreign(reading->message, not_ours, strlen(not_ours));
	for (size_t i = 0; i < state->count; i++)
	{
		if (state->answers[i].message == no_such_id)
			state->answers[i].message = message;
	}
	if (state->answered > 0)
		reading->body = RPC_BODY_ANSWERS;
}

void
rpc_answers_fail(struct evm_arena *arena, struct rpc_answer *answers, size_t count,
				 const char *message)
{
	memset(answers, 0, sizeof(*answers) * count);
	message = keep_message(arena, message);
	for (size_t i = 0; i < count; i++)
	{
		answers[i].outcome = RPC_NO_ANSWER;
		answers[i].message = message;
	}
}

void
rpc_answers_read(struct evm_arena *arena, struct rpc_reading *reading, struct rpc_answer *answers,
				 const uint64_t *ids, size_t count, const char *body, size_t len,
				 const struct rpc_url *url)
{
	struct reading_state state;
	const struct evm_json *root;
	struct evm_error error;

	memset(reading, 0, sizeof(*reading));
	state = (struct reading_state){arena, url, reading, answers, ids, count, 0};
	reading->body = RPC_BODY_UNREADABLE;
	if (evm_json_parse(arena, &root, body, len, &error) != EVM_OK)
	{
		describe_unreadable(&state, body, len, &error);
		rpc_answers_fail(arena, answers, count, reading->message);
		return;
	}
	memset(answers, 0, sizeof(*answers) * count);
	for (size_t i = 0; i < count; i++)
	{
		answers[i].outcome = RPC_NO_ANSWER;
		answers[i].message = no_such_id;
	}
	if (evm_json_kind(root) == EVM_JSON_OBJECT)
		take_object(&state, root);
	for (size_t i = 0; i < evm_json_array_size(root); i++)
		take_element(&state, evm_json_array_get(root, i));
	finish(&state);
}
