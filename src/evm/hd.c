/*
 * hd.c
 *	  BIP-32: private keys derived from a seed along a path.
 */
#include "evm/hd.h"

#include <string.h>

#include "evm/crypto.h"

#define MASTER_HMAC_KEY "Bitcoin seed"
#define SEED_MIN_BYTES 16
#define COMPRESSED_PUBLIC_KEY_BYTES 33
#define CHILD_DATA_BYTES (COMPRESSED_PUBLIC_KEY_BYTES + 4)

enum evm_status
evm_hd_master(struct evm_hd_node *out, const uint8_t *seed, size_t len, struct evm_error *err)
{
	uint8_t digest[EVM_SHA512_BYTES];
	enum evm_status status;

	if (len < SEED_MIN_BYTES || len > EVM_SEED_BYTES)
		return evm_fail(err, EVM_ERR_RANGE, 0, "seed has %zu bytes, not %d to %d", len,
						SEED_MIN_BYTES, EVM_SEED_BYTES);
	memset(out, 0, sizeof(*out));
	status = evm_hmac(digest, EVM_SHA512, (const uint8_t *) MASTER_HMAC_KEY,
					  strlen(MASTER_HMAC_KEY), seed, len);
	if (status == EVM_OK)
	{
		memcpy(out->key.secret, digest, 32);
		memcpy(out->chain_code, digest + 32, 32);
		status = evm_key_check(&out->key);
	}
	evm_wipe(digest, sizeof(digest));
	if (status != EVM_OK)
	{
		evm_wipe(out, sizeof(*out));
		return evm_fail(err, status, 0, "seed has no master key");
	}
	return EVM_OK;
}

/* What is hashed: the private key for hardened children, the public one for others. */
static enum evm_status
child_data(uint8_t out[CHILD_DATA_BYTES], const struct evm_hd_node *parent, uint32_t index)
{
	enum evm_status status = EVM_OK;

	if (index & EVM_HD_HARDENED)
	{
		out[0] = 0;
		memcpy(out + 1, parent->key.secret, sizeof(parent->key.secret));
	}
	else
		status = evm_key_public_compressed(out, &parent->key);
	for (unsigned i = 0; i < 4; i++)
		out[COMPRESSED_PUBLIC_KEY_BYTES + i] = (uint8_t) (index >> (24 - 8 * i));
	return status;
}

enum evm_status
evm_hd_child(struct evm_hd_node *out, const struct evm_hd_node *parent, uint32_t index)
{
	struct evm_hd_node child = {.key = parent->key, .depth = parent->depth + 1, .index = index};
	uint8_t data[CHILD_DATA_BYTES];
	uint8_t digest[EVM_SHA512_BYTES];
	enum evm_status status = EVM_ERR_LIMIT;

	if (parent->depth < EVM_HD_MAX_DEPTH)
		status = child_data(data, parent, index);
	if (status == EVM_OK)
		status = evm_hmac(digest, EVM_SHA512, parent->chain_code, sizeof(parent->chain_code), data,
						  sizeof(data));
	if (status == EVM_OK)
		status = evm_key_add(&child.key, digest);
	if (status == EVM_OK)
	{
		memcpy(child.chain_code, digest + 32, sizeof(child.chain_code));
		*out = child;
	}
	evm_wipe(data, sizeof(data));
	evm_wipe(digest, sizeof(digest));
	evm_wipe(&child, sizeof(child));
	return status;
}

/* One step of a path: digits and an optional mark; *position moves behind it. */
static enum evm_status
read_step(uint32_t *index, size_t *position, const char *path, size_t len, struct evm_error *err)
{
	const size_t start = *position;
	uint64_t value = 0;

	while (*position < len && path[*position] >= '0' && path[*position] <= '9')
	{
		value = value * 10 + (uint64_t) (path[*position] - '0');
		if (value >= EVM_HD_HARDENED)
			return evm_fail(err, EVM_ERR_RANGE, start,
							"derivation path has an index that is not below 2^31");
		(*position)++;
	}
	if (*position == start)
		return evm_fail(err, EVM_ERR_SYNTAX, start, "derivation path has no number at position %zu",
						start + 1);
	*index = (uint32_t) value;
	if (*position < len &&
		(path[*position] == '\'' || path[*position] == 'h' || path[*position] == 'H'))
	{
		*index |= EVM_HD_HARDENED;
		(*position)++;
	}
	if (*position < len && (path[*position] != '/' || ++*position == len))
		return evm_fail(err, EVM_ERR_SYNTAX, *position,
						"derivation path is not numbers and marks (') between slashes");
	return EVM_OK;
}

/* Skips "m" or "m/", which only a master may begin with. */
static enum evm_status
read_root(size_t *position, const struct evm_hd_node *from, const char *path, size_t len,
		  struct evm_error *err)
{
	*position = 0;
	if (len == 0)
		return evm_fail(err, EVM_ERR_SYNTAX, 0, "derivation path is empty");
	if (path[0] != 'm')
		return EVM_OK;
	if (from->depth != 0)
		return evm_fail(err, EVM_ERR_MISMATCH, 0,
						"derivation path begins with m, but its key is not a master key");
	if (len == 2 || (len > 1 && path[1] != '/'))
		return evm_fail(err, EVM_ERR_SYNTAX, 1, "derivation path has no step behind m/");
	*position = len == 1 ? 1 : 2;
	return EVM_OK;
}

enum evm_status
evm_hd_derive(struct evm_hd_node *out, const struct evm_hd_node *from, const char *path, size_t len,
			  struct evm_error *err)
{
	struct evm_hd_node node = *from;
	size_t position;
	enum evm_status status = read_root(&position, from, path, len, err);

	while (status == EVM_OK && position < len)
	{
		uint32_t index = 0;

		status = read_step(&index, &position, path, len, err);
		if (status != EVM_OK)
			break;
		status = evm_hd_child(&node, &node, index);
		if (status != EVM_OK)
			status = evm_fail(err, status, position,
							  status == EVM_ERR_LIMIT ? "derivation path is deeper than 255 steps"
													  : "derivation path leads to no key");
	}
	if (status == EVM_OK)
		*out = node;
	evm_wipe(&node, sizeof(node));
	return status;
}
