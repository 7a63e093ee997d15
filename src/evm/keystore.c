/*
 * keystore.c
 *	  Decrypts version 3 key files.
 *
 * Order matters: all of the file is checked, then the cost, then the key is
 * derived, then the MAC is compared; only then is anything decrypted.
 */
#include "evm/keystore.h"

#include <string.h>

#include "evm/crypto.h"
#include "evm/hex.h"
#include "evm/json.h"
#include "evm/keccak.h"

#define KEYSTORE_VERSION 3
#define DERIVED_KEY_BYTES 32 /* the cipher's key and the MAC's, 16 bytes each */
#define CIPHER_KEY_BYTES 16
#define CIPHER_IV_BYTES 16
#define MAX_SALT_BYTES 256

const struct evm_keystore_limits evm_keystore_default_limits = {.memory_bytes =
																	EVM_KEYSTORE_MAX_MEMORY_BYTES,
																.scrypt_cost =
																	EVM_KEYSTORE_MAX_SCRYPT_COST,
																.iterations =
																	EVM_KEYSTORE_MAX_ITERATIONS};

struct keystore
{
	bool is_scrypt;
	struct evm_scrypt_cost scrypt;
	uint64_t iterations; /* of PBKDF2 */
	uint8_t salt[MAX_SALT_BYTES];
	size_t salt_len;
	uint8_t iv[CIPHER_IV_BYTES];
	uint8_t ciphertext[32];
	size_t ciphertext_len;
	uint8_t mac[32];
	bool has_address;
	struct evm_address address;
};

/* Hexadecimal digits, with or without 0x, of min to max bytes. */
static enum evm_status
read_hex(uint8_t *out, size_t *out_len, const struct evm_json *object, const char *name, size_t min,
		 size_t max, struct evm_error *err)
{
	char prefixed[2 + 2 * MAX_SALT_BYTES];
	size_t len;
	const char *text = evm_json_string(evm_json_object_get(object, name), &len);

	if (text == NULL)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "%s is missing or not a string", name);
	if (len >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
	{
		text += 2;
		len -= 2;
	}
	if (len % 2 != 0 || len / 2 < min || len / 2 > max)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "%s has a wrong length", name);
	memcpy(prefixed, "0x", 2);
	memcpy(prefixed + 2, text, len);
	if (evm_hex_decode(out, out_len, prefixed, len + 2, NULL) != EVM_OK)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "%s is not hexadecimal", name);
	return EVM_OK;
}

static enum evm_status
read_number(uint64_t *out, const struct evm_json *object, const char *name, struct evm_error *err)
{
	int64_t value;

	if (!evm_json_integer(evm_json_object_get(object, name), &value) || value < 1)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "%s is missing or not a positive integer", name);
	*out = (uint64_t) value;
	return EVM_OK;
}

static bool
string_is(const struct evm_json *object, const char *name, const char *wanted)
{
	size_t len;
	const char *text = evm_json_string(evm_json_object_get(object, name), &len);

	return text != NULL && len == strlen(wanted) && memcmp(text, wanted, len) == 0;
}

static enum evm_status
read_scrypt(struct keystore *out, const struct evm_json *params, struct evm_error *err)
{
	uint64_t r;
	uint64_t p;
	enum evm_status status = read_number(&out->scrypt.n, params, "n", err);

	if (status == EVM_OK)
		status = read_number(&r, params, "r", err);
	if (status == EVM_OK)
		status = read_number(&p, params, "p", err);
	if (status != EVM_OK)
		return status;
	if (out->scrypt.n < 2 || (out->scrypt.n & (out->scrypt.n - 1)) != 0)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "scrypt n is not a power of 2");
	if (r > UINT32_MAX || p > UINT32_MAX)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "scrypt r or p is too large");
	out->scrypt.r = (uint32_t) r;
	out->scrypt.p = (uint32_t) p;
	return EVM_OK;
}

static enum evm_status
read_kdf(struct keystore *out, const struct evm_json *crypto, struct evm_error *err)
{
	const struct evm_json *params = evm_json_object_get(crypto, "kdfparams");
	uint64_t derived_len;
	enum evm_status status = read_number(&derived_len, params, "dklen", err);

	if (status == EVM_OK && derived_len != DERIVED_KEY_BYTES)
		status = evm_fail(err, EVM_ERR_MALFORMED, 0, "dklen is not %d", DERIVED_KEY_BYTES);
	if (status == EVM_OK)
		status = read_hex(out->salt, &out->salt_len, params, "salt", 0, MAX_SALT_BYTES, err);
	if (status != EVM_OK)
		return status;
	out->is_scrypt = string_is(crypto, "kdf", "scrypt");
	if (out->is_scrypt)
		return read_scrypt(out, params, err);
	if (!string_is(crypto, "kdf", "pbkdf2"))
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "kdf is neither scrypt nor pbkdf2");
	if (!string_is(params, "prf", "hmac-sha256"))
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "prf is not hmac-sha256");
	return read_number(&out->iterations, params, "c", err);
}

static enum evm_status
read_cipher(struct keystore *out, const struct evm_json *crypto, struct evm_error *err)
{
	const struct evm_json *params = evm_json_object_get(crypto, "cipherparams");
	size_t len;
	enum evm_status status;

	if (!string_is(crypto, "cipher", "aes-128-ctr"))
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "cipher is not aes-128-ctr");
	status = read_hex(out->iv, &len, params, "iv", sizeof(out->iv), sizeof(out->iv), err);
	/* Old clients wrote keys without their leading zeros. */
	if (status == EVM_OK)
		status = read_hex(out->ciphertext, &out->ciphertext_len, crypto, "ciphertext", 1,
						  sizeof(out->ciphertext), err);
	if (status == EVM_OK)
		status = read_hex(out->mac, &len, crypto, "mac", sizeof(out->mac), sizeof(out->mac), err);
	return status;
}

/* The address is optional, and empty or null in files that hide it. */
static enum evm_status
read_address(struct keystore *out, const struct evm_json *root, struct evm_error *err)
{
	size_t len;
	const char *text = evm_json_string(evm_json_object_get(root, "address"), &len);

	if (text == NULL || len == 0)
		return EVM_OK;
	out->has_address = true;
	return read_hex(out->address.b, &len, root, "address", sizeof(out->address.b),
					sizeof(out->address.b), err);
}

static enum evm_status
read_keystore(struct evm_arena *arena, struct keystore *out, const char *text, size_t len,
			  struct evm_error *err)
{
	const struct evm_json *root;
	const struct evm_json *crypto;
	int64_t version;
	enum evm_status status;

	if (len > EVM_KEYSTORE_MAX_BYTES)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "longer than %d bytes", EVM_KEYSTORE_MAX_BYTES);
	status = evm_json_parse(arena, &root, text, len, err);
	if (status != EVM_OK)
		return status;
	if (!evm_json_integer(evm_json_object_get(root, "version"), &version) ||
		version != KEYSTORE_VERSION)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "version is not %d", KEYSTORE_VERSION);
	crypto = evm_json_object_get(root, "crypto");
	if (crypto == NULL)
		crypto = evm_json_object_get(root, "Crypto");
	if (evm_json_kind(crypto) != EVM_JSON_OBJECT)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "crypto is missing or not an object");
	status = read_kdf(out, crypto, err);
	if (status == EVM_OK)
		status = read_cipher(out, crypto, err);
	if (status == EVM_OK)
		status = read_address(out, root, err);
	return status;
}

static enum evm_status
check_cost(const struct keystore *keystore, const struct evm_keystore_limits *limits,
		   struct evm_error *err)
{
	const struct evm_scrypt_cost *scrypt = &keystore->scrypt;
	uint64_t memory;
	uint64_t cost;

	if (!keystore->is_scrypt)
	{
		if (keystore->iterations > limits->iterations || keystore->iterations > INT32_MAX)
			return evm_fail(err, EVM_ERR_LIMIT, 0, "%llu iterations of pbkdf2 are above the limit",
							(unsigned long long) keystore->iterations);
		return EVM_OK;
	}
	if (__builtin_mul_overflow(scrypt->n, (uint64_t) scrypt->r * EVM_SCRYPT_BLOCK_BYTES, &memory) ||
		memory > limits->memory_bytes)
		return evm_fail(err, EVM_ERR_LIMIT, 0,
						"scrypt with n %llu and r %u needs more memory than the limit",
						(unsigned long long) scrypt->n, scrypt->r);
	if (__builtin_mul_overflow(scrypt->n * scrypt->r, (uint64_t) scrypt->p, &cost) ||
		cost > limits->scrypt_cost)
		return evm_fail(err, EVM_ERR_LIMIT, 0,
						"scrypt with n %llu, r %u and p %u takes longer than the limit",
						(unsigned long long) scrypt->n, scrypt->r, scrypt->p);
	return EVM_OK;
}

static enum evm_status
derive(uint8_t out[DERIVED_KEY_BYTES], const struct keystore *keystore, const uint8_t *password,
	   size_t password_len, struct evm_error *err)
{
	enum evm_status status;

	if (keystore->is_scrypt)
		status = evm_scrypt(out, DERIVED_KEY_BYTES, password, password_len, keystore->salt,
							keystore->salt_len, &keystore->scrypt);
	else
		status = evm_pbkdf2(out, DERIVED_KEY_BYTES, EVM_SHA256, password, password_len,
							keystore->salt, keystore->salt_len, (uint32_t) keystore->iterations);
	if (status != EVM_OK)
		return evm_fail(err, status, 0, "its key derivation cannot be run");
	return EVM_OK;
}

/* keccak256(second half of the derived key ‖ ciphertext), compared in constant time. */
static bool
mac_matches(const struct keystore *keystore, const uint8_t derived[DERIVED_KEY_BYTES])
{
	struct evm_keccak keccak;
	struct evm_hash mac;
	uint8_t difference = 0;

	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, derived + CIPHER_KEY_BYTES, DERIVED_KEY_BYTES - CIPHER_KEY_BYTES);
	evm_keccak_update(&keccak, keystore->ciphertext, keystore->ciphertext_len);
	evm_keccak_final(&mac, &keccak);
	evm_wipe(&keccak, sizeof(keccak));
	for (size_t i = 0; i < sizeof(mac.b); i++)
		difference |= mac.b[i] ^ keystore->mac[i];
	return difference == 0;
}

static enum evm_status
decrypt(struct evm_key *out, const struct keystore *keystore,
		const uint8_t derived[DERIVED_KEY_BYTES], struct evm_error *err)
{
	const size_t missing = sizeof(out->secret) - keystore->ciphertext_len;
	struct evm_address address;

	if (!mac_matches(keystore, derived))
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "wrong password");
	memset(out->secret, 0, missing);
	memcpy(out->secret + missing, keystore->ciphertext, keystore->ciphertext_len);
	if (evm_aes128_ctr(out->secret + missing, keystore->ciphertext_len, derived, keystore->iv) !=
			EVM_OK ||
		evm_key_address(&address, out) != EVM_OK)
		return evm_fail(err, EVM_ERR_CRYPTO, 0, "what it holds is not a private key");
	if (keystore->has_address && memcmp(address.b, keystore->address.b, sizeof(address.b)) != 0)
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "its address is not the address of its key");
	return EVM_OK;
}

enum evm_status
evm_keystore_decrypt(struct evm_arena *arena, struct evm_key *out, const char *text, size_t len,
					 const uint8_t *password, size_t password_len,
					 const struct evm_keystore_limits *limits, struct evm_error *err)
{
	struct keystore keystore = {0};
	uint8_t derived[DERIVED_KEY_BYTES];
	enum evm_status status = read_keystore(arena, &keystore, text, len, err);

	if (status == EVM_OK)
		status = check_cost(&keystore, limits, err);
	if (status != EVM_OK)
		return status;
	status = derive(derived, &keystore, password, password_len, err);
	if (status == EVM_OK)
		status = decrypt(out, &keystore, derived, err);
	evm_wipe(derived, sizeof(derived));
	if (status != EVM_OK)
		evm_wipe(out, sizeof(*out));
	return status;
}
