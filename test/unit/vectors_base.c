/*
 * vectors_base.c
 *	  Vectors of the layers below the ABI: Keccak-256, RLP, addresses, units, names.
 */
#include "vectors.h"

#include <string.h>

#include "evm/address.h"
#include "evm/keccak.h"
#include "evm/namehash.h"
#include "evm/rlp.h"
#include "evm/units.h"
#include "evm/word.h"

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
	return vector_same_bytes(note, "hash of two pieces", got.b, sizeof(got.b), want.data, want.len);
}

static enum vector_result
check_checksum(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *input = vector_text(row, "input");
	const char *checksum = vector_text(row, "checksum");
	bool valid = evm_json_is_true(evm_json_object_get(row, "valid"));
	char text[EVM_ADDRESS_TEXT_BYTES];
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

/* ---- RLP: "decoded" is a string of hex, or an array of the same ---- */

static bool
write_decoded(struct evm_rlp_writer *writer, const struct evm_json *decoded)
{
	struct evm_bytes bytes;

	if (evm_json_kind(decoded) != EVM_JSON_ARRAY)
	{
		if (!vector_node_bytes(writer->arena, decoded, &bytes))
			return false;
		evm_rlp_bytes(writer, bytes.data, bytes.len);
		return true;
	}
	evm_rlp_open_list(writer);
	for (size_t i = 0; i < evm_json_array_size(decoded); i++)
	{
		if (!write_decoded(writer, evm_json_array_get(decoded, i)))
			return false;
	}
	evm_rlp_close_list(writer);
	return true;
}

/* Does the next item at the cursor say what decoded says? */
static bool
same_as_decoded(struct evm_arena *arena, struct evm_bytes *cursor, const struct evm_json *decoded)
{
	struct evm_rlp_item item;
	struct evm_bytes bytes;

	if (evm_rlp_next(&item, cursor, NULL) != EVM_OK)
		return false;
	if (item.is_list != (evm_json_kind(decoded) == EVM_JSON_ARRAY))
		return false;
	if (!item.is_list)
		return vector_node_bytes(arena, decoded, &bytes) && bytes.len == item.payload.len &&
			(bytes.len == 0 || memcmp(bytes.data, item.payload.data, bytes.len) == 0);
	for (size_t i = 0; i < evm_json_array_size(decoded); i++)
	{
		if (!same_as_decoded(arena, &item.payload, evm_json_array_get(decoded, i)))
			return false;
	}
	return item.payload.len == 0;
}

static enum vector_result
check_rlp(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const struct evm_json *decoded = evm_json_object_get(row, "decoded");
	bool valid = evm_json_is_true(evm_json_object_get(row, "valid"));
	struct evm_bytes encoded;
	struct evm_bytes cursor;
	struct evm_bytes written;
	struct evm_rlp_writer writer;
	struct evm_error err;
	enum evm_status status;

	if (!vector_bytes(arena, row, "enc", &encoded))
		return vector_fail(note, "the row lacks enc");
	status = evm_rlp_validate(encoded.data, encoded.len, &err);
	if (!valid)
		return status != EVM_OK ? VECTOR_PASS : vector_fail(note, "it is accepted");
	if (status != EVM_OK)
		return vector_fail(note, "it is refused: %s", err.message);
	cursor = encoded;
	if (!same_as_decoded(arena, &cursor, decoded) || cursor.len != 0)
		return vector_fail(note, "it decodes to something else");
	evm_rlp_init(&writer, arena);
	if (!write_decoded(&writer, decoded))
		return vector_fail(note, "decoded is neither hex nor an array of hex");
	if (evm_rlp_finish(&writer, &written) != EVM_OK)
		return vector_fail(note, "it does not encode");
	return vector_same_bytes(note, "encoding", written.data, written.len, encoded.data,
							 encoded.len);
}

/* ---- units ---- */

static enum vector_result
check_amount(struct vector_note *note, const char *text, unsigned decimals,
			 const struct evm_word *want)
{
	struct evm_word got;
	struct evm_error err;
	bool negative;

	if (evm_units_parse(&got, &negative, text, strlen(text), decimals, &err) != EVM_OK)
		return vector_fail(note, "%s is refused: %s", text, err.message);
	if (evm_word_compare(&got, want) != 0)
		return vector_fail(note, "%s is read as another amount", text);
	return VECTOR_PASS;
}

static enum vector_result
check_units(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *text = vector_text(row, "text");
	const char *accepts = vector_text(row, "accepts");
	char formatted[EVM_UNITS_TEXT_BYTES];
	struct evm_word wei;
	bool negative;
	int64_t decimals;
	enum vector_result result;

	(void) arena;
	if (text == NULL || !vector_word(row, "wei", &wei, &negative) ||
		!evm_json_integer(evm_json_object_get(row, "decimals"), &decimals))
		return vector_fail(note, "the row lacks text, wei or decimals");
	evm_units_format(formatted, &wei, negative, (unsigned) decimals);
	if (strcmp(formatted, text) != 0)
		return vector_fail(note, "it is written %s instead of %s", formatted, text);
	result = check_amount(note, text, (unsigned) decimals, &wei);
	if (result == VECTOR_PASS && accepts != NULL)
		result = check_amount(note, accepts, (unsigned) decimals, &wei);
	return result;
}

/* ---- names ---- */

static enum vector_result
check_namehash(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *name = vector_text(row, "name");
	const char *normalized = vector_text(row, "normalized");
	struct evm_bytes want;
	struct evm_bytes normal;
	struct evm_hash got;
	struct evm_error err;
	enum evm_status status;

	if (name == NULL || normalized == NULL || !vector_bytes(arena, row, "namehash", &want))
		return vector_fail(note, "the row lacks name, normalized or namehash");
	if (evm_namehash(&got, normalized, strlen(normalized), &err) != EVM_OK)
		return vector_fail(note, "%s is refused: %s", normalized, err.message);
	if (memcmp(got.b, want.data, sizeof(got.b)) != 0 || want.len != sizeof(got.b))
		return vector_fail(note, "%s has another hash", normalized);

	status = evm_ens_normalize(arena, &normal, name, strlen(name), &err);
	if (!evm_json_is_true(evm_json_object_get(row, "ascii")))
		return status == EVM_ERR_LIMIT
			? VECTOR_PASS
			: vector_fail(note, "%s is not refused as one that cannot be normalized", name);
	if (status != EVM_OK)
		return vector_fail(note, "%s is not normalized: %s", name, err.message);
	return vector_same_bytes(note, "normal form", normal.data, normal.len,
							 (const uint8_t *) normalized, strlen(normalized));
}

static enum vector_result
check_ens_invalid(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *name = vector_text(row, "name");
	struct evm_bytes normal;

	if (name == NULL)
		return vector_fail(note, "the row lacks its name");
	if (evm_ens_normalize(arena, &normal, name, strlen(name), NULL) == EVM_OK)
		return vector_fail(note, "%s is accepted", name);
	return VECTOR_PASS;
}

static const struct vector_family base_families[] = {{"keccak", check_keccak},
													 {"rlp", check_rlp},
													 {"checksum", check_checksum},
													 {"units", check_units},
													 {"namehash", check_namehash},
													 {"ens_invalid", check_ens_invalid},
													 {NULL, NULL}};

VECTOR_FAMILIES(base_families);
