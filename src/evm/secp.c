/*
 * secp.c
 *	  Keys and recoverable signatures; the only file that includes libsecp256k1.
 *
 * The library's default callbacks abort the process, which would take a whole
 * database server down.  The context is therefore created in memory of ours
 * (the library's own allocation aborts on failure), its callbacks only set a
 * flag, and every argument is checked before each call.
 */
#include "evm/secp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <secp256k1.h>
#include <secp256k1_preallocated.h>
#include <secp256k1_recovery.h>

#include "evm/keccak.h"

#define SERIALIZED_PUBLIC_KEY_BYTES 65
#define COMPRESSED_PUBLIC_KEY_BYTES 33
#define SECRET_DIGITS 64

/* n, the order of the group, and n / 2, the largest s that EIP-2 allows. */
static const uint8_t curve_order[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
										0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
										0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b,
										0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41};
static const uint8_t curve_order_half[32] = {0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
											 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
											 0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d,
											 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0};

/* Set by the library's callbacks; a call during which it was set has failed. */
static bool library_failed;

static void
note_failure(const char *message, void *data)
{
	(void) message;
	(void) data;
	library_failed = true;
}

void
evm_wipe(void *data, size_t len)
{
	memset(data, 0, len);
	/* The compiler must assume that this reads the memory. */
	__asm__ __volatile__("" : : "r"(data) : "memory");
}

static bool
random_bytes(uint8_t *out, size_t len)
{
	while (len > 0)
	{
		ssize_t got = getrandom(out, len, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		out += got;
		len -= (size_t) got;
	}
	return true;
}

static secp256k1_context *
create_context(void)
{
	const unsigned flags = SECP256K1_CONTEXT_SIGN | SECP256K1_CONTEXT_VERIFY;
	void *memory = malloc(secp256k1_context_preallocated_size(flags));
	secp256k1_context *context;
	uint8_t seed[32];
	bool seeded;

	if (memory == NULL)
		return NULL;
	context = secp256k1_context_preallocated_create(memory, flags);
	secp256k1_context_set_illegal_callback(context, note_failure, NULL);
	secp256k1_context_set_error_callback(context, note_failure, NULL);
	/* Blinding against side channels: a context without it is not used. */
	seeded = random_bytes(seed, sizeof(seed)) && secp256k1_context_randomize(context, seed) == 1;
	evm_wipe(seed, sizeof(seed));
	if (!seeded)
	{
		free(memory);
		return NULL;
	}
	return context;
}

/* The process's context, created on first use; NULL when that failed (it is tried again). */
static const secp256k1_context *
library(void)
{
	static secp256k1_context *context = NULL;

	if (context == NULL)
		context = create_context();
	library_failed = false;
	return context;
}

static bool
is_zero(const uint8_t value[32])
{
	static const uint8_t zero[32] = {0};

	return memcmp(value, zero, sizeof(zero)) == 0;
}

static bool
is_scalar(const uint8_t value[32])
{
	return !is_zero(value) && memcmp(value, curve_order, sizeof(curve_order)) < 0;
}

bool
evm_signature_is_canonical(const struct evm_signature *signature)
{
	return signature->y_parity <= 1 && is_scalar(signature->r) && !is_zero(signature->s) &&
		memcmp(signature->s, curve_order_half, sizeof(curve_order_half)) <= 0;
}

enum evm_status
evm_key_check(const struct evm_key *key)
{
	const secp256k1_context *context = library();

	if (context == NULL || secp256k1_ec_seckey_verify(context, key->secret) != 1)
		return EVM_ERR_CRYPTO;
	return EVM_OK;
}

static int
hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Takes blanks and one line end (as an editor leaves it) away. */
static void
trim_line(const char **text, size_t *len)
{
	while (*len > 0 && is_blank(**text))
	{
		(*text)++;
		(*len)--;
	}
	if (*len > 0 && (*text)[*len - 1] == '\n')
		(*len)--;
	if (*len > 0 && (*text)[*len - 1] == '\r')
		(*len)--;
	while (*len > 0 && is_blank((*text)[*len - 1]))
		(*len)--;
}

enum evm_status
evm_key_parse(struct evm_key *out, const char *text, size_t len, struct evm_error *err)
{
	trim_line(&text, &len);
	if (len >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
	{
		text += 2;
		len -= 2;
	}
	if (len != SECRET_DIGITS)
		return evm_fail(err, EVM_ERR_SYNTAX, 0,
						"private key must have %d hexadecimal digits, not %zu characters",
						SECRET_DIGITS, len);
	for (size_t i = 0; i < sizeof(out->secret); i++)
	{
		int high = hex_value(text[2 * i]);
		int low = hex_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
		{
			evm_wipe(out, sizeof(*out));
			return evm_fail(err, EVM_ERR_SYNTAX, 0,
							"private key has a character that is not a hexadecimal digit");
		}
		out->secret[i] = (uint8_t) (high << 4 | low);
	}
	if (evm_key_check(out) != EVM_OK)
	{
		evm_wipe(out, sizeof(*out));
		return evm_fail(err, EVM_ERR_CRYPTO, 0,
						"private key is zero or not below the order of secp256k1");
	}
	return EVM_OK;
}

static enum evm_status
serialize_public(uint8_t out[SERIALIZED_PUBLIC_KEY_BYTES], const secp256k1_context *context,
				 const secp256k1_pubkey *public)
{
	size_t len = SERIALIZED_PUBLIC_KEY_BYTES;

	if (secp256k1_ec_pubkey_serialize(context, out, &len, public, SECP256K1_EC_UNCOMPRESSED) != 1 ||
		len != SERIALIZED_PUBLIC_KEY_BYTES || library_failed)
		return EVM_ERR_CRYPTO;
	return EVM_OK;
}

static void
public_to_address(struct evm_address *out, const uint8_t public[64])
{
	struct evm_hash hash;

	evm_keccak256(&hash, public, 64);
	memcpy(out->b, hash.b + sizeof(hash.b) - sizeof(out->b), sizeof(out->b));
}

enum evm_status
evm_key_public(uint8_t out[64], const struct evm_key *key)
{
	const secp256k1_context *context = library();
	secp256k1_pubkey public;
	uint8_t serialized[SERIALIZED_PUBLIC_KEY_BYTES];
	enum evm_status status;

	if (context == NULL || secp256k1_ec_pubkey_create(context, &public, key->secret) != 1)
		return EVM_ERR_CRYPTO;
	status = serialize_public(serialized, context, &public);
	if (status == EVM_OK)
		memcpy(out, serialized + 1, 64);
	return status;
}

enum evm_status
evm_key_public_compressed(uint8_t out[33], const struct evm_key *key)
{
	const secp256k1_context *context = library();
	secp256k1_pubkey public;
	size_t len = COMPRESSED_PUBLIC_KEY_BYTES;

	if (context == NULL || secp256k1_ec_pubkey_create(context, &public, key->secret) != 1 ||
		secp256k1_ec_pubkey_serialize(context, out, &len, &public, SECP256K1_EC_COMPRESSED) != 1 ||
		library_failed)
		return EVM_ERR_CRYPTO;
	return EVM_OK;
}

enum evm_status
evm_public_check(const uint8_t compressed[33])
{
	const secp256k1_context *context = library();
	secp256k1_pubkey public;

	if (context == NULL ||
		secp256k1_ec_pubkey_parse(context, &public, compressed, COMPRESSED_PUBLIC_KEY_BYTES) != 1)
		return EVM_ERR_CRYPTO;
	return EVM_OK;
}

enum evm_status
evm_key_add(struct evm_key *key, const uint8_t tweak[32])
{
	const secp256k1_context *context = library();

	/* A zero tweak is valid in BIP-32; the library takes it too. */
	if (context == NULL || secp256k1_ec_seckey_verify(context, key->secret) != 1 ||
		secp256k1_ec_seckey_tweak_add(context, key->secret, tweak) != 1 || library_failed)
		return EVM_ERR_CRYPTO;
	return EVM_OK;
}

enum evm_status
evm_key_address(struct evm_address *out, const struct evm_key *key)
{
	uint8_t public[64];
	enum evm_status status = evm_key_public(public, key);

	if (status == EVM_OK)
		public_to_address(out, public);
	return status;
}

enum evm_status
evm_sign_hash(struct evm_signature *out, const struct evm_key *key, const struct evm_hash *hash)
{
	const secp256k1_context *context = library();
	secp256k1_ecdsa_recoverable_signature signature;
	uint8_t compact[64];
	int recovery = 0;

	if (context == NULL || secp256k1_ec_seckey_verify(context, key->secret) != 1 ||
		secp256k1_ecdsa_sign_recoverable(context, &signature, hash->b, key->secret,
										 secp256k1_nonce_function_rfc6979, NULL) != 1 ||
		secp256k1_ecdsa_recoverable_signature_serialize_compact(context, compact, &recovery,
																&signature) != 1 ||
		library_failed)
		return EVM_ERR_CRYPTO;
	/*
	 * Bit 1 says that r overflowed the order, which Ethereum cannot express; nobody will meet it
	 * (1 in 2^127).
	 */
	if (recovery != 0 && recovery != 1)
		return EVM_ERR_CRYPTO;
	memcpy(out->r, compact, 32);
	memcpy(out->s, compact + 32, 32);
	out->y_parity = (uint8_t) recovery;
	return EVM_OK;
}

enum evm_status
evm_recover(struct evm_address *out, const struct evm_hash *hash,
			const struct evm_signature *signature)
{
	const secp256k1_context *context = library();
	secp256k1_ecdsa_recoverable_signature recoverable;
	secp256k1_pubkey public;
	uint8_t compact[64];
	uint8_t serialized[SERIALIZED_PUBLIC_KEY_BYTES];
	enum evm_status status;

	if (context == NULL || signature->y_parity > 1 || !is_scalar(signature->r) ||
		!is_scalar(signature->s))
		return EVM_ERR_CRYPTO;
	memcpy(compact, signature->r, 32);
	memcpy(compact + 32, signature->s, 32);
	if (secp256k1_ecdsa_recoverable_signature_parse_compact(context, &recoverable, compact,
															signature->y_parity) != 1 ||
		secp256k1_ecdsa_recover(context, &public, &recoverable, hash->b) != 1 || library_failed)
		return EVM_ERR_CRYPTO;
	status = serialize_public(serialized, context, &public);
	if (status == EVM_OK)
		public_to_address(out, serialized + 1);
	return status;
}
