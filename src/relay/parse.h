/*
 * parse.h
 *	  What nodes answer to the relayer's questions, from JSON to structs.
 *
 * Plain C without PostgreSQL: it reads what a foreign machine wrote.  Every function returns false
 * on an answer that is not of the shape it wants, which counts as no answer.
 */
#ifndef RELAY_PARSE_H
#define RELAY_PARSE_H

#include "evm/bytes.h"
#include "evm/json.h"

/* Of a block, from eth_getBlockByNumber. */
struct relay_header
{
	int64_t number;
	struct evm_hash hash;
	bool has_base_fee; /* EIP-1559 is in force */
};

/* Of eth_getTransactionReceipt. */
struct relay_receipt
{
	int attempt; /* the caller's: which of a nonce's attempts */
	int64_t block_number;
	struct evm_hash block_hash;
	bool reverted;
	uint64_t gas_used;
	bool has_price;
	struct evm_word price; /* effectiveGasPrice */
};

/* Blocks of which eth_feeHistory is asked. */
#define RELAY_FEE_BLOCKS 10

struct relay_fee_history
{
	struct evm_word base_fee; /* of the block after the newest */
	struct evm_word rewards[RELAY_FEE_BLOCKS];
	int reward_count;
};

/* What a block says about who has used a nonce. */
enum relay_use
{
	RELAY_USE_UNKNOWN, /* not asked, or no such block was given */
	RELAY_USE_OURS,    /* one of our payloads is in it */
	RELAY_USE_FOREIGN  /* none of them is */
};

extern bool relay_parse_word(struct evm_word *out, const struct evm_json *json);
extern bool relay_parse_u64(uint64_t *out, const struct evm_json *json);
extern bool relay_parse_header(struct relay_header *out, const struct evm_json *json);
/* Also false for the receipt of another transaction than hash. */
extern bool relay_parse_receipt(struct relay_receipt *out, const struct evm_json *json,
								const struct evm_hash *hash);
/*
 * From the block of that number, with full transactions, in which the count of an account has
 * passed the nonce; hashes are those of our payloads.  user is what used it, or zero where that
 * does not show (an authorization of EIP-7702 uses a nonce, too).
 */
extern enum relay_use relay_parse_use(struct evm_hash *user, const struct evm_json *json,
									  int64_t number, const struct evm_address *from,
									  uint64_t nonce, const struct evm_hash *hashes, int count);
extern bool relay_parse_fee_history(struct relay_fee_history *out, const struct evm_json *json);

#endif /* RELAY_PARSE_H */
