/*
 * signer.h
 *	  From a reference (env:RFLOW_HOT_KEY, file:hot.key, keystore:hot.json, mnemonic:hot.words#m/…)
 *	  to the key.
 *
 * Only the relayer process calls this.  The key is read anew for each round that signs and wiped
 * after it, so that a key that is replaced or taken away counts at once; of keystores and mnemonics
 * the result of the derivation is kept (signer_cache.h).  No message ever holds a part of a key.
 */
#ifndef RELAY_SIGNER_H
#define RELAY_SIGNER_H

#include "evm/secp.h"
#include "relay/signer_source.h"

/*
 * Reads the key and derives its address.  False with the reason in problem when there is no usable
 * key: the variable is not set, the file is not a plain file of the server's user with mode 0600 or
 * 0400 directly below rflow.key_directory, the text is no key, the password of a keystore is wrong,
 * or it is a key that development chains publish and the chain is none.  The caller wipes *key
 * (evm_wipe), also after failure.  Never with a transaction open: a keystore takes seconds.
 */
extern bool relay_signer_read(struct evm_key *key, struct evm_address *address, const char *signer,
							  int64_t chain_id, char problem[RELAY_PROBLEM_BYTES]);

/* Wipes what is kept of the keys of all signers but these. */
extern void relay_signers_retain(const char *const *signers, int count);

#endif /* RELAY_SIGNER_H */
