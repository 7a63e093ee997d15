/*
 * url.h
 *	  An endpoint's URL as it is written, as it is used, and as it may be shown.
 *
 * A URL holds secrets: in its user part, path and query, and in what
 * ${env:RFLOW_NAME} stands for.  Only scheme, host and port are shown.
 */
#ifndef RPC_URL_H
#define RPC_URL_H

#include "evm/arena.h"
#include "evm/status.h"

struct rpc_url
{
	const char *url;      /* expanded; never shown */
	const char *shown;    /* scheme, host and port */
	const char **secrets; /* what must not appear in a message */
	size_t secret_count;
};

/* The value of an environment variable, or NULL; getenv outside tests. */
typedef char *(*rpc_url_lookup)(const char *name);

/*
 * Everything lives in the arena.  EVM_ERR_SYNTAX when it is not an http or https URL,
 * EVM_ERR_MISMATCH when a variable is not set; messages name variables and never show values.
 */
extern enum evm_status rpc_url_parse(struct evm_arena *arena, struct rpc_url *out, const char *text,
									 rpc_url_lookup lookup, struct evm_error *err);

/*
 * Replaces what is secret in a foreign message by "***", in place; it never grows.  Also a secret
 * that was cut off at the message's end.
 */
extern void rpc_url_scrub(const struct rpc_url *url, char *message);

#endif /* RPC_URL_H */
