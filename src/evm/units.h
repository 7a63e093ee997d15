/*
 * units.h
 *	  Amounts with a decimal point: "1.5" with 18 decimals is 1500000000000000000.
 */
#ifndef EVM_UNITS_H
#define EVM_UNITS_H

#include "evm/bytes.h"
#include "evm/status.h"

/* Sign, 78 digits, point, leading "0." and NUL, for up to 255 decimals. */
#define EVM_UNITS_TEXT_BYTES 340

/* "-1.5" style text, no trailing zeros behind the point. */
extern size_t evm_units_format(char out[EVM_UNITS_TEXT_BYTES], const struct evm_word *value,
							   bool is_signed, unsigned decimals);
/* More digits behind the point than decimals is EVM_ERR_RANGE, never rounded. */
extern enum evm_status evm_units_parse(struct evm_word *out, bool *negative, const char *text,
									   size_t len, unsigned decimals, struct evm_error *err);
/* "wei", "gwei", "ether", …, or a number; false when unknown. */
extern bool evm_units_decimals(unsigned *out, const char *name, size_t len);

#endif							/* EVM_UNITS_H */
