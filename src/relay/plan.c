/*
 * plan.c
 *	  What a round signs, and what it does not.
 *
 * The sends of an account are taken in the order of their ids.  One that cannot be signed for a
 * reason of its own (a cap, a simulation that reverts) steps aside; one that lacks funds stops all
 * behind it, since what they would spend is what it lacks.
 */
#include "postgres.h"

#include "relay/planner.h"

#include "utils/timestamp.h"

#include "evm/word.h"
#include "relay/ask.h"
#include "relay/cap.h"
#include "relay/gap.h"

/* How long a send steps aside: for a price to come down, for a block to change a simulation. */
#define CAP_RETRY_MS 5000
#define REVERT_RETRY_MS 1000
/* Resuming a workflow releases what waits for it at once; this is for what it has missed. */
#define PAUSE_RETRY_MS (10 * 60 * 1000)
/* How long an account waits for funds before it asks the chain again. */
#define FUNDS_RETRY_MS 2000
#define FULL_BLOCK_GAS 30000000

/* May this account sign at all?  Otherwise its problem says why not. */
static bool
key_may_sign(struct relay_planner *planner, struct relay_account *account)
{
	struct relay_key *key = account->key;

	if (!key->fresh || !planner->process->has_quote)
		return false;
	account->problem[0] = '\0';
	if (!key->adopted && key->pending != key->latest)
		snprintf(account->problem, sizeof(account->problem),
				 "the account has %llu transactions pending that are not rflow's: wait, or call "
				 "rflow.adopt_account('%s')",
				 (unsigned long long) (key->pending - key->latest), account->name);
	else if (key->adopted && key->latest > key->next_nonce)
		snprintf(account->problem, sizeof(account->problem),
				 "something else has used the account: the chain has its nonces below %llu, rflow "
				 "those below %llu; find out what, then call rflow.adopt_account('%s')",
				 (unsigned long long) key->latest, (unsigned long long) key->next_nonce,
				 account->name);
	if (account->problem[0] != '\0')
	{
		key->held_until = TimestampTzPlusMilliseconds(planner->view->now, RELAY_NODE_RETRY_MS);
		relay_wake_by(planner->process, key->held_until);
		return false;
	}
	return true;
}

/*
 * The simulation was refused: what that means depends on what else is under way.  "Gas required
 * exceeds allowance" is a lack of funds for an account that could not pay for a block full of gas,
 * and a loop without end for one that could.  True when it is funds.
 */
static bool
rule_on_refusal(struct relay_planner *planner, struct relay_candidate *candidate, int in_flight)
{
	struct evm_word full_block;

	switch (candidate->refusal)
	{
		case RELAY_REVERTS:
			if (in_flight > 0)
				relay_plan_hold(
					planner, candidate, REVERT_RETRY_MS,
					relay_say("would revert now (%s); tried again while transactions before it are "
							  "not mined",
							  candidate->refusal_text));
			else
				relay_plan_refuse(planner, candidate, "reverts",
								  relay_say("%s", candidate->refusal_text));
			return false;
		case RELAY_NEVER_VALID:
			relay_plan_refuse(planner, candidate, "never_valid",
							  relay_say("%s", candidate->refusal_text));
			return false;
		case RELAY_FUNDS:
			full_block =
				relay_cost_of(FULL_BLOCK_GAS, &planner->process->quote.max_fee, &candidate->value);
			if (evm_word_compare(&full_block, &candidate->account->key->balance) > 0)
				return true;
			relay_plan_refuse(planner, candidate, "reverts",
							  relay_say("%s", candidate->refusal_text));
			return false;
		default:
			relay_plan_hold(planner, candidate, RELAY_NODE_RETRY_MS,
							relay_say("its gas cannot be estimated: %s", candidate->refusal_text));
			return false;
	}
}

/* Balance, needed, missing; where the node refuses what seems to be enough, what it says. */
static char *
funds_reason(const struct relay_candidate *candidate, const struct evm_word *needed, bool at_least)
{
	const struct evm_word *balance = &candidate->account->key->balance;
	struct evm_word missing;

	if (evm_word_sub(&missing, needed, balance) || evm_word_is_zero(&missing))
		return relay_say("insufficient funds: the account has %s wei, and the node says: %s",
						 relay_decimal(balance), candidate->refusal_text);
	return relay_say(
		"insufficient funds: the account has %s wei, with what is under way it needs %s%s: "
		"%s%s are missing",
		relay_decimal(balance), at_least ? "at least " : "", relay_decimal(needed),
		at_least ? "at least " : "", relay_decimal(&missing));
}

/* Waits at the head of its account for somebody to fund it. */
static void
stop_for_funds(struct relay_planner *planner, struct relay_candidate *candidate,
			   const struct evm_word *needed, bool at_least)
{
	struct relay_key *key = candidate->account->key;
	char *reason = funds_reason(candidate, needed, at_least);

	(void) relay_plan_rule(planner, RELAY_SAY, candidate->id, reason);
	strlcpy(candidate->account->problem, reason, sizeof(candidate->account->problem));
	key->lacks_funds = true;
	/* Another member of its pool may have what it lacks. */
	if (planner->process->has_pools)
		relay_wake_by(planner->process, planner->view->now);
	key->held_until = TimestampTzPlusMilliseconds(planner->view->now, FUNDS_RETRY_MS);
	relay_wake_by(planner->process, key->held_until);
}

/* What nodes have taken lately after they had refused less; NULL: nothing like that. */
static const struct relay_price *
learnt_price(const struct relay_planner *planner)
{
	const struct relay_process *process = planner->process;

	return process->learnt_until > planner->view->now ? &process->learnt : NULL;
}

/* Why a send waits while its workflow is paused; NULL: it is not. */
static char *
pause_of(const struct relay_process *process, const struct relay_candidate *candidate)
{
	int i;

	for (i = 0; candidate->workflow != NULL && i < process->paused_workflow_count; i++)
		if (strcmp(process->paused_workflows[i].name, candidate->workflow) == 0)
			return process->paused_workflows[i].reason;
	return NULL;
}

/*
 * The relayer was made again, or its network is another chain now: what it was to do there must not
 * be done here.
 */
static bool
is_of_other_chain(const struct relay_process *process, const struct relay_candidate *candidate)
{
	return candidate->chain_id != process->chain_id ||
		strcmp(candidate->network, process->network) != 0;
}

static void
refuse_other_chain(struct relay_planner *planner, const struct relay_candidate *candidate)
{
	relay_plan_refuse(
		planner, candidate, "denied",
		relay_say(
			"it was queued for network \"%s\" (chain id %lld), and relayer \"%s\" is on \"%s\" "
			"(chain id %lld) now",
			candidate->network, (long long) candidate->chain_id, candidate->account->name,
			planner->process->network, (long long) planner->process->chain_id));
}

/* What keeps it from being signed, whatever its gas and its price; true when it was ruled on. */
static bool
is_ruled_out(struct relay_planner *planner, const struct relay_candidate *candidate)
{
	struct relay_subject subject = relay_subject_of(candidate);
	char *pause = pause_of(planner->process, candidate);
	char *refusal;

	if (is_of_other_chain(planner->process, candidate))
	{
		refuse_other_chain(planner, candidate);
		return true;
	}
	if (pause != NULL)
	{
		relay_plan_hold(planner, candidate, PAUSE_RETRY_MS, pause);
		return true;
	}
	refusal = candidate->fills ? NULL : relay_policy_refusal(planner->process->policies, &subject);
	if (refusal != NULL)
		relay_plan_refuse(planner, candidate, "denied", refusal);
	return refusal != NULL;
}

/* The price of a first payload, within the caps; false when it waits for a lower one. */
static bool
find_price(struct relay_planner *planner, const struct relay_candidate *candidate,
		   struct relay_price *price)
{
	const struct relay_quote *quote = &planner->process->quote;
	struct relay_cap cap =
		relay_candidate_cap(planner->process->policies, candidate->account, candidate);

	if (relay_price_first(price, quote, learnt_price(planner), cap.set ? &cap.amount : NULL))
		return true;
	relay_plan_hold(planner, candidate, CAP_RETRY_MS,
					relay_say("held at the cap of %s wei per gas%s: the next block asks for %s",
							  relay_decimal(&cap.amount), relay_cap_holder(&cap),
							  relay_decimal(quote->dynamic ? &quote->base_fee : &quote->max_fee)));
	return false;
}

/* With what is committed before it in the account, saturated. */
static struct evm_word
cost_with(const struct evm_word *committed, int64 gas_limit, const struct evm_word *fee,
		  const struct evm_word *value)
{
	struct evm_word cost = relay_cost_of(gas_limit, fee, value);

	if (evm_word_add(&cost, &cost, committed))
		memset(&cost, 0xff, sizeof(cost));
	return cost;
}

/* False when nothing behind it in the account may be signed either. */
static bool
plan_candidate(struct relay_planner *planner, struct relay_candidate *candidate,
			   struct evm_word *committed, int in_flight)
{
	struct relay_account *account = candidate->account;
	struct relay_price price;
	struct relay_order *made;
	struct evm_word cost;

	if (is_ruled_out(planner, candidate))
		return true;
	if (candidate->refusal != RELAY_ACCEPTED)
	{
		if (!rule_on_refusal(planner, candidate, in_flight))
			return true;
		cost = cost_with(committed, RELAY_NOOP_GAS, &planner->process->quote.max_fee,
						 &candidate->value);
		stop_for_funds(planner, candidate, &cost, true);
		return false;
	}
	if (candidate->gas_limit == 0)
		return true;
	if (account->max_gas_limit != 0 && candidate->gas_limit > account->max_gas_limit)
	{
		relay_plan_refuse(planner, candidate, "denied",
						  relay_say("its gas limit of %lld is above the relayer's cap of %lld",
									(long long) candidate->gas_limit,
									(long long) account->max_gas_limit));
		return true;
	}
	if (!find_price(planner, candidate, &price))
		return true;
	cost = cost_with(committed, candidate->gas_limit, &price.max_fee, &candidate->value);
	if (evm_word_compare(&cost, &account->key->balance) > 0)
	{
		stop_for_funds(planner, candidate, &cost, false);
		return false;
	}
	*committed = cost;
	made = relay_plan_order(planner, account, account->key);
	made->candidate = candidate;
	made->price = price;
	made->gas_limit = candidate->gas_limit;
	return true;
}

static void
plan_key(struct relay_planner *planner, struct relay_key *key)
{
	struct relay_view *view = planner->view;
	struct evm_word committed;
	int in_flight = key->in_flight;
	int i;

	if (key->held)
		return;
	if (key->held_until > view->now)
	{
		relay_wake_by(planner->process, key->held_until);
		return;
	}
	key->lacks_funds = false;
	committed = relay_outstanding(view, key);
	for (i = 0; i < view->candidate_count; i++)
	{
		struct relay_candidate *candidate = &view->candidates[i];
		int before = planner->plan->order_count;

		if (candidate->account->key != key)
			continue;
		if (!key_may_sign(planner, candidate->account))
			return;
		if (in_flight >= candidate->account->max_in_flight && !candidate->fills)
			continue;
		if (!plan_candidate(planner, candidate, &committed, in_flight))
			return;
		in_flight += planner->plan->order_count - before;
	}
}

/* The chain may know of payments that this database does not. */
static void
say_held(struct relay_process *process)
{
	int i;

	for (i = 0; i < process->account_count; i++)
		if (process->accounts[i].key != NULL && process->accounts[i].has_due)
			strlcpy(process->accounts[i].problem,
					"signing is held: this server was promoted or restored to an earlier time, and "
					"its accounts are about to be reconciled",
					RELAY_PROBLEM_BYTES);
}

struct relay_plan *
relay_make_plan(struct relay_process *process, struct relay_view *view)
{
	struct relay_plan *plan = palloc0(sizeof(struct relay_plan));
	struct relay_planner planner = {process, view, plan};
	int room = view->nonce_count + view->candidate_count + 1;
	int i;

	plan->policies = process->policies;
	plan->orders = palloc0(sizeof(struct relay_order) * room);
	plan->rulings = palloc0(sizeof(struct relay_ruling) * room);
	if (view->signing_held)
	{
		say_held(process);
		return plan;
	}
	for (i = 0; i < view->nonce_count; i++)
		relay_plan_nonce(&planner, &view->nonces[i]);
	for (i = 0; i < process->key_count; i++)
		plan_key(&planner, process->keys[i]);
	relay_find_gaps(process, view);
	return plan;
}
