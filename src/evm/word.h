/*
 * word.h
 *	  256-bit integers: exact arithmetic, decimal text, and big-endian bytes.
 */
#ifndef EVM_WORD_H
#define EVM_WORD_H

#include "evm/bytes.h"
#include "evm/status.h"

/* Enough for '-', 78 digits and a NUL. */
#define EVM_WORD_DECIMAL_BYTES 80

extern const struct evm_word evm_word_zero;

extern struct evm_word evm_word_from_u64(uint64_t value);
/* False when the value needs more than 64 bits. */
extern bool evm_word_to_u64(uint64_t *out, const struct evm_word *value);

/* Big-endian, 32 bytes; the second reads up to 32 bytes, and the low 32 of more. */
extern void evm_word_to_be(uint8_t out[32], const struct evm_word *value);
extern void evm_word_from_be(struct evm_word *out, const uint8_t *data, size_t len);

extern bool evm_word_is_zero(const struct evm_word *value);
extern bool evm_word_is_negative(const struct evm_word *value); /* top bit set */
/* As unsigned: -1, 0 or 1. */
extern int evm_word_compare(const struct evm_word *a, const struct evm_word *b);
/* The position of the top set bit plus one; 0 for zero. */
extern unsigned evm_word_bits(const struct evm_word *value);

/* True when the value is a valid uint<bits> / sign-extended int<bits>. */
extern bool evm_word_fits_unsigned(const struct evm_word *value, unsigned bits);
extern bool evm_word_fits_signed(const struct evm_word *value, unsigned bits);

/* Modulo 2^256; the return value is the carry or borrow. */
extern bool evm_word_add(struct evm_word *out, const struct evm_word *a, const struct evm_word *b);
extern bool evm_word_sub(struct evm_word *out, const struct evm_word *a, const struct evm_word *b);
extern void evm_word_negate(struct evm_word *out, const struct evm_word *a);
/*
 * Gives a magnitude its sign: negated when *negative, which becomes false for zero.  False when
 * the result would be below -2^255.
 */
extern bool evm_word_apply_sign(struct evm_word *value, bool *negative);
/* True on overflow. */
extern bool evm_word_mul_u64(struct evm_word *out, const struct evm_word *a, uint64_t b);
extern bool evm_word_mul(struct evm_word *out, const struct evm_word *a, const struct evm_word *b);
/* Quotient in *out, which may be a; the remainder is returned.  b is not 0. */
extern uint64_t evm_word_div_u64(struct evm_word *out, const struct evm_word *a, uint64_t b);

/*
 * Decimal text, NUL terminated; returns the length.  is_signed reads the word
 * as two's complement.
 */
extern size_t evm_word_to_decimal(char out[EVM_WORD_DECIMAL_BYTES], const struct evm_word *value,
								  bool is_signed);
/*
 * An optional sign and digits, nothing else.  A negative result is two's
 * complement and sets *negative; magnitudes beyond 2^256 - 1 (2^255 when
 * negative) are EVM_ERR_RANGE.
 */
extern enum evm_status evm_word_from_decimal(struct evm_word *out, bool *negative, const char *text,
											 size_t len, struct evm_error *err);

#endif /* EVM_WORD_H */
