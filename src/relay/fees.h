/*
 * fees.h
 *	  What a transaction offers for gas: the first price, and the price of a replacement.
 *
 * Plain C without PostgreSQL or I/O.  All amounts are wei per gas.  Where a chain has no base fee
 * (before EIP-1559), max_fee is the gas price and priority is not used.
 */
#ifndef RELAY_FEES_H
#define RELAY_FEES_H

#include "evm/bytes.h"

/* No chain's fee needs more bits; a node that names more is wrong or hostile. */
#define RELAY_FEE_MAX_BITS 96

struct relay_price
{
	bool dynamic; /* EIP-1559; else a gas price */
	struct evm_word max_fee;
	struct evm_word priority;
};

/* What the next block asks for. */
struct relay_quote
{
	bool dynamic;
	struct evm_word base_fee; /* of the next block; 0 when not dynamic */
	struct evm_word max_fee;  /* twice the base fee plus the priority fee, or the gas price */
	struct evm_word priority;
	struct evm_word suggested; /* the priority fee that the node suggests; 0 when not dynamic */
};

/*
 * From the base fee of the next block and the rewards that the last blocks paid (eth_feeHistory):
 * the median of those that are not zero, or fallback where all are.  False when a number
 * is beyond RELAY_FEE_MAX_BITS.
 */
extern bool relay_quote_dynamic(struct relay_quote *out, const struct evm_word *base_fee,
								struct evm_word *rewards, int reward_count,
								const struct evm_word *fallback);
extern bool relay_quote_legacy(struct relay_quote *out, const struct evm_word *gas_price);

/*
 * The first price, at most cap (NULL: none), and at least what nodes were found to want (NULL:
 * nothing is known).  False when the next block asks for more than the cap allows: the transaction
 * waits.
 */
extern bool relay_price_first(struct relay_price *out, const struct relay_quote *quote,
							  const struct relay_price *learnt, const struct evm_word *cap);

/*
 * The price of a replacement: what the next block asks for, and at least one eighth more than the
 * highest attempt so far on both fees, rounded up.  Pools want a tenth (geth, reth, erigon,
 * nethermind, besu); with a cap in the way that much is enough.  False when even that is beyond the
 * cap, or ten times what the next block asks for: without that end, a node that finds every price
 * too low would be answered with all the money there is. A legacy attempt is replaced by a legacy
 * one, whatever the quote.
 *
 * refusals is how many payloads in a row a node has found too cheap.  After the first, the
 * priority fee is at least what the node suggests; from the second on the fee that nodes have a
 * least value for (the priority fee, or the gas price) is doubled each time.
 */
extern bool relay_price_bump(struct relay_price *out, const struct relay_price *highest,
							 const struct relay_quote *quote, int refusals,
							 const struct evm_word *cap);

/*
 * One eighth more than the highest attempt, whatever the next block asks for: of a no-op, which is
 * cheap, and without which nothing behind it goes on.  False beyond the cap.
 */
extern bool relay_price_least_bump(struct relay_price *out, const struct relay_price *highest,
								   const struct evm_word *cap);

/* Can the price not enter the next block at all? */
extern bool relay_price_too_low(const struct relay_price *price, const struct relay_quote *quote);
/* Does the next block's usual price offer those who build it more? */
extern bool relay_price_outbid(const struct relay_price *price, const struct relay_quote *quote);

#endif /* RELAY_FEES_H */
