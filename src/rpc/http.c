/*
 * http.c
 *	  One HTTP POST at a time on libcurl's multi-socket interface; the only file
 *	  that includes curl/curl.h.
 *
 * libcurl tells us which sockets and which time it waits for; we wait for them
 * together with the latch, and tell it what became ready.  Its callbacks never
 * raise and never palloc: a longjmp through libcurl leaves its handles undefined,
 * and its resolver thread may not touch PostgreSQL's memory.  That thread starts
 * with the signal mask of its parent, so all signals are blocked while libcurl
 * runs: PostgreSQL's handlers must run on the main thread.
 */
#include "postgres.h"

#include "rpc/http.h"

#include <curl/curl.h>
#include <signal.h>
#include <string.h>

#include "db/wait.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"

/* A connection that takes longer is given up, however long the whole request may take. */
#define CONNECT_TIMEOUT_MS 5000

/* An endpoint and its fallbacks stay connected. */
#define KEPT_CONNECTIONS 4

/* Told to PostgreSQL's accounting: the kept connections, and the two libcurl wakes itself with. */
#define DESCRIPTORS (KEPT_CONNECTIONS + 2)

/* Connecting to a name with two addresses takes two sockets at once; more are refused. */
#define MAX_SOCKETS 16

/* The response buffer begins with this and doubles; one that grew beyond the second is not kept. */
#define BUFFER_FIRST_BYTES (64 * 1024)
#define BUFFER_KEPT_BYTES (8 * 1024 * 1024)

#define WAIT_EVENT_REQUEST "RflowRpcRequest"

struct rpc_http
{
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	bool in_multi; /* the easy handle is being transferred */

	struct db_wait_socket sockets[MAX_SOCKETS];
	int socket_count;
	double deadline_ms; /* when libcurl wants to be called; negative: it does not */

	char *buffer; /* malloc'd: callbacks must not palloc */
	size_t buffer_len;
	size_t buffer_size;
	size_t buffer_limit;
	bool too_large;
	bool out_of_memory;
};

/* ---- callbacks of libcurl ------------------------------------------------ */

static int
on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context)
{
	struct rpc_http *http = context;
	int at = 0;

	while (at < http->socket_count && http->sockets[at].socket != socket)
		at++;
	if (what == CURL_POLL_REMOVE || what == CURL_POLL_NONE)
	{
		if (at < http->socket_count)
			http->sockets[at] = http->sockets[--http->socket_count];
		return 0;
	}
	if (at == MAX_SOCKETS)
		return -1;
	if (at == http->socket_count)
		http->socket_count++;
	http->sockets[at].socket = socket;
	http->sockets[at].wants =
		((what & CURL_POLL_IN) ? DB_WAIT_READ : 0) | ((what & CURL_POLL_OUT) ? DB_WAIT_WRITE : 0);
	http->sockets[at].ready = 0;
	return 0;
}

static int
on_timer(CURLM *multi, long timeout_ms, void *context)
{
	struct rpc_http *http = context;

	http->deadline_ms = timeout_ms < 0 ? -1 : db_now_ms() + timeout_ms;
	return 0;
}

static bool
grow_buffer(struct rpc_http *http, size_t needed)
{
	size_t size = http->buffer_size > 0 ? http->buffer_size : BUFFER_FIRST_BYTES;
	char *buffer;

	while (size < needed)
		size *= 2;
	size = Max(needed, Min(size, http->buffer_limit));
	if (size <= http->buffer_size)
		return true;
	buffer = realloc(http->buffer, size);
	if (buffer == NULL)
		return false;
	http->buffer = buffer;
	http->buffer_size = size;
	return true;
}

/* Anything but count makes libcurl give up the transfer. */
static size_t
on_body(char *data, size_t size, size_t count, void *context)
{
	struct rpc_http *http = context;

	count *= size;
	if (count > http->buffer_limit - http->buffer_len)
		http->too_large = true;
	else if (!grow_buffer(http, http->buffer_len + count))
		http->out_of_memory = true;
	else
	{
		memcpy(http->buffer + http->buffer_len, data, count);
		http->buffer_len += count;
		return count;
	}
	return 0;
}

/* ---- making and releasing ------------------------------------------------ */

/* After the fork: libcurl and its TLS library keep state of the process. */
static void
initialise_library(void)
{
	static bool done = false;

	if (done)
		return;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("could not initialise libcurl")));
	done = true;
}

static void
limit_protocols(CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long) (CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static void
set_fixed_options(struct rpc_http *http)
{
	CURL *easy = http->easy;

	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
	/* HTTP/1.1 in the clear; over TLS what the server prefers of the two. */
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_2TLS);
	limit_protocols(easy);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Giving up a request does not wait for a resolver that hangs. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

static struct curl_slist *
make_headers(void)
{
	/* Without "Expect:" a larger body waits a second for a "100 Continue". */
	static const char *const lines[] = {"Content-Type: application/json",
										"Accept: application/json", "Expect:"};
	struct curl_slist *headers = NULL;

	for (int i = 0; i < lengthof(lines); i++)
	{
		struct curl_slist *longer = curl_slist_append(headers, lines[i]);

		if (longer == NULL)
		{
			curl_slist_free_all(headers);
			return NULL;
		}
		headers = longer;
	}
	return headers;
}

struct rpc_http *
rpc_http_create(void)
{
	struct rpc_http *http;

	initialise_library();
	http = calloc(1, sizeof(*http));
	if (http == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	http->deadline_ms = -1;
	http->multi = curl_multi_init();
	http->easy = curl_easy_init();
	http->headers = make_headers();
	for (int i = 0; i < DESCRIPTORS; i++)
		ReserveExternalFD();
	if (http->multi == NULL || http->easy == NULL || http->headers == NULL)
	{
		rpc_http_destroy(http);
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory in libcurl")));
	}
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long) KEPT_CONNECTIONS);
	set_fixed_options(http);
	return http;
}

static void
drop_transfer(struct rpc_http *http)
{
	if (http->in_multi)
		curl_multi_remove_handle(http->multi, http->easy);
	http->in_multi = false;
	/* Their memory is the caller's. */
	curl_easy_setopt(http->easy, CURLOPT_POSTFIELDS, NULL);
}

void
rpc_http_destroy(struct rpc_http *http)
{
	if (http == NULL)
		return;
	if (http->easy != NULL)
	{
		drop_transfer(http);
		curl_easy_cleanup(http->easy);
	}
	if (http->multi != NULL)
		curl_multi_cleanup(http->multi);
	curl_slist_free_all(http->headers);
	free(http->buffer);
	free(http);
	for (int i = 0; i < DESCRIPTORS; i++)
		ReleaseExternalFD();
}

/* ---- one request --------------------------------------------------------- */

static void
reset_buffer(struct rpc_http *http, size_t limit)
{
	if (http->buffer_size > BUFFER_KEPT_BYTES)
	{
		free(http->buffer);
		http->buffer = NULL;
		http->buffer_size = 0;
	}
	http->buffer_len = 0;
	http->buffer_limit = limit;
	http->too_large = false;
	http->out_of_memory = false;
}

static CURLMcode
start_transfer(struct rpc_http *http, const struct rpc_http_request *request)
{
	CURL *easy = http->easy;
	CURLMcode code;
	sigset_t all;
	sigset_t before;

	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) request->body_len);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long) request->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
					 (long) Min(request->timeout_ms, CONNECT_TIMEOUT_MS));
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	code = curl_multi_add_handle(http->multi, easy);
	sigprocmask(SIG_SETMASK, &before, NULL);
	http->in_multi = (code == CURLM_OK);
	return code;
}

/* Lets libcurl work; ready is what db_wait found, 0 when it is only time. */
static void
http_step(struct rpc_http *http, curl_socket_t socket, int ready)
{
	int running;
	int events = ((ready & DB_WAIT_READ) ? CURL_CSELECT_IN : 0) |
		((ready & DB_WAIT_WRITE) ? CURL_CSELECT_OUT : 0);
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	curl_multi_socket_action(http->multi, socket, events, &running);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static double
until(double deadline_ms, double now_ms)
{
	if (deadline_ms < 0)
		return -1;
	return Max(deadline_ms - now_ms, 0);
}

/* Milliseconds; negative is for ever. */
static double
sooner(double a, double b)
{
	if (a < 0)
		return b;
	if (b < 0)
		return a;
	return Min(a, b);
}

/* One wait of at most timeout_ms, and then libcurl's work.  True when the latch was set. */
static bool
http_turn(struct rpc_http *http, double timeout_ms, const char *wait_event)
{
	struct db_wait_socket ready[MAX_SOCKETS];
	int count = http->socket_count;
	double wait_ms = until(http->deadline_ms, db_now_ms());
	bool woken = false;

	/* A copy: stepping changes the list. */
	memcpy(ready, http->sockets, sizeof(ready[0]) * count);
	/* What libcurl wants done at once costs no system call. */
	if (wait_ms != 0)
	{
		woken = db_wait(ready, count, sooner(wait_ms, timeout_ms), wait_event);
		for (int i = 0; i < count; i++)
		{
			if (ready[i].ready != 0)
				http_step(http, ready[i].socket, ready[i].ready);
		}
	}
	if (http->deadline_ms >= 0 && http->deadline_ms <= db_now_ms())
	{
		http->deadline_ms = -1;
		http_step(http, CURL_SOCKET_TIMEOUT, 0);
	}
	return woken;
}

/* Has the transfer ended, and how? */
static bool
transfer_ended(struct rpc_http *http, CURLcode *result)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left)) != NULL)
	{
		if (message->msg == CURLMSG_DONE && message->easy_handle == http->easy)
		{
			*result = message->data.result;
			return true;
		}
	}
	return false;
}

/* After these, libcurl's copy of errno belongs to this request. */
static bool
is_system_error(CURLcode result)
{
	return result == CURLE_COULDNT_CONNECT || result == CURLE_SEND_ERROR ||
		result == CURLE_RECV_ERROR;
}

/* Says why, from libcurl's own texts only: its error buffer can quote the URL. */
static void
describe_failure(struct rpc_http *http, const struct rpc_http_request *request, CURLcode result,
				 struct rpc_http_response *response)
{
	char *out = response->failure;
	size_t size = sizeof(response->failure);
	long error = 0;

	if (http->too_large)
		snprintf(out, size, "the answer is larger than %zu bytes", request->max_response_bytes);
	else if (http->out_of_memory)
		snprintf(out, size, "out of memory for an answer of more than %zu bytes", http->buffer_len);
	else if (result == CURLE_OPERATION_TIMEDOUT && response->elapsed_ms < request->timeout_ms)
		snprintf(out, size, "no connection within %d ms", CONNECT_TIMEOUT_MS);
	else if (result == CURLE_OPERATION_TIMEDOUT)
		snprintf(out, size, "no answer within %d ms", request->timeout_ms);
	else if (result == CURLE_PARTIAL_FILE || result == CURLE_GOT_NOTHING)
		snprintf(out, size, "the connection was closed before the answer was complete");
	else if (is_system_error(result) &&
			 curl_easy_getinfo(http->easy, CURLINFO_OS_ERRNO, &error) == CURLE_OK && error != 0)
		snprintf(out, size, "%s", strerror((int) error));
	else
		snprintf(out, size, "%s", curl_easy_strerror(result));
}

static void
fill_response(struct rpc_http *http, const struct rpc_http_request *request, CURLcode result,
			  struct rpc_http_response *response)
{
	curl_off_t retry_after = 0;

	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &response->status);
	if (curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &retry_after) == CURLE_OK)
		response->retry_after_s = (double) retry_after;
	if (result != CURLE_OK)
		describe_failure(http, request, result, response);
	response->body = http->buffer;
	response->body_len = http->buffer_len;
}

void
rpc_http_post(struct rpc_http *http, const struct rpc_http_request *request,
			  struct rpc_http_response *response)
{
	double started = db_now_ms();
	CURLcode result = CURLE_OK;
	CURLMcode code;
	volatile bool woken = false;

	memset(response, 0, sizeof(*response));
	reset_buffer(http, request->max_response_bytes);
	code = start_transfer(http, request);
	if (code != CURLM_OK)
	{
		strlcpy(response->failure, curl_multi_strerror(code), sizeof(response->failure));
		drop_transfer(http);
		return;
	}
	PG_TRY();
	{
		while (!transfer_ended(http, &result))
			woken |= http_turn(http, -1, WAIT_EVENT_REQUEST);
	}
	PG_CATCH();
	{
		drop_transfer(http);
		SetLatch(MyLatch);
		PG_RE_THROW();
	}
	PG_END_TRY();
	/* A wake that came meanwhile is for the loop of the worker, which has not seen it. */
	if (woken)
		SetLatch(MyLatch);
	response->elapsed_ms = db_now_ms() - started;
	fill_response(http, request, result, response);
	drop_transfer(http);
}

bool
rpc_http_idle(struct rpc_http *http, double timeout_ms, const char *wait_event)
{
	double deadline = timeout_ms < 0 ? -1 : db_now_ms() + timeout_ms;

	for (;;)
	{
		double left = until(deadline, db_now_ms());

		if (http_turn(http, left, wait_event))
			return true;
		if (left == 0)
			return false;
	}
}
