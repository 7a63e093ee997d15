/*
 * signer_keystore.c
 *	  Signers in key files: Web3 Secret Storage, with their password beside them.
 */
#include "postgres.h"

#include "relay/signer_kinds.h"

#include "db/datum.h"
#include "evm/keccak.h"
#include "evm/keystore.h"
#include "relay/signer_cache.h"

#define KEYSTORE_FILE "key file"
#define PASSWORD_FILE "password file"
#define PASSWORD_SUFFIX ".password"
#define PASSWORD_MAX_BYTES 1024
/* A tree of JSON takes 80 times its text at worst. */
#define ARENA_BYTES ((size_t) EVM_KEYSTORE_MAX_BYTES * 80)

/* The lengths keep two texts from being cut elsewhere. */
static void
hash_origin(struct evm_hash *out, const struct relay_text *file, struct evm_bytes password)
{
	struct evm_keccak keccak;

	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, &file->len, sizeof(file->len));
	evm_keccak_update(&keccak, file->buffer, file->len);
	evm_keccak_update(&keccak, password.data, password.len);
	evm_keccak_final(out, &keccak);
	evm_wipe(&keccak, sizeof(keccak));
}

static bool
decrypt(struct evm_key *key, const char *signer, const char *name, const struct relay_text *file,
		struct evm_bytes password, char *problem)
{
	struct evm_arena *arena;
	struct evm_hash origin;
	struct evm_error err;
	bool usable;

	hash_origin(&origin, file, password);
	if (relay_cache_find(&usable, key, problem, signer, &origin))
		return usable;
	arena = db_arena_create(CurrentMemoryContext, ARENA_BYTES);
	usable = evm_keystore_decrypt(arena, key, file->buffer, file->len, password.data, password.len,
								  &evm_keystore_default_limits, &err) == EVM_OK;
	evm_arena_destroy(arena);
	if (!usable)
		(void) relay_refuse(problem, "keystore %s: %s", name, err.message);
	relay_cache_keep(signer, &origin, usable ? key : NULL, problem);
	return usable;
}

static bool
read_password(struct relay_text *text, const char *name, const char *source, char *problem)
{
	char *beside;
	bool usable;

	if (source != NULL)
		return relay_read_source(text, PASSWORD_FILE, source, problem);
	beside = psprintf("%s" PASSWORD_SUFFIX, name);
	usable = relay_read_file(text, PASSWORD_FILE, beside, problem);
	pfree(beside);
	return usable;
}

bool
relay_signer_keystore(struct evm_key *key, const char *signer, const char *reference,
					  char problem[RELAY_PROBLEM_BYTES])
{
	const char *source = strchr(reference, '#');
	char *name = source == NULL ? pstrdup(reference) : pnstrdup(reference, source - reference);
	char secret[PASSWORD_MAX_BYTES];
	struct relay_text password = {secret, sizeof(secret), 0};
	struct relay_text file = {palloc(EVM_KEYSTORE_MAX_BYTES), EVM_KEYSTORE_MAX_BYTES, 0};
	bool usable;

	usable = relay_read_file(&file, KEYSTORE_FILE, name, problem) &&
		read_password(&password, name, source == NULL ? NULL : source + 1, problem) &&
		decrypt(key, signer, name, &file, relay_text_line(&password), problem);
	evm_wipe(secret, sizeof(secret));
	pfree(file.buffer);
	pfree(name);
	return usable;
}
