/*
 * fuzz_abi_decode.c
 *	  Encoded arguments, logs and reverts of foreign contracts.
 *
 * The input is a length, a parameter list of that length, and the data.  What
 * decodes encodes again, and then it is canonical: the second encoding equals
 * the first.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/abi.h"

#define TOPICS_MAX 4

struct input
{
	const struct evm_abi_param *params;
	size_t count;
	const uint8_t *data;
	size_t len;
};

static void
check_failure(enum evm_status status, const struct evm_error *err, size_t len)
{
	fuzz_check_failure(status, err);
	FUZZ_CHECK(err->position <= len);
}

static void
try_encodings(struct evm_arena *arena, const struct input *input,
			  const struct evm_abi_value *values)
{
	struct evm_bytes packed;
	struct evm_hash topic;
	struct evm_error err;
	enum evm_status status =
		evm_abi_encode_packed(arena, &packed, input->params, values, input->count, &err);

	FUZZ_CHECK(status == EVM_OK || status == EVM_ERR_TYPE || status == EVM_ERR_MEMORY ||
			   status == EVM_ERR_LIMIT);
	for (size_t i = 0; i < input->count; i++)
		FUZZ_CHECK(evm_abi_encode_topic(arena, &topic, input->params[i].type, &values[i], NULL) ==
				   EVM_OK);
}

static void
try_arguments(struct evm_arena *arena, const struct input *input)
{
	struct evm_abi_value *values;
	struct evm_bytes first;
	struct evm_bytes second;
	struct evm_error err;
	enum evm_status status =
		evm_abi_decode(arena, &values, input->params, input->count, input->data, input->len, &err);

	if (status != EVM_OK)
	{
		check_failure(status, &err, input->len);
		return;
	}
	try_encodings(arena, input, values);
	status = evm_abi_encode(arena, &first, input->params, values, input->count, NULL);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK);
	status =
		evm_abi_decode(arena, &values, input->params, input->count, first.data, first.len, NULL);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK);
	status = evm_abi_encode(arena, &second, input->params, values, input->count, NULL);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK && first.len == second.len &&
			   memcmp(first.data, second.data, first.len) == 0);
}

/* The first words of the data are the topics. */
static void
try_log(struct evm_arena *arena, const struct input *input)
{
	struct evm_abi_item event = {.kind = EVM_ABI_ITEM_EVENT,
								 .name = "E",
								 .signature = "E()",
								 .anonymous = true,
								 .inputs = input->params,
								 .input_count = input->count};
	struct evm_abi abi = {&event, 1};
	const struct evm_abi_item *found;
	struct evm_hash topics[TOPICS_MAX];
	struct evm_abi_value *values;
	size_t topic_count = 0;
	struct evm_error err;
	enum evm_status status;

	for (size_t i = 0; i < input->count; i++)
		topic_count += input->params[i].indexed;
	if (topic_count > TOPICS_MAX || topic_count * sizeof(topics[0]) > input->len)
		return;
	memcpy(topics, input->data, topic_count * sizeof(topics[0]));
	FUZZ_CHECK(evm_abi_find_log(&found, &abi, topics, topic_count, NULL) == EVM_OK);
	status = evm_abi_decode_log(arena, &values, found, topics, topic_count,
								input->data + topic_count * sizeof(topics[0]),
								input->len - topic_count * sizeof(topics[0]), &err);
	if (status != EVM_OK)
		check_failure(status, &err, input->len);
}

static void
try_revert(struct evm_arena *arena, const struct input *input)
{
	struct evm_abi_item error = {.kind = EVM_ABI_ITEM_ERROR,
								 .name = "E",
								 .signature = "E()",
								 .inputs = input->params,
								 .input_count = input->count};
	struct evm_abi abi = {&error, 1};
	struct evm_revert revert;
	enum evm_status status;

	if (input->len >= 4)
		memcpy(error.hash.b, input->data, 4);
	status = evm_abi_decode_revert(arena, &revert, &abi, input->data, input->len);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK && strlen(revert.text) <= 2048);
	FUZZ_CHECK(evm_utf8_is_text((const uint8_t *) revert.text, strlen(revert.text)));
	for (const char *p = revert.text; *p != '\0'; p++)
		FUZZ_CHECK((unsigned char) *p >= 0x20 && *p != 0x7f);
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct input input;
	size_t text_len;

	if (len == 0 || data[0] > len - 1)
		return;
	text_len = data[0];
	if (evm_abi_parse_params(arena, &input.params, &input.count, (const char *) data + 1, text_len,
							 NULL) != EVM_OK)
		return;
	input.data = data + 1 + text_len;
	input.len = len - 1 - text_len;
	try_arguments(arena, &input);
	try_log(arena, &input);
	try_revert(arena, &input);
}
