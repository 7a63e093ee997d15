/*
 * pace.h
 *	  When to ask a node for its head: just before the next block is expected.
 *
 * The period and phase of a chain are learnt from the moments at which new heads were
 * seen.  Times are milliseconds on a monotonic clock that the caller gives, so the
 * whole thing can be tested with an invented clock.
 */
#ifndef CHAIN_PACE_H
#define CHAIN_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Sightings that period and phase are learnt from. */
#define PACE_SIGHTINGS 16

struct chain_pace
{
	double min_ms;                  /* first pause after a miss */
	double max_ms;                  /* longest pause */
	double seen_at[PACE_SIGHTINGS]; /* ring */
	int64_t height[PACE_SIGHTINGS];
	int count;
	int next;
	double period_ms;   /* of a block; 0: unknown */
	double expected_at; /* of the next block */
	double poll_at;
	double pause_ms; /* after the next miss */
	double lead_ms;  /* of the first poll before the expected moment */
	bool missed;     /* a poll since the last new head found nothing */
};

extern void chain_pace_init(struct chain_pace *pace, double min_ms, double max_ms, double now_ms);
/* A poll found a head at this height that is new. */
extern void chain_pace_hit(struct chain_pace *pace, int64_t height, double now_ms);
/* A poll found nothing new. */
extern void chain_pace_miss(struct chain_pace *pace, double now_ms);
/* A poll was not answered. */
extern void chain_pace_failed(struct chain_pace *pace, double now_ms);
/* The blocks are not evenly spaced, or nothing is known: the pace is a fixed one. */
extern bool chain_pace_is_regular(const struct chain_pace *pace);

#endif /* CHAIN_PACE_H */
