/*
 * plan.h
 *	  What a round signs, and what it does not: order, windows, caps, prices and balances.
 *
 * Decided from the view and the node's answers, before the transaction that signs; that transaction
 * checks again what users may have changed meanwhile.
 */
#ifndef RELAY_PLAN_H
#define RELAY_PLAN_H

#include "relay/record.h"
#include "relay/state.h"

/*
 * A payload to sign: a send's first one, or another one for a live nonce; with both candidate and
 * nonce, the first one of a send that is to replace another at its nonce.
 */
struct relay_order
{
	struct relay_account *account;
	struct relay_key *key;
	struct relay_candidate *candidate; /* of a send's first payload, else NULL */
	struct relay_nonce *nonce;         /* where there is one already, else NULL */
	bool noop;
	struct relay_price price;
	int64 gas_limit;
	bool dropped; /* not to be signed after all */
};

enum relay_rule
{
	RELAY_SAY,   /* only the reason changes */
	RELAY_HOLD,  /* a queued send is looked at again at a later time */
	RELAY_REFUSE /* a queued send fails */
};

struct relay_ruling
{
	enum relay_rule rule;
	int64 id;
	char *reason;                 /* NULL: no reason any more */
	TimestampTz until;            /* of HOLD */
	struct relay_failure failure; /* of REFUSE */
	bool dropped;                 /* somebody else holds the row: next time */
};

struct relay_plan
{
	struct relay_order *orders; /* other payloads by nonce, then first ones by id */
	int order_count;
	struct relay_ruling *rulings;
	int ruling_count;
	struct relay_policies *policies; /* NULL: none */
	TimestampTz look_at;             /* filled by signing: a window has room again; 0: none waits */
};

/* In the current context.  Sets problems of accounts, and when keys and process look again. */
extern struct relay_plan *relay_make_plan(struct relay_process *process, struct relay_view *view);

#endif /* RELAY_PLAN_H */
