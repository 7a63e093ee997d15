/*
 * match.h
 *	  Which of our sends are the transactions of our account that were found on the chain?
 *
 * Plain C without PostgreSQL: after a restore only what a transaction does says which send it was.
 */
#ifndef RELAY_MATCH_H
#define RELAY_MATCH_H

#include "evm/bytes.h"

/* What a transaction does: the fields that a send fixes, and no price or nonce. */
struct relay_act
{
	bool creates; /* a contract: there is no recipient */
	struct evm_address recipient;
	struct evm_word value;
	struct evm_bytes data;
};

enum relay_match
{
	RELAY_UNMATCHED,
	RELAY_MATCHES_HOLDER, /* it is another payload of the send that has the nonce here */
	RELAY_MATCHES_SEND,   /* it is another send, which is queued or has lost its nonce */
	RELAY_MATCHES_NOOP    /* a no-op of ours: it has taken the nonce and nothing else */
};

/* Found on the chain, and known to no attempt. */
struct relay_found
{
	uint64_t nonce;
	int64_t block_number;
	struct relay_act act;
	int64_t holder; /* the transaction that has this nonce here; 0: none */

	/* Decided by relay_match_found. */
	enum relay_match match;
	int64_t id; /* of the send; 0 for RELAY_UNMATCHED, and for a no-op at a nonce without holder */
};

/* A send that may be one of them: what is queued, and all holders. */
struct relay_sendable
{
	int64_t id;
	struct relay_act act;
	bool holds; /* it has the nonce of one of those that were found */
	bool taken; /* decided: it is on the chain, or a no-op has ended it */
};

extern bool relay_acts_equal(const struct relay_act *a, const struct relay_act *b);

/*
 * Decides what was found, in order of nonces (found must be sorted by them), against sends in
 * order of ids (sends must be sorted by them, each id once): the holder of the nonce first, where
 * it does the same; else the first send that does the same and is not taken; else, where it is a
 * transfer of nothing to the account itself, a no-op.  Two equal transactions are two sends, never
 * one.  A send that holds a nonce which turns out to be another one's is as good as queued: a
 * nonce is used once, so none of its payloads can have run.
 */
extern void relay_match_found(struct relay_found *found, int found_count,
							  struct relay_sendable *sends, int send_count,
							  const struct evm_address *account);

#endif /* RELAY_MATCH_H */
