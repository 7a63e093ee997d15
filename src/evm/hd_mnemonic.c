/*
 * hd_mnemonic.c
 *	  BIP-39: English phrases with their checksum, and seeds.
 */
#include "evm/hd.h"

#include <stdlib.h>
#include <string.h>

#include "evm/bip39_words.h"
#include "evm/crypto.h"

#define WORD_BITS 11
#define MIN_WORDS 12
#define WORDS_STEP 3 /* 3 words carry 32 bits of entropy and 1 of checksum */
#define ENTROPY_BITS_PER_STEP 32
#define SEED_ITERATIONS 2048
#define SALT_PREFIX "mnemonic"
#define SALT_PREFIX_BYTES 8
#define MAX_PASSPHRASE_BYTES 4096

/* 24 words of 11 bits. */
#define PHRASE_BYTES ((EVM_MNEMONIC_MAX_WORDS * WORD_BITS + 7) / 8)

static int
compare_word(const void *key, const void *member)
{
	return strcmp(key, *(const char *const *) member);
}

/* The word's number, or -1. */
static int
find_word(const char *text, size_t len)
{
	char word[EVM_BIP39_WORD_BYTES + 1];
	const char *const *found;

	if (len > EVM_BIP39_WORD_BYTES || memchr(text, '\0', len) != NULL)
		return -1;
	memcpy(word, text, len);
	word[len] = '\0';
	found =
		bsearch(word, evm_bip39_words, EVM_BIP39_WORDS, sizeof(evm_bip39_words[0]), compare_word);
	evm_wipe(word, sizeof(word));
	return found == NULL ? -1 : (int) (found - evm_bip39_words);
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Appends the word's 11 bits behind those of the words before it. */
static void
put_bits(uint8_t *bits, size_t word_index, int value)
{
	for (unsigned i = 0; i < WORD_BITS; i++)
	{
		const size_t position = word_index * WORD_BITS + i;

		if (value >> (WORD_BITS - 1 - i) & 1)
			bits[position / 8] |= (uint8_t) (0x80 >> position % 8);
	}
}

static void
append_word(struct evm_mnemonic *out, const char *word, size_t len)
{
	if (out->len > 0)
		out->text[out->len++] = ' ';
	memcpy(out->text + out->len, word, len);
	out->len += len;
	out->text[out->len] = '\0';
}

static enum evm_status
read_words(struct evm_mnemonic *out, uint8_t bits[PHRASE_BYTES], size_t *count, const char *text,
		   size_t len, struct evm_error *err)
{
	size_t position = 0;

	*count = 0;
	for (;;)
	{
		size_t start;
		int value;

		while (position < len && is_space(text[position]))
			position++;
		start = position;
		while (position < len && !is_space(text[position]))
			position++;
		if (position == start)
			return EVM_OK;
		if (*count == EVM_MNEMONIC_MAX_WORDS)
			return evm_fail(err, EVM_ERR_SYNTAX, start, "mnemonic has more than %d words",
							EVM_MNEMONIC_MAX_WORDS);
		value = find_word(text + start, position - start);
		if (value < 0)
			return evm_fail(err, EVM_ERR_SYNTAX, start,
							"word %zu of the mnemonic is not in the English word list", *count + 1);
		put_bits(bits, *count, value);
		append_word(out, text + start, position - start);
		(*count)++;
	}
}

/* The bits behind the entropy are the first of its SHA-256. */
static enum evm_status
check_checksum(struct evm_mnemonic *out, const uint8_t bits[PHRASE_BYTES], size_t count,
			   struct evm_error *err)
{
	const size_t checksum_bits = count / WORDS_STEP;
	const uint8_t mask = (uint8_t) (0xff << (8 - checksum_bits));
	uint8_t hash[EVM_SHA256_BYTES];
	bool matches;

	out->entropy_len = checksum_bits * ENTROPY_BITS_PER_STEP / 8;
	memcpy(out->entropy, bits, out->entropy_len);
	if (evm_sha256(hash, out->entropy, out->entropy_len) != EVM_OK)
		return evm_fail(err, EVM_ERR_CRYPTO, 0, "SHA-256 is not available");
	matches = ((hash[0] ^ bits[out->entropy_len]) & mask) == 0;
	evm_wipe(hash, sizeof(hash));
	if (!matches)
		return evm_fail(err, EVM_ERR_CHECKSUM, 0,
						"checksum of the mnemonic does not match: a word is wrong or misplaced");
	return EVM_OK;
}

enum evm_status
evm_mnemonic_parse(struct evm_mnemonic *out, const char *text, size_t len, struct evm_error *err)
{
	uint8_t bits[PHRASE_BYTES] = {0};
	size_t count;
	enum evm_status status;

	memset(out, 0, sizeof(*out));
	status = read_words(out, bits, &count, text, len, err);
	if (status == EVM_OK && (count < MIN_WORDS || count % WORDS_STEP != 0))
		status = evm_fail(err, EVM_ERR_SYNTAX, 0,
						  "mnemonic has %zu words, not 12, 15, 18, 21 or 24", count);
	if (status == EVM_OK)
		status = check_checksum(out, bits, count, err);
	evm_wipe(bits, sizeof(bits));
	if (status != EVM_OK)
		evm_wipe(out, sizeof(*out));
	return status;
}

enum evm_status
evm_mnemonic_seed(uint8_t out[EVM_SEED_BYTES], const char *mnemonic, size_t mnemonic_len,
				  const char *passphrase, size_t passphrase_len)
{
	uint8_t salt[SALT_PREFIX_BYTES + MAX_PASSPHRASE_BYTES];
	enum evm_status status;

	if (passphrase_len > MAX_PASSPHRASE_BYTES)
		return EVM_ERR_LIMIT;
	memcpy(salt, SALT_PREFIX, SALT_PREFIX_BYTES);
	if (passphrase_len > 0)
		memcpy(salt + SALT_PREFIX_BYTES, passphrase, passphrase_len);
	status = evm_pbkdf2(out, EVM_SEED_BYTES, EVM_SHA512, (const uint8_t *) mnemonic, mnemonic_len,
						salt, SALT_PREFIX_BYTES + passphrase_len, SEED_ITERATIONS);
	evm_wipe(salt, sizeof(salt));
	return status;
}
