/*
 * relay.h
 *	  What the SQL functions that act on transactions share: arguments, rights, payloads.
 */
#ifndef API_RELAY_H
#define API_RELAY_H

#include "postgres.h"

#include "db/owner.h"
#include "fmgr.h"
#include "relay/intent.h"
#include "relay/queue.h"
#include "utils/jsonb.h"

/* Raises when argument n is NULL. */
extern void api_need_argument(FunctionCallInfo fcinfo, int n, const char *name);
/* A numeric argument that is an amount of wei; raises when it is not. */
extern struct evm_word api_amount_argument(FunctionCallInfo fcinfo, int n, const char *name);
/* 0 when NULL; raises when it is not above 0. */
extern int64 api_positive_argument(FunctionCallInfo fcinfo, int n, bool is_int4, const char *name);

/* An interval above 0, or NULL. */
extern const Interval *api_expiry_argument(FunctionCallInfo fcinfo, int n);

/* Around our own statements: the bootstrap superuser's rights, and an SPI connection. */
extern void api_begin_private(struct db_identity_frame *frame);
extern void api_end_private(struct db_identity_frame *frame);

/* NULL when NULL. */
extern char *api_text_or_null(FunctionCallInfo fcinfo, int n);

/* May the current user use the operators' verbs on everything? */
extern bool api_is_operator(void);
/* Raises "permission denied to …" when not. */
extern void api_require_operator(const char *what);
/* Locks the row; raises unless it is the caller's or the caller operates on all. */
extern void api_lock_own_transaction(struct relay_target *out, int64 id, Oid caller, bool operates);
/* An entry of the journal about a transaction; detail is a JSON object or NULL. */
extern void api_log_transaction(const char *verb, const struct relay_target *target, Oid caller,
								const char *reason, const char *detail, const char *outcome);

/*
 * Fills network, chain id and, from expires_in (NULL: what the relayer says), until when it is
 * valid; the relayer must exist, be the owner's to use, and its network enabled.
 */
extern void api_check_relayer(struct relay_send *send, const Interval *expires_in);
/* Fills recipient and data from the contract's ABI; value is checked against it. */
extern void api_encode_call(struct relay_send *send, const char *contract, const char *function,
							Jsonb *args);

/*
 * Raises what a policy has against the transaction, once all of it is filled; who asks again for
 * one that was queued before gets its id.
 */
extern void api_check_policies(const struct relay_send *send);

#endif /* API_RELAY_H */
