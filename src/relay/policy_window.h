/*
 * policy_window.h
 *	  What may be signed in an interval of time: counted in the transaction that signs.
 *
 * Whatever relayers and accounts share a policy, its row of rflow_private.policy_windows is locked
 * from before the count until the commit; so the limit holds exactly, and what a crash undoes was
 * not counted.  What is signed counts, whatever becomes of it, and so does a transaction that is
 * to replace another one; no-ops, and the same payload for a higher price, do not.
 */
#ifndef RELAY_POLICY_WINDOW_H
#define RELAY_POLICY_WINDOW_H

#include "relay/plan.h"

struct relay_windows;

/*
 * Locks and reads the windows of the policies that first payloads of the plan come under, by name
 * of the policy; NULL when there are none.  In the signing transaction, once its other locks are
 * taken.
 */
extern struct relay_windows *relay_windows_lock(struct relay_plan *plan, TimestampTz now);

/*
 * Counts a first payload.  False when a window has no room for it: it is held until there is, and
 * the plan's look_at is set.  True when windows is NULL.
 */
extern bool relay_windows_take(struct relay_windows *windows, const struct relay_order *order);
/* It was not signed after all. */
extern void relay_windows_give_back(struct relay_windows *windows, const struct relay_order *order);
/* Writes what was counted, and removes what counts no more. */
extern void relay_windows_store(struct relay_windows *windows);

#endif /* RELAY_POLICY_WINDOW_H */
