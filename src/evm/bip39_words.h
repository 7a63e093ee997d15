/*
 * bip39_words.h
 *	  The English word list of BIP-39.
 */
#ifndef EVM_BIP39_WORDS_H
#define EVM_BIP39_WORDS_H

#define EVM_BIP39_WORDS 2048
#define EVM_BIP39_WORD_BYTES 8 /* of the longest word */

extern const char *const evm_bip39_words[EVM_BIP39_WORDS];

#endif /* EVM_BIP39_WORDS_H */
