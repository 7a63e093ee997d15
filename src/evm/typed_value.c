/*
 * typed_value.c
 *	  The values of typed data: encodeData and hashStruct.
 *
 * Each call goes one level down the JSON tree, whose depth json.h bounds.
 */
#include "evm/typed_internal.h"

#include <stdio.h>
#include <string.h>

#include "evm/address.h"
#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/word.h"

#define PLACE_TEXT_BYTES 128

/* Writes the place from the root down; what does not fit is left out.  Returns the length. */
static size_t
write_place(char *out, size_t size, const struct typed_place *place)
{
	size_t len;
	int written;

	if (place == NULL)
		return 0;
	len = write_place(out, size, place->up);
	if (place->name == NULL)
		written = snprintf(out + len, size - len, "[%zu]", place->index);
	else
		written = snprintf(out + len, size - len, "%s%s", len > 0 ? "." : "", place->name);
	if (written < 0 || (size_t) written >= size - len)
		return size - 1;
	return len + (size_t) written;
}

static enum evm_status
refuse(struct evm_error *err, enum evm_status status, const struct typed_place *place,
	   const char *why)
{
	char text[PLACE_TEXT_BYTES] = "";

	write_place(text, sizeof(text), place);
	/* Names are the input's: they may hold any byte. */
	for (char *c = text; *c != '\0'; c++)
	{
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	return evm_fail(err, status, 0, "typed data: %s: %s", text, why);
}

/* A JSON number, decimal text, or 0x hex (which is never negative). */
static bool
read_integer(struct evm_word *out, bool *negative, const struct evm_json *value)
{
	size_t len;
	const char *text = evm_json_string(value, &len);

	if (text == NULL)
		return evm_json_word(value, out, negative);
	if (len >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
	{
		*negative = false;
		return evm_quantity_decode(out, text, len, NULL) == EVM_OK;
	}
	return evm_word_from_decimal(out, negative, text, len, NULL) == EVM_OK;
}

static enum evm_status
encode_integer(uint8_t out[32], const struct typed_type *type, const struct evm_json *value,
			   const struct typed_place *place, struct evm_error *err)
{
	struct evm_word word;
	bool negative = false;
	bool fits;

	if (!read_integer(&word, &negative, value))
		return refuse(err, EVM_ERR_TYPE, place, "not an integer within 256 bits");
	if (evm_word_is_zero(&word))
		negative = false;
	if (type->kind == TYPED_UINT)
		fits = !negative && evm_word_fits_unsigned(&word, type->size);
	else
		fits = negative == evm_word_is_negative(&word) && evm_word_fits_signed(&word, type->size);
	if (!fits)
		return refuse(err, EVM_ERR_RANGE, place, "integer outside the range of its type");
	evm_word_to_be(out, &word);
	return EVM_OK;
}

static enum evm_status
encode_bool(uint8_t out[32], const struct evm_json *value, const struct typed_place *place,
			struct evm_error *err)
{
	const enum evm_json_kind kind = evm_json_kind(value);

	if (kind != EVM_JSON_TRUE && kind != EVM_JSON_FALSE)
		return refuse(err, EVM_ERR_TYPE, place, "neither true nor false");
	out[31] = kind == EVM_JSON_TRUE;
	return EVM_OK;
}

static enum evm_status
encode_address(uint8_t out[32], const struct evm_json *value, const struct typed_place *place,
			   struct evm_error *err)
{
	size_t len;
	const char *text = evm_json_string(value, &len);
	struct evm_address address;
	struct evm_error reason;

	if (text == NULL)
		return refuse(err, EVM_ERR_TYPE, place, "not an address");
	if (evm_address_parse(&address, text, len, &reason) != EVM_OK)
		return refuse(err, reason.status, place, reason.message);
	memcpy(out + 32 - sizeof(address.b), address.b, sizeof(address.b));
	return EVM_OK;
}

static enum evm_status
encode_fixed_bytes(uint8_t out[32], const struct typed_type *type, const struct evm_json *value,
				   const struct typed_place *place, struct evm_error *err)
{
	size_t len;
	size_t decoded_len;
	const char *text = evm_json_string(value, &len);

	if (text == NULL || len != 2 + 2 * (size_t) type->size ||
		evm_hex_decode(out, &decoded_len, text, len, NULL) != EVM_OK)
		return refuse(err, EVM_ERR_TYPE, place, "not 0x hexadecimal of the length of its type");
	return EVM_OK;
}

static enum evm_status
encode_bytes(struct evm_arena *arena, uint8_t out[32], const struct evm_json *value,
			 const struct typed_place *place, struct evm_error *err)
{
	size_t len;
	size_t decoded_len;
	const char *text = evm_json_string(value, &len);
	struct evm_hash hash;
	uint8_t *bytes;

	if (text == NULL)
		return refuse(err, EVM_ERR_TYPE, place, "not 0x hexadecimal");
	bytes = evm_arena_alloc(arena, len / 2 + 1);
	if (bytes == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "typed data: out of memory");
	if (evm_hex_decode(bytes, &decoded_len, text, len, NULL) != EVM_OK)
		return refuse(err, EVM_ERR_TYPE, place, "not 0x hexadecimal");
	evm_keccak256(&hash, bytes, decoded_len);
	memcpy(out, hash.b, sizeof(hash.b));
	return EVM_OK;
}

static enum evm_status
encode_string(uint8_t out[32], const struct evm_json *value, const struct typed_place *place,
			  struct evm_error *err)
{
	size_t len;
	const char *text = evm_json_string(value, &len);
	struct evm_hash hash;

	if (text == NULL)
		return refuse(err, EVM_ERR_TYPE, place, "not a string");
	evm_keccak256(&hash, text, len);
	memcpy(out, hash.b, sizeof(hash.b));
	return EVM_OK;
}

static enum evm_status
encode_single(struct typed_types *types, uint8_t out[32], const struct typed_type *type,
			  const struct evm_json *value, const struct typed_place *place, struct evm_error *err)
{
	struct evm_hash hash;
	enum evm_status status = EVM_OK;

	memset(out, 0, 32);
	switch (type->kind)
	{
		case TYPED_UINT:
		case TYPED_INT:
			return encode_integer(out, type, value, place, err);
		case TYPED_BOOL:
			return encode_bool(out, value, place, err);
		case TYPED_ADDRESS:
			return encode_address(out, value, place, err);
		case TYPED_FIXED_BYTES:
			return encode_fixed_bytes(out, type, value, place, err);
		case TYPED_BYTES:
			return encode_bytes(types->arena, out, value, place, err);
		case TYPED_STRING:
			return encode_string(out, value, place, err);
		case TYPED_STRUCT:
			status = evm_typed_hash_struct(types, &hash, &types->structs[type->struct_index], value,
										   place, err);
			if (status == EVM_OK)
				memcpy(out, hash.b, sizeof(hash.b));
			break;
	}
	return status;
}

/* dimensions_left counts from the innermost: 0 is a single value. */
static enum evm_status
encode_array(struct typed_types *types, uint8_t out[32], const struct typed_type *type,
			 size_t dimensions_left, const struct evm_json *value, const struct typed_place *place,
			 struct evm_error *err)
{
	const size_t n = evm_json_array_size(value);
	struct evm_keccak keccak;
	struct evm_hash hash;
	uint64_t wanted;

	if (dimensions_left == 0)
		return encode_single(types, out, type, value, place, err);
	wanted = type->dimensions[dimensions_left - 1];
	if (evm_json_kind(value) != EVM_JSON_ARRAY)
		return refuse(err, EVM_ERR_TYPE, place, "not an array");
	if (wanted != TYPED_ANY_LENGTH && wanted != n)
		return refuse(err, EVM_ERR_MISMATCH, place, "array of another length than its type says");
	evm_keccak_init(&keccak);
	for (size_t i = 0; i < n; i++)
	{
		const struct typed_place element = {.up = place, .index = i};
		uint8_t encoded[32];
		enum evm_status status = encode_array(types, encoded, type, dimensions_left - 1,
											  evm_json_array_get(value, i), &element, err);

		if (status != EVM_OK)
			return status;
		evm_keccak_update(&keccak, encoded, sizeof(encoded));
	}
	evm_keccak_final(&hash, &keccak);
	memcpy(out, hash.b, sizeof(hash.b));
	return EVM_OK;
}

enum evm_status
evm_typed_encode(struct typed_types *types, uint8_t out[32], const struct typed_type *type,
				 const struct evm_json *value, const struct typed_place *place,
				 struct evm_error *err)
{
	return encode_array(types, out, type, type->dimension_count, value, place, err);
}

enum evm_status
evm_typed_hash_struct(struct typed_types *types, struct evm_hash *out, struct typed_struct *type,
					  const struct evm_json *value, const struct typed_place *place,
					  struct evm_error *err)
{
	struct evm_keccak keccak;
	enum evm_status status = evm_typed_hash_type(types, type, NULL, err);

	if (status != EVM_OK)
		return status;
	if (evm_json_kind(value) != EVM_JSON_OBJECT)
		return refuse(err, EVM_ERR_TYPE, place, "not an object");
	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, type->type_hash.b, sizeof(type->type_hash.b));
	for (size_t i = 0; i < type->field_count; i++)
	{
		const struct typed_field *field = &type->fields[i];
		const struct typed_place member = {.up = place, .name = field->name};
		const struct evm_json *node = evm_json_object_get(value, field->name);
		uint8_t encoded[32];

		if (evm_json_kind(node) == EVM_JSON_NULL)
			return refuse(err, EVM_ERR_MISMATCH, &member, "missing or null");
		status = evm_typed_encode(types, encoded, &field->type, node, &member, err);
		if (status != EVM_OK)
			return status;
		evm_keccak_update(&keccak, encoded, sizeof(encoded));
	}
	evm_keccak_final(out, &keccak);
	return EVM_OK;
}
