/*
 * units.h
 *	  Amounts with a decimal point: "1.5" with 18 decimals is 1500000000000000000.
 */
#ifndef EVM_UNITS_H
#define EVM_UNITS_H

#include "evm/bytes.h"
#include "evm/status.h"

/* What the ERC-20 function decimals() can return. */
#define EVM_UNITS_MAX_DECIMALS 255

/* Sign, 78 digits or "0." and 255 of them, point, NUL. */
#define EVM_UNITS_TEXT_BYTES 340

/*
 * "-1.5" style text without trailing zeros behind the point, NUL terminated; returns the
 * length, 0 when decimals is above the maximum.
 */
extern size_t evm_units_format(char out[EVM_UNITS_TEXT_BYTES], const struct evm_word *value,
							   bool is_signed, unsigned decimals);

/*
 * An optional sign, digits, and a point somewhere among them: "1.5", "007", ".5", "1.".  A
 * value that is no whole number of the smallest unit is EVM_ERR_RANGE, never rounded; zeros
 * that say nothing ("1.500") are no digits too many.  Sign and limits of the result are those
 * of evm_word_from_decimal.
 */
extern enum evm_status evm_units_parse(struct evm_word *out, bool *negative, const char *text,
									   size_t len, unsigned decimals, struct evm_error *err);

/*
 * The decimals of a unit of ether (wei, kwei, mwei, gwei, szabo, finney, ether) in lower case,
 * or a number up to EVM_UNITS_MAX_DECIMALS; false when name is neither.
 */
extern bool evm_units_decimals(unsigned *out, const char *name, size_t len);

#endif /* EVM_UNITS_H */
