/*
 * bytes.h
 *	  The plain structs that the whole of src/evm passes around.
 */
#ifndef EVM_BYTES_H
#define EVM_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes: whoever made them says how long they live. */
struct evm_bytes
{
	const uint8_t *data;
	size_t len;
};

struct evm_address
{
	uint8_t b[20];
};

struct evm_hash
{
	uint8_t b[32];
};

/*
 * A 256-bit word, four 64-bit limbs, limb[0] least significant.  The same word
 * is read as unsigned or as two's complement; the type beside it says which.
 */
struct evm_word
{
	uint64_t limb[4];
};

#endif /* EVM_BYTES_H */
