/*
 * client.h
 *	  JSON-RPC 2.0 over HTTP: batches to one network's endpoints, from a process
 *	  that stays responsive while it waits.
 *
 * A call here reads as a function that returns answers.  Inside, libcurl's
 * multi-socket interface is stepped from a WaitEventSet, so the latch, SIGTERM,
 * query cancel, ProcSignalBarriers and configuration reloads are served while a
 * node hangs.  Never call it with a transaction open: it raises if one is.
 */
#ifndef RPC_CLIENT_H
#define RPC_CLIENT_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/json.h"

/* Request bodies stay below this; nodes refuse larger ones (anvil: 2 MB, hosted ones less). */
#define RPC_MAX_REQUEST_BYTES (1024 * 1024)
/* Answers above this are refused while they arrive. */
#define RPC_MAX_RESPONSE_BYTES (128 * 1024 * 1024)

struct rpc_client;

struct rpc_options
{
	const char *network; /* for messages */
	/* May contain ${env:RFLOW_…}; tried in order, the first that works is kept. */
	const char *const *urls;
	int url_count;
	int timeout_ms; /* of one request */
	/*
	 * Where the network has a limit of compute units: takes them, or says in how many milliseconds
	 * to try again (0: taken).  priority is an enum rpc_priority.  NULL: no limit.
	 */
	double (*spend)(void *context, double units, int priority);
	void *spend_context;     /* lives as long as the client */
	double units_per_second; /* what the limit is: no request costs more, where it can be split */
	const char *unit_costs;  /* NULL, or a JSON object: what calls cost (units.h) */
};

/* Who may ask first where there is a limit. */
enum rpc_priority
{
	RPC_BULK,   /* does not wait for long: fails, to be tried later */
	RPC_NORMAL, /* unless told */
	RPC_URGENT
};

/* What a single call was answered. */
enum rpc_outcome
{
	RPC_RESULT,   /* result is set (its kind may be EVM_JSON_NULL) */
	RPC_ERROR,    /* the node refused this call: code, message, data */
	RPC_NO_ANSWER /* the request failed or the answer had no such id: message says why */
};

struct rpc_answer
{
	enum rpc_outcome outcome;
	const struct evm_json *result;
	int64_t code;          /* of RPC_ERROR */
	const char *message;   /* printable, bounded, without secrets; never NULL unless RPC_RESULT */
	struct evm_bytes data; /* error.data (or error.data.data) when it is hex: a revert's bytes */
	bool has_data;
};

struct rpc_batch;

/*
 * Clients live in the memory context that is current, and are released with it
 * (a reset callback closes libcurl's handles).  Raises on URLs that are not
 * http(s) or name an environment variable that is not set (naming the variable
 * and the network, never a value).
 */
extern struct rpc_client *rpc_client_create(const struct rpc_options *options);
extern void rpc_client_destroy(struct rpc_client *client);

/*
 * A new, empty batch in the current memory context; its answers live as long as it does. With
 * client NULL it only collects calls: rpc_batch_run must not be called.
 */
extern struct rpc_batch *rpc_batch_create(struct rpc_client *client);
/*
 * Adds a call; params is the text of a JSON array.  Returns its index.
 */
extern int rpc_batch_add(struct rpc_batch *batch, const char *method, const char *params);
extern void rpc_batch_set_priority(struct rpc_batch *batch, enum rpc_priority priority);
/*
 * The batch runs at the endpoint of this generation (rpc_client_generation) or fails: what another
 * one has said must not be mixed with what this one says.
 */
extern void rpc_batch_pin(struct rpc_batch *batch, uint64_t generation);
/* Bytes of the request so far, to keep below RPC_MAX_REQUEST_BYTES. */
extern size_t rpc_batch_bytes(const struct rpc_batch *batch);
extern int rpc_batch_count(const struct rpc_batch *batch);

/*
 * Sends the batch and waits for the answer or the timeout.  True when the node
 * answered with a JSON-RPC batch (single calls may still have failed); false when
 * no call was answered, with the reason in rpc_client_error() and in each answer.
 * Answers are matched by id, whatever their order.
 *
 * When the endpoint fails at the transport (refused, timed out, 5xx, 429, not JSON) the next
 * call uses the next one; a call that the node refused is an answer, not a failure.
 */
extern bool rpc_batch_run(struct rpc_batch *batch);
extern const struct rpc_answer *rpc_batch_answer(const struct rpc_batch *batch, int index);
/* The arena that answers live in: for decoding into the same lifetime. */
extern struct evm_arena *rpc_batch_arena(struct rpc_batch *batch);
extern void rpc_batch_destroy(struct rpc_batch *batch);

/*
 * The endpoint in use is behind others: it rests, if there is another one, and that is asked next.
 */
extern void rpc_client_leave_endpoint(struct rpc_client *client, const char *why);

/* The endpoint in use: scheme and host (and port) only. */
extern const char *rpc_client_endpoint(const struct rpc_client *client);
/* Grows by one whenever another endpoint is taken into use; 1 for the first. */
extern uint64_t rpc_client_generation(const struct rpc_client *client);
/* Why the last run failed or left calls without an answer, without secrets; "" when it did not. */
extern const char *rpc_client_error(const struct rpc_client *client);

/* Was it the network's limit that made the last run fail? */
extern bool rpc_client_was_limited(const struct rpc_client *client);

/*
 * Milliseconds until an endpoint may be asked again: after a failure it rests, and while all of
 * them do, rpc_batch_run fails at once with the last reason.  0 when one is ready.
 */
extern double rpc_client_rests_ms(const struct rpc_client *client);

struct rpc_statistics
{
	uint64_t requests; /* HTTP requests sent */
	uint64_t calls;    /* calls in them */
	uint64_t failures; /* requests without an answer */
	uint64_t units;    /* compute units of the calls, where there is a limit */
	double latency_ms; /* moving average of answered requests */
	double last_latency_ms;
};

extern void rpc_client_statistics(const struct rpc_client *client, struct rpc_statistics *out);

/*
 * Sleeps until the latch is set, or timeout_ms (-1: for ever) has passed, serving
 * interrupts and reloads, and libcurl's housekeeping of idle connections.  Resets
 * the latch before it returns.  True when the latch woke it.  The wait that all
 * workers use between their rounds when they own a client (client may be NULL).
 */
extern bool rpc_wait(struct rpc_client *client, double timeout_ms);

#endif /* RPC_CLIENT_H */
