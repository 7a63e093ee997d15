/*
 * datum_place.h
 *	  Where inside an argument a value is, for the messages of datum_sql.c and datum_read.c; and the
 *	  conversions of scalars that both share.
 */
#ifndef DB_DATUM_PLACE_H
#define DB_DATUM_PLACE_H

#include "postgres.h"

#include "evm/abi.h"

enum db_place_kind
{
	DB_PLACE_WHOLE,     /* has the name that the caller gave */
	DB_PLACE_ARGUMENT,  /* its name may be empty */
	DB_PLACE_COMPONENT, /* likewise */
	DB_PLACE_ELEMENT
};

/* A chain from the inside to the outside. */
struct db_place
{
	const struct db_place *outer;
	enum db_place_kind kind;
	const char *name;
	uint64 index; /* from 0 */
};

/* "what: argument 2 (orders)[3].amount", palloc'd. */
extern char *db_place_text(const struct db_place *place);

/* The canonical text of a type for a message, palloc'd. */
extern char *db_abi_type_name(const struct evm_abi_type *type);

/* What follows raises with the place when the value is not one of the type. */
extern void db_set_integer(struct evm_abi_value *out, const struct evm_abi_type *type,
						   Datum numeric, const struct db_place *place);
extern void db_set_bytes(struct evm_abi_value *out, const struct evm_abi_type *type,
						 struct evm_bytes bytes, const struct db_place *place);
/* Makes room for the elements of an array. */
extern void db_set_items(struct evm_arena *arena, struct evm_abi_value *out,
						 const struct evm_abi_type *type, size_t count,
						 const struct db_place *place);

#endif /* DB_DATUM_PLACE_H */
