/*
 * signer_kinds.h
 *	  The kinds of signers that are more than a text with a key in it.
 *
 * The arguments are what stands behind "keystore:" and "mnemonic:"; signer is the whole reference,
 * under which the key is kept (see signer_cache.h).  False with the reason in problem.
 */
#ifndef RELAY_SIGNER_KINDS_H
#define RELAY_SIGNER_KINDS_H

#include "evm/secp.h"
#include "relay/signer_source.h"

/*
 * "NAME": a key file (Web3 Secret Storage, version 3) whose password is in the file NAME.password;
 * "NAME#env:RFLOW_…" or "NAME#file:OTHER": the password is there.  Blocks for as long as
 * the key derivation takes, which the first time is seconds.
 */
extern bool relay_signer_keystore(struct evm_key *key, const char *signer, const char *reference,
								  char problem[RELAY_PROBLEM_BYTES]);

/*
 * "NAME#m/44'/60'/0'/0/0": an English BIP-39 phrase, in the variable NAME when that begins with
 * RFLOW_ and else in the file NAME, and the path of the account (that one when left out).
 */
extern bool relay_signer_mnemonic(struct evm_key *key, const char *signer, const char *reference,
								  char problem[RELAY_PROBLEM_BYTES]);

#endif /* RELAY_SIGNER_KINDS_H */
