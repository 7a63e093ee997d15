/*
 * request.h
 *	  The text of a batch of calls, and of any run of them.
 */
#ifndef RPC_REQUEST_H
#define RPC_REQUEST_H

#include "postgres.h"

#include "lib/stringinfo.h"

struct rpc_request
{
	StringInfoData text; /* ",call,call,call" */
	size_t *starts;      /* of each call in the text */
	uint64 *ids;         /* ascending */
	int count;
	int capacity;
	size_t opened; /* where "[" and "]" stand now; closed is 0 when they do not */
	size_t closed;
};

/* Memory is of the context that is current then. */
extern void rpc_request_init(struct rpc_request *request);
/* params is the text of a JSON array; ids grow from call to call. */
extern void rpc_request_add(struct rpc_request *request, uint64 id, const char *method,
							const char *params);
/* Bytes of the body for the calls first .. end - 1. */
extern size_t rpc_request_bytes(const struct rpc_request *request, int first, int end);
/*
 * That body: a JSON-RPC batch, or one call by itself, which nodes without batches understand too.
 * Borrowed until the next call with this request.
 */
extern const char *rpc_request_body(struct rpc_request *request, int first, int end, size_t *len);

#endif /* RPC_REQUEST_H */
