/*
 * vectors_abi_logs.c
 *	  Vectors of logs and of what reverts say.
 */
#include "vectors_abi.h"

#include <string.h>

#include "evm/hex.h"
#include "evm/word.h"

#define TOPICS_MAX 4

/* ---- logs ---------------------------------------------------------------------- */

struct log
{
	const struct evm_abi_item *event;
	struct evm_hash topics[TOPICS_MAX];
	size_t topic_count;
	struct evm_bytes data;
};

static enum vector_result
read_log(struct evm_arena *arena, struct log *out, const struct evm_json *row,
		 struct vector_note *note)
{
	const struct evm_json *topics = evm_json_object_get(row, "topics");
	const char *signature = vector_text(row, "sig");
	enum vector_result result = abi_read_item(arena, &out->event, row, "event", note);

	if (result != VECTOR_PASS)
		return result;
	if (signature == NULL || strcmp(signature, out->event->signature) != 0)
		return vector_fail(note, "the signature is %s", out->event->signature);
	out->topic_count = evm_json_array_size(topics);
	if (out->topic_count > TOPICS_MAX || !vector_bytes(arena, row, "data", &out->data))
		return vector_fail(note, "the row has too many topics, or lacks data");
	for (size_t i = 0; i < out->topic_count; i++)
	{
		struct evm_bytes topic;

		if (!vector_node_bytes(arena, evm_json_array_get(topics, i), &topic) ||
			topic.len != sizeof(out->topics[i].b))
			return vector_fail(note, "topic %zu is not 32 bytes", i);
		memcpy(out->topics[i].b, topic.data, topic.len);
	}
	return VECTOR_PASS;
}

/* The topic of an indexed argument, from the argument or from the value whose hash it is. */
static enum vector_result
check_topic(struct evm_arena *arena, const struct evm_json *row, const struct log *log,
			size_t argument, size_t topic, struct vector_note *note)
{
	const struct evm_json *preimage =
		evm_json_array_get(evm_json_object_get(row, "preimage"), argument);
	const struct evm_json *arg = evm_json_array_get(evm_json_object_get(row, "args"), argument);
	const struct evm_abi_type *type = log->event->inputs[argument].type;
	struct evm_abi_value value;
	struct evm_hash got;
	struct evm_error err;
	bool hashed =
		evm_json_is_true(evm_json_array_get(evm_json_object_get(row, "hashed"), argument));

	if (hashed && evm_json_kind(preimage) == EVM_JSON_NULL)
		return VECTOR_PASS; /* an on-chain log: nobody knows */
	if (!abi_value_from_json(arena, &value, type, hashed ? preimage : arg))
		return vector_fail(note, "argument %zu is not of its type", argument + 1);
	if (evm_abi_encode_topic(arena, &got, type, &value, &err) != EVM_OK)
		return vector_fail(note, "argument %zu has no topic: %s", argument + 1, err.message);
	return vector_same_bytes(note, "topic", got.b, sizeof(got.b), log->topics[topic].b,
							 sizeof(got.b));
}

static enum vector_result
check_topics(struct evm_arena *arena, const struct evm_json *row, const struct log *log,
			 const struct evm_abi_value *values, struct vector_note *note)
{
	size_t topic = log->event->anonymous ? 0 : 1;

	for (size_t i = 0; i < log->event->input_count; i++)
	{
		bool hashed = evm_json_is_true(evm_json_array_get(evm_json_object_get(row, "hashed"), i));
		enum vector_result result;

		if (values[i].hashed != hashed)
			return vector_fail(note, "argument %zu is %sknown by its hash", i + 1,
							   hashed ? "not " : "");
		if (!log->event->inputs[i].indexed)
			continue;
		result = check_topic(arena, row, log, i, topic++, note);
		if (result != VECTOR_PASS)
			return result;
	}
	return VECTOR_PASS;
}

static enum vector_result
check_log(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct log log;
	struct evm_abi abi;
	const struct evm_abi_item *found;
	struct evm_abi_value *values;
	struct evm_error err;
	enum vector_result result = read_log(arena, &log, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (evm_abi_decode_log(arena, &values, log.event, log.topics, log.topic_count, log.data.data,
						   log.data.len, &err) != EVM_OK)
		return vector_fail(note, "it is refused: %s", err.message);
	result = abi_check_values(arena, values, log.event->inputs, log.event->input_count,
							  evm_json_object_get(row, "args"), note);
	if (result == VECTOR_PASS)
		result = check_topics(arena, row, &log, values, note);
	abi = (struct evm_abi){log.event, 1};
	if (result == VECTOR_PASS &&
		evm_abi_find_log(&found, &abi, log.topics, log.topic_count, &err) != EVM_OK)
		return vector_fail(note, "its event is not found: %s", err.message);
	return result;
}

static enum vector_result
check_log_reject(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct log log;
	struct evm_abi_value *values;
	struct evm_error err = {.message = ""};
	enum vector_result result = read_log(arena, &log, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (evm_abi_decode_log(arena, &values, log.event, log.topics, log.topic_count, log.data.data,
						   log.data.len, &err) == EVM_OK)
		return vector_fail(note, "it is accepted");
	return err.message[0] != '\0' ? VECTOR_PASS : vector_fail(note, "the refusal has no message");
}

/* ---- reverts --------------------------------------------------------------------- */

static const char *
revert_kind(enum evm_revert_kind kind)
{
	static const char *const names[] = {
		[EVM_REVERT_EMPTY] = "empty",         [EVM_REVERT_ERROR] = "error",
		[EVM_REVERT_PANIC] = "panic",         [EVM_REVERT_CUSTOM] = "custom",
		[EVM_REVERT_UNKNOWN] = "undecodable",
	};

	return names[kind];
}

/* Text may go into a log line: UTF-8 and no control characters. */
static bool
is_safe_text(const char *text)
{
	if (text == NULL || !evm_utf8_is_text((const uint8_t *) text, strlen(text)))
		return false;
	for (; *text != '\0'; text++)
	{
		if ((unsigned char) *text < 0x20 || *text == 0x7f)
			return false;
	}
	return true;
}

static enum vector_result
check_panic(const struct evm_revert *revert, const struct evm_json *row, struct vector_note *note)
{
	const char *code = vector_text(row, "panic_code");
	const char *reason = vector_text(row, "panic_reason");
	struct evm_word word;
	uint64_t want = UINT64_MAX;

	if (code == NULL || evm_quantity_decode(&word, code, strlen(code), NULL) != EVM_OK)
		return vector_fail(note, "the row lacks panic_code");
	(void) evm_word_to_u64(&want, &word);
	if (revert->panic_code != want && evm_word_bits(&word) <= 64)
		return vector_fail(note, "the code is %llu", (unsigned long long) revert->panic_code);
	if (reason != NULL && strstr(revert->text, reason) == NULL)
		return vector_fail(note, "the reason is %s", revert->text);
	return VECTOR_PASS;
}

static enum vector_result
decode_revert(struct evm_arena *arena, struct evm_revert *out, const struct evm_json *row,
			  struct vector_note *note)
{
	const struct evm_json *items = evm_json_object_get(row, "abi");
	struct evm_abi abi = {NULL, 0};
	struct evm_bytes data;
	enum vector_result result = VECTOR_PASS;

	if (items != NULL)
		result = abi_read(arena, &abi, NULL, items, note);
	if (result != VECTOR_PASS)
		return result;
	if (!vector_bytes(arena, row, "data", &data))
		return vector_fail(note, "the row lacks data");
	if (evm_abi_decode_revert(arena, out, &abi, data.data, data.len) != EVM_OK)
		return vector_fail(note, "it has no text");
	return is_safe_text(out->text) ? VECTOR_PASS : vector_fail(note, "the text is not safe");
}

static enum vector_result
check_error(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const struct evm_json *args = evm_json_object_get(row, "args");
	const char *kind = vector_text(row, "kind");
	struct evm_revert revert;
	enum vector_result result = decode_revert(arena, &revert, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (kind == NULL || strcmp(kind, revert_kind(revert.kind)) != 0)
		return vector_fail(note, "it is %s: %s", revert_kind(revert.kind), revert.text);
	if (revert.kind == EVM_REVERT_PANIC)
		return check_panic(&revert, row, note);
	if (revert.kind == EVM_REVERT_ERROR)
		return abi_same_text(revert.args[0].bytes, evm_json_array_get(args, 0))
			? VECTOR_PASS
			: vector_fail(note, "the reason is %s", revert.text);
	if (revert.kind == EVM_REVERT_CUSTOM)
	{
		if (strcmp(revert.error->signature, vector_text(row, "signature")) != 0)
			return vector_fail(note, "the error is %s", revert.error->signature);
		return abi_check_values(arena, revert.args, revert.error->inputs, revert.error->input_count,
								args, note);
	}
	return VECTOR_PASS;
}

/* Bad UTF-8 is kept as bytes and escaped in the text; an unpadded tail is accepted. */
static enum vector_result
check_error_policy(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *message = vector_text(row, "message");
	struct evm_revert revert;
	struct evm_bytes raw;
	enum vector_result result = decode_revert(arena, &revert, row, note);

	if (result != VECTOR_PASS)
		return result;
	if (revert.kind != EVM_REVERT_ERROR)
		return vector_fail(note, "it is %s: %s", revert_kind(revert.kind), revert.text);
	if (vector_bytes(arena, row, "raw_bytes", &raw))
		return vector_same_bytes(note, "reason", revert.args[0].bytes.data,
								 revert.args[0].bytes.len, raw.data, raw.len);
	if (message == NULL || strstr(message, revert.text) == NULL)
		return vector_fail(note, "the reason is %s", revert.text);
	return VECTOR_PASS;
}

static const struct vector_family abi_log_families[] = {{"event_logs", check_log},
														{"event_logs_reject", check_log_reject},
														{"errors", check_error},
														{"errors_policy", check_error_policy},
														{NULL, NULL}};

VECTOR_FAMILIES(abi_log_families);
