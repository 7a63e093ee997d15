/*
 * put.h
 *	  Parameters of JSON-RPC calls, appended to a text.
 */
#ifndef RELAY_PUT_H
#define RELAY_PUT_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "evm/bytes.h"

/* "0x…" with its quotes. */
extern void relay_put_hex(StringInfo out, const uint8 *data, size_t len);
extern void relay_put_word(StringInfo out, const struct evm_word *word);
extern void relay_put_u64(StringInfo out, uint64 number);
/* {"from": …, "to": …, "value": …, "data": …}; to is NULL for a creation. */
extern void relay_put_call(StringInfo out, const struct evm_address *from,
						   const struct evm_address *to, const struct evm_word *value,
						   struct evm_bytes data);

#endif /* RELAY_PUT_H */
