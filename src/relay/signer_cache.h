/*
 * signer_cache.h
 *	  Keys whose derivation takes long, kept in this process as long as a relayer names them.
 *
 * A key file of scrypt takes seconds and 256 MB, so it is opened once and not for each round.  What
 * the key follows from is read anew each time and compared with what it followed from before: a
 * file that was replaced, taken away or opened to others counts at once.  A failure is kept, too,
 * so that a wrong password is not tried again and again.
 */
#ifndef RELAY_SIGNER_CACHE_H
#define RELAY_SIGNER_CACHE_H

#include "postgres.h"

#include "evm/secp.h"
#include "relay/signer_source.h"

/*
 * The key, or the problem, that this signer had with the same origin (a hash of all that the
 * key follows from).  False when it is not known; else *usable says which of the two was written.
 */
extern bool relay_cache_find(bool *usable, struct evm_key *key, char problem[RELAY_PROBLEM_BYTES],
							 const char *signer, const struct evm_hash *origin);
/* Keeps a copy of the key (NULL: it cannot be used, and problem says why). */
extern void relay_cache_keep(const char *signer, const struct evm_hash *origin,
							 const struct evm_key *key, const char *problem);
/* Wipes the keys of all signers but these. */
extern void relay_cache_retain(const char *const *signers, int count);

#endif /* RELAY_SIGNER_CACHE_H */
