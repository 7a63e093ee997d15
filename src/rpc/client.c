/*
 * client.c
 *	  Batches of JSON-RPC calls to one network's endpoints.
 *
 * Ties together: the text of requests (request.c), the transfer (http.c), the
 * reading of answers (answer.c), and which endpoint is asked (endpoint.c).  A
 * batch goes out in one request, or in several where a node has refused larger
 * ones; a failure of the transport ends it, and the next batch asks another
 * endpoint.
 */
#include "postgres.h"

#include "rpc/client.h"

#include "access/xact.h"
#include "db/wait.h"
#include "miscadmin.h"
#include "rpc/answer.h"
#include "rpc/endpoint.h"
#include "rpc/http.h"
#include "rpc/request.h"
#include "rpc/units.h"
#include "storage/latch.h"
#include "utils/memutils.h"

/* Parsed answers may take this much: a few times the text, as objects of short strings do. */
#define ANSWER_ARENA_BYTES ((size_t) 4 * RPC_MAX_RESPONSE_BYTES)
#define URL_ARENA_BYTES ((size_t) 1024 * 1024)

/* An endpoint, a status, and what the node said. */
#define CLIENT_ERROR_BYTES 512

/* A node that limits the rate of requests without saying for how long is left alone so long. */
#define RATE_LIMIT_REST_MS 1000.0

/* Weight of the newest sample in the moving average of latencies. */
#define LATENCY_WEIGHT 0.1

#define HTTP_PAYLOAD_TOO_LARGE 413
#define HTTP_TOO_MANY_REQUESTS 429
#define HTTP_UNAVAILABLE 503
#define MS_PER_SECOND 1000.0

#define WAIT_EVENT_IDLE "RflowIdle"
#define WAIT_EVENT_LIMIT "RflowRateLimit"

/* How long calls wait for the limit before they fail: the worker has other things to do. */
#define BULK_WAIT_MS 100.0
#define LIMIT_WAIT_MS 5000.0

/* An endpoint that is behind others is asked again after so long. */
#define BEHIND_REST_MS 5000.0

struct rpc_client
{
	MemoryContext context; /* holds this struct and the URLs */
	MemoryContextCallback release;
	char *network;
	int timeout_ms;
	double (*spend)(void *context, double units, int priority);
	void *spend_context;
	double units_per_second;
	const struct evm_json *unit_costs;
	struct rpc_endpoints endpoints;
	struct rpc_http *http;
	uint64 next_id;
	char error[CLIENT_ERROR_BYTES];
	bool limited; /* the last run was ended by the limit */
	struct rpc_statistics statistics;
};

struct rpc_batch
{
	struct rpc_client *client;
	MemoryContext context; /* holds this struct, the request and the answers */
	struct evm_arena *arena;
	struct rpc_request request;
	double *units; /* what each call costs, where there is a limit */
	int unit_capacity;
	enum rpc_priority priority;
	uint64 pinned;              /* the generation of the only endpoint to be asked; 0: any */
	struct rpc_answer *answers; /* NULL until the batch has run */
};

/* What became of one request. */
enum outcome
{
	ANSWERED,
	SPLIT,   /* the node wants fewer calls in a request */
	LIMITED, /* the network's limit is used up: nothing was sent */
	FAILED   /* client->error says why */
};

/* ---- arenas in memory contexts ------------------------------------------- */

static void *
context_allocate(void *context, size_t size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_NO_OOM | MCXT_ALLOC_HUGE);
}

static void
context_release(void *context, void *pointer)
{
	pfree(pointer);
}

static struct evm_arena *
create_arena(MemoryContext context, size_t limit_bytes)
{
	struct evm_allocator allocator = {context_allocate, context_release, context};
	struct evm_arena *arena = evm_arena_create(&allocator, limit_bytes);

	if (arena == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return arena;
}

/* ---- the client ---------------------------------------------------------- */

static void
release_client(void *argument)
{
	struct rpc_client *client = argument;

	rpc_http_destroy(client->http);
	client->http = NULL;
}

static void
read_urls(struct rpc_client *client, const struct rpc_options *options)
{
	struct evm_arena *arena = create_arena(client->context, URL_ARENA_BYTES);
	struct rpc_endpoints *endpoints = &client->endpoints;
	struct evm_error error;

	if (options->url_count < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("network \"%s\" has no RPC URL", client->network)));
	endpoints->list = palloc0(sizeof(*endpoints->list) * options->url_count);
	endpoints->count = options->url_count;
	endpoints->generation = 1;
	endpoints->random = (uint64) MyProcPid ^ (uint64) (db_now_ms() * 1000);
	for (int i = 0; i < options->url_count; i++)
	{
		struct rpc_endpoint *endpoint = &endpoints->list[i];

		endpoint->batch_limit = SIZE_MAX;
		if (rpc_url_parse(arena, &endpoint->url, options->urls[i], getenv, &error) != EVM_OK)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("RPC URL %d of network \"%s\": %s", i + 1, client->network,
							error.message)));
	}
}

static void
read_limit(struct rpc_client *client, const struct rpc_options *options)
{
	struct evm_arena *arena;
	struct evm_error error;

	client->spend = options->spend;
	client->spend_context = options->spend_context;
	client->units_per_second = options->units_per_second;
	if (options->spend == NULL || options->unit_costs == NULL)
		return;
	arena = create_arena(client->context, URL_ARENA_BYTES);
	if (evm_json_parse(arena, &client->unit_costs, options->unit_costs, strlen(options->unit_costs),
					   &error) != EVM_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unit_costs of network \"%s\": %s", client->network, error.message)));
}

struct rpc_client *
rpc_client_create(const struct rpc_options *options)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "rflow RPC client", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	struct rpc_client *client = palloc0(sizeof(*client));

	client->context = context;
	client->network = pstrdup(options->network);
	client->timeout_ms = options->timeout_ms;
	client->next_id = 1;
	read_urls(client, options);
	read_limit(client, options);
	client->http = rpc_http_create();
	client->release.func = release_client;
	client->release.arg = client;
	MemoryContextRegisterResetCallback(context, &client->release);
	MemoryContextSwitchTo(caller);
	return client;
}

void
rpc_client_destroy(struct rpc_client *client)
{
	if (client != NULL)
		MemoryContextDelete(client->context);
}

const char *
rpc_client_endpoint(const struct rpc_client *client)
{
	return client->endpoints.list[client->endpoints.current].url.shown;
}

uint64_t
rpc_client_generation(const struct rpc_client *client)
{
	return client->endpoints.generation;
}

const char *
rpc_client_error(const struct rpc_client *client)
{
	return client->error;
}

bool
rpc_client_was_limited(const struct rpc_client *client)
{
	return client->limited;
}

double
rpc_client_rests_ms(const struct rpc_client *client)
{
	double now = db_now_ms();
	double ready = rpc_endpoints_ready_at(&client->endpoints, now);

	return ready > 0 ? ready - now : 0;
}

void
rpc_client_statistics(const struct rpc_client *client, struct rpc_statistics *out)
{
	*out = client->statistics;
}

bool
rpc_wait(struct rpc_client *client, double timeout_ms)
{
	if (client == NULL)
		return db_wait(NULL, 0, timeout_ms, WAIT_EVENT_IDLE);
	return rpc_http_idle(client->http, timeout_ms, WAIT_EVENT_IDLE);
}

void
rpc_client_leave_endpoint(struct rpc_client *client, const char *why)
{
	struct rpc_endpoints *endpoints = &client->endpoints;

	if (endpoints->count < 2)
		return;
	rpc_endpoint_failed(endpoints, &endpoints->list[endpoints->current], db_now_ms(),
						BEHIND_REST_MS);
	snprintf(client->error, sizeof(client->error), "%s: %s", rpc_client_endpoint(client), why);
}

/* ---- the network's limit ------------------------------------------------- */

static double
units_between(const struct rpc_batch *batch, int first, int end)
{
	double units = 0;

	for (int i = first; i < end; i++)
		units += batch->units[i];
	return units;
}

/* False when they cannot be had in time. */
static bool
spend_units(struct rpc_batch *batch, int first, int end)
{
	struct rpc_client *client = batch->client;
	double units;
	double deadline;
	double wait_ms;
	bool woken = false;

	if (client->spend == NULL)
		return true;
	units = units_between(batch, first, end);
	deadline = db_now_ms() + (batch->priority == RPC_BULK ? BULK_WAIT_MS : LIMIT_WAIT_MS);
	while ((wait_ms = client->spend(client->spend_context, units, batch->priority)) > 0 &&
		   db_now_ms() + wait_ms <= deadline)
		woken |= rpc_http_idle(client->http, wait_ms, WAIT_EVENT_LIMIT);
	/* A wake that came meanwhile is for the loop of the worker. */
	if (woken)
		SetLatch(MyLatch);
	if (wait_ms == 0)
		client->statistics.units += (uint64) units;
	else
		snprintf(client->error, sizeof(client->error),
				 "the network's limit of %.0f compute units per second is used up",
				 client->units_per_second);
	return wait_ms == 0;
}

/* ---- one request --------------------------------------------------------- */

static void
count_request(struct rpc_client *client, int calls, const struct rpc_http_response *response,
			  enum outcome outcome)
{
	struct rpc_statistics *statistics = &client->statistics;
	bool is_first = statistics->requests == statistics->failures;

	statistics->requests++;
	statistics->calls += calls;
	if (outcome == FAILED)
	{
		statistics->failures++;
		return;
	}
	statistics->last_latency_ms = response->elapsed_ms;
	statistics->latency_ms +=
		(is_first ? 1 : LATENCY_WEIGHT) * (response->elapsed_ms - statistics->latency_ms);
}

/*
 * The endpoint rests and the next batch asks another one.  The reason is foreign text already
 * scrubbed, or ours.
 */
static enum outcome
endpoint_fails(struct rpc_client *client, struct rpc_endpoint *endpoint, double at_least_ms,
			   const char *reason)
{
	rpc_endpoint_failed(&client->endpoints, endpoint, db_now_ms(), at_least_ms);
	snprintf(client->error, sizeof(client->error), "%s: %s", endpoint->url.shown, reason);
	return FAILED;
}

/* "HTTP status 502: what the node said", without the status where it says nothing. */
static void
describe_refusal(char *out, size_t size, long status, const struct rpc_reading *reading)
{
	bool is_success = status / 100 == 2;

	if (is_success)
		strlcpy(out, reading->message, size);
	else if (reading->body == RPC_BODY_REFUSED)
		snprintf(out, size, "HTTP status %ld: %s", status, reading->message);
	else
		snprintf(out, size, "HTTP status %ld", status);
}

/* Takes the answers of the calls first .. end - 1 out of a whole response. */
static enum outcome
take_response(struct rpc_batch *batch, struct rpc_endpoint *endpoint, int first, int end,
			  const struct rpc_http_response *response)
{
	struct rpc_client *client = batch->client;
	struct rpc_reading reading;
	bool is_busy =
		response->status == HTTP_TOO_MANY_REQUESTS || response->status == HTTP_UNAVAILABLE;
	double rest_ms = response->retry_after_s * MS_PER_SECOND;
	char reason[RPC_MESSAGE_BYTES + RPC_HTTP_FAILURE_BYTES];

	rpc_answers_read(batch->arena, &reading, batch->answers + first, batch->request.ids + first,
					 end - first, response->body, response->body_len, &endpoint->url);
	if (is_busy || reading.rate_limited)
		rest_ms = Max(rest_ms, RATE_LIMIT_REST_MS);
	else if (reading.body == RPC_BODY_ANSWERS)
	{
		rpc_endpoint_worked(endpoint);
		return ANSWERED;
	}
	else if (end - first > 1 &&
			 (reading.batch_refused || response->status == HTTP_PAYLOAD_TOO_LARGE))
		return SPLIT;
	describe_refusal(reason, sizeof(reason), response->status, &reading);
	endpoint_fails(client, endpoint, rest_ms, reason);
	/* What a busy node says about single calls is about itself. */
	return reading.body == RPC_BODY_ANSWERS && !is_busy ? ANSWERED : FAILED;
}

/* Sends the calls first .. end - 1 and takes their answers. */
static enum outcome
run_request(struct rpc_batch *batch, struct rpc_endpoint *endpoint, int first, int end)
{
	struct rpc_client *client = batch->client;
	struct rpc_http_request request = {.url = endpoint->url.url,
									   .timeout_ms = client->timeout_ms,
									   .max_response_bytes = RPC_MAX_RESPONSE_BYTES};
	struct rpc_http_response response;
	enum outcome outcome;

	if (!spend_units(batch, first, end))
		return LIMITED;
	request.body = rpc_request_body(&batch->request, first, end, &request.body_len);
	rpc_http_post(client->http, &request, &response);
	if (response.failure[0] != '\0')
		outcome = endpoint_fails(client, endpoint, 0, response.failure);
	else
		outcome = take_response(batch, endpoint, first, end, &response);
	count_request(client, end - first, &response, outcome);
	return outcome;
}

/* ---- batches ------------------------------------------------------------- */

struct rpc_batch *
rpc_batch_create(struct rpc_client *client)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "rflow RPC batch", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	struct rpc_batch *batch = palloc0(sizeof(*batch));

	batch->client = client;
	batch->priority = RPC_NORMAL;
	batch->context = context;
	batch->arena = create_arena(context, ANSWER_ARENA_BYTES);
	rpc_request_init(&batch->request);
	MemoryContextSwitchTo(caller);
	return batch;
}

void
rpc_batch_destroy(struct rpc_batch *batch)
{
	if (batch != NULL)
		MemoryContextDelete(batch->context);
}

/* Grows with the request's own arrays. */
static void
note_units(struct rpc_batch *batch, const char *method)
{
	int capacity = batch->request.capacity;

	if (batch->client == NULL || batch->client->spend == NULL)
		return;
	if (batch->units == NULL)
		batch->units = MemoryContextAllocZero(batch->context, sizeof(double) * capacity);
	else if (batch->unit_capacity < capacity)
		batch->units = repalloc(batch->units, sizeof(double) * capacity);
	batch->unit_capacity = capacity;
	batch->units[batch->request.count - 1] = rpc_units_of(batch->client->unit_costs, method);
}

int
rpc_batch_add(struct rpc_batch *batch, const char *method, const char *params)
{
	uint64 id = batch->client != NULL ? batch->client->next_id++ : (uint64) batch->request.count;

	rpc_request_add(&batch->request, id, method, params);
	note_units(batch, method);
	return batch->request.count - 1;
}

void
rpc_batch_set_priority(struct rpc_batch *batch, enum rpc_priority priority)
{
	batch->priority = priority;
}

void
rpc_batch_pin(struct rpc_batch *batch, uint64_t generation)
{
	batch->pinned = generation;
}

size_t
rpc_batch_bytes(const struct rpc_batch *batch)
{
	return rpc_request_bytes(&batch->request, 0, batch->request.count);
}

int
rpc_batch_count(const struct rpc_batch *batch)
{
	return batch->request.count;
}

struct evm_arena *
rpc_batch_arena(struct rpc_batch *batch)
{
	return batch->arena;
}

const struct rpc_answer *
rpc_batch_answer(const struct rpc_batch *batch, int index)
{
	Assert(batch->answers != NULL && index >= 0 && index < batch->request.count);
	return &batch->answers[index];
}

/* How far the next request goes: what endpoint and limit allow, and at least one call. */
static int
request_end(const struct rpc_batch *batch, const struct rpc_endpoint *endpoint, int first)
{
	const struct rpc_client *client = batch->client;
	double units = 0;
	int end = first;

	do
	{
		if (client->spend != NULL)
			units += batch->units[end];
		end++;
	} while (end < batch->request.count && end - first < endpoint->batch_limit &&
			 rpc_request_bytes(&batch->request, first, end + 1) < RPC_MAX_REQUEST_BYTES &&
			 (client->spend == NULL || units + batch->units[end] <= client->units_per_second));
	return end;
}

/* Fails the calls from first on, for the reason in client->error. */
static void
fail_calls(struct rpc_batch *batch, int first)
{
	rpc_answers_fail(batch->arena, batch->answers + first, batch->request.count - first,
					 batch->client->error);
}

/* Returns how many calls have been through a request that was answered. */
static int
run_requests(struct rpc_batch *batch, struct rpc_endpoint *endpoint)
{
	int first = 0;

	while (first < batch->request.count)
	{
		int end = request_end(batch, endpoint, first);
		enum outcome outcome = run_request(batch, endpoint, first, end);

		if (outcome == SPLIT)
		{
			endpoint->batch_limit = (end - first) / 2;
			continue;
		}
		batch->client->limited = outcome == LIMITED;
		if (outcome == LIMITED)
			break;
		if (outcome == ANSWERED)
			first = end;
		/* Also a node that answered may have asked for fewer requests. */
		if (endpoint->failures > 0)
			break;
	}
	return first;
}

bool
rpc_batch_run(struct rpc_batch *batch)
{
	struct rpc_client *client = batch->client;
	struct rpc_endpoint *endpoint;
	int answered;

	if (IsTransactionState())
		elog(ERROR, "RPC to network \"%s\" inside a transaction", client->network);
	if (batch->answers == NULL && batch->request.count > 0)
		batch->answers =
			MemoryContextAllocZero(batch->context, sizeof(*batch->answers) * batch->request.count);
	endpoint = rpc_endpoints_choose(&client->endpoints, db_now_ms());
	if (endpoint == NULL)
	{
		/* The reason is the last failure's, which is still in client->error. */
		fail_calls(batch, 0);
		return false;
	}
	client->error[0] = '\0';
	client->limited = false;
	if (batch->pinned != 0 && batch->pinned != client->endpoints.generation)
	{
		snprintf(client->error, sizeof(client->error),
				 "%s has just taken over from another endpoint", endpoint->url.shown);
		fail_calls(batch, 0);
		return false;
	}
	answered = run_requests(batch, endpoint);
	if (answered < batch->request.count)
		fail_calls(batch, answered);
	return answered > 0 || batch->request.count == 0;
}
