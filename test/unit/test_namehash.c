/*
 * test_namehash.c
 *	  ENS names: what is normalized, and what is refused.
 */
#include "check.h"

#include "evm/namehash.h"

static void
check_normal(const char *name, const char *want)
{
	struct evm_bytes normal;

	CHECK_NUMBER(evm_ens_normalize(test_arena(1000), &normal, name, strlen(name), NULL), EVM_OK);
	CHECK(normal.len == strlen(want) && memcmp(normal.data, want, normal.len) == 0);
}

static enum evm_status
normalize(const char *name, struct evm_error *err)
{
	struct evm_bytes normal;

	return evm_ens_normalize(test_arena(1000), &normal, name, strlen(name), err);
}

static enum evm_status
hash_name(const char *name, struct evm_error *err)
{
	struct evm_hash hash;

	return evm_namehash(&hash, name, strlen(name), err);
}

TEST(names_of_ascii_are_normalized)
{
	check_normal("ViTalIk.ETH", "vitalik.eth");
	check_normal("__a-b$.x1", "__a-b$.x1");
	check_normal("Don't.eth", "don\xe2\x80\x99t.eth");
	check_normal("ab-'-'-cd", "ab-\xe2\x80\x99-\xe2\x80\x99-cd");
	check_normal("it'--s", "it\xe2\x80\x99--s");
}

TEST(names_against_the_rules_are_refused)
{
	struct evm_error err;

	CHECK_NUMBER(normalize("a..b", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "an ENS name has an empty label");
	CHECK_NUMBER(err.position, 2);
	CHECK_NUMBER(normalize(".", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("eth.", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("a_b", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("xn--abc", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("'a", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("a'", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("a''b", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("a b", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(normalize("b\xc3\xbc"
						   "cher.eth",
						   &err),
				 EVM_ERR_LIMIT);
	CHECK_NUMBER(normalize("a.eth", NULL), EVM_OK);
}

TEST(names_are_hashed_only_in_normal_form)
{
	static const uint8_t zero[32];
	struct evm_error err;
	struct evm_hash hash;

	CHECK_NUMBER(evm_namehash(&hash, NULL, 0, &err), EVM_OK);
	CHECK(memcmp(hash.b, zero, 32) == 0);
	CHECK_NUMBER(hash_name("Vitalik.eth", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "\"V\" is not allowed in a normalized ENS name");
	CHECK_NUMBER(hash_name("a..b", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(hash_name(".a", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(hash_name("a.", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(hash_name("#", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(hash_name("#\xe2\x83", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(hash_name("#\xe2\x83\xa3", &err), EVM_OK);
}

TEST(names_that_need_more_than_the_arena_are_refused)
{
	struct evm_bytes normal;
	struct evm_error err;

	CHECK_NUMBER(evm_ens_normalize(test_arena(16), &normal, "abcdefghijklmnopq", 17, &err),
				 EVM_ERR_MEMORY);
	CHECK_TEXT(err.message, "an ENS name of 17 bytes is too long");
}
