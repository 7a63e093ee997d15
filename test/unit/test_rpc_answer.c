/*
 * test_rpc_answer.c
 *	  Responses of nodes and of the gateways before them, to answers of calls.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/answer.h"

#define COUNT_MAX 4

static const uint64_t ids[COUNT_MAX] = {7, 8, 9, 12};

static struct rpc_answer answers[COUNT_MAX];
static struct rpc_reading reading;

static void
read_text(const char *body, size_t len, size_t count)
{
	static const char *secrets[] = {"s3cr3t-token"};
	static const struct rpc_url url = {.secrets = secrets, .secret_count = 1};
	static struct evm_arena *arena;

	if (arena == NULL)
		arena = evm_arena_create(&evm_malloc_allocator, 1024 * 1024);
	evm_arena_reset(arena);
	rpc_answers_read(arena, &reading, answers, ids, count, body, len, &url);
}

static void
read_body(const char *body, size_t count)
{
	read_text(body, strlen(body), count);
}

/* One call whose answer is an error. */
static void
read_error(const char *error)
{
	char body[2048];

	snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":%s}", error);
	read_body(body, 1);
}

TEST(answers_are_matched_by_id_in_any_order)
{
	size_t len;

	read_body(
		"[{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":\"d\"},{\"id\":7,\"result\":null},"
		"{\"id\":9,\"error\":{\"code\":-32601,\"message\":\"no method\"}},"
		"{\"id\":8,\"result\":\"b\",\"error\":null}]",
		4);
	CHECK_NUMBER(reading.body, RPC_BODY_ANSWERS);
	CHECK_NUMBER(answers[0].outcome, RPC_RESULT);
	CHECK_NUMBER(evm_json_kind(answers[0].result), EVM_JSON_NULL);
	CHECK(answers[0].message == NULL);
	CHECK_TEXT(evm_json_string(answers[1].result, &len), "b");
	CHECK_NUMBER(answers[2].outcome, RPC_ERROR);
	CHECK_NUMBER(answers[2].code, -32601);
	CHECK_TEXT(answers[2].message, "no method");
	CHECK(!answers[2].has_data);
	CHECK_TEXT(evm_json_string(answers[3].result, &len), "d");
}

/* As some gateways give them back. */
TEST(ids_may_come_back_as_strings)
{
	read_body(
		"[{\"id\":\"12\",\"result\":1},{\"id\":\"\",\"result\":2},"
		"{\"id\":\"7000000000000000000\",\"result\":3},{\"id\":\"007\",\"result\":4}]",
		4);
	CHECK_NUMBER(answers[3].outcome, RPC_RESULT);
	CHECK_NUMBER(answers[0].outcome, RPC_RESULT);
	CHECK_NUMBER(answers[1].outcome, RPC_NO_ANSWER);
	CHECK_NUMBER(answers[2].outcome, RPC_NO_ANSWER);
}

TEST(calls_without_an_answer_say_so)
{
	read_body(
		"[{\"id\":8,\"result\":1},{\"id\":10,\"result\":2},{\"id\":\"9x\",\"result\":3},"
		"{\"id\":-7,\"result\":3},{\"id\":9},7,null,[]]",
		4);
	CHECK_NUMBER(reading.body, RPC_BODY_ANSWERS);
	CHECK_NUMBER(answers[0].outcome, RPC_NO_ANSWER);
	CHECK_TEXT(answers[0].message, "the node's answer lacks this call's id");
	CHECK_NUMBER(answers[1].outcome, RPC_RESULT);
	CHECK_NUMBER(answers[2].outcome, RPC_NO_ANSWER);
	CHECK_TEXT(answers[2].message, "the node's answer has neither a result nor an error");
	CHECK_NUMBER(answers[3].outcome, RPC_NO_ANSWER);
}

TEST(the_first_answer_to_an_id_counts)
{
	int64_t value;

	read_body(
		"[{\"id\":7,\"result\":1},{\"id\":7,\"error\":{\"code\":1,\"message\":\"x\"}},"
		"{\"id\":7,\"result\":2},{\"id\":8,\"error\":{\"code\":1,\"message\":\"x\"}},"
		"{\"id\":8,\"result\":2}]",
		2);
	CHECK_NUMBER(answers[0].outcome, RPC_RESULT);
	CHECK(evm_json_integer(answers[0].result, &value) && value == 1);
	CHECK_NUMBER(answers[1].outcome, RPC_ERROR);
}

TEST(foreign_ids_answer_nothing)
{
	read_body("[{\"id\":1007,\"result\":1},{\"id\":1008,\"error\":{\"message\":\"x\"}}]", 2);
	CHECK_NUMBER(reading.body, RPC_BODY_UNREADABLE);
	CHECK_TEXT(reading.message, "the node's answer has none of the ids that were sent");
	CHECK_NUMBER(answers[0].outcome, RPC_NO_ANSWER);
	CHECK_NUMBER(answers[1].outcome, RPC_NO_ANSWER);
}

TEST(one_error_refuses_the_whole_batch)
{
	read_body("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"no\"}}",
			  2);
	CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
	CHECK_NUMBER(reading.code, -32603);
	CHECK(!reading.rate_limited);
	CHECK(!reading.batch_refused);
	CHECK_NUMBER(answers[1].outcome, RPC_NO_ANSWER);
	CHECK_TEXT(answers[1].message, "no");

	/* Whatever id it has: it cannot be meant for one of them. */
	read_body("{\"id\":7,\"error\":{\"code\":-32603,\"message\":\"no\"}}", 2);
	CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
	CHECK_NUMBER(answers[0].outcome, RPC_NO_ANSWER);

	/* In an array. */
	read_body("[{\"id\":null,\"error\":{\"code\":-32603,\"message\":\"no\"}}]", 2);
	CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
	CHECK_TEXT(answers[0].message, "no");
}

TEST(gateways_refuse_in_their_own_way)
{
	read_body("{\"error\":\"unauthorized\"}", 2);
	CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
	CHECK_TEXT(reading.message, "unauthorized");
	read_body("{\"message\":\"no Route matched\"}", 1);
	CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
	CHECK_TEXT(reading.message, "no Route matched");
	read_body("{\"error\":{\"code\":-32001}}", 1);
	CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
	CHECK_TEXT(reading.message, "error -32001 without a message");
	read_body("{\"status\":\"ok\"}", 2);
	CHECK_NUMBER(reading.body, RPC_BODY_UNREADABLE);
}

TEST(an_only_call_takes_the_error_without_id_that_is_about_it)
{
	read_body("{\"id\":null,\"error\":{\"code\":-32600,\"message\":\"body too large\"}}", 1);
	CHECK_NUMBER(reading.body, RPC_BODY_ANSWERS);
	CHECK_NUMBER(answers[0].outcome, RPC_ERROR);
	CHECK_NUMBER(answers[0].code, -32600);
	read_body("{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error\"}}", 1);
	CHECK_NUMBER(answers[0].outcome, RPC_ERROR);
	/* The node's own trouble says nothing about the call. */
	read_body("{\"id\":null,\"error\":{\"code\":-32603,\"message\":\"internal error\"}}", 1);
	CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
	CHECK_NUMBER(answers[0].outcome, RPC_NO_ANSWER);
}

TEST(refused_batches_are_recognised)
{
	static const char *const bodies[] = {
		"{\"id\":null,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\"}}",
		"{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error\"}}",
		"{\"error\":{\"code\":-32000,\"message\":\"Batch requests are not supported\"}}",
		"{\"error\":{\"code\":-32005,\"message\":\"batch limit 100 exceeded\"}}",
		"[{\"id\":null,\"error\":{\"code\":-32600,\"message\":\"batch too large\"}}]",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
	{
		read_body(bodies[i], 2);
		CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
		CHECK(reading.batch_refused);
		CHECK(!reading.rate_limited);
	}
	read_body(bodies[2], 1);
	CHECK(!reading.batch_refused);
}

TEST(a_refusal_for_the_rate_says_nothing_about_the_call)
{
	static const char *const limited[] = {
		"{\"code\":429,\"message\":\"exceeded its compute units per second capacity\"}",
		"{\"code\":-32005,\"message\":\"Too Many Requests\"}",
		"{\"code\":-32005,\"message\":\"daily request count exceeded, request rate limited\"}",
		"{\"code\":-32016,\"message\":\"over rate limit\"}",
	};
	static const char *const others[] = {
		/* A too wide range of logs. */
		"{\"code\":-32005,\"message\":\"query returned more than 10000 results\"}",
		/* Contracts may say what they like. */
		"{\"code\":3,\"message\":\"execution reverted: too many requests\",\"data\":\"0x\"}",
		"{\"code\":-32000,\"message\":\"VM Exception: reverted with reason 'rate limit'\"}",
		"{\"code\":-32000,\"message\":\"too many requests\",\"data\":\"0x08c379a0\"}",
	};

	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++)
	{
		read_error(limited[i]);
		CHECK_NUMBER(reading.body, RPC_BODY_REFUSED);
		CHECK(reading.rate_limited);
		CHECK_NUMBER(answers[0].outcome, RPC_NO_ANSWER);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
	{
		read_error(others[i]);
		CHECK_NUMBER(reading.body, RPC_BODY_ANSWERS);
		CHECK(!reading.rate_limited);
		CHECK_NUMBER(answers[0].outcome, RPC_ERROR);
	}

	/* One of the calls only. */
	read_body(
		"[{\"id\":7,\"error\":{\"code\":429,\"message\":\"slow down\"}},"
		"{\"id\":8,\"result\":1}]",
		2);
	CHECK_NUMBER(reading.body, RPC_BODY_ANSWERS);
	CHECK(reading.rate_limited);
	CHECK_NUMBER(answers[0].outcome, RPC_NO_ANSWER);
	CHECK_TEXT(answers[0].message, "slow down");
	CHECK_NUMBER(answers[1].outcome, RPC_RESULT);
}

TEST(revert_data_is_found_where_nodes_put_it)
{
	static const char *const found[] = {
		"{\"code\":3,\"message\":\"m\",\"data\":\"0xdeadbeef\"}",
		"{\"code\":3,\"message\":\"m\",\"data\":{\"message\":\"x\",\"data\":\"0xdeadbeef\"}}",
		"{\"code\":3,\"message\":\"m\",\"data\":{\"originalError\":{\"data\":\"0xdeadbeef\"}}}",
		"{\"code\":-32015,\"message\":\"m\",\"data\":\"Reverted 0xdeadbeef\"}",
	};

	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
	{
		read_error(found[i]);
		CHECK(answers[0].has_data);
		CHECK_NUMBER(answers[0].data.len, 4);
		CHECK(memcmp(answers[0].data.data, "\xde\xad\xbe\xef", 4) == 0);
		CHECK_TEXT(answers[0].message, "m");
	}
	read_error("{\"code\":3,\"message\":\"m\",\"data\":\"0x\"}");
	CHECK(answers[0].has_data);
	CHECK_NUMBER(answers[0].data.len, 0);
	read_error("{\"code\":3,\"message\":\"m\",\"data\":\"0xabc\"}");
	CHECK(!answers[0].has_data);
	CHECK_TEXT(answers[0].message, "m: 0xabc");
	read_error("{\"code\":-32015,\"message\":\"VM execution error\",\"data\":\"Bad instruction\"}");
	CHECK_TEXT(answers[0].message, "VM execution error: Bad instruction");
	read_error(
		"{\"code\":3,\"message\":\"m\",\"data\":{\"data\":{\"data\":{\"data\":"
		"{\"data\":\"0xdeadbeef\"}}}}}");
	CHECK(!answers[0].has_data);
}

TEST(messages_are_printable_bounded_and_without_secrets)
{
	char error[1024];
	char filling[600];

	read_error("{\"code\":1,\"message\":\"a\\u0000b\\n\\u001b[31m\xc3\xa9\xf0\x9f\x92\xa9z\"}");
	CHECK_TEXT(answers[0].message, "a?b??[31m??z");
	read_error(
		"{\"code\":1,\"message\":\"key s3cr3t-token, s3cr3t-token!\",\"data\":\"s3cr3t-token\"}");
	CHECK_TEXT(answers[0].message, "key ***, ***!: ***");

	memset(filling, 'x', sizeof(filling));
	snprintf(error, sizeof(error), "{\"code\":1,\"message\":\"%.600s\"}", filling);
	read_error(error);
	CHECK_NUMBER(strlen(answers[0].message), RPC_MESSAGE_BYTES - 1);
	/* What the bound cuts off does not leave the beginning of a secret. */
	snprintf(error, sizeof(error), "{\"code\":1,\"message\":\"%.247s s3cr3t-token\"}", filling);
	read_error(error);
	CHECK(strstr(answers[0].message, "s3cr3t") == NULL);
	CHECK(strstr(answers[0].message, " ***") != NULL);
}

TEST(bodies_that_are_not_json_rpc_say_what_they_are)
{
	read_body("", 1);
	CHECK_NUMBER(reading.body, RPC_BODY_UNREADABLE);
	CHECK_TEXT(reading.message, "the answer is empty");
	CHECK_TEXT(answers[0].message, "the answer is empty");
	read_body(" \r\n\t", 1);
	CHECK_TEXT(reading.message, "the answer is empty");
	read_body("\n<!DOCTYPE html><title>502</title>", 2);
	CHECK_TEXT(reading.message, "the answer is a web page, not JSON");
	CHECK_TEXT(answers[1].message, "the answer is a web page, not JSON");
	read_body("[{\"id\":7,\"result\":", 1);
	CHECK_NUMBER(reading.body, RPC_BODY_UNREADABLE);
	read_body("s3cr3t-token", 1);
	CHECK(strstr(reading.message, "s3cr3t") == NULL);
	read_text("\0[]", 3, 1);
	CHECK_NUMBER(reading.body, RPC_BODY_UNREADABLE);
	read_text(NULL, 0, 1);
	CHECK_TEXT(reading.message, "the answer is empty");
	read_body("17", 1);
	CHECK_TEXT(reading.message, "the node's answer has none of the ids that were sent");
	read_body("[]", 1);
	CHECK_TEXT(reading.message, "the node's answer has none of the ids that were sent");
}

TEST(an_answer_beyond_the_arena_is_a_failure)
{
	static const struct rpc_url url = {.secret_count = 0};
	size_t len = 100000;
	char *body = malloc(len);

	memset(body, ' ', len);
	memcpy(body, "[{\"id\":7,\"result\":\"", 19);
	memset(body + 19, 'x', len - 22);
	memcpy(body + len - 3, "\"}]", 3);
	rpc_answers_read(test_arena(50000), &reading, answers, ids, 1, body, len, &url);
	CHECK_NUMBER(reading.body, RPC_BODY_UNREADABLE);
	CHECK_NUMBER(answers[0].outcome, RPC_NO_ANSWER);
	CHECK(answers[0].message != NULL);
	free(body);
}

TEST(failed_calls_keep_their_reason)
{
	char message[] = "refused";

	rpc_answers_fail(test_arena(1000), answers, 2, message);
	message[0] = 'R';
	CHECK_NUMBER(answers[1].outcome, RPC_NO_ANSWER);
	CHECK_TEXT(answers[1].message, "refused");
}
