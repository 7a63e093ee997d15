/*
 * policy_plan.h
 *	  Checks of policies, held against what a round is about to sign.
 */
#ifndef RELAY_POLICY_PLAN_H
#define RELAY_POLICY_PLAN_H

#include "relay/plan.h"

/*
 * Evaluates the checks that first payloads of the plan come under, in a transaction of its own that
 * is aborted, just before the one that signs (which starts over when a policy has changed since).
 * What they refuse becomes a ruling; what cannot be decided waits.  False when the worker may not
 * act any more.  Nothing is done where no policy has a check.
 */
extern bool relay_check_plan(struct relay_process *process, struct relay_plan *plan);

#endif /* RELAY_POLICY_PLAN_H */
