/*
 * keccak.c
 *	  Keccak-f[1600] and the sponge of Keccak-256 (the Keccak reference, version 3.0).
 *
 * The permutation works from one array of lanes into another with constant
 * indices only, so that the compiler keeps lanes in registers as far as there
 * are any; two rounds bring the state back to where it was.
 */
#include "evm/keccak.h"

#include <string.h>

#define LANES 25
#define ROUNDS 24
#define RATE_LANES (EVM_KECCAK_RATE_BYTES / 8)

static const uint64_t round_constants[ROUNDS] =
	{0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
	 0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
	 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
	 0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
	 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
	 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

/* Compilers make one load of it where bytes are already in this order. */
static inline uint64_t
load_little_endian(const uint8_t *p)
{
	return (uint64_t) p[0] | (uint64_t) p[1] << 8 | (uint64_t) p[2] << 16 | (uint64_t) p[3] << 24 |
		(uint64_t) p[4] << 32 | (uint64_t) p[5] << 40 | (uint64_t) p[6] << 48 |
		(uint64_t) p[7] << 56;
}

static inline void
store_little_endian(uint8_t *p, uint64_t lane)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t) (lane >> (8 * i));
}

static inline uint64_t
rotate_left(uint64_t lane, unsigned bits)
{
	return lane << bits | lane >> (-bits & 63);
}

/*
 * Theta's last step, rho, pi and chi for one plane of the result.  Plane y takes
 * its five lanes from the diagonal of the source that pi moves there; lane 5y+x
 * of the source lies in column x, whose theta difference is dx.
 */
#define PLANE(y, l0, d0, r0, l1, d1, r1, l2, d2, r2, l3, d3, r3, l4, d4, r4) \
	do \
	{ \
		uint64_t b0 = rotate_left(from[l0] ^ d0, r0); \
		uint64_t b1 = rotate_left(from[l1] ^ d1, r1); \
		uint64_t b2 = rotate_left(from[l2] ^ d2, r2); \
		uint64_t b3 = rotate_left(from[l3] ^ d3, r3); \
		uint64_t b4 = rotate_left(from[l4] ^ d4, r4); \
		to[5 * (y)] = b0 ^ (~b1 & b2); \
		to[5 * (y) + 1] = b1 ^ (~b2 & b3); \
		to[5 * (y) + 2] = b2 ^ (~b3 & b4); \
		to[5 * (y) + 3] = b3 ^ (~b4 & b0); \
		to[5 * (y) + 4] = b4 ^ (~b0 & b1); \
	} while (0)

#define COLUMN(x) (from[x] ^ from[(x) + 5] ^ from[(x) + 10] ^ from[(x) + 15] ^ from[(x) + 20])

__attribute__((always_inline)) static inline void
keccak_round(uint64_t to[LANES], const uint64_t from[LANES], uint64_t constant)
{
	uint64_t c0 = COLUMN(0);
	uint64_t c1 = COLUMN(1);
	uint64_t c2 = COLUMN(2);
	uint64_t c3 = COLUMN(3);
	uint64_t c4 = COLUMN(4);
	uint64_t d0 = c4 ^ rotate_left(c1, 1);
	uint64_t d1 = c0 ^ rotate_left(c2, 1);
	uint64_t d2 = c1 ^ rotate_left(c3, 1);
	uint64_t d3 = c2 ^ rotate_left(c4, 1);
	uint64_t d4 = c3 ^ rotate_left(c0, 1);

	PLANE(0, 0, d0, 0, 6, d1, 44, 12, d2, 43, 18, d3, 21, 24, d4, 14);
	PLANE(1, 3, d3, 28, 9, d4, 20, 10, d0, 3, 16, d1, 45, 22, d2, 61);
	PLANE(2, 1, d1, 1, 7, d2, 6, 13, d3, 25, 19, d4, 8, 20, d0, 18);
	PLANE(3, 4, d4, 27, 5, d0, 36, 11, d1, 10, 17, d2, 15, 23, d3, 56);
	PLANE(4, 2, d2, 62, 8, d3, 55, 14, d4, 39, 15, d0, 41, 21, d1, 2);
	to[0] ^= constant;
}

static void
keccak_permute(uint64_t state[LANES])
{
	uint64_t even[LANES];
	uint64_t odd[LANES];

	memcpy(even, state, sizeof(even));
	for (int round = 0; round < ROUNDS; round += 2)
	{
		keccak_round(odd, even, round_constants[round]);
		keccak_round(even, odd, round_constants[round + 1]);
	}
	memcpy(state, even, sizeof(even));
}

static void
absorb_block(uint64_t state[LANES], const uint8_t block[EVM_KECCAK_RATE_BYTES])
{
	for (int i = 0; i < RATE_LANES; i++)
		state[i] ^= load_little_endian(block + 8 * i);
	keccak_permute(state);
}

static inline void
absorb_byte(struct evm_keccak *context, size_t offset, uint8_t byte)
{
	context->state[offset / 8] ^= (uint64_t) byte << (8 * (offset % 8));
}

void
evm_keccak_init(struct evm_keccak *context)
{
	memset(context, 0, sizeof(*context));
}

void
evm_keccak_update(struct evm_keccak *context, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0)
	{
		if (context->filled == 0 && len >= EVM_KECCAK_RATE_BYTES)
		{
			absorb_block(context->state, p);
			p += EVM_KECCAK_RATE_BYTES;
			len -= EVM_KECCAK_RATE_BYTES;
			continue;
		}
		if (context->filled % 8 == 0 && len >= 8)
		{
			context->state[context->filled / 8] ^= load_little_endian(p);
			context->filled += 8;
			p += 8;
			len -= 8;
		}
		else
		{
			absorb_byte(context, context->filled++, *p++);
			len--;
		}
		if (context->filled == EVM_KECCAK_RATE_BYTES)
		{
			keccak_permute(context->state);
			context->filled = 0;
		}
	}
}

void
evm_keccak_final(struct evm_hash *out, struct evm_keccak *context)
{
	/* Keccak's own padding: 0x01 … 0x80, where SHA3 has 0x06 … 0x80. */
	absorb_byte(context, context->filled, 0x01);
	absorb_byte(context, EVM_KECCAK_RATE_BYTES - 1, 0x80);
	keccak_permute(context->state);
	for (int i = 0; i < (int) sizeof(out->b) / 8; i++)
		store_little_endian(out->b + 8 * i, context->state[i]);
}

void
evm_keccak256(struct evm_hash *out, const void *data, size_t len)
{
	struct evm_keccak context;

	evm_keccak_init(&context);
	evm_keccak_update(&context, data, len);
	evm_keccak_final(out, &context);
}
