/*
 * pace.c
 *	  Predicts the next block and spaces the polls around it.  Plain C: no PostgreSQL in here.
 */
#include "chain/pace.h"

#include <stdlib.h>
#include <string.h>

/* The first poll comes this long before the expected moment … */
#define LEAD_MS 1.5
/*
 * … and twice as long after each block that was there already: how long it had been there is not
 * known.
 */
#define LEAD_GROWTH 2.0
#define LEAD_PART_OF_PERIOD 0.25
/* Where blocks come more unevenly than the first pause, it is this part of their spread. */
#define PAUSE_PART_OF_SPREAD 0.25
/* Pauses after misses grow by this. */
#define PAUSE_GROWTH 1.5
/* While a block is overdue, polls are at most this part of a period apart … */
#define PAUSE_PART_OF_PERIOD 0.1
/*
 * … and this far apart where the period is unknown; later than that many pauses overdue, max_ms
 * counts.
 */
#define PAUSE_UNKNOWN_MS 100.0
#define OVERDUE_PERIODS 10.0
#define OVERDUE_UNKNOWN_MS 30000.0
/* Sightings that are further than this part of a period from the fit make the chain irregular. */
#define IRREGULAR_PART 0.35
#define MIN_SIGHTINGS 3

void
chain_pace_init(struct chain_pace *pace, double min_ms, double max_ms, double now_ms)
{
	memset(pace, 0, sizeof(*pace));
	pace->min_ms = min_ms;
	pace->max_ms = max_ms;
	pace->pause_ms = min_ms;
	pace->expected_at = now_ms;
	pace->poll_at = now_ms;
}

static int
newest(const struct chain_pace *pace)
{
	return (pace->next + PACE_SIGHTINGS - 1) % PACE_SIGHTINGS;
}

static int
oldest(const struct chain_pace *pace)
{
	return (pace->next + PACE_SIGHTINGS - pace->count) % PACE_SIGHTINGS;
}

/* When this sighting says that the block at height comes. */
static double
extrapolate(const struct chain_pace *pace, int index, int64_t height)
{
	return pace->seen_at[index] + (double) (height - pace->height[index]) * pace->period_ms;
}

static int
compare_doubles(const void *left, const void *right)
{
	double a = *(const double *) left;
	double b = *(const double *) right;

	return a < b ? -1 : a > b;
}

/*
 * A sighting is late by however long its poll was late, never early: the earliest prediction is
 * the best one. The earliest but one is taken, so that a single block that came early does not
 * cost polls for ever. *spread is how much later the median is.
 */
static double
predict(const struct chain_pace *pace, int64_t height, double *spread)
{
	double at[PACE_SIGHTINGS] = {0};
	int chosen = pace->count > 1 ? 1 : 0;

	for (int i = 0; i < pace->count; i++)
		at[i] = extrapolate(pace, i, height);
	qsort(at, pace->count, sizeof(double), compare_doubles);
	*spread = at[pace->count / 2] - at[chosen];
	return at[chosen];
}

bool
chain_pace_is_regular(const struct chain_pace *pace)
{
	double expected;
	double spread;

	if (pace->period_ms <= 0 || pace->count < MIN_SIGHTINGS)
		return false;
	expected = predict(pace, pace->height[newest(pace)], &spread);
	for (int i = 0; i < pace->count; i++)
	{
		double off = extrapolate(pace, i, pace->height[newest(pace)]) - expected;

		if (off > IRREGULAR_PART * pace->period_ms || off < -IRREGULAR_PART * pace->period_ms)
			return false;
	}
	return true;
}

static void
remember(struct chain_pace *pace, int64_t height, double now_ms)
{
	int first;

	if (pace->count > 0 && height <= pace->height[newest(pace)])
		pace->count = 0; /* another branch, or another chain: learn anew */
	pace->seen_at[pace->next] = now_ms;
	pace->height[pace->next] = height;
	pace->next = (pace->next + 1) % PACE_SIGHTINGS;
	if (pace->count < PACE_SIGHTINGS)
		pace->count++;
	first = oldest(pace);
	if (pace->count >= MIN_SIGHTINGS)
		pace->period_ms = (now_ms - pace->seen_at[first]) / (double) (height - pace->height[first]);
}

/* The block was there at the first poll: the next one is asked for earlier. */
static void
adjust_lead(struct chain_pace *pace)
{
	double longest = LEAD_PART_OF_PERIOD * pace->period_ms;

	if (pace->missed || pace->lead_ms < LEAD_MS)
		pace->lead_ms = LEAD_MS;
	else
		pace->lead_ms *= LEAD_GROWTH;
	if (pace->lead_ms > longest)
		pace->lead_ms = longest;
}

void
chain_pace_hit(struct chain_pace *pace, int64_t height, double now_ms)
{
	double spread;

	remember(pace, height, now_ms);
	pace->pause_ms = pace->min_ms;
	if (!chain_pace_is_regular(pace))
	{
		pace->missed = false;
		pace->expected_at = now_ms;
		pace->poll_at = now_ms + pace->min_ms;
		return;
	}
	adjust_lead(pace);
	pace->missed = false;
	pace->expected_at = predict(pace, height + 1, &spread);
	pace->poll_at = pace->expected_at - pace->lead_ms;
	if (pace->poll_at < now_ms)
		pace->poll_at = now_ms;
	if (spread * PAUSE_PART_OF_SPREAD > pace->pause_ms)
		pace->pause_ms = spread * PAUSE_PART_OF_SPREAD;
}

static double
longest_pause(const struct chain_pace *pace, double now_ms)
{
	bool regular = chain_pace_is_regular(pace);
	double overdue = now_ms - pace->expected_at;
	double pause = regular ? PAUSE_PART_OF_PERIOD * pace->period_ms : PAUSE_UNKNOWN_MS;

	if (overdue > (regular ? OVERDUE_PERIODS * pace->period_ms : OVERDUE_UNKNOWN_MS))
		return pace->max_ms;
	if (pause < pace->min_ms)
		pause = pace->min_ms;
	return pause < pace->max_ms ? pause : pace->max_ms;
}

void
chain_pace_miss(struct chain_pace *pace, double now_ms)
{
	double longest = longest_pause(pace, now_ms);

	pace->missed = true;
	pace->poll_at = now_ms + (pace->pause_ms < longest ? pace->pause_ms : longest);
	if (pace->pause_ms < longest)
		pace->pause_ms *= PAUSE_GROWTH;
}

void
chain_pace_failed(struct chain_pace *pace, double now_ms)
{
	pace->poll_at = now_ms + pace->max_ms;
}
