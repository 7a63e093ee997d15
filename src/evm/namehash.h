/*
 * namehash.h
 *	  Names of the Ethereum Name Service: normal form and hash (EIP-137, ENSIP-15).
 *
 * ENSIP-15 normalises all of Unicode by tables of several hundred kilobytes,
 * which change with every version of Unicode.  They are not here: names of
 * ASCII are normalised by the rules that ENSIP-15 has for them, all others are
 * refused.  Someone who has the normal form of another name from elsewhere can
 * hash it with evm_namehash, which passes bytes beyond ASCII through.
 */
#ifndef EVM_NAMEHASH_H
#define EVM_NAMEHASH_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/status.h"

/*
 * The normal form of an ASCII name, in the arena: letters in lower case, and "'" as U+2019.
 * EVM_ERR_LIMIT for a name with other than ASCII characters, EVM_ERR_SYNTAX for one that
 * ENSIP-15 refuses: a character other than letters, digits, "-", "_", "$", "'" and the
 * point; an empty label; "_" other than at the start of a label; "--" as its third and fourth
 * characters; "'" at the start or end of a label or doubled.
 */
extern enum evm_status evm_ens_normalize(struct evm_arena *arena, struct evm_bytes *out,
										 const char *name, size_t len, struct evm_error *err);

/*
 * The hash of a name in normal form; the empty name is the root, whose hash is zero.
 * EVM_ERR_SYNTAX for an empty label and for ASCII characters that no normal form has (upper
 * case among them).  Other bytes are hashed as they are: that they are in normal form is the
 * caller's word.
 */
extern enum evm_status evm_namehash(struct evm_hash *out, const char *name, size_t len,
									struct evm_error *err);

#endif /* EVM_NAMEHASH_H */
