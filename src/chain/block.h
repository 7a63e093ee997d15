/*
 * block.h
 *	  Headers and logs as nodes report them, parsed and checked for form.
 *
 * Plain C over src/evm: nothing here is believed yet, only well-formed.
 */
#ifndef CHAIN_BLOCK_H
#define CHAIN_BLOCK_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/json.h"
#include "evm/status.h"

#define CHAIN_BLOOM_BYTES 256
#define CHAIN_MAX_TOPICS 4
/* Numbers of blocks are below this, so that sums of two do not overflow. */
#define CHAIN_MAX_NUMBER (INT64_MAX / 2)

struct chain_header
{
	int64_t number;
	struct evm_hash hash;
	struct evm_hash parent_hash;
	int64_t timestamp; /* seconds since 1970 */
	bool has_base_fee;
	struct evm_word base_fee;
	bool stored; /* read from the table, where there is no bloom; by chain_load */
	bool has_bloom;
	uint8_t bloom[CHAIN_BLOOM_BYTES];
};

struct chain_log
{
	struct evm_address address;
	struct evm_hash topics[CHAIN_MAX_TOPICS];
	int topic_count;
	struct evm_bytes data; /* in the arena */
	int64_t block_number;
	struct evm_hash block_hash;
	struct evm_hash transaction_hash;
	int transaction_index;
	int log_index;
	int ordinal; /* among equal logs of its transaction; filled by chain_number_logs */
};

/*
 * A block as eth_getBlockByNumber gives it; EVM_ERR_MISMATCH for null (there is no such block
 * yet).
 */
extern enum evm_status chain_parse_header(struct chain_header *out, const struct evm_json *node,
										  struct evm_error *error);

/*
 * The answer of eth_getLogs: logs in the arena, sorted by block and index, each (block hash,
 * index) once. Logs marked as removed are left out.
 */
extern enum evm_status chain_parse_logs(struct evm_arena *arena, struct chain_log **out,
										size_t *count, const struct evm_json *node,
										struct evm_error *error);

/*
 * Numbers equal logs of each transaction, in order; the array holds whole transactions.  Fails
 * with EVM_ERR_MEMORY alone.
 */
extern enum evm_status chain_number_logs(struct evm_arena *arena, struct chain_log *logs,
										 size_t count);

/* False: certainly no log of this address (or with this topic) is in the block. */
extern bool chain_bloom_may_contain(const struct chain_header *header, const uint8_t *data,
									size_t len);

#endif /* CHAIN_BLOCK_H */
