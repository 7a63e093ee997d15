/*
 * test_relay_fees.c
 *	  First prices, replacements, and caps.
 */
#include "check.h"

#include "evm/word.h"
#include "relay/fees.h"

static struct evm_word
wei(uint64_t value)
{
	return evm_word_from_u64(value);
}

static uint64_t
number(const struct evm_word *word)
{
	uint64_t value = 0;

	CHECK(evm_word_to_u64(&value, word));
	return value;
}

static struct relay_quote
quote_of(uint64_t base_fee, uint64_t priority)
{
	struct relay_quote quote;
	struct evm_word base = wei(base_fee);
	struct evm_word fallback = wei(priority);

	CHECK(relay_quote_dynamic(&quote, &base, NULL, 0, &fallback));
	return quote;
}

TEST(a_quote_is_twice_the_base_fee_and_the_usual_reward)
{
	struct relay_quote quote;
	struct evm_word base = wei(100);
	struct evm_word fallback = wei(7);
	struct evm_word rewards[] = {wei(9), wei(0), wei(3), wei(5), wei(0)};

	CHECK(relay_quote_dynamic(&quote, &base, rewards, 5, &fallback));
	CHECK_NUMBER(number(&quote.priority), 5);
	CHECK_NUMBER(number(&quote.max_fee), 205);
	rewards[0] = rewards[1] = wei(0);
	CHECK(relay_quote_dynamic(&quote, &base, rewards, 2, &fallback));
	CHECK_NUMBER(number(&quote.priority), 7);
}

TEST(absurd_fees_are_refused)
{
	struct relay_quote quote;
	struct evm_word huge = {{0, 1ULL << 33, 0, 0}};
	struct evm_word one = wei(1);

	CHECK(!relay_quote_dynamic(&quote, &huge, NULL, 0, &one));
	CHECK(!relay_quote_dynamic(&quote, &one, NULL, 0, &huge));
	CHECK(!relay_quote_legacy(&quote, &huge));
}

TEST(a_first_price_respects_the_cap)
{
	struct relay_quote quote = quote_of(100, 10);
	struct relay_price price;
	struct evm_word cap = wei(150);

	CHECK(relay_price_first(&price, &quote, NULL, NULL));
	CHECK_NUMBER(number(&price.max_fee), 210);
	CHECK(relay_price_first(&price, &quote, NULL, &cap));
	CHECK_NUMBER(number(&price.max_fee), 150);
	cap = wei(100);
	CHECK(relay_price_first(&price, &quote, NULL, &cap));
	CHECK_NUMBER(number(&price.priority), 10);
	cap = wei(99);
	CHECK(!relay_price_first(&price, &quote, NULL, &cap));
	quote = quote_of(0, 10);
	cap = wei(4);
	CHECK(relay_price_first(&price, &quote, NULL, &cap));
	CHECK_NUMBER(number(&price.priority), 4);
}

/* R3: pools refuse less than a tenth more, on either fee, rounded up. */
TEST(a_replacement_offers_a_tenth_more_on_both_fees)
{
	struct relay_quote quote = quote_of(1, 1);
	struct relay_price highest = {true, wei(0), wei(0)};
	struct relay_price price;
	uint64_t fee;

	quote.max_fee = wei(1000000);
	for (fee = 1; fee < 3000; fee += 7)
	{
		highest.max_fee = wei(fee);
		highest.priority = wei(fee / 3);
		quote.max_fee = wei(fee);
		quote.priority = wei(0);
		CHECK(relay_price_bump(&price, &highest, &quote, 0, NULL));
		CHECK(number(&price.max_fee) * 10 >= fee * 11);
		CHECK(number(&price.priority) * 10 >= (fee / 3) * 11);
		CHECK(number(&price.priority) > fee / 3);
		CHECK(number(&price.priority) <= number(&price.max_fee));
	}
}

TEST(a_replacement_goes_up_to_what_is_asked)
{
	struct relay_quote quote = quote_of(1000, 50);
	struct relay_price highest = {true, wei(300), wei(10)};
	struct relay_price price;

	CHECK(relay_price_bump(&price, &highest, &quote, 0, NULL));
	CHECK_NUMBER(number(&price.max_fee), 2050);
	CHECK_NUMBER(number(&price.priority), 50);
}

/* R14: a capped replacement is never below what pools want. */
TEST(a_replacement_is_held_at_the_cap)
{
	struct relay_quote quote = quote_of(1000, 50);
	struct relay_price highest = {true, wei(1000), wei(100)};
	struct relay_price price;
	struct evm_word cap = wei(1100);

	CHECK(relay_price_bump(&price, &highest, &quote, 0, &cap));
	CHECK_NUMBER(number(&price.max_fee), 1100);
	cap = wei(1099);
	CHECK(!relay_price_bump(&price, &highest, &quote, 0, &cap));
}

TEST(a_replacement_ends_at_ten_times_the_usual_price)
{
	struct relay_quote quote = quote_of(100, 10);
	struct relay_price highest = {true, wei(1900), wei(10)};
	struct relay_price price;

	CHECK(relay_price_bump(&price, &highest, &quote, 0, NULL));
	CHECK_NUMBER(number(&price.max_fee), 2100);
	highest.max_fee = wei(2000);
	CHECK(!relay_price_bump(&price, &highest, &quote, 0, NULL));
}

/* "Underpriced", again and again: the tip doubles, and the end is still the ceiling or the cap. */
TEST(refusals_converge)
{
	struct relay_quote quote = quote_of(1000000000, 1);
	struct relay_price price = {true, wei(2000000000), wei(1000000)};
	struct relay_price highest;
	struct evm_word cap = wei(3000000000);
	int refusals = 0;

	while (number(&price.priority) < 1000000000)
	{
		struct relay_price next;

		CHECK(relay_price_bump(&next, &price, &quote, ++refusals, NULL));
		CHECK(number(&next.max_fee) * 10 >= number(&price.max_fee) * 11);
		price = next;
		if (refusals > 32)
			break;
	}
	CHECK_NUMBER(refusals, 11);
	highest = (struct relay_price){true, wei(2000000000), wei(900000000)};
	CHECK(relay_price_bump(&price, &highest, &quote, 5, &cap));
	CHECK_NUMBER(number(&price.max_fee), 2800000000);
	CHECK_NUMBER(number(&price.priority), 1800000000);
	CHECK(!relay_price_bump(&highest, &price, &quote, 6, &cap));
}

TEST(after_a_refusal_the_tip_is_what_the_node_suggests)
{
	struct relay_quote quote;
	struct evm_word base = wei(100);
	struct evm_word suggested = wei(70);
	struct evm_word rewards[] = {wei(2)};
	struct relay_price highest = {true, wei(202), wei(2)};
	struct relay_price price;

	CHECK(relay_quote_dynamic(&quote, &base, rewards, 1, &suggested));
	CHECK(relay_price_bump(&price, &highest, &quote, 0, NULL));
	CHECK_NUMBER(number(&price.priority), 3);
	CHECK(relay_price_bump(&price, &highest, &quote, 1, NULL));
	CHECK_NUMBER(number(&price.priority), 70);
}

/* The fee has room for a tip that has grown beyond it. */
TEST(a_doubled_tip_raises_the_fee_with_it)
{
	struct relay_quote quote = quote_of(100, 10);
	struct relay_price highest = {true, wei(210), wei(200)};
	struct relay_price price;

	CHECK(relay_price_bump(&price, &highest, &quote, 2, NULL));
	CHECK_NUMBER(number(&price.priority), 400);
	CHECK_NUMBER(number(&price.max_fee), 500);
}

TEST(what_was_learnt_is_where_the_next_one_begins)
{
	struct relay_quote quote = quote_of(100, 10);
	struct relay_price learnt = {true, wei(500), wei(400)};
	struct relay_price price;
	struct evm_word cap = wei(300);

	CHECK(relay_price_first(&price, &quote, &learnt, NULL));
	CHECK_NUMBER(number(&price.max_fee), 500);
	CHECK_NUMBER(number(&price.priority), 400);
	CHECK(relay_price_first(&price, &quote, &learnt, &cap));
	CHECK_NUMBER(number(&price.max_fee), 300);
	CHECK_NUMBER(number(&price.priority), 300);
	learnt.dynamic = false;
	CHECK(relay_price_first(&price, &quote, &learnt, NULL));
	CHECK_NUMBER(number(&price.max_fee), 210);
}

TEST(legacy_prices_stay_legacy)
{
	struct relay_quote quote;
	struct relay_price highest = {false, wei(100), wei(0)};
	struct relay_price price;
	struct evm_word gas_price = wei(90);

	CHECK(relay_quote_legacy(&quote, &gas_price));
	CHECK(relay_price_first(&price, &quote, NULL, NULL));
	CHECK(!price.dynamic);
	CHECK_NUMBER(number(&price.max_fee), 90);
	CHECK(relay_price_bump(&price, &highest, &quote, 0, NULL));
	CHECK(!price.dynamic);
	CHECK_NUMBER(number(&price.max_fee), 113);
	CHECK(!relay_price_outbid(&highest, &quote));
	gas_price = wei(101);
	CHECK(relay_quote_legacy(&quote, &gas_price));
	CHECK(relay_price_too_low(&highest, &quote));
}

TEST(what_the_next_block_asks_decides_whether_a_price_is_good)
{
	struct relay_quote quote = quote_of(100, 10);
	struct relay_price price = {true, wei(99), wei(10)};

	CHECK(relay_price_too_low(&price, &quote));
	CHECK(relay_price_outbid(&price, &quote));
	price.max_fee = wei(105);
	CHECK(!relay_price_too_low(&price, &quote));
	CHECK(relay_price_outbid(&price, &quote));
	price.max_fee = wei(110);
	CHECK(!relay_price_outbid(&price, &quote));
	price.priority = wei(9);
	CHECK(relay_price_outbid(&price, &quote));
}
