/*
 * datum.h
 *	  Between ABI values (src/evm/abi.h) and what SQL sees of them (DESIGN §2, Types).
 */
#ifndef DB_DATUM_H
#define DB_DATUM_H

#include "postgres.h"

#include "evm/abi.h"
#include "utils/jsonb.h"

/* OIDs of our types in this database, looked up once and again after DROP/CREATE EXTENSION. */
struct db_types
{
	Oid			address;
	Oid			address_array;
	Oid			hex;
	Oid			hex_array;
};
extern const struct db_types *db_types(void);

/* An arena whose memory belongs to the given context; freed with it.  Never raises while in use. */
extern struct evm_arena *db_arena_create(MemoryContext context, size_t limit_bytes);

/* Turns a status of the pure layer into ereport(ERROR): fitting SQLSTATE, "what: message". */
extern void db_raise(const struct evm_error *error, const char *what) pg_attribute_noreturn();

/* rflow.address: 20 bytes by reference, fixed.  rflow.hex: a varlena like bytea. */
extern Datum db_address_datum(const struct evm_address *address);
extern const struct evm_address *db_datum_address(Datum datum);
extern Datum db_hex_datum(const uint8 *data, size_t len);
/* Borrowed from the (detoasted) datum. */
extern struct evm_bytes db_datum_hex(Datum datum);

/* uint256/int256 and numeric, exact.  False when the numeric is not an integer or does not fit. */
extern Datum db_word_numeric(const struct evm_word *word, bool is_signed);
extern bool db_numeric_word(struct evm_word *out, bool *negative, Datum numeric);

/* The SQL type that an ABI type is seen as (numeric, rflow.address, numeric[], jsonb, …). */
extern Oid	db_abi_type_oid(const struct evm_abi_type *type, bool indexed_dynamic_hash);

/*
 * A decoded value as a Datum of db_abi_type_oid; palloc'd in the current context.
 * A string that is not valid text (bad UTF-8, NUL) is NULL.
 */
extern Datum db_abi_to_datum(const struct evm_abi_type *type, const struct evm_abi_value *value,
							 bool *isnull);
/* The reverse; raises naming `what` on a value that the ABI type cannot hold (never rounds). */
extern void db_abi_from_datum(struct evm_arena *arena, struct evm_abi_value *out,
							  const struct evm_abi_type *type, Datum datum, bool isnull,
							  const char *what);

/*
 * The JSON forms: integers up to 48 declared bits are numbers, wider ones decimal strings;
 * addresses checksummed; tuples objects by name, arrays where a component is unnamed or names collide.
 * A string that is not valid text is {"bytes": "0x…"}.  A hashed indexed value is {"hash": "0x…"}.
 */
extern JsonbValue *db_abi_to_jsonb(JsonbParseState **state, const struct evm_abi_type *type,
								   const struct evm_abi_value *value);
/* An object of all parameters by name, argN where unnamed or names collide. */
extern Jsonb *db_abi_params_to_jsonb(const struct evm_abi_param *params, size_t count,
									 const struct evm_abi_value *values);
extern void db_abi_from_jsonb(struct evm_arena *arena, struct evm_abi_value *out,
							  const struct evm_abi_type *type, const JsonbValue *json,
							  const char *what);
extern struct evm_abi_value *db_abi_params_from_jsonb(struct evm_arena *arena,
													  const struct evm_abi_param *params,
													  size_t count, Jsonb *json, const char *what);

#endif							/* DB_DATUM_H */
