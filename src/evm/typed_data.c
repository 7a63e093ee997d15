/*
 * typed_data.c
 *	  The digest of typed data: keccak256(0x1901 ‖ domain separator ‖ hash of the message).
 */
#include "evm/typed_data.h"

#include <string.h>

#include "evm/keccak.h"
#include "evm/typed_internal.h"
#include "evm/word.h"

static const struct typed_place domain_place = {.name = "domain"};
static const struct typed_place message_place = {.name = "message"};

/* Hashes the domain and notes what policies look at. */
static enum evm_status
hash_domain(struct evm_typed_data *out, struct typed_types *types, const struct evm_json *value,
			struct evm_error *err)
{
	struct typed_struct *domain = evm_typed_find(types, TYPED_DOMAIN_NAME);
	enum evm_status status = EVM_OK;

	if (domain == NULL)
	{
		status = evm_typed_add_domain(types, value, err);
		domain = &types->structs[types->struct_count - 1];
	}
	if (status == EVM_OK)
		status = evm_typed_check_domain(domain, value, err);
	if (status == EVM_OK)
		status =
			evm_typed_hash_struct(types, &out->domain_separator, domain, value, &domain_place, err);
	for (size_t i = 0; status == EVM_OK && i < domain->field_count; i++)
	{
		const struct typed_field *field = &domain->fields[i];
		uint8_t encoded[32];

		status = evm_typed_encode(types, encoded, &field->type,
								  evm_json_object_get(value, field->name), &domain_place, err);
		if (status != EVM_OK)
			return status;
		if (strcmp(field->name, "chainId") == 0)
		{
			out->has_chain_id = true;
			evm_word_from_be(&out->chain_id, encoded, sizeof(encoded));
		}
		else if (strcmp(field->name, "verifyingContract") == 0)
		{
			out->has_verifying_contract = true;
			memcpy(out->verifying_contract.b, encoded + 12, sizeof(out->verifying_contract.b));
		}
	}
	return status;
}

/* Typed data may be a domain alone; its digest then ends with the separator. */
static enum evm_status
hash_message(struct evm_typed_data *out, struct typed_types *types, const struct evm_json *root,
			 struct evm_error *err)
{
	struct typed_struct *primary = evm_typed_find(types, out->primary_type);
	enum evm_status status;

	if (primary == NULL)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "typed data: primaryType is not defined");
	status = evm_typed_hash_type(types, primary, &out->encode_type, err);
	if (status != EVM_OK)
		return status;
	if (strcmp(primary->name, TYPED_DOMAIN_NAME) == 0)
	{
		out->struct_hash = out->domain_separator;
		return EVM_OK;
	}
	return evm_typed_hash_struct(types, &out->struct_hash, primary,
								 evm_json_object_get(root, "message"), &message_place, err);
}

static void
make_digest(struct evm_typed_data *out)
{
	static const uint8_t prefix[2] = {0x19, 0x01}; /* EIP-191 */
	struct evm_keccak keccak;

	evm_keccak_init(&keccak);
	evm_keccak_update(&keccak, prefix, sizeof(prefix));
	evm_keccak_update(&keccak, out->domain_separator.b, sizeof(out->domain_separator.b));
	if (strcmp(out->primary_type, TYPED_DOMAIN_NAME) != 0)
		evm_keccak_update(&keccak, out->struct_hash.b, sizeof(out->struct_hash.b));
	evm_keccak_final(&out->digest, &keccak);
}

enum evm_status
evm_typed_data_hash_json(struct evm_arena *arena, struct evm_typed_data *out,
						 const struct evm_json *root, struct evm_error *err)
{
	struct typed_types *types = evm_arena_zalloc(arena, 1, sizeof(*types));
	size_t primary_len;
	enum evm_status status;

	memset(out, 0, sizeof(*out));
	if (types == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "typed data: out of memory");
	types->arena = arena;
	out->primary_type = evm_json_string(evm_json_object_get(root, "primaryType"), &primary_len);
	if (out->primary_type == NULL || strlen(out->primary_type) != primary_len)
		return evm_fail(err, EVM_ERR_MALFORMED, 0,
						"typed data: primaryType is missing or not a string");
	status = evm_typed_read_types(types, evm_json_object_get(root, "types"), err);
	if (status == EVM_OK)
		status = hash_domain(out, types, evm_json_object_get(root, "domain"), err);
	if (status == EVM_OK)
		status = hash_message(out, types, root, err);
	if (status == EVM_OK)
		make_digest(out);
	return status;
}

enum evm_status
evm_typed_data_hash(struct evm_arena *arena, struct evm_typed_data *out, const char *text,
					size_t len, struct evm_error *err)
{
	const struct evm_json *root;
	enum evm_status status;

	if (len > EVM_TYPED_DATA_MAX_BYTES)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "typed data: longer than %d bytes",
						EVM_TYPED_DATA_MAX_BYTES);
	status = evm_json_parse(arena, &root, text, len, err);
	if (status != EVM_OK)
		return status;
	return evm_typed_data_hash_json(arena, out, root, err);
}
