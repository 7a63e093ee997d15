/*
 * cap.h
 *	  The lowest of all caps on the fee per gas: of the send, its relayer, and policies.
 */
#ifndef RELAY_CAP_H
#define RELAY_CAP_H

#include "relay/policy.h"
#include "relay/state.h"

struct relay_cap
{
	bool set;
	struct evm_word amount;
	const char *policy; /* NULL: the relayer's or the send's own */
};

/* Of a queued send.  policies may be NULL. */
extern struct relay_cap relay_candidate_cap(const struct relay_policies *policies,
											const struct relay_account *account,
											const struct relay_candidate *candidate);

/* Of another payload for a live nonce.  policies may be NULL. */
extern struct relay_cap relay_replacement_cap(const struct relay_policies *policies,
											  const struct relay_nonce *nonce, bool noop);

/* " of policy "x"", or nothing: after the words for a cap. */
extern char *relay_cap_holder(const struct relay_cap *cap);

#endif /* RELAY_CAP_H */
