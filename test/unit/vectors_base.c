/*
 * vectors_base.c
 *	  Vectors of the layers below the ABI: Keccak-256, RLP, addresses, units, names.
 */
#include "vectors.h"

#include <string.h>

#include "evm/address.h"
#include "evm/keccak.h"

static enum vector_result
check_keccak(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	struct evm_bytes data;
	struct evm_bytes want;
	struct evm_hash got;
	struct evm_keccak context;
	enum vector_result result;

	if (!vector_bytes(arena, row, "data", &data) || !vector_bytes(arena, row, "keccak256", &want))
		return vector_fail(note, "the row lacks data or keccak256");
	evm_keccak256(&got, data.data, data.len);
	result = vector_same_bytes(note, "hash", got.b, sizeof(got.b), want.data, want.len);
	if (result != VECTOR_PASS)
		return result;

	/* The same in two pieces, the first of a length that varies with the row. */
	evm_keccak_init(&context);
	evm_keccak_update(&context, data.data, data.len * want.data[0] / UINT8_MAX);
	evm_keccak_update(&context, data.data + data.len * want.data[0] / UINT8_MAX,
					  data.len - data.len * want.data[0] / UINT8_MAX);
	evm_keccak_final(&got, &context);
	return vector_same_bytes(note, "hash of two pieces", got.b, sizeof(got.b), want.data,
							 want.len);
}

static enum vector_result
check_checksum(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *input = vector_text(row, "input");
	const char *checksum = vector_text(row, "checksum");
	bool		valid = evm_json_is_true(evm_json_object_get(row, "valid"));
	char		text[EVM_ADDRESS_TEXT_BYTES];
	struct evm_address address;
	struct evm_error err;

	(void) arena;
	if (input == NULL)
		return vector_fail(note, "the row lacks its input");
	if (evm_address_parse(&address, input, strlen(input), &err) != EVM_OK)
	{
		if (valid)
			return vector_fail(note, "%s is refused: %s", input, err.message);
		return VECTOR_PASS;
	}
	if (!valid)
		return vector_fail(note, "%s is accepted", input);
	evm_address_format(text, &address);
	if (checksum == NULL || strcmp(text, checksum) != 0)
		return vector_fail(note, "%s is written %s", input, text);
	return VECTOR_PASS;
}

static const struct vector_family base_families[] = {
	{"keccak", check_keccak},
	{"checksum", check_checksum},
	{NULL, NULL}
};

VECTOR_FAMILIES(base_families);
