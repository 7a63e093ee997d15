/*
 * test_keystore.c
 *	  Key files: what a file may not say, and that a costly one is refused before it is run.
 */
#include "check.h"

#include <stdio.h>

#include "evm/keystore.h"

#define ARENA_BYTES (1024 * 1024)

/* The cheap file from which the others are made, by one replacement; its password is "foo". */
static const char good[] =
	"{\"address\":\"17c5185167401ed00cf5f5b2fc97d9bbfdb7d025\",\"version\":3,"
	"\"crypto\":{\"cipher\":\"aes-128-ctr\","
	"\"cipherparams\":{\"iv\":\"deadbeef1deadbeef2deadbeef301234\"},"
	"\"ciphertext\":\"cea502df4b9405fa2b6d8d19ec4e2953c5ce08e0e01d4c0292512ce62baef8f3\","
	"\"kdf\":\"scrypt\",\"kdfparams\":{\"salt\":\"abcd1abcd2abcd3abcd4abcd5abcd6ef\","
	"\"n\":1024,\"dklen\":32,\"p\":2,\"r\":4},"
	"\"mac\":\"6e0a8e2409261d464e35a251f4b1fddd6ad0f7045a18d3957c127387f1c0de72\"}}";

static const char scrypt_params[] = "\"n\":1024,\"dklen\":32,\"p\":2,\"r\":4";
static const char kdf_name[] = "\"kdf\":\"scrypt\"";

static enum evm_status
decrypt(const char *text, const char *password, struct evm_key *key, struct evm_error *err)
{
	struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	const enum evm_status status =
		evm_keystore_decrypt(arena, key, text, strlen(text), (const uint8_t *) password,
							 strlen(password), &evm_keystore_default_limits, err);

	evm_arena_destroy(arena);
	return status;
}

/* text with its first `from` replaced. */
static const char *
replaced(const char *text, const char *from, const char *to)
{
	static char out[2][2 * sizeof(good)];
	static unsigned next;
	const char *at = strstr(text, from);
	char *result = out[next++ % 2];

	CHECK(at != NULL);
	snprintf(result, sizeof(out[0]), "%.*s%s%s", (int) (at - text), text, to, at + strlen(from));
	return result;
}

static void
check_text(const char *text, enum evm_status want, const char *message)
{
	struct evm_key key;
	struct evm_error err = {0};

	memset(&key, 0xaa, sizeof(key));
	CHECK_NUMBER(decrypt(text, "foo", &key, &err), want);
	if (want != EVM_OK)
		CHECK_TEXT(err.message, message);
}

static void
check_change(const char *from, const char *to, enum evm_status want, const char *message)
{
	check_text(replaced(good, from, to), want, message);
}

TEST(keystore_opens_with_its_password_alone)
{
	struct evm_key key;
	struct evm_key zero = {{0}};
	struct evm_error err;

	CHECK_NUMBER(decrypt(good, "foo", &key, &err), EVM_OK);
	CHECK_NUMBER(key.secret[0], 0x42);
	CHECK_NUMBER(decrypt(good, "fop", &key, &err), EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "wrong password");
	CHECK(memcmp(&key, &zero, sizeof(key)) == 0);
	CHECK_NUMBER(decrypt(good, "", &key, &err), EVM_ERR_MISMATCH);
}

TEST(keystore_address_is_optional_but_right)
{
	check_change("\"17c5185167401ed00cf5f5b2fc97d9bbfdb7d025\"", "null", EVM_OK, NULL);
	check_change("17c5185167401ed00cf5f5b2fc97d9bbfdb7d025", "", EVM_OK, NULL);
	check_change("17c5", "0x17c5", EVM_OK, NULL);
	check_change("17c5", "17c6", EVM_ERR_MISMATCH, "its address is not the address of its key");
	check_change("17c5", "17", EVM_ERR_MALFORMED, "address has a wrong length");
}

TEST(keystore_says_what_is_wrong_with_it)
{
	check_change("\"version\":3", "\"version\":1", EVM_ERR_MALFORMED, "version is not 3");
	check_change("\"crypto\"", "\"cripto\"", EVM_ERR_MALFORMED,
				 "crypto is missing or not an object");
	check_change("aes-128-ctr", "aes-128-cbc", EVM_ERR_MALFORMED, "cipher is not aes-128-ctr");
	check_change("deadbeef1dead", "deadbeef1de", EVM_ERR_MALFORMED, "iv has a wrong length");
	check_change("deadbeef1dead", "deadbeef1dexx", EVM_ERR_MALFORMED, "iv is not hexadecimal");
	check_change("cea5", "cea5cea5", EVM_ERR_MALFORMED, "ciphertext has a wrong length");
	check_change("\"mac\"", "\"nac\"", EVM_ERR_MALFORMED, "mac is missing or not a string");
	check_change("\"scrypt\"", "\"argon2\"", EVM_ERR_MALFORMED, "kdf is neither scrypt nor pbkdf2");
	check_change("\"dklen\":32", "\"dklen\":31", EVM_ERR_MALFORMED, "dklen is not 32");
	check_change("\"n\":1024", "\"n\":1000", EVM_ERR_MALFORMED, "scrypt n is not a power of 2");
	check_change("\"n\":1024", "\"n\":1", EVM_ERR_MALFORMED, "scrypt n is not a power of 2");
	check_change("\"n\":1024", "\"n\":\"1024\"", EVM_ERR_MALFORMED,
				 "n is missing or not a positive integer");
	check_change("\"r\":4", "\"r\":-4", EVM_ERR_MALFORMED,
				 "r is missing or not a positive integer");
	check_text("[]", EVM_ERR_MALFORMED, "version is not 3");
}

TEST(keystore_cost_is_limited)
{
	check_change(scrypt_params, "\"n\":524288,\"dklen\":32,\"p\":1,\"r\":8", EVM_ERR_LIMIT,
				 "scrypt with n 524288 and r 8 needs more memory than the limit");
	check_change(scrypt_params, "\"n\":2,\"dklen\":32,\"p\":1,\"r\":4294967295", EVM_ERR_LIMIT,
				 "scrypt with n 2 and r 4294967295 needs more memory than the limit");
	check_change(scrypt_params, "\"n\":4611686018427387904,\"dklen\":32,\"p\":1,\"r\":4294967295",
				 EVM_ERR_LIMIT,
				 "scrypt with n 4611686018427387904 and r 4294967295 needs more memory "
				 "than the limit");
	check_change(scrypt_params, "\"n\":262144,\"dklen\":32,\"p\":5,\"r\":8", EVM_ERR_LIMIT,
				 "scrypt with n 262144, r 8 and p 5 takes longer than the limit");
	check_change(scrypt_params, "\"n\":2,\"dklen\":32,\"p\":1,\"r\":4294967296", EVM_ERR_LIMIT,
				 "scrypt r or p is too large");
	check_text(replaced(replaced(good, kdf_name, "\"kdf\":\"pbkdf2\""), scrypt_params,
						"\"c\":10000001,\"dklen\":32,\"prf\":\"hmac-sha256\""),
			   EVM_ERR_LIMIT, "10000001 iterations of pbkdf2 are above the limit");
	check_text(replaced(replaced(good, kdf_name, "\"kdf\":\"pbkdf2\""), scrypt_params,
						"\"c\":10,\"dklen\":32,\"prf\":\"hmac-md5\""),
			   EVM_ERR_MALFORMED, "prf is not hmac-sha256");
	check_text(replaced(replaced(good, kdf_name, "\"kdf\":\"pbkdf2\""), scrypt_params,
						"\"c\":10,\"dklen\":32,\"prf\":\"hmac-sha256\""),
			   EVM_ERR_MISMATCH, "wrong password");
}

TEST(keystore_size_is_limited)
{
	static char text[EVM_KEYSTORE_MAX_BYTES + 2];

	memset(text, ' ', sizeof(text) - 1);
	check_text(text, EVM_ERR_LIMIT, "longer than 65536 bytes");
}
