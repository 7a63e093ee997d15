/*
 * typed_data.h
 *	  Hashing of typed structured data (EIP-712), as wallets sign it (eth_signTypedData_v4).
 *
 * Input is the JSON object with types, primaryType, domain and message.  What libraries read in
 * different ways is refused rather than guessed:
 *	- a member of a declared type that is missing or null; array lengths that differ from T[n];
 *	- integers that do not fit, are not integral, or are neither a JSON number, decimal text nor
 *	  0x hex; bytesN of another length; booleans that are not true or false; addresses with a
 *	  wrong EIP-55 checksum;
 *	- types that are not defined (used or not), "uint" and "int" without a width, structs named
 *	  like an elementary type, duplicate fields;
 *	- a domain that has other than EIP-712's five members, with other types, or a value that
 *	  EIP712Domain does not declare.
 * Members of the message that its type does not declare are not signed and are ignored, as by
 * every wallet.  A member of the domain that is null counts as absent.  Without EIP712Domain among
 * the types it is made from the members of the domain, in EIP-712's order.
 */
#ifndef EVM_TYPED_DATA_H
#define EVM_TYPED_DATA_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/json.h"
#include "evm/status.h"

#define EVM_TYPED_DATA_MAX_BYTES (1024 * 1024) /* of the JSON text */
#define EVM_TYPED_DATA_MAX_STRUCTS 128
#define EVM_TYPED_DATA_MAX_FIELDS 1024      /* of one struct */
#define EVM_TYPED_DATA_MAX_DIMENSIONS 16    /* of an array type */
#define EVM_TYPED_DATA_MAX_TYPE_BYTES 65536 /* of one encodeType text */

struct evm_typed_data
{
	struct evm_hash digest; /* what is signed */
	struct evm_hash domain_separator;
	struct evm_hash struct_hash; /* of the message */
	const char *primary_type;
	const char *encode_type; /* "Mail(Person from,…)Person(…)" of the primary type */
	bool has_chain_id;       /* the domain's, for whoever decides what may be signed */
	struct evm_word chain_id;
	bool has_verifying_contract;
	struct evm_address verifying_contract;
};

/* Text in *out lives in the arena.  Messages name the place: "message.to[2].wallet: …". */
extern enum evm_status evm_typed_data_hash(struct evm_arena *arena, struct evm_typed_data *out,
										   const char *text, size_t len, struct evm_error *err);
/* The same of text that is parsed already and has the arena's life. */
extern enum evm_status evm_typed_data_hash_json(struct evm_arena *arena, struct evm_typed_data *out,
												const struct evm_json *root, struct evm_error *err);

#endif /* EVM_TYPED_DATA_H */
