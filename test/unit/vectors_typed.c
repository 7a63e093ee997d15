/*
 * vectors_typed.c
 *	  Vectors of typed data (EIP-712).
 */
#include "vectors.h"

#include <string.h>

#include "evm/personal.h"
#include "evm/typed_data.h"
#include "vectors_read.h"

static enum vector_result
check_typed_data(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *encode_type = vector_text(row, "encode_type");
	uint8_t bytes[EVM_SIGNATURE_BYTES];
	uint8_t want_bytes[EVM_SIGNATURE_BYTES];
	struct evm_typed_data got;
	struct evm_hash want_domain;
	struct evm_hash want_struct;
	struct evm_hash want_digest;
	struct evm_key key;
	struct evm_signature signature;
	struct evm_error err;

	if (!read_fixed(arena, row, "domain_separator", want_domain.b, 32) ||
		!read_fixed(arena, row, "struct_hash", want_struct.b, 32) ||
		!read_fixed(arena, row, "digest", want_digest.b, 32) ||
		!read_fixed(arena, row, "key", key.secret, 32) ||
		!read_fixed(arena, row, "signature", want_bytes, sizeof(want_bytes)) || encode_type == NULL)
		return vector_fail(note, "the row cannot be read");
	if (evm_typed_data_hash_json(arena, &got, evm_json_object_get(row, "data"), &err) != EVM_OK)
		return vector_fail(note, "refused: %s", err.message);
	if (strcmp(got.encode_type, encode_type) != 0)
		return vector_fail(note, "type is %s", got.encode_type);
	if (vector_same_bytes(note, "domain", got.domain_separator.b, 32, want_domain.b, 32) ||
		vector_same_bytes(note, "struct", got.struct_hash.b, 32, want_struct.b, 32) ||
		vector_same_bytes(note, "digest", got.digest.b, 32, want_digest.b, 32))
		return VECTOR_FAIL;
	if (evm_sign_hash(&signature, &key, &got.digest) != EVM_OK)
		return vector_fail(note, "cannot be signed");
	evm_signature_to_bytes(bytes, &signature);
	return vector_same_bytes(note, "signature", bytes, sizeof(bytes), want_bytes,
							 sizeof(want_bytes));
}

static enum vector_result
check_typed_data_invalid(struct evm_arena *arena, const struct evm_json *row,
						 struct vector_note *note)
{
	struct evm_typed_data got;

	if (evm_typed_data_hash_json(arena, &got, evm_json_object_get(row, "data"), NULL) == EVM_OK)
		return vector_fail(note, "accepted");
	return VECTOR_PASS;
}

static const struct vector_family typed_families[] = {{"typed_data", check_typed_data},
													  {"typed_data_invalid",
													   check_typed_data_invalid},
													  {NULL, NULL}};

VECTOR_FAMILIES(typed_families);
