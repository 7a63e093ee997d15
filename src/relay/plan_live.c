/*
 * plan_live.c
 *	  Other payloads for live nonces: a higher price, a no-op, or what is to replace a send.
 *
 * A nonce is priced from its highest attempt, within the caps.  What cannot be paid or is above a
 * cap keeps what it has, and says so.
 */
#include "postgres.h"

#include "relay/planner.h"

#include "utils/timestamp.h"

#include "evm/word.h"
#include "relay/ask.h"
#include "relay/cap.h"

/* A replacement that is not yet old is left alone, whatever the node says of it. */
#define BUMP_MIN_AGE_MS 1000
/* Blocks after which even a good price is raised, in multiples of the relayer's bump_blocks. */
#define BUMP_ANYWAY_FACTOR 4

static bool
is_lowest(const struct relay_view *view, const struct relay_nonce *nonce)
{
	int i;

	for (i = 0; i < view->nonce_count && &view->nonces[i] != nonce; i++)
		if (view->nonces[i].key == nonce->key && view->nonces[i].state != RELAY_MINED)
			return false;
	return true;
}

/* Is it worth more?  An attempt that was refused for its price is; an old one may be. */
static bool
wants_better_price(const struct relay_planner *planner, const struct relay_nonce *nonce)
{
	const struct relay_process *process = planner->process;
	const struct relay_attempt *newest = relay_newest(nonce);
	const struct relay_price *price = &relay_highest(nonce)->price;
	int64 age;

	if (newest->number < nonce->wanted_attempt)
		return true;
	if (!TimestampDifferenceExceeds(newest->signed_at, planner->view->now, BUMP_MIN_AGE_MS))
		return false;
	if (newest->broadcast_at == 0)
		return true;
	age = process->head_number - newest->head_number;
	if (relay_price_too_low(price, &process->quote))
		return true;
	if (!is_lowest(planner->view, nonce))
		return false;
	return relay_price_outbid(price, &process->quote) ||
		age >= (int64) nonce->account->bump_blocks * BUMP_ANYWAY_FACTOR;
}

static void
plan_replacement(struct relay_planner *planner, struct relay_nonce *nonce, bool noop)
{
	const struct relay_process *process = planner->process;
	const struct relay_attempt *highest = relay_highest(nonce);
	struct relay_cap cap = relay_replacement_cap(process->policies, nonce, noop);
	const struct evm_word *limit = cap.set ? &cap.amount : NULL;
	bool first_noop = noop && !relay_newest(nonce)->noop;
	struct relay_price price;
	struct relay_order *made;

	/* Prices may have fallen far below what a payload offers that no node has any more. */
	if (!relay_price_bump(&price, &highest->price, &process->quote, relay_refusals(nonce), limit) &&
		!(first_noop && relay_price_least_bump(&price, &highest->price, limit)))
	{
		(void) relay_plan_rule(
			planner, RELAY_SAY, nonce->transaction_id,
			relay_say("held at its price of %s wei per gas: a replacement would need more than "
					  "%s%s allows; the next block asks for %s",
					  relay_decimal(&highest->price.max_fee),
					  cap.set ? "the cap" : "ten times the usual price", relay_cap_holder(&cap),
					  relay_decimal(&process->quote.max_fee)));
		return;
	}
	made = relay_plan_order(planner, nonce->account, nonce->key);
	made->nonce = nonce;
	made->noop = noop;
	made->price = price;
	made->gas_limit = noop ? Max(nonce->noop_gas, RELAY_NOOP_GAS) : highest->gas_limit;
}

static void
wait_to_compete(struct relay_planner *planner, const struct relay_nonce *nonce, char *reason)
{
	(void) relay_plan_rule(planner, RELAY_SAY, nonce->replacement->id, reason);
	relay_wake_by(planner->process,
				  TimestampTzPlusMilliseconds(planner->view->now, RELAY_NODE_RETRY_MS));
}

/* May it be signed at all?  One that never can is refused, and what it was to replace goes on. */
static bool
may_compete(struct relay_planner *planner, const struct relay_nonce *nonce)
{
	struct relay_candidate *candidate = nonce->replacement;
	struct relay_subject subject = relay_subject_of(candidate);
	char *denial = relay_policy_refusal(planner->process->policies, &subject);

	if (denial != NULL)
		relay_plan_refuse(planner, candidate, "denied", denial);
	else if (candidate->refusal == RELAY_REVERTS || candidate->refusal == RELAY_NEVER_VALID)
		relay_plan_refuse(planner, candidate, relay_class_name(candidate->refusal),
						  relay_say("%s", candidate->refusal_text));
	else if (candidate->refusal != RELAY_ACCEPTED)
		wait_to_compete(planner, nonce,
						relay_say("its gas cannot be estimated: %s", candidate->refusal_text));
	else if (nonce->account->max_gas_limit != 0 &&
			 candidate->gas_limit > nonce->account->max_gas_limit)
		relay_plan_refuse(planner, candidate, "denied",
						  relay_say("its gas limit of %lld is above the relayer's cap of %lld",
									(long long) candidate->gas_limit,
									(long long) nonce->account->max_gas_limit));
	else
		return candidate->gas_limit != 0;
	return false;
}

/* In the place of what it replaces, what is outstanding must still be covered. */
static bool
can_pay(const struct relay_planner *planner, const struct relay_nonce *nonce,
		const struct relay_price *price)
{
	const struct relay_attempt *highest = relay_highest(nonce);
	const struct relay_candidate *candidate = nonce->replacement;
	struct evm_word sum = relay_outstanding(planner->view, nonce->key);
	struct evm_word former =
		relay_cost_of(highest->gas_limit, &highest->price.max_fee, &nonce->value);
	struct evm_word cost = relay_cost_of(candidate->gas_limit, &price->max_fee, &candidate->value);

	(void) evm_word_sub(&sum, &sum, &former);
	return !evm_word_add(&cost, &cost, &sum) && evm_word_compare(&cost, &nonce->key->balance) <= 0;
}

/* Another payload at the nonce of one that is to be replaced: what mines decides. */
static void
plan_competitor(struct relay_planner *planner, struct relay_nonce *nonce)
{
	const struct relay_process *process = planner->process;
	const struct relay_attempt *highest = relay_highest(nonce);
	struct relay_candidate *candidate = nonce->replacement;
	struct relay_price price;
	struct relay_order *made;
	struct relay_cap cap;

	if (!nonce->key->fresh || !may_compete(planner, nonce))
		return;
	cap = relay_candidate_cap(process->policies, nonce->account, candidate);
	if (!relay_price_bump(&price, &highest->price, &process->quote, relay_refusals(nonce),
						  cap.set ? &cap.amount : NULL))
	{
		wait_to_compete(
			planner, nonce,
			relay_say("held: to replace what offers %s wei per gas needs more than %s%s allows",
					  relay_decimal(&highest->price.max_fee),
					  cap.set ? "the cap" : "ten times the usual price", relay_cap_holder(&cap)));
		return;
	}
	if (!can_pay(planner, nonce, &price))
	{
		wait_to_compete(planner, nonce,
						relay_say("insufficient funds: the account has %s wei",
								  relay_decimal(&nonce->key->balance)));
		return;
	}
	made = relay_plan_order(planner, nonce->account, nonce->key);
	made->nonce = nonce;
	made->candidate = candidate;
	made->price = price;
	made->gas_limit = candidate->gas_limit;
}

void
relay_plan_nonce(struct relay_planner *planner, struct relay_nonce *nonce)
{
	bool needs_noop = relay_needs_noop(nonce);

	if (nonce->finding == RELAY_FOUND || nonce->finding == RELAY_NOTHING_ASKED ||
		nonce->account == NULL || nonce->account->paused || nonce->key->held)
		return;
	if (!needs_noop && !relay_may_need_bump(planner->process, nonce))
		return;
	if (!planner->process->has_quote)
		return;
	if (nonce->replacement != NULL)
		plan_competitor(planner, nonce);
	else if (needs_noop)
		plan_replacement(planner, nonce, true);
	else if (wants_better_price(planner, nonce))
		plan_replacement(planner, nonce, relay_newest(nonce)->noop);
}
