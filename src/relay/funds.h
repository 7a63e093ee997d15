/*
 * funds.h
 *	  Whether accounts have enough: how often their balances are looked at, and which are low.
 */
#ifndef RELAY_FUNDS_H
#define RELAY_FUNDS_H

#include "relay/state.h"

/* Must somebody be told when the balance of this account changes, though it sends nothing? */
extern bool relay_is_watched(const struct relay_process *process, const struct relay_key *key);

/*
 * Are the balances of such accounts to be asked in this round?  At a new head, and not more often
 * than every few seconds.
 */
extern bool relay_watch_is_due(struct relay_process *process, TimestampTz now);
extern void relay_note_watch(struct relay_process *process, TimestampTz now);

/*
 * Says of each relayer with a limit whether its balance is low: below the limit, and until it is a
 * quarter above it.
 */
extern void relay_judge_balances(struct relay_process *process);

/*
 * In an open transaction, when that has changed: an incident begins or ends, and whoever listens to
 * rflow_incidents is told its id.
 */
extern void relay_tell_low_balance(const struct relay_process *process,
								   struct relay_account *account);

#endif /* RELAY_FUNDS_H */
