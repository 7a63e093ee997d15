/*
 * test_chain_pace.c
 *	  When a node is asked for its head, on an invented clock.
 *
 * A chain is a list of moments at which its blocks appear; following it plays the polls that
 * chain_pace asks for, and counts what they cost and how late they saw each block.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#include "chain/pace.h"

#define MIN_MS 4.0
#define MAX_MS 1000.0
/* What a poll takes. */
#define ANSWER_MS 0.6
#define BLOCKS 1500
/* Blocks until period, phase and unevenness are learnt; not judged. */
#define LEARNING_BLOCKS 64

struct chain_clock
{
	double at[BLOCKS]; /* when each block appears */
	int count;
	int seen; /* newest block that a poll has seen; -1: none */
	double now;
	struct chain_pace pace;
	double late[BLOCKS]; /* of each sighting after the learning */
	int sightings;
	long polls; /* after the learning */
};

static struct chain_clock chain;
static uint64_t random_state;

static double
random_part(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double) (random_state >> 11) / (double) (1ULL << 53);
}

/* Blocks on a schedule, each late by up to jitter. */
static void
make_chain(double period_ms, double jitter_ms, int count)
{
	memset(&chain, 0, sizeof(chain));
	random_state = 88172645463325252ULL;
	for (int i = 0; i < count; i++)
		chain.at[i] = 137 + i * period_ms + random_part() * jitter_ms;
	chain.count = count;
	chain.seen = -1;
	chain_pace_init(&chain.pace, MIN_MS, MAX_MS, 0);
}

/* Blocks each of which waits for the one before it, so that the phase wanders. */
static void
make_wandering_chain(double period_ms, double jitter_ms, int count)
{
	double at = 0;

	make_chain(period_ms, 0, count);
	for (int i = 0; i < count; i++)
	{
		at += period_ms + (random_part() - 0.5) * jitter_ms;
		chain.at[i] = at;
	}
}

static void
poll_once(void)
{
	int head = chain.seen;

	if (chain.pace.poll_at > chain.now)
		chain.now = chain.pace.poll_at;
	while (head + 1 < chain.count && chain.at[head + 1] <= chain.now)
		head++;
	if (head >= LEARNING_BLOCKS || chain.seen >= LEARNING_BLOCKS)
		chain.polls++;
	if (head > chain.seen)
	{
		if (head >= LEARNING_BLOCKS)
			chain.late[chain.sightings++] = chain.now - chain.at[head];
		chain.seen = head;
		chain_pace_hit(&chain.pace, head, chain.now);
	}
	else
		chain_pace_miss(&chain.pace, chain.now);
	chain.now += ANSWER_MS;
}

static void
follow(void)
{
	while (chain.seen < chain.count - 1)
		poll_once();
}

static int
compare_doubles(const void *left, const void *right)
{
	double a = *(const double *) left;
	double b = *(const double *) right;

	return a < b ? -1 : a > b;
}

/* Every block was seen, at this price. */
static void
check_cost(const char *what, double polls_per_block, double p50_ms, double p95_ms)
{
	int blocks = chain.count - LEARNING_BLOCKS;
	double polls = (double) chain.polls / blocks;
	double p50;
	double p95;

	qsort(chain.late, chain.sightings, sizeof(double), compare_doubles);
	p50 = chain.late[chain.sightings / 2];
	p95 = chain.late[chain.sightings * 95 / 100];
	if (!CHECK(chain.sightings == blocks) || !CHECK(polls <= polls_per_block) ||
		!CHECK(p50 <= p50_ms) || !CHECK(p95 <= p95_ms))
		printf("  %s: %d of %d blocks seen, %.2f polls a block, p50 %.2f ms, p95 %.2f ms\n", what,
			   chain.sightings, blocks, polls, p50, p95);
}

struct cost
{
	const char *what;
	double period_ms;
	double jitter_ms;
	double polls_per_block;
	double p50_ms;
	double p95_ms;
};

TEST(regular_chains_cost_few_polls_and_are_seen_at_once)
{
	static const struct cost cases[] = {
		{"1 s", 1000, 0, 2.5, 4, 7},
		{"1 s, 3 ms late", 1000, 3, 2.5, 4, 8},
		{"1 s, 20 ms late", 1000, 20, 3.3, 8, 18},
		{"1 s, 100 ms late", 1000, 100, 3.5, 20, 60},
		{"12 s", 12000, 0, 2.5, 4, 7},
		{"12 s, 2 s late", 12000, 2000, 3.5, 400, 1300},
		{"200 ms", 200, 0, 2.5, 4, 7},
		{"200 ms, 20 ms late", 200, 20, 3.3, 8, 18},
		{"2 s", 2000, 0, 2.5, 4, 7},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		make_chain(cases[i].period_ms, cases[i].jitter_ms, BLOCKS);
		follow();
		check_cost(cases[i].what, cases[i].polls_per_block, cases[i].p50_ms, cases[i].p95_ms);
	}
}

TEST(a_phase_that_wanders_is_followed)
{
	static const struct cost cases[] = {
		{"1 s", 1000, 3, 2.5, 4, 8},
		{"1 s, off by 20 ms", 1000, 20, 3.5, 8, 20},
		{"1 s, off by 100 ms", 1000, 100, 3.5, 25, 80},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		make_wandering_chain(cases[i].period_ms, cases[i].jitter_ms, BLOCKS);
		follow();
		check_cost(cases[i].what, cases[i].polls_per_block, cases[i].p50_ms, cases[i].p95_ms);
	}
}

TEST(the_period_is_known_after_a_few_blocks)
{
	make_chain(1000, 0, LEARNING_BLOCKS);
	CHECK(!chain_pace_is_regular(&chain.pace));
	while (chain.seen < 12)
		poll_once();
	CHECK(chain_pace_is_regular(&chain.pace));
	CHECK(chain.pace.period_ms > 985 && chain.pace.period_ms < 1015);
	/* Nobody asks in the long time in between. */
	CHECK(chain.pace.poll_at > chain.at[12] + 900 && chain.pace.poll_at < chain.at[13] + 5);
}

/* How many polls a span of time costs, without a block. */
static int
polls_in(double span_ms)
{
	double end = chain.now + span_ms;
	int polls = 0;

	while (chain.pace.poll_at < end)
	{
		poll_once();
		polls++;
	}
	return polls;
}

TEST(a_chain_that_stops_is_asked_ever_less)
{
	make_chain(1000, 3, LEARNING_BLOCKS);
	follow();
	/* While blocks are a little late the node is asked often, but not at every moment. */
	CHECK(polls_in(10 * 1000) <= 130);
	(void) polls_in(10 * 1000);
	CHECK(polls_in(60 * 1000) <= 61);
	CHECK(chain.pace.poll_at - chain.now <= MAX_MS);
}

TEST(a_chain_that_never_moved_is_asked_ever_less)
{
	make_chain(1000, 0, 0);
	CHECK(polls_in(30 * 1000) <= 330);
	(void) polls_in(10 * 1000);
	CHECK(polls_in(60 * 1000) <= 61);
}

TEST(a_chain_that_goes_on_after_a_stop_is_learnt_again)
{
	make_chain(1000, 0, 400);
	for (int i = 100; i < chain.count; i++)
		chain.at[i] += 300 * 1000 + 417; /* a long stop, and another phase */
	while (chain.seen < 150)
		poll_once();
	chain.polls = 0;
	chain.sightings = 0;
	follow();
	CHECK(chain.polls <= 3 * 249);
	qsort(chain.late, chain.sightings, sizeof(double), compare_doubles);
	CHECK(chain.late[chain.sightings * 95 / 100] <= 8);
}

TEST(another_period_is_learnt)
{
	make_chain(1000, 0, 400);
	for (int i = 100; i < chain.count; i++)
		chain.at[i] = chain.at[99] + (i - 99) * 250.0;
	while (chain.seen < 150)
		poll_once();
	CHECK(chain.pace.period_ms > 245 && chain.pace.period_ms < 255);
	chain.polls = 0;
	follow();
	CHECK(chain.polls <= 3 * 249);
}

TEST(bursts_are_seen_without_a_pause_between)
{
	make_chain(1000, 0, 300);
	/* Ten blocks at once every ten seconds, as a node that was behind gives them. */
	for (int i = 0; i < chain.count; i++)
		chain.at[i] = (i / 10) * 10000.0 + 50;
	follow();
	/* Never more than a few polls a second however irregular it is. */
	CHECK(chain.polls < (chain.now / 1000) * 40);
	for (int i = 0; i < chain.sightings; i++)
		CHECK(chain.late[i] <= MAX_MS + ANSWER_MS);
}

TEST(a_lower_head_begins_the_learning_anew)
{
	make_chain(1000, 0, LEARNING_BLOCKS);
	follow();
	CHECK(chain_pace_is_regular(&chain.pace));
	chain_pace_hit(&chain.pace, 3, chain.now);
	CHECK(!chain_pace_is_regular(&chain.pace));
}

TEST(an_unanswered_poll_waits_for_the_longest_pause)
{
	make_chain(1000, 0, LEARNING_BLOCKS);
	follow();
	chain_pace_failed(&chain.pace, 5000);
	CHECK(chain.pace.poll_at == 5000 + MAX_MS);
}
