/*
 * hex.h
 *	  Hexadecimal text as Ethereum writes it: DATA and QUANTITY of JSON-RPC.
 */
#ifndef EVM_HEX_H
#define EVM_HEX_H

#include "evm/address.h" /* addresses are hexadecimal text, too */
#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/status.h"

/* Writes 2 * len lower-case digits, no prefix and no terminator. */
extern void evm_hex_digits(char *out, const uint8_t *data, size_t len);

/* "0x" and the digits, NUL terminated, in the arena; NULL when it is full. */
extern char *evm_hex_encode(struct evm_arena *arena, const uint8_t *data, size_t len);

/*
 * DATA: "0x" (or "0X") and an even number of digits, either case.  out must
 * hold (len - 2) / 2 bytes; *out_len is what was written.
 */
extern enum evm_status evm_hex_decode(uint8_t *out, size_t *out_len, const char *text, size_t len,
									  struct evm_error *err);

/*
 * QUANTITY: "0x" and 1 to 64 digits.  Leading zeros, which some nodes send, are
 * accepted; "0x" alone is not.
 */
extern enum evm_status evm_quantity_decode(struct evm_word *out, const char *text, size_t len,
										   struct evm_error *err);
/* The same, EVM_ERR_RANGE when it needs more than 64 bits. */
extern enum evm_status evm_quantity_decode_u64(uint64_t *out, const char *text, size_t len,
											   struct evm_error *err);
/* "0x", 64 digits and a NUL. */
#define EVM_QUANTITY_TEXT_BYTES 67

/* "0x" and the digits without leading zeros ("0x0"), NUL terminated; returns the length. */
extern size_t evm_quantity_encode(char out[EVM_QUANTITY_TEXT_BYTES], const struct evm_word *value);
extern size_t evm_quantity_encode_u64(char out[EVM_QUANTITY_TEXT_BYTES], uint64_t value);

#endif /* EVM_HEX_H */
