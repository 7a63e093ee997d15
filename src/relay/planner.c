/*
 * planner.c
 *	  What the parts of a plan have in common.
 */
#include "postgres.h"

#include "relay/planner.h"

#include "utils/timestamp.h"

#include "evm/word.h"

#define REASON_BYTES 512

char *
relay_say(const char *format, ...)
{
	char text[REASON_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return pstrdup(text);
}

char *
relay_decimal(const struct evm_word *word)
{
	char text[EVM_WORD_DECIMAL_BYTES];

	evm_word_to_decimal(text, word, false);
	return pstrdup(text);
}

struct relay_ruling *
relay_plan_rule(struct relay_planner *planner, enum relay_rule rule, int64 id, char *reason)
{
	struct relay_ruling *ruling = &planner->plan->rulings[planner->plan->ruling_count++];

	ruling->rule = rule;
	ruling->id = id;
	ruling->reason = reason;
	return ruling;
}

void
relay_plan_hold(struct relay_planner *planner, const struct relay_candidate *candidate, int ms,
				char *reason)
{
	struct relay_ruling *ruling = relay_plan_rule(planner, RELAY_HOLD, candidate->id, reason);

	ruling->until = TimestampTzPlusMilliseconds(planner->view->now, ms);
	relay_wake_by(planner->process, ruling->until);
}

void
relay_plan_refuse(struct relay_planner *planner, const struct relay_candidate *candidate,
				  const char *kind, char *reason)
{
	struct relay_ruling *ruling = relay_plan_rule(planner, RELAY_REFUSE, candidate->id, reason);

	ruling->failure.kind = kind;
	ruling->failure.message = reason;
	ruling->failure.data = candidate->refusal_data;
}

struct relay_order *
relay_plan_order(struct relay_planner *planner, struct relay_account *account,
				 struct relay_key *key)
{
	struct relay_order *order = &planner->plan->orders[planner->plan->order_count++];

	order->account = account;
	order->key = key;
	return order;
}

struct evm_word
relay_cost_of(int64 gas_limit, const struct evm_word *fee, const struct evm_word *value)
{
	struct evm_word cost;

	if (evm_word_mul_u64(&cost, fee, (uint64) gas_limit) || evm_word_add(&cost, &cost, value))
		memset(&cost, 0xff, sizeof(cost));
	return cost;
}

struct evm_word
relay_outstanding(const struct relay_view *view, const struct relay_key *key)
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
		cost = relay_cost_of(highest->gas_limit, &highest->price.max_fee, &nonce->value);
		if (evm_word_add(&sum, &sum, &cost))
			memset(&sum, 0xff, sizeof(sum));
	}
	return sum;
}
