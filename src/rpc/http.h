/*
 * http.h
 *	  One HTTP POST at a time, from a process that stays responsive while it waits.
 */
#ifndef RPC_HTTP_H
#define RPC_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_FAILURE_BYTES 256

struct http;

struct http_request
{
	const char *url;			/* http or https; used until http_post returns */
	const char *body;
	size_t		body_len;
	int			timeout_ms;		/* of the whole request; connecting has a limit of its own below it */
	size_t		max_response_bytes; /* after decompression */
};

struct http_response
{
	long		status;			/* 0: there was no response */
	const char *body;			/* valid until the next http_post or http_destroy */
	size_t		body_len;
	double		retry_after_s;	/* what a Retry-After header asks for; 0: nothing */
	char		failure[HTTP_FAILURE_BYTES];	/* why there is no whole response, without the URL; "" when there is */
	double		elapsed_ms;
};

/* Made with malloc; libcurl is initialised in this process at first use. */
extern struct http *http_create(void);
/* May be called while an error unwinds; a transfer in progress is dropped. */
extern void http_destroy(struct http *http);

/*
 * Sends the request and waits.  Never raises for what the network does; interrupts (and only those)
 * are raised out of it, after the transfer was dropped.  A latch that was set meanwhile is set
 * when it returns.
 */
extern void http_post(struct http *http, const struct http_request *request,
					  struct http_response *response);

/*
 * Sleeps on the latch, for at most timeout_ms (negative: for ever), while serving what libcurl has to
 * do for idle connections.  True when the latch was set; it has been reset.
 */
extern bool http_idle(struct http *http, double timeout_ms, const char *wait_event);

#endif							/* RPC_HTTP_H */
