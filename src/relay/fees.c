/*
 * fees.c
 *	  What a transaction offers for gas: the first price, and the price of a replacement.
 */
#include "relay/fees.h"

#include "evm/word.h"

/* A replacement offers this much more, by our choice and as pools want it at least. */
#define BUMP_NUMERATOR 9
#define BUMP_DENOMINATOR 8
#define DOUBLE_NUMERATOR 2
#define POOL_NUMERATOR 11
#define POOL_DENOMINATOR 10
/*
 * No replacement offers more than this many times the usual price: a pool that wants more is
 * wrong.
 */
#define CEILING_FACTOR 10

static struct evm_word
smaller(const struct evm_word *a, const struct evm_word *b)
{
	return evm_word_compare(a, b) <= 0 ? *a : *b;
}

static struct evm_word
larger(const struct evm_word *a, const struct evm_word *b)
{
	return evm_word_compare(a, b) >= 0 ? *a : *b;
}

static bool
plausible(const struct evm_word *fee)
{
	return evm_word_bits(fee) <= RELAY_FEE_MAX_BITS;
}

static void
sort_words(struct evm_word *words, int count)
{
	int i;
	int j;

	for (i = 1; i < count; i++)
	{
		struct evm_word word = words[i];

		for (j = i; j > 0 && evm_word_compare(&words[j - 1], &word) > 0; j--)
			words[j] = words[j - 1];
		words[j] = word;
	}
}

/* The median of the rewards that are not zero. */
static struct evm_word
usual_reward(struct evm_word *rewards, int count, const struct evm_word *fallback)
{
	int zeros = 0;

	sort_words(rewards, count);
	while (zeros < count && evm_word_is_zero(&rewards[zeros]))
		zeros++;
	if (zeros == count)
		return *fallback;
	return rewards[zeros + (count - zeros) / 2];
}

bool
relay_quote_dynamic(struct relay_quote *out, const struct evm_word *base_fee,
					struct evm_word *rewards, int reward_count, const struct evm_word *fallback)
{
	struct evm_word doubled;

	out->dynamic = true;
	out->base_fee = *base_fee;
	out->priority = usual_reward(rewards, reward_count, fallback);
	out->suggested = plausible(fallback) ? *fallback : evm_word_zero;
	if (!plausible(base_fee) || !plausible(&out->priority))
		return false;
	(void) evm_word_mul_u64(&doubled, base_fee, 2);
	(void) evm_word_add(&out->max_fee, &doubled, &out->priority);
	return true;
}

bool
relay_quote_legacy(struct relay_quote *out, const struct evm_word *gas_price)
{
	out->dynamic = false;
	out->base_fee = evm_word_zero;
	out->priority = evm_word_zero;
	out->suggested = evm_word_zero;
	out->max_fee = *gas_price;
	return plausible(gas_price);
}

bool
relay_price_first(struct relay_price *out, const struct relay_quote *quote,
				  const struct relay_price *learnt, const struct evm_word *cap)
{
	const struct evm_word *least = quote->dynamic ? &quote->base_fee : &quote->max_fee;

	if (cap != NULL && evm_word_compare(cap, least) < 0)
		return false;
	out->dynamic = quote->dynamic;
	out->max_fee = quote->max_fee;
	out->priority = quote->priority;
	if (learnt != NULL && learnt->dynamic == quote->dynamic)
	{
		out->max_fee = larger(&out->max_fee, &learnt->max_fee);
		out->priority = larger(&out->priority, &learnt->priority);
	}
	if (cap != NULL)
		out->max_fee = smaller(&out->max_fee, cap);
	out->priority = smaller(&out->priority, &out->max_fee);
	return true;
}

/* ceil(value * numerator / denominator), and more than value. */
static struct evm_word
raised(const struct evm_word *value, uint64_t numerator, uint64_t denominator)
{
	const struct evm_word one = evm_word_from_u64(1);
	struct evm_word product;
	struct evm_word result;

	(void) evm_word_mul_u64(&product, value, numerator);
	if (evm_word_div_u64(&result, &product, denominator) != 0 ||
		evm_word_compare(&result, value) == 0)
		(void) evm_word_add(&result, &result, &one);
	return result;
}

/* One of both fees; false when the cap is below what pools want. */
static bool
bump_fee(struct evm_word *out, const struct evm_word *previous, const struct evm_word *asked,
		 bool doubled, const struct evm_word *cap)
{
	struct evm_word least = raised(previous, POOL_NUMERATOR, POOL_DENOMINATOR);
	struct evm_word wanted = doubled ? raised(previous, DOUBLE_NUMERATOR, 1)
									 : raised(previous, BUMP_NUMERATOR, BUMP_DENOMINATOR);

	*out = larger(&wanted, asked);
	if (cap != NULL)
		*out = smaller(out, cap);
	return evm_word_compare(out, &least) >= 0;
}

bool
relay_price_bump(struct relay_price *out, const struct relay_price *highest,
				 const struct relay_quote *quote, int refusals, const struct evm_word *cap)
{
	bool doubled = refusals > 1;
	struct evm_word asked = quote->max_fee;
	struct evm_word asked_tip = quote->priority;
	struct evm_word ceiling;
	struct evm_word least;

	(void) evm_word_mul_u64(&ceiling, &quote->max_fee, CEILING_FACTOR);
	if (cap == NULL || evm_word_compare(&ceiling, cap) < 0)
		cap = &ceiling;
	out->dynamic = highest->dynamic;
	out->priority = evm_word_zero;
	if (!highest->dynamic)
		return bump_fee(&out->max_fee, &highest->max_fee, &asked, doubled, cap);
	if (refusals > 0)
		asked_tip = larger(&asked_tip, &quote->suggested);
	if (doubled)
	{
		least = raised(&highest->priority, DOUBLE_NUMERATOR, 1);
		asked_tip = larger(&asked_tip, &least);
	}
	/* A tip counts as far as the fee has room for it above the base fee. */
	if (refusals > 0 && !evm_word_add(&least, &asked_tip, &quote->base_fee))
		asked = larger(&asked, &least);
	if (!bump_fee(&out->max_fee, &highest->max_fee, &asked, false, cap))
		return false;
	return bump_fee(&out->priority, &highest->priority, &asked_tip, false, &out->max_fee);
}

bool
relay_price_least_bump(struct relay_price *out, const struct relay_price *highest,
					   const struct evm_word *cap)
{
	out->dynamic = highest->dynamic;
	out->priority = evm_word_zero;
	return bump_fee(&out->max_fee, &highest->max_fee, &evm_word_zero, false, cap) &&
		(!out->dynamic ||
		 bump_fee(&out->priority, &highest->priority, &evm_word_zero, false, &out->max_fee));
}

bool
relay_price_too_low(const struct relay_price *price, const struct relay_quote *quote)
{
	const struct evm_word *least = quote->dynamic ? &quote->base_fee : &quote->max_fee;

	return evm_word_compare(&price->max_fee, least) < 0;
}

bool
relay_price_outbid(const struct relay_price *price, const struct relay_quote *quote)
{
	struct evm_word tip;
	struct evm_word room;

	if (!price->dynamic || !quote->dynamic)
		return evm_word_compare(&price->max_fee, &quote->max_fee) < 0;
	if (evm_word_sub(&room, &price->max_fee, &quote->base_fee))
		return true;
	tip = smaller(&price->priority, &room);
	return evm_word_compare(&tip, &quote->priority) < 0;
}
