/*
 * cap.c
 *	  The lowest of all caps on the fee per gas: of the send, its relayer, and policies.
 */
#include "postgres.h"

#include "relay/cap.h"

#include "evm/word.h"

static void
lower(struct relay_cap *cap, const struct evm_word *amount, const char *policy)
{
	if (cap->set && evm_word_compare(&cap->amount, amount) <= 0)
		return;
	cap->set = true;
	cap->amount = *amount;
	cap->policy = policy;
}

static void
lower_to_policies(struct relay_cap *cap, const struct relay_policies *policies,
				  const struct relay_subject *subject)
{
	const char *policy;
	struct evm_word amount;

	if (relay_policy_fee_cap(policies, subject, subject->gas_limit, &amount, &policy))
		lower(cap, &amount, policy);
}

struct relay_cap
relay_candidate_cap(const struct relay_policies *policies, const struct relay_account *account,
					const struct relay_candidate *candidate)
{
	struct relay_subject subject = relay_subject_of(candidate);
	struct relay_cap cap = {0};

	if (account->has_cap)
		lower(&cap, &account->cap, NULL);
	if (candidate->has_cap)
		lower(&cap, &candidate->cap, NULL);
	lower_to_policies(&cap, policies, &subject);
	return cap;
}

/* A no-op has no effect that a cap of the send, or a policy, could protect. */
struct relay_cap
relay_replacement_cap(const struct relay_policies *policies, const struct relay_nonce *nonce,
					  bool noop)
{
	const struct relay_account *account = nonce->account;
	struct relay_subject subject = {0};
	struct relay_cap cap = {0};

	if (account->has_cap)
		lower(&cap, &account->cap, NULL);
	if (noop)
		return cap;
	if (nonce->has_cap)
		lower(&cap, &nonce->cap, NULL);
	subject.relayer = account->name;
	subject.workflow = nonce->workflow;
	subject.owner = nonce->owner;
	subject.value = nonce->value;
	subject.gas_limit = relay_highest(nonce)->gas_limit;
	lower_to_policies(&cap, policies, &subject);
	return cap;
}

char *
relay_cap_holder(const struct relay_cap *cap)
{
	return cap->policy == NULL ? "" : psprintf(" of policy \"%s\"", cap->policy);
}
