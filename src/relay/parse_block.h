/*
 * parse_block.h
 *	  The transactions of one account in a block, as nodes give it with full transactions.
 *
 * Plain C without PostgreSQL: it reads what a foreign machine wrote.
 */
#ifndef RELAY_PARSE_BLOCK_H
#define RELAY_PARSE_BLOCK_H

#include "evm/arena.h"
#include "evm/json.h"
#include "relay/match.h"

struct relay_block_transaction
{
	uint64_t nonce;
	struct evm_hash hash;
	struct relay_act act;
	uint64_t gas_limit;
	bool dynamic; /* EIP-1559: max_fee and priority, else gas_price in max_fee */
	struct evm_word max_fee;
	struct evm_word priority;
	/* The signed bytes, made again and found to have that hash; empty for other types. */
	struct evm_bytes raw;
};

/*
 * Gives the transactions that address has sent in block number, in their order, in the arena.
 * False on anything that is not that block with whole transactions, and where the bytes of one
 * prove that another account has signed it: nothing of such an answer counts.
 */
extern bool relay_parse_block(struct evm_arena *arena, struct relay_block_transaction **out,
							  int *count, const struct evm_json *block, int64_t number,
							  const struct evm_address *address);

/* Where a transaction is, and who has sent it: what eth_getTransactionByHash says. */
struct relay_place
{
	struct evm_address from;
	int64_t block_number; /* -1: in no block */
};

/* False on anything that is not the transaction of that hash. */
extern bool relay_parse_place(struct relay_place *out, const struct evm_json *json,
							  const struct evm_hash *hash);

#endif /* RELAY_PARSE_BLOCK_H */
