/*
 * http.h
 *	  One HTTP POST at a time, from a process that stays responsive while it waits.
 */
#ifndef RPC_HTTP_H
#define RPC_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define RPC_HTTP_FAILURE_BYTES 256

struct rpc_http;

struct rpc_http_request
{
	const char *url; /* http or https; used until rpc_http_post returns */
	const char *body;
	size_t body_len;
	int timeout_ms; /* of the whole request; connecting has a limit of its own below it */
	size_t max_response_bytes; /* after decompression */
};

struct rpc_http_response
{
	long status;      /* 0: there was no response */
	const char *body; /* valid until the next rpc_http_post or rpc_http_destroy */
	size_t body_len;
	double retry_after_s; /* what a Retry-After header asks for; 0: nothing */
	double elapsed_ms;
	/* Why there is no whole response, without the URL; "" when there is one. */
	char failure[RPC_HTTP_FAILURE_BYTES];
};

/* Made with malloc; libcurl is initialised in this process at first use. */
extern struct rpc_http *rpc_http_create(void);
/* May be called while an error unwinds; a transfer in progress is dropped. */
extern void rpc_http_destroy(struct rpc_http *http);

/*
 * Sends the request and waits.  Never raises for what the network does; interrupts (and only
 * those) are raised out of it, after the transfer was dropped.  A latch that was set meanwhile
 * is set when it returns: the wake was for the caller's loop.
 */
extern void rpc_http_post(struct rpc_http *http, const struct rpc_http_request *request,
						  struct rpc_http_response *response);

/*
 * Sleeps on the latch, for at most timeout_ms (negative: for ever), while serving what libcurl
 * has to do for idle connections.  True when the latch was set; it has been reset.
 */
extern bool rpc_http_idle(struct rpc_http *http, double timeout_ms, const char *wait_event);

#endif /* RPC_HTTP_H */
