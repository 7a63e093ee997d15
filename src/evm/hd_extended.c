/*
 * hd_extended.c
 *	  Extended keys of BIP-32 ("xprv…", "xpub…"): base58 with a checksum.
 */
#include "evm/hd.h"

#include <string.h>

#include "evm/crypto.h"

#define BASE 58
#define PAYLOAD_BYTES 78
#define CHECKSUM_BYTES 4
#define EXTENDED_KEY_BYTES (PAYLOAD_BYTES + CHECKSUM_BYTES)
#define EXTENDED_KEY_CHARACTERS 111

#define VERSION_PRIVATE UINT32_C(0x0488ade4) /* "xprv" */
#define VERSION_PUBLIC UINT32_C(0x0488b21e)  /* "xpub" */

/* Layout of the payload. */
#define VERSION_OFFSET 0
#define DEPTH_OFFSET 4
#define PARENT_OFFSET 5
#define INDEX_OFFSET 9
#define CHAIN_CODE_OFFSET 13
#define KEY_OFFSET 45

static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

static uint32_t
read_u32(const uint8_t *data)
{
	return (uint32_t) data[0] << 24 | (uint32_t) data[1] << 16 | (uint32_t) data[2] << 8 | data[3];
}

/* out = out * 58 + digit; 111 digits cannot overflow 82 bytes. */
static void
multiply_add(uint8_t out[EXTENDED_KEY_BYTES], unsigned digit)
{
	unsigned carry = digit;

	for (size_t i = EXTENDED_KEY_BYTES; i-- > 0;)
	{
		carry += out[i] * BASE;
		out[i] = (uint8_t) carry;
		carry >>= 8;
	}
}

static bool
decode_base58(uint8_t out[EXTENDED_KEY_BYTES], const char *text, size_t len)
{
	if (len != EXTENDED_KEY_CHARACTERS)
		return false;
	memset(out, 0, EXTENDED_KEY_BYTES);
	for (size_t i = 0; i < len; i++)
	{
		const char *digit = text[i] == '\0' ? NULL : strchr(alphabet, text[i]);

		if (digit == NULL)
			return false;
		multiply_add(out, (unsigned) (digit - alphabet));
	}
	return true;
}

static enum evm_status
check_payload(const uint8_t data[EXTENDED_KEY_BYTES], uint32_t version, struct evm_error *err)
{
	static const uint8_t nothing[8] = {0};
	uint8_t hash[EVM_SHA256_BYTES];

	if (evm_sha256(hash, data, PAYLOAD_BYTES) != EVM_OK ||
		evm_sha256(hash, hash, sizeof(hash)) != EVM_OK)
		return evm_fail(err, EVM_ERR_CRYPTO, 0, "SHA-256 is not available");
	if (memcmp(hash, data + PAYLOAD_BYTES, CHECKSUM_BYTES) != 0)
		return evm_fail(err, EVM_ERR_CHECKSUM, 0, "checksum of the extended key does not match");
	if (read_u32(data + VERSION_OFFSET) != version)
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "extended key is not an %s",
						version == VERSION_PRIVATE ? "xprv" : "xpub");
	/* A master has neither parent fingerprint nor index. */
	if (data[DEPTH_OFFSET] == 0 && memcmp(data + PARENT_OFFSET, nothing, sizeof(nothing)) != 0)
		return evm_fail(err, EVM_ERR_MALFORMED, 0,
						"extended key of depth 0 has a parent or an index");
	return EVM_OK;
}

static enum evm_status
read_extended(uint8_t data[EXTENDED_KEY_BYTES], const char *text, size_t len, uint32_t version,
			  struct evm_error *err)
{
	if (!decode_base58(data, text, len))
		return evm_fail(err, EVM_ERR_SYNTAX, 0, "extended key is not %d characters of base58",
						EXTENDED_KEY_CHARACTERS);
	return check_payload(data, version, err);
}

enum evm_status
evm_hd_parse_private(struct evm_hd_node *out, const char *text, size_t len, struct evm_error *err)
{
	uint8_t data[EXTENDED_KEY_BYTES];
	enum evm_status status = read_extended(data, text, len, VERSION_PRIVATE, err);

	if (status == EVM_OK)
	{
		out->depth = data[DEPTH_OFFSET];
		out->index = read_u32(data + INDEX_OFFSET);
		memcpy(out->chain_code, data + CHAIN_CODE_OFFSET, sizeof(out->chain_code));
		memcpy(out->key.secret, data + KEY_OFFSET + 1, sizeof(out->key.secret));
		if (data[KEY_OFFSET] != 0 || evm_key_check(&out->key) != EVM_OK)
			status = evm_fail(err, EVM_ERR_CRYPTO, 0, "extended key holds no private key");
	}
	evm_wipe(data, sizeof(data));
	if (status != EVM_OK)
		evm_wipe(out, sizeof(*out));
	return status;
}

enum evm_status
evm_hd_parse_public(uint8_t public_key[33], uint8_t chain_code[32], const char *text, size_t len,
					struct evm_error *err)
{
	uint8_t data[EXTENDED_KEY_BYTES];
	enum evm_status status = read_extended(data, text, len, VERSION_PUBLIC, err);

	if (status != EVM_OK)
		return status;
	if (evm_public_check(data + KEY_OFFSET) != EVM_OK)
		return evm_fail(err, EVM_ERR_CRYPTO, 0, "extended key holds no public key");
	memcpy(public_key, data + KEY_OFFSET, 33);
	memcpy(chain_code, data + CHAIN_CODE_OFFSET, 32);
	return EVM_OK;
}
