/*
 * test_relay_match.c
 *	  What was found on the chain, and which send it was.
 */
#include "check.h"

#include "evm/word.h"
#include "relay/match.h"

#define MOST 8

static const struct evm_address account = {{0xaa}};

/* Pays so much to one recipient; what differs in nothing else is told apart by the amount. */
static struct relay_act
pays(uint64_t value)
{
	struct relay_act act;

	memset(&act, 0, sizeof(act));
	act.recipient.b[0] = 0x11;
	act.value = evm_word_from_u64(value);
	return act;
}

static struct relay_act
noop(void)
{
	struct relay_act act;

	memset(&act, 0, sizeof(act));
	act.recipient = account;
	return act;
}

struct round
{
	struct relay_found found[MOST];
	int found_count;
	struct relay_sendable sends[MOST];
	int send_count;
};

/* Nonces count from 10. */
static void
find(struct round *round, struct relay_act act, int64_t holder)
{
	struct relay_found *found = &round->found[round->found_count];

	memset(found, 0, sizeof(*found));
	found->nonce = 10 + round->found_count++;
	found->act = act;
	found->holder = holder;
}

static void
send(struct round *round, int64_t id, struct relay_act act)
{
	struct relay_sendable *sendable = &round->sends[round->send_count++];

	memset(sendable, 0, sizeof(*sendable));
	sendable->id = id;
	sendable->act = act;
}

static void
match(struct round *round)
{
	relay_match_found(round->found, round->found_count, round->sends, round->send_count, &account);
}

#define CHECK_MATCH(round, index, wanted_match, wanted_id) \
	do \
	{ \
		CHECK_NUMBER((round).found[index].match, wanted_match); \
		CHECK_NUMBER((round).found[index].id, wanted_id); \
	} while (0)

TEST(what_does_the_same_is_the_same)
{
	static const uint8_t data[] = {1, 2, 3};
	struct relay_act a = pays(5);
	struct relay_act b = pays(5);

	CHECK(relay_acts_equal(&a, &b));
	b.value = evm_word_from_u64(6);
	CHECK(!relay_acts_equal(&a, &b));
	b = pays(5);
	b.recipient.b[19] = 1;
	CHECK(!relay_acts_equal(&a, &b));
	b = pays(5);
	b.creates = true;
	CHECK(!relay_acts_equal(&a, &b));
	b = pays(5);
	a.data.data = b.data.data = data;
	a.data.len = 3;
	b.data.len = 2;
	CHECK(!relay_acts_equal(&a, &b));
	b.data.len = 3;
	CHECK(relay_acts_equal(&a, &b));
}

TEST(equal_payments_are_matched_one_to_one_in_order)
{
	struct round round = {0};

	find(&round, pays(7), 0);
	find(&round, pays(8), 0);
	find(&round, pays(7), 0);
	find(&round, pays(7), 0);
	send(&round, 1, pays(7));
	send(&round, 2, pays(9));
	send(&round, 3, pays(7));
	send(&round, 4, pays(8));
	match(&round);
	CHECK_MATCH(round, 0, RELAY_MATCHES_SEND, 1);
	CHECK_MATCH(round, 1, RELAY_MATCHES_SEND, 4);
	CHECK_MATCH(round, 2, RELAY_MATCHES_SEND, 3);
	CHECK_MATCH(round, 3, RELAY_UNMATCHED, 0);
	CHECK(!round.sends[1].taken);
}

TEST(a_lost_payload_of_the_holder_is_the_holder)
{
	struct round round = {0};

	find(&round, pays(7), 2);
	find(&round, pays(7), 0);
	send(&round, 1, pays(7));
	send(&round, 2, pays(7));
	match(&round);
	/* Not in order of ids: the nonce says more. */
	CHECK_MATCH(round, 0, RELAY_MATCHES_HOLDER, 2);
	CHECK_MATCH(round, 1, RELAY_MATCHES_SEND, 1);
}

TEST(a_noop_at_a_nonce_ends_its_holder)
{
	struct round round = {0};

	find(&round, noop(), 1);
	find(&round, noop(), 0);
	find(&round, pays(7), 0);
	send(&round, 1, pays(7));
	match(&round);
	CHECK_MATCH(round, 0, RELAY_MATCHES_NOOP, 1);
	CHECK_MATCH(round, 1, RELAY_MATCHES_NOOP, 0);
	/* What was given up has not been paid under another nonce either. */
	CHECK_MATCH(round, 2, RELAY_UNMATCHED, 0);
}

TEST(a_send_to_oneself_is_not_taken_for_a_noop)
{
	struct round round = {0};

	find(&round, noop(), 0);
	send(&round, 1, noop());
	match(&round);
	CHECK_MATCH(round, 0, RELAY_MATCHES_SEND, 1);
}

TEST(who_has_lost_a_nonce_is_as_good_as_queued)
{
	struct round round = {0};

	find(&round, pays(8), 1);
	find(&round, pays(7), 0);
	send(&round, 1, pays(7));
	send(&round, 2, pays(8));
	match(&round);
	CHECK_MATCH(round, 0, RELAY_MATCHES_SEND, 2);
	CHECK_MATCH(round, 1, RELAY_MATCHES_SEND, 1);
}

TEST(what_nothing_explains_stays_unmatched)
{
	struct round round = {0};

	find(&round, pays(7), 0);
	match(&round);
	CHECK_MATCH(round, 0, RELAY_UNMATCHED, 0);
	find(&round, pays(8), 1);
	send(&round, 1, pays(9));
	match(&round);
	CHECK_MATCH(round, 1, RELAY_UNMATCHED, 0);
}
