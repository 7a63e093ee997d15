/*
 * test_hd.c
 *	  Phrases, paths and extended keys: forms that are accepted, and what is said of others.
 */
#include "check.h"

#include "evm/bip39_words.h"
#include "evm/crypto.h"
#include "evm/hd.h"
#include "evm/hex.h"

#define ELEVEN \
	"abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon"

static enum evm_status
parse(struct evm_mnemonic *mnemonic, const char *text, struct evm_error *err)
{
	return evm_mnemonic_parse(mnemonic, text, strlen(text), err);
}

TEST(word_list_is_that_of_bip39)
{
	char joined[EVM_BIP39_WORDS * (EVM_BIP39_WORD_BYTES + 1)];
	uint8_t hash[EVM_SHA256_BYTES];
	size_t len = 0;

	for (size_t i = 0; i < EVM_BIP39_WORDS; i++)
	{
		const size_t word_len = strlen(evm_bip39_words[i]);

		CHECK(word_len <= EVM_BIP39_WORD_BYTES);
		memcpy(joined + len, evm_bip39_words[i], word_len);
		joined[len + word_len] = '\n';
		len += word_len + 1;
	}
	CHECK_NUMBER(evm_sha256(hash, (const uint8_t *) joined, len), EVM_OK);
	CHECK_TEXT(evm_hex_encode(test_arena(100), hash, sizeof(hash)),
			   "0x2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda");
}

TEST(mnemonic_blanks_do_not_matter)
{
	struct evm_mnemonic mnemonic;

	CHECK_NUMBER(parse(&mnemonic, "\n  " ELEVEN "\t\r\n about \n", NULL), EVM_OK);
	CHECK_TEXT(mnemonic.text, ELEVEN " about");
	CHECK_NUMBER(mnemonic.len, strlen(ELEVEN " about"));
	CHECK_NUMBER(mnemonic.entropy_len, 16);
}

TEST(mnemonic_refusals_show_no_word)
{
	struct evm_mnemonic mnemonic;
	struct evm_error err;

	CHECK_NUMBER(parse(&mnemonic, "", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "mnemonic has 0 words, not 12, 15, 18, 21 or 24");
	CHECK_NUMBER(parse(&mnemonic, ELEVEN, &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "mnemonic has 11 words, not 12, 15, 18, 21 or 24");
	CHECK_NUMBER(parse(&mnemonic, ELEVEN " " ELEVEN " " ELEVEN, &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "mnemonic has more than 24 words");
	CHECK_NUMBER(parse(&mnemonic, ELEVEN " Zoo", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "word 12 of the mnemonic is not in the English word list");
	CHECK_NUMBER(parse(&mnemonic, ELEVEN " abandonabandon", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(evm_mnemonic_parse(&mnemonic, "abandon\0x", 9, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse(&mnemonic, ELEVEN " abandon", &err), EVM_ERR_CHECKSUM);
	CHECK_TEXT(err.message,
			   "checksum of the mnemonic does not match: a word is wrong or misplaced");
	CHECK_NUMBER(mnemonic.len, 0);
}

TEST(passphrases_are_bounded)
{
	static char passphrase[5000];
	uint8_t seed[EVM_SEED_BYTES];

	CHECK_NUMBER(evm_mnemonic_seed(seed, "a", 1, passphrase, 4096), EVM_OK);
	CHECK_NUMBER(evm_mnemonic_seed(seed, "a", 1, passphrase, 4097), EVM_ERR_LIMIT);
	CHECK_NUMBER(evm_mnemonic_seed(seed, "", 0, NULL, 0), EVM_OK);
}

static struct evm_hd_node
master(void)
{
	static const uint8_t seed[16] = {1};
	struct evm_hd_node node;

	CHECK_NUMBER(evm_hd_master(&node, seed, sizeof(seed), NULL), EVM_OK);
	return node;
}

static void
check_path(const char *path, enum evm_status want, const char *message)
{
	const struct evm_hd_node from = master();
	struct evm_hd_node node;
	struct evm_error err = {0};

	CHECK_NUMBER(evm_hd_derive(&node, &from, path, strlen(path), &err), want);
	if (want != EVM_OK)
		CHECK_TEXT(err.message, message);
}

TEST(paths_are_read_strictly)
{
	check_path("m", EVM_OK, NULL);
	check_path("0/1", EVM_OK, NULL);
	check_path("", EVM_ERR_SYNTAX, "derivation path is empty");
	check_path("m/", EVM_ERR_SYNTAX, "derivation path has no step behind m/");
	check_path("m0", EVM_ERR_SYNTAX, "derivation path has no step behind m/");
	check_path("m//0", EVM_ERR_SYNTAX, "derivation path has no number at position 3");
	check_path("m/x", EVM_ERR_SYNTAX, "derivation path has no number at position 3");
	check_path("m/-1", EVM_ERR_SYNTAX, "derivation path has no number at position 3");
	check_path("m/0/", EVM_ERR_SYNTAX,
			   "derivation path is not numbers and marks (') between slashes");
	check_path("m/0''", EVM_ERR_SYNTAX,
			   "derivation path is not numbers and marks (') between slashes");
	check_path("m/2147483647'", EVM_OK, NULL);
	check_path("m/2147483648", EVM_ERR_RANGE,
			   "derivation path has an index that is not below 2^31");
	check_path("m/99999999999999999999999", EVM_ERR_RANGE,
			   "derivation path has an index that is not below 2^31");
}

TEST(paths_agree_on_marks_and_parts)
{
	const struct evm_hd_node from = master();
	struct evm_hd_node whole;
	struct evm_hd_node part;
	struct evm_hd_node other;
	struct evm_error err;

	CHECK_NUMBER(evm_hd_derive(&whole, &from, "m/44'/60'/3", 11, NULL), EVM_OK);
	CHECK_NUMBER(evm_hd_derive(&part, &from, "m/44h/60H", 9, NULL), EVM_OK);
	CHECK_NUMBER(part.depth, 2);
	CHECK_NUMBER(part.index, 60 | EVM_HD_HARDENED);
	CHECK_NUMBER(evm_hd_derive(&other, &part, "3", 1, NULL), EVM_OK);
	CHECK(memcmp(&other, &whole, sizeof(whole)) == 0);
	CHECK_NUMBER(evm_hd_derive(&other, &part, "m/3", 3, &err), EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "derivation path begins with m, but its key is not a master key");
}

TEST(paths_end_at_255_steps)
{
	char path[2 * 256 + 1];
	const struct evm_hd_node from = master();
	struct evm_hd_node node;
	struct evm_error err;

	for (int i = 0; i < 256; i++)
		memcpy(path + 2 * i, "1/", 2);
	CHECK_NUMBER(evm_hd_derive(&node, &from, path, 2 * 255 - 1, &err), EVM_OK);
	CHECK_NUMBER(node.depth, 255);
	CHECK_NUMBER(evm_hd_derive(&node, &from, path, 2 * 256 - 1, &err), EVM_ERR_LIMIT);
	CHECK_TEXT(err.message, "derivation path is deeper than 255 steps");
}

TEST(seeds_have_16_to_64_bytes)
{
	static const uint8_t seed[65] = {1};
	struct evm_hd_node node;
	struct evm_error err;

	CHECK_NUMBER(evm_hd_master(&node, seed, 15, &err), EVM_ERR_RANGE);
	CHECK_TEXT(err.message, "seed has 15 bytes, not 16 to 64");
	CHECK_NUMBER(evm_hd_master(&node, seed, 64, &err), EVM_OK);
	CHECK_NUMBER(evm_hd_master(&node, seed, 65, &err), EVM_ERR_RANGE);
}

TEST(extended_keys_are_read_strictly)
{
	static const char xprv[] =
		"xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNN"
		"U3TGtRBeJgk33yuGBxrMPHi";
	char spoilt[sizeof(xprv)];
	struct evm_hd_node node;
	struct evm_error err;
	uint8_t public_key[33];
	uint8_t chain_code[32];

	CHECK_NUMBER(evm_hd_parse_private(&node, xprv, 111, &err), EVM_OK);
	CHECK_NUMBER(node.key.secret[0], 0xe8);
	CHECK_NUMBER(evm_hd_parse_private(&node, xprv, 110, &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "extended key is not 111 characters of base58");
	memcpy(spoilt, xprv, sizeof(xprv));
	spoilt[50] = '0';
	CHECK_NUMBER(evm_hd_parse_private(&node, spoilt, 111, &err), EVM_ERR_SYNTAX);
	spoilt[50] = xprv[50] == 'A' ? 'B' : 'A';
	CHECK_NUMBER(evm_hd_parse_private(&node, spoilt, 111, &err), EVM_ERR_CHECKSUM);
	CHECK_TEXT(err.message, "checksum of the extended key does not match");
	memset(spoilt, 'z', 111);
	CHECK_NUMBER(evm_hd_parse_private(&node, spoilt, 111, &err), EVM_ERR_CHECKSUM);
	CHECK_NUMBER(evm_hd_parse_public(public_key, chain_code, xprv, 111, &err), EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "extended key is not an xpub");
}

TEST(extended_public_keys_hold_points)
{
	static const char xpub[] =
		"xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD2"
		"65TMg7usUDFdp6W1EGMcet8";
	struct evm_hd_node node;
	struct evm_error err;
	uint8_t public_key[33];
	uint8_t chain_code[32];

	CHECK_NUMBER(evm_hd_parse_public(public_key, chain_code, xpub, 111, &err), EVM_OK);
	CHECK_NUMBER(public_key[0], 0x03);
	CHECK_NUMBER(chain_code[0], 0x87);
	CHECK_NUMBER(evm_hd_parse_private(&node, xpub, 111, &err), EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "extended key is not an xprv");
}
