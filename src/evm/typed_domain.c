/*
 * typed_domain.c
 *	  The domain of typed data: the five members that EIP-712 knows.
 */
#include "evm/typed_internal.h"

#include <string.h>

/* In the order of EIP-712. */
static const struct
{
	const char *name;
	const char *type;
	enum typed_kind kind;
	unsigned size;
} standard[] = {{"name", "string", TYPED_STRING, 0},
				{"version", "string", TYPED_STRING, 0},
				{"chainId", "uint256", TYPED_UINT, 256},
				{"verifyingContract", "address", TYPED_ADDRESS, 0},
				{"salt", "bytes32", TYPED_FIXED_BYTES, 32}};

#define STANDARD_COUNT (sizeof(standard) / sizeof(standard[0]))

enum evm_status
evm_typed_add_domain(struct typed_types *types, const struct evm_json *domain,
					 struct evm_error *err)
{
	struct typed_struct *added;

	if (types->struct_count == EVM_TYPED_DATA_MAX_STRUCTS)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "typed data: more than %d types",
						EVM_TYPED_DATA_MAX_STRUCTS - 1);
	added = &types->structs[types->struct_count];
	added->name = TYPED_DOMAIN_NAME;
	added->fields = evm_arena_zalloc(types->arena, STANDARD_COUNT, sizeof(*added->fields));
	if (added->fields == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "typed data: out of memory");
	for (size_t i = 0; i < STANDARD_COUNT; i++)
	{
		struct typed_field *field = &added->fields[added->field_count];

		if (evm_json_kind(evm_json_object_get(domain, standard[i].name)) == EVM_JSON_NULL)
			continue;
		field->name = standard[i].name;
		field->type.text = standard[i].type;
		field->type.kind = standard[i].kind;
		field->type.size = standard[i].size;
		added->field_count++;
	}
	types->struct_count++;
	return EVM_OK;
}

struct member_check
{
	const struct typed_struct *domain;
	bool all_declared;
};

static bool
check_declared(void *context, const char *name, const struct evm_json *value)
{
	struct member_check *check = context;

	check->all_declared = evm_json_kind(value) == EVM_JSON_NULL;
	for (size_t i = 0; i < check->domain->field_count; i++)
	{
		if (strcmp(check->domain->fields[i].name, name) == 0)
			check->all_declared = true;
	}
	return check->all_declared;
}

static bool
is_standard(const struct typed_field *field)
{
	for (size_t i = 0; i < STANDARD_COUNT; i++)
	{
		if (strcmp(field->name, standard[i].name) == 0)
			return strcmp(field->type.text, standard[i].type) == 0;
	}
	return false;
}

enum evm_status
evm_typed_check_domain(const struct typed_struct *domain, const struct evm_json *value,
					   struct evm_error *err)
{
	struct member_check check = {domain, true};

	for (size_t i = 0; i < domain->field_count; i++)
	{
		if (!is_standard(&domain->fields[i]))
			return evm_fail(err, EVM_ERR_MALFORMED, 0,
							"typed data: field %zu of " TYPED_DOMAIN_NAME
							" is not one of EIP-712, with its type",
							i + 1);
	}
	if (evm_json_kind(value) != EVM_JSON_OBJECT)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "typed data: domain is not an object");
	evm_json_object_each(value, check_declared, &check);
	if (!check.all_declared)
		return evm_fail(err, EVM_ERR_MALFORMED, 0,
						"typed data: domain has a member that " TYPED_DOMAIN_NAME
						" does not declare");
	return EVM_OK;
}
