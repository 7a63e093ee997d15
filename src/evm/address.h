/*
 * address.h
 *	  Addresses as text, with the checksum of EIP-55.
 */
#ifndef EVM_ADDRESS_H
#define EVM_ADDRESS_H

#include "evm/bytes.h"
#include "evm/status.h"

/* "0x", 40 digits and a NUL. */
#define EVM_ADDRESS_TEXT_BYTES 43

/* "0x" and 40 digits with the EIP-55 checksum, and a NUL. */
extern void evm_address_format(char out[EVM_ADDRESS_TEXT_BYTES], const struct evm_address *address);

/*
 * "0x" and 40 digits: all lower, all upper, or the exact EIP-55 mix; another
 * mix is EVM_ERR_CHECKSUM and the message names the right one.  "0X" is refused,
 * as everywhere for addresses.  *out is undefined on failure.
 */
extern enum evm_status evm_address_parse(struct evm_address *out, const char *text, size_t len,
										 struct evm_error *err);

#endif /* EVM_ADDRESS_H */
