/*
 * planner.h
 *	  What the parts of a plan have in common: plan.c, which begins with queued sends, and
 *	  plan_live.c, which looks at nonces that are assigned.
 */
#ifndef RELAY_PLANNER_H
#define RELAY_PLANNER_H

#include "postgres.h"

#include "relay/plan.h"

/* Gas of a no-op, where the node does not say another figure. */
#define RELAY_NOOP_GAS 21000
/* A node that could not say something is asked again after this time. */
#define RELAY_NODE_RETRY_MS 2000

struct relay_planner
{
	struct relay_process *process;
	struct relay_view *view;
	struct relay_plan *plan;
};

/* Reasons, palloc'd. */
extern char *relay_say(const char *format, ...) pg_attribute_printf(1, 2);
extern char *relay_decimal(const struct evm_word *word);

/* Adds to the plan what is to be written of a transaction, or the order to sign something. */
extern struct relay_ruling *relay_plan_rule(struct relay_planner *planner, enum relay_rule rule,
											int64 id, char *reason);
extern void relay_plan_hold(struct relay_planner *planner, const struct relay_candidate *candidate,
							int ms, char *reason);
extern void relay_plan_refuse(struct relay_planner *planner,
							  const struct relay_candidate *candidate, const char *kind,
							  char *reason);
extern struct relay_order *relay_plan_order(struct relay_planner *planner,
											struct relay_account *account, struct relay_key *key);

/* gas limit * fee + value in wei, saturated. */
extern struct evm_word relay_cost_of(int64 gas_limit, const struct evm_word *fee,
									 const struct evm_word *value);
/* What the account may still have to pay for what is signed and not mined, in wei, saturated. */
extern struct evm_word relay_outstanding(const struct relay_view *view,
										 const struct relay_key *key);

/*
 * Another payload for a live nonce, where one is due: a higher price, a no-op, a competitor. Or
 * what it says while it cannot have one.
 */
extern void relay_plan_nonce(struct relay_planner *planner, struct relay_nonce *nonce);

#endif /* RELAY_PLANNER_H */
