/*
 * policy.c
 *	  A transaction against the fields of policies.
 *
 * Pure decisions over what policy_load.c has read: no statement runs here.
 */
#include "postgres.h"

#include "relay/policy.h"

#include "catalog/pg_authid.h"
#include "utils/acl.h"
#include "utils/syscache.h"

#include "evm/address.h"
#include "evm/hex.h"
#include "evm/word.h"
#include "relay/queue.h"

/* Any transaction takes as much. */
#define LEAST_GAS 21000

static char *
decimal(const struct evm_word *word)
{
	char text[EVM_WORD_DECIMAL_BYTES];

	evm_word_to_decimal(text, word, false);
	return pstrdup(text);
}

struct relay_subject
relay_subject_of_send(const struct relay_send *send)
{
	struct relay_subject subject = {0};

	subject.relayer = send->relayer;
	subject.workflow = send->workflow;
	subject.owner = send->owner;
	subject.creates = send->creates;
	subject.recipient = send->recipient;
	subject.value = send->value;
	subject.data = send->data;
	subject.gas_limit = send->gas_limit;
	return subject;
}

static bool
same_name(const char *wanted, const char *name)
{
	return wanted == NULL || (name != NULL && strcmp(wanted, name) == 0);
}

/* Superusers are members of what they were made members of, as everyone. */
static bool
is_of_role(Oid owner, Oid role)
{
	if (!OidIsValid(role) || owner == role)
		return true;
	return SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(owner)) &&
		SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)) &&
		is_member_of_role_nosuper(owner, role);
}

bool
relay_policy_applies(const struct relay_policy *policy, const struct relay_subject *subject)
{
	return same_name(policy->relayer, subject->relayer) &&
		same_name(policy->workflow, subject->workflow) && is_of_role(subject->owner, policy->role);
}

static char *
refuse(const struct relay_policy *policy, const char *field, char *why)
{
	return psprintf("policy \"%s\" (%s): %s", policy->name, field, why);
}

static bool
lists_contract(const struct relay_policies *policies, const struct relay_policy *policy,
			   const struct evm_address *recipient)
{
	int i;

	for (i = 0; i < policy->contract_count; i++)
	{
		const struct relay_policy_contract *contract = &policy->contracts[i];

		if (same_name(contract->network, policies->network) &&
			memcmp(&contract->address, recipient, sizeof(*recipient)) == 0)
			return true;
	}
	return false;
}

static char *
contract_refusal(const struct relay_policies *policies, const struct relay_policy *policy,
				 const struct relay_subject *subject)
{
	char address[EVM_ADDRESS_TEXT_BYTES];

	if (subject->creates && !policy->allow_contract_creation)
		return refuse(policy, "allow_contract_creation", "it creates a contract");
	if (!policy->lists_contracts)
		return NULL;
	if (subject->creates)
		return refuse(policy, "allowed_contracts", "it creates a contract, which is none of them");
	if (lists_contract(policies, policy, &subject->recipient))
		return NULL;
	evm_address_format(address, &subject->recipient);
	return refuse(policy, "allowed_contracts", psprintf("%s is none of them", address));
}

static bool
lists_selector(const struct relay_policy *policy, struct evm_bytes data)
{
	int i;

	for (i = 0; i < policy->selector_count; i++)
		if (memcmp(policy->selectors[i], data.data, RELAY_SELECTOR_BYTES) == 0)
			return true;
	return false;
}

static char *
function_refusal(const struct relay_policy *policy, const struct relay_subject *subject)
{
	char selector[2 * RELAY_SELECTOR_BYTES + 1];

	if (subject->data.len == 0 && !policy->allow_native_transfers)
		return refuse(policy, "allow_native_transfers", "it has no data");
	if (!policy->lists_functions)
		return NULL;
	if (subject->creates)
		return refuse(policy, "allowed_functions", "it creates a contract and calls none of them");
	if (subject->data.len == 0)
		return policy->lists_receive
			? NULL
			: refuse(policy, "allowed_functions", "it has no data, and receive() is none of them");
	if (subject->data.len < RELAY_SELECTOR_BYTES)
		return refuse(policy, "allowed_functions", "its data is too short for a selector");
	if (lists_selector(policy, subject->data))
		return NULL;
	evm_hex_digits(selector, subject->data.data, RELAY_SELECTOR_BYTES);
	selector[2 * RELAY_SELECTOR_BYTES] = '\0';
	return refuse(policy, "allowed_functions", psprintf("0x%s is none of them", selector));
}

static bool
is_above(const struct evm_word *amount, const struct relay_limit *limit)
{
	return limit->set && evm_word_compare(amount, &limit->amount) > 0;
}

static char *
above(const struct relay_policy *policy, const char *field, const struct evm_word *amount,
	  const struct relay_limit *limit)
{
	return refuse(policy, field,
				  psprintf("%s wei is above %s", decimal(amount), decimal(&limit->amount)));
}

/* What the fee per gas may be at most; 0: even the least one is too much. */
static struct evm_word
fee_within_cost(const struct relay_policy *policy, const struct relay_subject *subject,
				int64 gas_limit)
{
	struct evm_word fee = policy->max_cost.amount;

	if (evm_word_sub(&fee, &fee, &subject->value))
		return evm_word_zero;
	(void) evm_word_div_u64(&fee, &fee, (uint64) Max(gas_limit, LEAST_GAS));
	return fee;
}

static char *
amount_refusal(const struct relay_policy *policy, const struct relay_subject *subject)
{
	struct evm_word fee;

	if (is_above(&subject->value, &policy->max_value))
		return above(policy, "max_value", &subject->value, &policy->max_value);
	if (is_above(&subject->value, &policy->window_value))
		return above(policy, "max_value_per_window", &subject->value, &policy->window_value);
	if (policy->max_gas_limit != 0 && subject->gas_limit > policy->max_gas_limit)
		return refuse(policy, "max_gas_limit",
					  psprintf("a gas limit of %lld is above %lld", (long long) subject->gas_limit,
							   (long long) policy->max_gas_limit));
	if (!policy->max_cost.set)
		return NULL;
	fee = fee_within_cost(policy, subject, subject->gas_limit);
	if (evm_word_is_zero(&fee))
		return refuse(policy, "max_total_cost",
					  psprintf("%s wei does not pay for %s wei and gas",
							   decimal(&policy->max_cost.amount), decimal(&subject->value)));
	return NULL;
}

char *
relay_policy_refusal(const struct relay_policies *policies, const struct relay_subject *subject)
{
	int i;

	for (i = 0; policies != NULL && i < policies->count; i++)
	{
		const struct relay_policy *policy = &policies->policies[i];
		char *refusal;

		if (!relay_policy_applies(policy, subject))
			continue;
		if ((refusal = contract_refusal(policies, policy, subject)) != NULL ||
			(refusal = function_refusal(policy, subject)) != NULL ||
			(refusal = amount_refusal(policy, subject)) != NULL)
			return refusal;
	}
	return NULL;
}

static void
lower(struct evm_word *cap, const char **found, const struct evm_word *other, const char *policy)
{
	if (*found != NULL && evm_word_compare(cap, other) <= 0)
		return;
	*cap = *other;
	*found = policy;
}

bool
relay_policy_fee_cap(const struct relay_policies *policies, const struct relay_subject *subject,
					 int64 gas_limit, struct evm_word *cap, const char **policy)
{
	int i;

	*policy = NULL;
	for (i = 0; policies != NULL && i < policies->count; i++)
	{
		const struct relay_policy *each = &policies->policies[i];
		struct evm_word fee;

		if ((!each->max_fee.set && !each->max_cost.set) || !relay_policy_applies(each, subject))
			continue;
		if (each->max_fee.set)
			lower(cap, policy, &each->max_fee.amount, each->name);
		if (!each->max_cost.set)
			continue;
		fee = fee_within_cost(each, subject, gas_limit);
		lower(cap, policy, &fee, each->name);
	}
	return *policy != NULL;
}
