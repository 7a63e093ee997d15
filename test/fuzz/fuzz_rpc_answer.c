/*
 * fuzz_rpc_answer.c
 *	  Bodies of JSON-RPC responses, from nodes that may send anything.
 *
 * The first byte says how many calls were sent.  Every call ends up with exactly
 * one outcome, and no message holds what must not be shown.
 */
#include "fuzz.h"

#include <string.h>

#include "rpc/answer.h"

#define COUNT_MAX 4
#define SECRET "s3cr3t-token"

static void
check_message(const char *message)
{
	FUZZ_CHECK(message != NULL && message[0] != '\0');
	FUZZ_CHECK(strlen(message) < RPC_MESSAGE_BYTES);
	FUZZ_CHECK(strstr(message, SECRET) == NULL);
	for (const char *c = message; *c != '\0'; c++)
		FUZZ_CHECK(*c >= 0x20 && *c < 0x7f);
}

static void
check_answer(const struct rpc_answer *answer)
{
	if (answer->outcome == RPC_RESULT)
	{
		FUZZ_CHECK(answer->result != NULL && answer->message == NULL && !answer->has_data);
		return;
	}
	check_message(answer->message);
	FUZZ_CHECK(answer->result == NULL);
	FUZZ_CHECK(answer->outcome == RPC_ERROR || (answer->code == 0 && !answer->has_data));
	FUZZ_CHECK(answer->has_data == (answer->data.data != NULL));
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	static const uint64_t ids[COUNT_MAX] = {1, 2, 4, 9};
	static const char *secrets[] = {SECRET};
	static const struct rpc_url url = {.secrets = secrets, .secret_count = 1};
	struct rpc_answer answers[COUNT_MAX];
	struct rpc_reading reading;
	size_t count;
	size_t answered = 0;

	if (len == 0)
		return;
	count = 1 + data[0] % COUNT_MAX;
	rpc_answers_read(arena, &reading, answers, ids, count, (const char *) data + 1, len - 1, &url);
	for (size_t i = 0; i < count; i++)
	{
		check_answer(&answers[i]);
		answered += answers[i].outcome != RPC_NO_ANSWER;
	}
	FUZZ_CHECK((answered > 0) == (reading.body == RPC_BODY_ANSWERS));
	if (reading.body != RPC_BODY_ANSWERS)
		check_message(reading.message);
}
