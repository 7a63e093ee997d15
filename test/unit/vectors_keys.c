/*
 * vectors_keys.c
 *	  Vectors of keys: addresses, messages, mnemonics, derivation, key files and what they need.
 */
#include "vectors.h"

#include <stdio.h>
#include <string.h>

#include "evm/address.h"
#include "evm/crypto.h"
#include "evm/hd.h"
#include "evm/keystore.h"
#include "evm/personal.h"
#include "evm/secp.h"
#include "vectors_read.h"

#define UNREADABLE "the row cannot be read"

static enum vector_result
check_key_address(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *text = vector_text(row, "key");
	const char *checksum = vector_text(row, "checksum");
	const bool valid = evm_json_kind(evm_json_object_get(row, "valid")) != EVM_JSON_FALSE;
	char formatted[EVM_ADDRESS_TEXT_BYTES];
	uint8_t public_key[64];
	struct evm_key key;
	struct evm_address address;
	struct evm_bytes want;
	struct evm_error err;

	if (evm_key_parse(&key, text, strlen(text), &err) != EVM_OK)
		return valid ? vector_fail(note, "refused: %s", err.message) : VECTOR_PASS;
	if (!valid)
		return vector_fail(note, "accepted");
	if (!vector_bytes(arena, row, "pubkey", &want) || want.len != 65 || checksum == NULL)
		return vector_fail(note, UNREADABLE);
	if (evm_key_public(public_key, &key) != EVM_OK || evm_key_address(&address, &key) != EVM_OK)
		return vector_fail(note, "no public key");
	evm_address_format(formatted, &address);
	if (strcmp(formatted, checksum) != 0)
		return vector_fail(note, "address is %s instead of %s", formatted, checksum);
	return vector_same_bytes(note, "public key", public_key, 64, want.data + 1, 64);
}

static enum vector_result
check_personal(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	uint8_t bytes[EVM_SIGNATURE_BYTES];
	uint8_t want[EVM_SIGNATURE_BYTES];
	struct evm_key key;
	struct evm_bytes message;
	struct evm_hash hash;
	struct evm_hash want_hash;
	struct evm_signature signature;
	struct evm_address address;
	struct evm_address want_address;

	if (!read_fixed(arena, row, "key", key.secret, 32) ||
		!vector_bytes(arena, row, "message", &message) ||
		!read_fixed(arena, row, "hash", want_hash.b, 32) ||
		!read_fixed(arena, row, "signature", want, sizeof(want)) ||
		!read_fixed(arena, row, "address", want_address.b, 20))
		return vector_fail(note, UNREADABLE);
	evm_personal_hash(&hash, message.data, message.len);
	if (evm_sign_hash(&signature, &key, &hash) != EVM_OK)
		return vector_fail(note, "cannot be signed");
	evm_signature_to_bytes(bytes, &signature);
	if (vector_same_bytes(note, "hash", hash.b, 32, want_hash.b, 32) ||
		vector_same_bytes(note, "signature", bytes, sizeof(bytes), want, sizeof(want)))
		return VECTOR_FAIL;
	if (evm_signature_from_bytes(&signature, want, sizeof(want), NULL) != EVM_OK ||
		evm_recover(&address, &hash, &signature) != EVM_OK)
		return vector_fail(note, "its signature recovers nothing");
	return vector_same_bytes(note, "address", address.b, 20, want_address.b, 20);
}

/* ---- mnemonics ---------------------------------------------------------- */

#define HANGUL_FIRST 0xac00
#define HANGUL_COUNT 11172
#define HANGUL_VOWELS 21
#define HANGUL_TAILS 28

static size_t
put_utf8(char *out, unsigned code)
{
	out[0] = (char) (0xe0 | code >> 12);
	out[1] = (char) (0x80 | (code >> 6 & 0x3f));
	out[2] = (char) (0x80 | (code & 0x3f));
	return 3;
}

/* A Hangul syllable is two or three letters by arithmetic (Unicode, section 3.12). */
static size_t
put_hangul(char *out, unsigned code)
{
	const unsigned syllable = code - HANGUL_FIRST;
	const unsigned tail = syllable % HANGUL_TAILS;
	size_t len = put_utf8(out, 0x1100 + syllable / (HANGUL_VOWELS * HANGUL_TAILS));

	len += put_utf8(out + len, 0x1161 + syllable / HANGUL_TAILS % HANGUL_VOWELS);
	if (tail != 0)
		len += put_utf8(out + len, 0x11a7 + tail);
	return len;
}

/*
 * NFKD of what the rows hold: besides Hangul the only characters that it changes are the
 * ideographic space and an accented e.
 */
static char *
normalize(struct evm_arena *arena, const char *text, size_t *out_len)
{
	char *out = evm_arena_alloc(arena, 3 * strlen(text) + 1);
	size_t len = 0;

	while (*text != '\0')
	{
		const unsigned char *c = (const unsigned char *) text;
		unsigned code = 0;

		if (c[0] >> 4 == 0xe && c[1] != 0 && c[2] != 0)
			code = (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
		if (code >= HANGUL_FIRST && code < HANGUL_FIRST + HANGUL_COUNT)
		{
			len += put_hangul(out + len, code);
			text += 3;
		}
		else if (strncmp(text, "\xe3\x80\x80", 3) == 0)
		{
			out[len++] = ' ';
			text += 3;
		}
		else if (strncmp(text, "\xc3\xa9", 2) == 0)
		{
			memcpy(out + len, "e\xcc\x81", 3);
			len += 3;
			text += 2;
		}
		else
			out[len++] = *text++;
	}
	*out_len = len;
	return out;
}

static enum vector_result
check_english(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *text = vector_text(row, "mnemonic");
	struct evm_mnemonic mnemonic;
	struct evm_bytes entropy;
	struct evm_error err;

	if (evm_mnemonic_parse(&mnemonic, text, strlen(text), &err) != EVM_OK)
		return vector_fail(note, "mnemonic: %s", err.message);
	if (strcmp(mnemonic.text, text) != 0)
		return vector_fail(note, "mnemonic is \"%s\"", mnemonic.text);
	if (!vector_bytes(arena, row, "entropy", &entropy))
		return VECTOR_PASS;
	return vector_same_bytes(note, "entropy", mnemonic.entropy, mnemonic.entropy_len, entropy.data,
							 entropy.len);
}

static enum vector_result
check_extended(const struct evm_json *row, const char *name, const struct evm_hd_node *node,
			   struct vector_note *note)
{
	const char *text = vector_text(row, name);
	struct evm_hd_node parsed;
	struct evm_error err;

	if (text == NULL)
		return VECTOR_PASS;
	if (evm_hd_parse_private(&parsed, text, strlen(text), &err) != EVM_OK)
		return vector_fail(note, "%s: %s", name, err.message);
	if (parsed.depth != node->depth || parsed.index != node->index)
		return vector_fail(note, "%s has another depth or index", name);
	if (vector_same_bytes(note, name, parsed.key.secret, 32, node->key.secret, 32))
		return VECTOR_FAIL;
	return vector_same_bytes(note, "its chain code", parsed.chain_code, 32, node->chain_code, 32);
}

/* A seed, its path, and the key, chain code and extended key that they lead to. */
static enum vector_result
check_path(struct evm_arena *arena, const struct evm_json *row, struct evm_hd_node *node,
		   struct vector_note *note)
{
	const char *path = vector_text(row, "path");
	struct evm_bytes seed;
	struct evm_hd_node master;
	struct evm_key key;
	struct evm_error err;

	if (!vector_bytes(arena, row, "seed", &seed) || path == NULL ||
		!read_fixed(arena, row, "key", key.secret, 32))
		return vector_fail(note, UNREADABLE);
	if (evm_hd_master(&master, seed.data, seed.len, &err) != EVM_OK ||
		evm_hd_derive(node, &master, path, strlen(path), &err) != EVM_OK)
		return vector_fail(note, "%s", err.message);
	if (check_extended(row, "root_xprv", &master, note) || check_extended(row, "xprv", node, note))
		return VECTOR_FAIL;
	return vector_same_bytes(note, "key", node->key.secret, 32, key.secret, 32);
}

static enum vector_result
check_hd(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *lang = vector_text(row, "lang");
	const char *text = vector_text(row, "mnemonic");
	const char *passphrase = vector_text(row, "passphrase");
	uint8_t seed[EVM_SEED_BYTES];
	size_t mnemonic_len;
	size_t passphrase_len;
	char *mnemonic = normalize(arena, text, &mnemonic_len);
	struct evm_bytes want;
	struct evm_hd_node node;
	struct evm_address address;
	struct evm_address want_address;

	passphrase = normalize(arena, passphrase == NULL ? "" : passphrase, &passphrase_len);
	if (strncmp(lang, "en", 2) == 0 && check_english(arena, row, note))
		return VECTOR_FAIL;
	if (!vector_bytes(arena, row, "seed", &want) ||
		!read_fixed(arena, row, "address", want_address.b, 20))
		return vector_fail(note, UNREADABLE);
	if (evm_mnemonic_seed(seed, mnemonic, mnemonic_len, passphrase, passphrase_len) != EVM_OK)
		return vector_fail(note, "no seed");
	if (vector_same_bytes(note, "seed", seed, sizeof(seed), want.data, want.len) ||
		check_path(arena, row, &node, note))
		return VECTOR_FAIL;
	if (evm_key_address(&address, &node.key) != EVM_OK)
		return vector_fail(note, "no address");
	return vector_same_bytes(note, "address", address.b, 20, want_address.b, 20);
}

static enum vector_result
check_hd_invalid(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *text = vector_text(row, "mnemonic");
	struct evm_mnemonic mnemonic;

	(void) arena;
	if (evm_mnemonic_parse(&mnemonic, text, strlen(text), NULL) == EVM_OK)
		return vector_fail(note, "accepted, but: %s", vector_text(row, "why"));
	return VECTOR_PASS;
}

static enum vector_result
check_bip32(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *invalid = vector_text(row, "xkey");
	const char *xpub = vector_text(row, "xpub");
	struct evm_hd_node node;
	uint8_t public_key[33];
	uint8_t want_key[33];
	uint8_t chain_code[32];
	uint8_t want_code[32];

	if (invalid != NULL)
	{
		if (evm_hd_parse_private(&node, invalid, strlen(invalid), NULL) == EVM_OK ||
			evm_hd_parse_public(public_key, chain_code, invalid, strlen(invalid), NULL) == EVM_OK)
			return vector_fail(note, "accepted, but: %s", vector_text(row, "why"));
		return VECTOR_PASS;
	}
	if (check_path(arena, row, &node, note))
		return VECTOR_FAIL;
	if (xpub == NULL || !read_fixed(arena, row, "pubkey", want_key, 33) ||
		!read_fixed(arena, row, "chain_code", want_code, 32))
		return vector_fail(note, UNREADABLE);
	if (evm_hd_parse_public(public_key, chain_code, xpub, strlen(xpub), NULL) != EVM_OK)
		return vector_fail(note, "xpub is refused");
	if (vector_same_bytes(note, "key of xpub", public_key, 33, want_key, 33) ||
		vector_same_bytes(note, "chain code of xpub", chain_code, 32, want_code, 32) ||
		evm_key_public_compressed(public_key, &node.key) != EVM_OK)
		return VECTOR_FAIL;
	return vector_same_bytes(note, "public key", public_key, 33, want_key, 33);
}

/* ---- key files ---------------------------------------------------------- */

static enum vector_result
check_keystore(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *text = vector_text(row, "keystore");
	const char *password = vector_text(row, "password");
	const bool valid = evm_json_is_true(evm_json_object_get(row, "valid"));
	struct evm_key key;
	struct evm_key want;
	struct evm_error err;
	enum evm_status status;

	status = evm_keystore_decrypt(arena, &key, text, strlen(text), (const uint8_t *) password,
								  strlen(password), &evm_keystore_default_limits, &err);
	if (!valid)
		return status == EVM_ERR_MISMATCH ? VECTOR_PASS : vector_fail(note, "not a mismatch");
	if (status != EVM_OK)
		return vector_fail(note, "refused: %s", err.message);
	if (!read_fixed(arena, row, "key", want.secret, 32))
		return vector_fail(note, UNREADABLE);
	return vector_same_bytes(note, "key", key.secret, 32, want.secret, 32);
}

static enum vector_result
check_kdf(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *kdf = vector_text(row, "kdf");
	struct evm_bytes password;
	struct evm_bytes salt;
	struct evm_bytes want;
	uint8_t *got;
	enum evm_status status;

	if (kdf == NULL || !vector_bytes(arena, row, "password", &password) ||
		!vector_bytes(arena, row, "salt", &salt) || !vector_bytes(arena, row, "key", &want))
		return vector_fail(note, UNREADABLE);
	got = evm_arena_alloc(arena, want.len);
	if (strcmp(kdf, "scrypt") == 0)
	{
		struct evm_scrypt_cost cost = {0};
		uint64_t r;
		uint64_t p;

		if (!read_u64(row, "n", &cost.n) || !read_u64(row, "r", &r) || !read_u64(row, "p", &p))
			return vector_fail(note, UNREADABLE);
		cost.r = (uint32_t) r;
		cost.p = (uint32_t) p;
		status = evm_scrypt(got, want.len, password.data, password.len, salt.data, salt.len, &cost);
	}
	else
	{
		const char *prf = vector_text(row, "prf");
		uint64_t iterations;

		if (prf == NULL || !read_u64(row, "c", &iterations))
			return vector_fail(note, UNREADABLE);
		status =
			evm_pbkdf2(got, want.len, strcmp(prf, "hmac-sha512") == 0 ? EVM_SHA512 : EVM_SHA256,
					   password.data, password.len, salt.data, salt.len, (uint32_t) iterations);
	}
	if (status != EVM_OK)
		return vector_fail(note, "the library refuses it");
	return vector_same_bytes(note, "key", got, want.len, want.data, want.len);
}

static enum vector_result
check_hmac(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *alg = vector_text(row, "alg");
	struct evm_bytes key;
	struct evm_bytes data;
	struct evm_bytes want;
	uint8_t got[EVM_SHA512_BYTES];
	bool is_512;

	if (alg == NULL || !vector_bytes(arena, row, "key", &key) ||
		!vector_bytes(arena, row, "data", &data) || !vector_bytes(arena, row, "hmac", &want))
		return vector_fail(note, UNREADABLE);
	is_512 = strcmp(alg, "sha512") == 0;
	if (evm_hmac(got, is_512 ? EVM_SHA512 : EVM_SHA256, key.data, key.len, data.data, data.len) !=
		EVM_OK)
		return vector_fail(note, "the library refuses it");
	return vector_same_bytes(note, "hmac", got, is_512 ? EVM_SHA512_BYTES : EVM_SHA256_BYTES,
							 want.data, want.len);
}

static const struct vector_family key_families[] = {{"key_address", check_key_address},
													{"personal_sign", check_personal},
													{"hd", check_hd},
													{"hd_invalid", check_hd_invalid},
													{"bip32", check_bip32},
													{"keystore", check_keystore},
													{"kdf", check_kdf},
													{"hmac", check_hmac},
													{NULL, NULL}};

VECTOR_FAMILIES(key_families);
