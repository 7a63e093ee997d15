/*
 * plan.c
 *	  What a round signs, and what it does not.
 *
 * The sends of an account are taken in the order of their ids.  One that cannot be signed for a
 * reason of its own (a cap, a simulation that reverts) steps aside; one that lacks funds stops all
 * behind it, since what they would spend is what it lacks.
 */
#include "postgres.h"

#include "relay/plan.h"

#include "utils/timestamp.h"

#include "evm/word.h"
#include "relay/ask.h"
#include "relay/cap.h"
#include "relay/gap.h"

/* How long a send steps aside: for a price to come down, for a block to change a simulation. */
#define CAP_RETRY_MS 5000
#define REVERT_RETRY_MS 1000
#define NODE_RETRY_MS 2000
/* Resuming a workflow releases what waits for it at once; this is for what it has missed. */
#define PAUSE_RETRY_MS (10 * 60 * 1000)
/* How long an account waits for funds before it asks the chain again. */
#define FUNDS_RETRY_MS 2000
/* A replacement that is not yet old is left alone, whatever the node says of it. */
#define BUMP_MIN_AGE_MS 1000
/* Blocks after which even a good price is raised, in multiples of the relayer's bump_blocks. */
#define BUMP_ANYWAY_FACTOR 4
#define NOOP_GAS 21000
#define FULL_BLOCK_GAS 30000000
#define REASON_BYTES 512

struct planner
{
	struct relay_process *process;
	struct relay_view *view;
	struct relay_plan *plan;
};

static char *say(const char *format, ...) pg_attribute_printf(1, 2);

static char *
say(const char *format, ...)
{
	char text[REASON_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return pstrdup(text);
}

static char *
decimal(const struct evm_word *word)
{
	char text[EVM_WORD_DECIMAL_BYTES];

	evm_word_to_decimal(text, word, false);
	return pstrdup(text);
}

static struct relay_ruling *
rule(struct planner *planner, enum relay_rule rule, int64 id, char *reason)
{
	struct relay_ruling *ruling = &planner->plan->rulings[planner->plan->ruling_count++];

	ruling->rule = rule;
	ruling->id = id;
	ruling->reason = reason;
	return ruling;
}

static void
hold(struct planner *planner, const struct relay_candidate *candidate, int ms, char *reason)
{
	struct relay_ruling *ruling = rule(planner, RELAY_HOLD, candidate->id, reason);

	ruling->until = TimestampTzPlusMilliseconds(planner->view->now, ms);
	relay_wake_by(planner->process, ruling->until);
}

static void
refuse(struct planner *planner, const struct relay_candidate *candidate, const char *kind,
	   char *reason)
{
	struct relay_ruling *ruling = rule(planner, RELAY_REFUSE, candidate->id, reason);

	ruling->failure.kind = kind;
	ruling->failure.message = reason;
	ruling->failure.data = candidate->refusal_data;
}

static struct relay_order *
order(struct planner *planner, struct relay_account *account, struct relay_key *key)
{
	struct relay_order *order = &planner->plan->orders[planner->plan->order_count++];

	order->account = account;
	order->key = key;
	return order;
}

/* gas limit * fee + value, saturated. */
static struct evm_word
cost_of(int64 gas_limit, const struct evm_word *fee, const struct evm_word *value)
{
	struct evm_word cost;

	if (evm_word_mul_u64(&cost, fee, (uint64) gas_limit) || evm_word_add(&cost, &cost, value))
		memset(&cost, 0xff, sizeof(cost));
	return cost;
}

/* What the account may still have to pay for what is signed and not mined. */
static struct evm_word
outstanding(const struct relay_view *view, const struct relay_key *key)
{
	struct evm_word sum = evm_word_zero;
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		const struct relay_nonce *nonce = &view->nonces[i];
		const struct relay_attempt *highest = relay_highest(nonce);
		struct evm_word cost;

		if (nonce->key != key || nonce->state == RELAY_MINED)
			continue;
		cost = cost_of(highest->gas_limit, &highest->price.max_fee, &nonce->value);
		if (evm_word_add(&sum, &sum, &cost))
			memset(&sum, 0xff, sizeof(sum));
	}
	return sum;
}

/* ---- other payloads for live nonces ------------------------------------- */

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
wants_better_price(const struct planner *planner, const struct relay_nonce *nonce)
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
plan_replacement(struct planner *planner, struct relay_nonce *nonce, bool noop)
{
	const struct relay_process *process = planner->process;
	const struct relay_attempt *highest = relay_highest(nonce);
	struct relay_cap cap = relay_replacement_cap(process->policies, nonce, noop);
	struct relay_price price;
	struct relay_order *made;

	if (!relay_price_bump(&price, &highest->price, &process->quote, relay_refusals(nonce),
						  cap.set ? &cap.amount : NULL))
	{
		(void) rule(planner, RELAY_SAY, nonce->transaction_id,
					say("held at its price of %s wei per gas: a replacement would need more than "
						"%s%s allows; the next block asks for %s",
						decimal(&highest->price.max_fee),
						cap.set ? "the cap" : "ten times the usual price", relay_cap_holder(&cap),
						decimal(&process->quote.max_fee)));
		return;
	}
	made = order(planner, nonce->account, nonce->key);
	made->nonce = nonce;
	made->noop = noop;
	made->price = price;
	made->gas_limit = noop ? Max(nonce->noop_gas, NOOP_GAS) : highest->gas_limit;
}

static void
wait_to_compete(struct planner *planner, const struct relay_nonce *nonce, char *reason)
{
	(void) rule(planner, RELAY_SAY, nonce->replacement->id, reason);
	relay_wake_by(planner->process, TimestampTzPlusMilliseconds(planner->view->now, NODE_RETRY_MS));
}

/* May it be signed at all?  One that never can is refused, and what it was to replace goes on. */
static bool
may_compete(struct planner *planner, const struct relay_nonce *nonce)
{
	struct relay_candidate *candidate = nonce->replacement;
	struct relay_subject subject = relay_subject_of(candidate);
	char *denial = relay_policy_refusal(planner->process->policies, &subject);

	if (denial != NULL)
		refuse(planner, candidate, "denied", denial);
	else if (candidate->refusal == RELAY_REVERTS || candidate->refusal == RELAY_NEVER_VALID)
		refuse(planner, candidate, relay_class_name(candidate->refusal),
			   say("%s", candidate->refusal_text));
	else if (candidate->refusal != RELAY_ACCEPTED)
		wait_to_compete(planner, nonce,
						say("its gas cannot be estimated: %s", candidate->refusal_text));
	else if (nonce->account->max_gas_limit != 0 &&
			 candidate->gas_limit > nonce->account->max_gas_limit)
		refuse(planner, candidate, "denied",
			   say("its gas limit of %lld is above the relayer's cap of %lld",
				   (long long) candidate->gas_limit, (long long) nonce->account->max_gas_limit));
	else
		return candidate->gas_limit != 0;
	return false;
}

/* In the place of what it replaces, what is outstanding must still be covered. */
static bool
can_pay(const struct planner *planner, const struct relay_nonce *nonce,
		const struct relay_price *price)
{
	const struct relay_attempt *highest = relay_highest(nonce);
	const struct relay_candidate *candidate = nonce->replacement;
	struct evm_word sum = outstanding(planner->view, nonce->key);
	struct evm_word former = cost_of(highest->gas_limit, &highest->price.max_fee, &nonce->value);
	struct evm_word cost = cost_of(candidate->gas_limit, &price->max_fee, &candidate->value);

	(void) evm_word_sub(&sum, &sum, &former);
	return !evm_word_add(&cost, &cost, &sum) && evm_word_compare(&cost, &nonce->key->balance) <= 0;
}

/* Another payload at the nonce of one that is to be replaced: what mines decides. */
static void
plan_competitor(struct planner *planner, struct relay_nonce *nonce)
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
			say("held: to replace what offers %s wei per gas needs more than %s%s allows",
				decimal(&highest->price.max_fee), cap.set ? "the cap" : "ten times the usual price",
				relay_cap_holder(&cap)));
		return;
	}
	if (!can_pay(planner, nonce, &price))
	{
		wait_to_compete(planner, nonce,
						say("insufficient funds: the account has %s wei",
							decimal(&nonce->key->balance)));
		return;
	}
	made = order(planner, nonce->account, nonce->key);
	made->nonce = nonce;
	made->candidate = candidate;
	made->price = price;
	made->gas_limit = candidate->gas_limit;
}

static void
plan_nonce(struct planner *planner, struct relay_nonce *nonce)
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

/* ---- first payloads of queued sends ------------------------------------- */

/* May this account sign at all?  Otherwise its problem says why not. */
static bool
key_may_sign(struct planner *planner, struct relay_account *account)
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
		key->held_until = TimestampTzPlusMilliseconds(planner->view->now, NODE_RETRY_MS);
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
rule_on_refusal(struct planner *planner, struct relay_candidate *candidate, int in_flight)
{
	struct evm_word full_block;

	switch (candidate->refusal)
	{
		case RELAY_REVERTS:
			if (in_flight > 0)
				hold(planner, candidate, REVERT_RETRY_MS,
					 say("would revert now (%s); tried again while transactions before it are "
						 "not mined",
						 candidate->refusal_text));
			else
				refuse(planner, candidate, "reverts", say("%s", candidate->refusal_text));
			return false;
		case RELAY_NEVER_VALID:
			refuse(planner, candidate, "never_valid", say("%s", candidate->refusal_text));
			return false;
		case RELAY_FUNDS:
			full_block =
				cost_of(FULL_BLOCK_GAS, &planner->process->quote.max_fee, &candidate->value);
			if (evm_word_compare(&full_block, &candidate->account->key->balance) > 0)
				return true;
			refuse(planner, candidate, "reverts", say("%s", candidate->refusal_text));
			return false;
		default:
			hold(planner, candidate, NODE_RETRY_MS,
				 say("its gas cannot be estimated: %s", candidate->refusal_text));
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
		return say("insufficient funds: the account has %s wei, and the node says: %s",
				   decimal(balance), candidate->refusal_text);
	return say(
		"insufficient funds: the account has %s wei, with what is under way it needs %s%s: "
		"%s%s are missing",
		decimal(balance), at_least ? "at least " : "", decimal(needed), at_least ? "at least " : "",
		decimal(&missing));
}

/* Waits at the head of its account for somebody to fund it. */
static void
stop_for_funds(struct planner *planner, struct relay_candidate *candidate,
			   const struct evm_word *needed, bool at_least)
{
	struct relay_key *key = candidate->account->key;
	char *reason = funds_reason(candidate, needed, at_least);

	(void) rule(planner, RELAY_SAY, candidate->id, reason);
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
learnt_price(const struct planner *planner)
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
refuse_other_chain(struct planner *planner, const struct relay_candidate *candidate)
{
	refuse(planner, candidate, "denied",
		   say("it was queued for network \"%s\" (chain id %lld), and relayer \"%s\" is on \"%s\" "
			   "(chain id %lld) now",
			   candidate->network, (long long) candidate->chain_id, candidate->account->name,
			   planner->process->network, (long long) planner->process->chain_id));
}

/* False when nothing behind it in the account may be signed either. */
static bool
plan_candidate(struct planner *planner, struct relay_candidate *candidate,
			   struct evm_word *committed, int in_flight)
{
	struct relay_account *account = candidate->account;
	const struct relay_quote *quote = &planner->process->quote;
	struct relay_subject subject = relay_subject_of(candidate);
	struct relay_cap cap;
	struct relay_price price;
	struct relay_order *made;
	struct evm_word cost;
	char *refusal = relay_policy_refusal(planner->process->policies, &subject);
	char *pause = pause_of(planner->process, candidate);

	if (is_of_other_chain(planner->process, candidate))
	{
		refuse_other_chain(planner, candidate);
		return true;
	}
	if (pause != NULL)
	{
		hold(planner, candidate, PAUSE_RETRY_MS, pause);
		return true;
	}
	if (refusal != NULL && !candidate->fills)
	{
		refuse(planner, candidate, "denied", refusal);
		return true;
	}
	if (candidate->refusal != RELAY_ACCEPTED)
	{
		if (!rule_on_refusal(planner, candidate, in_flight))
			return true;
		cost = cost_of(NOOP_GAS, &quote->max_fee, &candidate->value);
		if (evm_word_add(&cost, &cost, committed))
			memset(&cost, 0xff, sizeof(cost));
		stop_for_funds(planner, candidate, &cost, true);
		return false;
	}
	if (candidate->gas_limit == 0)
		return true;
	if (account->max_gas_limit != 0 && candidate->gas_limit > account->max_gas_limit)
	{
		refuse(planner, candidate, "denied",
			   say("its gas limit of %lld is above the relayer's cap of %lld",
				   (long long) candidate->gas_limit, (long long) account->max_gas_limit));
		return true;
	}
	cap = relay_candidate_cap(planner->process->policies, account, candidate);
	if (!relay_price_first(&price, quote, learnt_price(planner), cap.set ? &cap.amount : NULL))
	{
		hold(planner, candidate, CAP_RETRY_MS,
			 say("held at the cap of %s wei per gas%s: the next block asks for %s",
				 decimal(&cap.amount), relay_cap_holder(&cap),
				 decimal(quote->dynamic ? &quote->base_fee : &quote->max_fee)));
		return true;
	}
	cost = cost_of(candidate->gas_limit, &price.max_fee, &candidate->value);
	if (evm_word_add(&cost, &cost, committed))
		memset(&cost, 0xff, sizeof(cost));
	if (evm_word_compare(&cost, &account->key->balance) > 0)
	{
		stop_for_funds(planner, candidate, &cost, false);
		return false;
	}
	*committed = cost;
	made = order(planner, account, account->key);
	made->candidate = candidate;
	made->price = price;
	made->gas_limit = candidate->gas_limit;
	return true;
}

static void
plan_key(struct planner *planner, struct relay_key *key)
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
	committed = outstanding(view, key);
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
	struct planner planner = {process, view, plan};
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
		plan_nonce(&planner, &view->nonces[i]);
	for (i = 0; i < process->key_count; i++)
		plan_key(&planner, process->keys[i]);
	relay_find_gaps(process, view);
	return plan;
}
