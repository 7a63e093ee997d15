/*
 * abi_utf8.c
 *	  Whether the bytes of a Solidity string are text (RFC 3629).
 *
 * The EVM does not look into strings: they may be any bytes, and U+0000 is legal.
 */
#include "evm/abi_internal.h"

#include <string.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)
#define LOW_BITS UINT64_C(0x0101010101010101)
#define MAX_CHARACTER 0x10ffff
#define FIRST_SURROGATE 0xd800
#define LAST_SURROGATE 0xdfff

/* Length of the character that a byte begins, its bits, and the least value of that length. */
static size_t
lead_byte(uint8_t byte, uint32_t *bits, uint32_t *least)
{
	if ((byte & 0xe0) == 0xc0)
	{
		*bits = byte & 0x1f;
		*least = 0x80;
		return 2;
	}
	if ((byte & 0xf0) == 0xe0)
	{
		*bits = byte & 0x0f;
		*least = 0x800;
		return 3;
	}
	if ((byte & 0xf8) == 0xf0)
	{
		*bits = byte & 0x07;
		*least = 0x10000;
		return 4;
	}
	return 0;
}

size_t
evm_utf8_next(uint32_t *character, const uint8_t *data, size_t len)
{
	uint32_t value;
	uint32_t least;
	size_t needed;

	if (len == 0)
		return 0;
	if (data[0] < 0x80)
	{
		*character = data[0];
		return 1;
	}
	needed = lead_byte(data[0], &value, &least);
	if (needed == 0 || needed > len)
		return 0;
	for (size_t i = 1; i < needed; i++)
	{
		if ((data[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (data[i] & 0x3f);
	}
	if (value < least || value > MAX_CHARACTER ||
		(value >= FIRST_SURROGATE && value <= LAST_SURROGATE))
		return 0;
	*character = value;
	return needed;
}

/* Eight bytes of ASCII without NUL. */
static bool
is_plain_block(const uint8_t *data)
{
	uint64_t block;

	memcpy(&block, data, sizeof(block));
	/* Without high bits, subtracting one from each byte borrows only where a byte is zero. */
	return (block & HIGH_BITS) == 0 && ((block - LOW_BITS) & HIGH_BITS) == 0;
}

bool
evm_utf8_is_text(const uint8_t *data, size_t len)
{
	size_t pos = 0;

	while (pos < len)
	{
		uint32_t character;
		size_t taken;

		if (len - pos >= sizeof(uint64_t) && is_plain_block(data + pos))
		{
			pos += sizeof(uint64_t);
			continue;
		}
		taken = evm_utf8_next(&character, data + pos, len - pos);
		if (taken == 0 || character == 0)
			return false;
		pos += taken;
	}
	return true;
}
