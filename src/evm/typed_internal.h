/*
 * typed_internal.h
 *	  What typed_data.c, typed_types.c and typed_value.c share; private to them.
 */
#ifndef EVM_TYPED_INTERNAL_H
#define EVM_TYPED_INTERNAL_H

#include "evm/json.h"
#include "evm/typed_data.h"

#define TYPED_DOMAIN_NAME "EIP712Domain"

enum typed_kind
{
	TYPED_UINT,
	TYPED_INT,
	TYPED_BOOL,
	TYPED_ADDRESS,
	TYPED_FIXED_BYTES,
	TYPED_BYTES,
	TYPED_STRING,
	TYPED_STRUCT
};

#define TYPED_ANY_LENGTH UINT64_MAX

struct typed_type
{
	const char *text; /* as it was written, which is what is hashed */
	enum typed_kind kind;
	unsigned size;          /* bits of an integer, bytes of FIXED_BYTES */
	size_t struct_index;    /* of a STRUCT */
	size_t dimension_count; /* 0 when not an array */
	/* The innermost first, as in the text. */
	uint64_t dimensions[EVM_TYPED_DATA_MAX_DIMENSIONS];
};

struct typed_field
{
	const char *name;
	struct typed_type type;
};

struct typed_struct
{
	const char *name;
	struct typed_field *fields;
	size_t field_count;
	bool hashed;
	struct evm_hash type_hash; /* once hashed is true */
};

struct typed_types
{
	struct evm_arena *arena;
	struct typed_struct structs[EVM_TYPED_DATA_MAX_STRUCTS];
	size_t struct_count;
};

/* The place of a value, for messages: a chain from the value to the root. */
struct typed_place
{
	const struct typed_place *up;
	const char *name; /* NULL for an element of an array */
	size_t index;
};

/* Reads all of "types"; fields of undefined types are refused. */
extern enum evm_status evm_typed_read_types(struct typed_types *types, const struct evm_json *json,
											struct evm_error *err);
/* Adds EIP712Domain with these of its standard fields. */
extern enum evm_status evm_typed_add_domain(struct typed_types *types,
											const struct evm_json *domain, struct evm_error *err);
/* Fields are among the standard ones and have their types; values have no others. */
extern enum evm_status evm_typed_check_domain(const struct typed_struct *domain,
											  const struct evm_json *value, struct evm_error *err);
/* NULL when there is none of that name. */
extern struct typed_struct *evm_typed_find(struct typed_types *types, const char *name);
/* Fills type_hash; gives the text too when out is not NULL. */
extern enum evm_status evm_typed_hash_type(struct typed_types *types, struct typed_struct *type,
										   const char **out, struct evm_error *err);

/* hashStruct of EIP-712. */
extern enum evm_status evm_typed_hash_struct(struct typed_types *types, struct evm_hash *out,
											 struct typed_struct *type,
											 const struct evm_json *value,
											 const struct typed_place *place,
											 struct evm_error *err);
/* The 32 bytes of a value within its struct. */
extern enum evm_status evm_typed_encode(struct typed_types *types, uint8_t out[32],
										const struct typed_type *type, const struct evm_json *value,
										const struct typed_place *place, struct evm_error *err);

#endif /* EVM_TYPED_INTERNAL_H */
