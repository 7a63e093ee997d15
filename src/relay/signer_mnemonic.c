/*
 * signer_mnemonic.c
 *	  Signers that are accounts of a phrase: BIP-39, BIP-32, BIP-44.
 */
#include "postgres.h"

#include "relay/signer_kinds.h"

#include "evm/hd.h"
#include "evm/keccak.h"
#include "relay/signer_cache.h"

#define PHRASE_FILE "mnemonic file"
/* The first account of a wallet. */
#define DEFAULT_PATH "m/44'/60'/0'/0/0"
/* 24 words of 8 letters, and blanks as an editor or a variable may have them. */
#define PHRASE_MAX_BYTES 512

static bool
derive_at(struct evm_key *key, const uint8_t seed[EVM_SEED_BYTES], const char *path,
		  struct evm_error *err)
{
	struct evm_hd_node master;
	struct evm_hd_node node;
	bool usable;

	usable = evm_hd_master(&master, seed, EVM_SEED_BYTES, err) == EVM_OK &&
		evm_hd_derive(&node, &master, path, strlen(path), err) == EVM_OK;
	if (usable)
		*key = node.key;
	evm_wipe(&master, sizeof(master));
	evm_wipe(&node, sizeof(node));
	return usable;
}

static bool
derive(struct evm_key *key, const struct relay_text *phrase, const char *path,
	   struct evm_error *err)
{
	struct evm_mnemonic mnemonic;
	uint8_t seed[EVM_SEED_BYTES];
	bool usable = false;

	if (evm_mnemonic_parse(&mnemonic, phrase->buffer, phrase->len, err) == EVM_OK)
	{
		if (evm_mnemonic_seed(seed, mnemonic.text, mnemonic.len, "", 0) == EVM_OK)
			usable = derive_at(key, seed, path, err);
		else
			(void) evm_fail(err, EVM_ERR_CRYPTO, 0, "the seed cannot be computed");
	}
	evm_wipe(&mnemonic, sizeof(mnemonic));
	evm_wipe(seed, sizeof(seed));
	return usable;
}

static bool
read_phrase(struct relay_text *text, const char *name, char *problem)
{
	if (strncmp(name, RELAY_VARIABLE_PREFIX, strlen(RELAY_VARIABLE_PREFIX)) == 0)
		return relay_read_variable(text, name, problem);
	return relay_read_file(text, PHRASE_FILE, name, problem);
}

/* The path is part of the reference, under which the key is kept. */
static bool
derive_or_recall(struct evm_key *key, const char *signer, const char *name,
				 const struct relay_text *phrase, const char *path, char *problem)
{
	struct evm_hash origin;
	struct evm_error err;
	bool usable;

	evm_keccak256(&origin, phrase->buffer, phrase->len);
	if (relay_cache_find(&usable, key, problem, signer, &origin))
		return usable;
	usable = derive(key, phrase, path, &err);
	if (!usable)
		(void) relay_refuse(problem, "mnemonic %s: %s", name, err.message);
	relay_cache_keep(signer, &origin, usable ? key : NULL, problem);
	return usable;
}

bool
relay_signer_mnemonic(struct evm_key *key, const char *signer, const char *reference,
					  char problem[RELAY_PROBLEM_BYTES])
{
	const char *path = strchr(reference, '#');
	char *name = path == NULL ? pstrdup(reference) : pnstrdup(reference, path - reference);
	char secret[PHRASE_MAX_BYTES];
	struct relay_text phrase = {secret, sizeof(secret), 0};
	bool usable;

	usable = read_phrase(&phrase, name, problem) &&
		derive_or_recall(key, signer, name, &phrase, path == NULL ? DEFAULT_PATH : path + 1,
						 problem);
	evm_wipe(secret, sizeof(secret));
	pfree(name);
	return usable;
}
