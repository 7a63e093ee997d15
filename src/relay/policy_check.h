/*
 * policy_check.h
 *	  check_expression of policies: SQL of users that decides about a transaction.
 *
 * It runs as the policy's owner, under the search_path that was recorded, read-only, in a
 * subtransaction that is always rolled back.  In workers it has the time that all user SQL has; in
 * a user's session it is part of the user's statement.
 */
#ifndef RELAY_POLICY_CHECK_H
#define RELAY_POLICY_CHECK_H

#include "relay/policy.h"

/* What the checks say of a transaction. */
struct relay_checked
{
	char *refusal;    /* "policy "x" (check_expression): …"; NULL: none refuses it */
	char *hold;       /* cannot be decided now, and why; NULL: it was */
	ErrorData *error; /* … because the expression raised this; NULL: it did not */
};

/*
 * Evaluates the checks that the transaction comes under, until one refuses or fails.  In a
 * transaction with an SPI connection and a snapshot; results are palloc'd in the current context.
 */
extern void relay_policy_check(struct relay_checked *out, struct relay_policies *policies,
							   const struct relay_subject *subject);

/*
 * Where a transaction is queued: what any field or check of a policy has against it, or NULL.
 * Raises what a check raises; one that is suspended is left to the relayer.
 */
extern char *relay_policy_denial(struct relay_policies *policies,
								 const struct relay_subject *subject);

/* Raises unless the text is one expression; with analyse, one that gives boolean for its owner. */
extern void relay_policy_check_text(const struct relay_policy *policy, bool analyse);

/*
 * Once in each process that evaluates checks: one that ends the process, by going on after its
 * time limit, is suspended, and an incident says so.
 */
extern void relay_policy_mark_at_exit(void);

#endif /* RELAY_POLICY_CHECK_H */
