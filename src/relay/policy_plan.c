/*
 * policy_plan.c
 *	  Checks of policies, held against what a round is about to sign.
 *
 * Not in the transaction that signs: SQL of users must not run while keys are in memory, nor hold
 * up who waits for the rows that are locked there.
 */
#include "postgres.h"

#include "relay/policy_plan.h"

#include "utils/timestamp.h"

#include "db/statement.h"
#include "relay/policy_check.h"

/* What a check could not decide, because it has failed, is looked at again. */
#define CHECK_RETRY_MS 5000

static void
rule(struct relay_process *process, struct relay_plan *plan,
	 const struct relay_candidate *candidate, const struct relay_checked *checked)
{
	struct relay_ruling *ruling = &plan->rulings[plan->ruling_count++];

	ruling->id = candidate->id;
	if (checked->refusal != NULL)
	{
		ruling->rule = RELAY_REFUSE;
		ruling->reason = checked->refusal;
		ruling->failure.kind = "denied";
		ruling->failure.message = checked->refusal;
		return;
	}
	ruling->rule = RELAY_HOLD;
	ruling->reason = checked->hold;
	ruling->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), CHECK_RETRY_MS);
	relay_wake_by(process, ruling->until);
}

bool
relay_check_plan(struct relay_process *process, struct relay_plan *plan)
{
	MemoryContext round = CurrentMemoryContext;
	int kept = 0;
	int i;

	if (plan->policies == NULL || !plan->policies->has_checks || plan->order_count == 0)
		return true;
	if (!process->begin(process->context, "relayer: policies"))
		return false;
	MemoryContextSwitchTo(round);
	for (i = 0; i < plan->order_count; i++)
	{
		const struct relay_candidate *candidate = plan->orders[i].candidate;
		struct relay_checked checked = {0};

		if (candidate != NULL && !candidate->fills)
		{
			struct relay_subject subject = relay_subject_of(candidate);

			relay_policy_check(&checked, plan->policies, &subject);
		}
		if (checked.refusal != NULL || checked.hold != NULL)
			rule(process, plan, candidate, &checked);
		else
			plan->orders[kept++] = plan->orders[i];
	}
	plan->order_count = kept;
	db_abort();
	MemoryContextSwitchTo(round);
	return true;
}
