/*
 * rlp.h
 *	  Recursive Length Prefix (Ethereum Yellow Paper, appendix B): a writer that
 *	  builds nested lists, and a strict reader.
 *
 * The reader accepts only the canonical form: minimal lengths, no byte below
 * 0x80 behind a prefix, no trailing data; integers have no leading zeros.
 */
#ifndef EVM_RLP_H
#define EVM_RLP_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/status.h"

#define EVM_RLP_MAX_DEPTH 32

/*
 * Items are appended; a list is opened, filled and closed.  A failure (arena
 * full) sticks and is reported by evm_rlp_finish.
 */
struct evm_rlp_writer
{
	struct evm_arena *arena;
	uint8_t *data;
	size_t len;
	size_t capacity;
	size_t list_start[EVM_RLP_MAX_DEPTH];
	unsigned depth;
	enum evm_status status;
};

extern void evm_rlp_init(struct evm_rlp_writer *writer, struct evm_arena *arena);
extern void evm_rlp_bytes(struct evm_rlp_writer *writer, const uint8_t *data, size_t len);
extern void evm_rlp_word(struct evm_rlp_writer *writer, const struct evm_word *value);
extern void evm_rlp_u64(struct evm_rlp_writer *writer, uint64_t value);
extern void evm_rlp_raw(struct evm_rlp_writer *writer, const uint8_t *encoded, size_t len);
extern void evm_rlp_open_list(struct evm_rlp_writer *writer);
extern void evm_rlp_close_list(struct evm_rlp_writer *writer);
/* The bytes live in the arena. */
extern enum evm_status evm_rlp_finish(struct evm_rlp_writer *writer, struct evm_bytes *out);

struct evm_rlp_item
{
	bool is_list;
	struct evm_bytes payload; /* borrowed from the input */
};

/* Reads one item at *cursor and moves it behind; EVM_ERR_MALFORMED when not canonical. */
extern enum evm_status evm_rlp_next(struct evm_rlp_item *out, struct evm_bytes *cursor,
									struct evm_error *err);
/* The whole input is one item of the wanted kind. */
extern enum evm_status evm_rlp_whole(struct evm_rlp_item *out, bool want_list, const uint8_t *data,
									 size_t len, struct evm_error *err);
/* Walks all nested items to the depth limit: is the whole input canonical? */
extern enum evm_status evm_rlp_validate(const uint8_t *data, size_t len, struct evm_error *err);
extern enum evm_status evm_rlp_item_word(struct evm_word *out, const struct evm_rlp_item *item,
										 struct evm_error *err);
extern enum evm_status evm_rlp_item_u64(uint64_t *out, const struct evm_rlp_item *item,
										struct evm_error *err);

#endif /* EVM_RLP_H */
