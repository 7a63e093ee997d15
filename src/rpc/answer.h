/*
 * answer.h
 *	  The body of a JSON-RPC response to answers of the calls that were sent.
 *
 * Plain C without PostgreSQL, so that it is tested and fuzzed alone: what it reads was written
 * by a foreign machine.
 */
#ifndef RPC_ANSWER_H
#define RPC_ANSWER_H

#include "evm/arena.h"
#include "evm/status.h"
#include "rpc/client.h"
#include "rpc/url.h"

/* Longest message of an answer, with its NUL. */
#define RPC_MESSAGE_BYTES EVM_ERROR_MESSAGE_BYTES

enum rpc_body
{
	RPC_BODY_ANSWERS,   /* at least one call was answered */
	RPC_BODY_REFUSED,   /* an error for the request as a whole: code and message */
	RPC_BODY_UNREADABLE /* not JSON-RPC: message says what it is */
};

struct rpc_reading
{
	enum rpc_body body;
	int64_t code;       /* of RPC_BODY_REFUSED; 0 when it had none */
	bool rate_limited;  /* the endpoint wants fewer requests: refused them all, or some calls */
	bool batch_refused; /* the calls would be served in smaller requests */
	char message[RPC_MESSAGE_BYTES];
};

/*
 * Reads a response (JSON-RPC 2.0, section 5 and 6) to the calls with these ids, ascending, into the
 * answers at the same indexes.  Calls without an answer become RPC_NO_ANSWER; so do calls that were
 * refused for the rate of requests: they say nothing about the call.  A second answer to the same
 * id is ignored.  Results, data and messages live in the arena; messages are scrubbed of the url's
 * secrets.
 */
extern void rpc_answers_read(struct evm_arena *arena, struct rpc_reading *reading,
							 struct rpc_answer *answers, const uint64_t *ids, size_t count,
							 const char *body, size_t len, const struct rpc_url *url);

/* Makes all answers RPC_NO_ANSWER with a copy of the message. */
extern void rpc_answers_fail(struct evm_arena *arena, struct rpc_answer *answers, size_t count,
							 const char *message);

#endif /* RPC_ANSWER_H */
