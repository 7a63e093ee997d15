/*
 * hd.h
 *	  Keys from a phrase: BIP-39 mnemonics and seeds, BIP-32 derivation, paths as in BIP-44
 *	  ("m/44'/60'/0'/0/0" is a wallet's first Ethereum account).
 *
 * No message shows any part of a phrase or key.  Callers wipe what they receive (evm_wipe).
 */
#ifndef EVM_HD_H
#define EVM_HD_H

#include "evm/bytes.h"
#include "evm/secp.h"
#include "evm/status.h"

#define EVM_MNEMONIC_MAX_WORDS 24
#define EVM_MNEMONIC_TEXT_BYTES 216 /* 24 words of at most 8 letters, a blank or NUL behind each */
#define EVM_SEED_BYTES 64
#define EVM_HD_MAX_DEPTH 255
#define EVM_HD_HARDENED UINT32_C(0x80000000)

struct evm_mnemonic
{
	char text[EVM_MNEMONIC_TEXT_BYTES]; /* single blanks between words; NUL terminated */
	size_t len;
	uint8_t entropy[32];
	size_t entropy_len; /* 16, 20, 24, 28 or 32 */
};

/*
 * An English phrase of 12, 15, 18, 21 or 24 words with its checksum.  Blanks and line ends around
 * and between the words do not matter; case does.
 */
extern enum evm_status evm_mnemonic_parse(struct evm_mnemonic *out, const char *text, size_t len,
										  struct evm_error *err);

/*
 * The seed of a phrase in any language, which is not checked.  Both texts are UTF-8 in
 * Unicode's form NFKD (the caller normalizes; ASCII is already); an empty passphrase is none.
 */
extern enum evm_status evm_mnemonic_seed(uint8_t out[EVM_SEED_BYTES], const char *mnemonic,
										 size_t mnemonic_len, const char *passphrase,
										 size_t passphrase_len);

struct evm_hd_node
{
	struct evm_key key;
	uint8_t chain_code[32];
	unsigned depth; /* 0 for the master */
	uint32_t index; /* among its parent's children; EVM_HD_HARDENED set or not */
};

/* The master node of a seed of 16 to 64 bytes. */
extern enum evm_status evm_hd_master(struct evm_hd_node *out, const uint8_t *seed, size_t len,
									 struct evm_error *err);
/* EVM_ERR_CRYPTO for the one index in 2^127 that has no child. */
extern enum evm_status evm_hd_child(struct evm_hd_node *out, const struct evm_hd_node *parent,
									uint32_t index);
/* Follows "m/44'/60'/0'/0/0" from a master, or "0/5" from any node; h and H are ' too. */
extern enum evm_status evm_hd_derive(struct evm_hd_node *out, const struct evm_hd_node *from,
									 const char *path, size_t len, struct evm_error *err);

/*
 * Extended keys of BIP-32 in base58: "xprv…" to a node, "xpub…" to a compressed public key and
 * chain code.  Checksum, version, depth against parent and index, and the key are checked.
 */
extern enum evm_status evm_hd_parse_private(struct evm_hd_node *out, const char *text, size_t len,
											struct evm_error *err);
extern enum evm_status evm_hd_parse_public(uint8_t public_key[33], uint8_t chain_code[32],
										   const char *text, size_t len, struct evm_error *err);

#endif /* EVM_HD_H */
