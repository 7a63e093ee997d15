/*
 * datum.h
 *	  Between ABI values (src/evm/abi.h) and what SQL sees of them (DESIGN §2, Types).
 */
#ifndef DB_DATUM_H
#define DB_DATUM_H

#include "postgres.h"

#include "db/compat.h"
#include "evm/abi.h"
#include "utils/jsonb.h"

/* OIDs of our types in this database, looked up once and again after DROP/CREATE EXTENSION. */
struct db_types
{
	Oid address;
	Oid address_array;
	Oid hex;
	Oid hex_array;
};
extern const struct db_types *db_types(void);

/* An arena whose memory belongs to the given context; freed with it.  Never raises while in use. */
extern struct evm_arena *db_arena_create(MemoryContext context, size_t limit_bytes);

/*
 * Turns a status of the pure layer into ereport(ERROR): fitting SQLSTATE, "what: message", or the
 * message alone when what is NULL.
 */
pg_noreturn extern void db_raise(const struct evm_error *error, const char *what);
/* The SQLSTATE that db_raise gives a status. */
extern int db_sqlstate(enum evm_status status);

/* rflow.address: 20 bytes by reference, fixed.  rflow.hex: a varlena like bytea. */
extern Datum db_address_datum(const struct evm_address *address);
extern const struct evm_address *db_datum_address(Datum datum);
extern Datum db_hex_datum(const uint8 *data, size_t len);
/* Borrowed from the (detoasted) datum. */
extern struct evm_bytes db_datum_hex(Datum datum);

/* uint256/int256 and numeric, exact.  False when the numeric is not an integer or does not fit. */
extern Datum db_word_numeric(const struct evm_word *word, bool is_signed);
extern bool db_numeric_word(struct evm_word *out, bool *negative, Datum numeric);
/* A numeric for a message: without zeros at its end. */
extern char *db_numeric_text(Datum numeric);

/*
 * UTF-8 of a contract as text of the server's encoding, not terminated: borrowed from the bytes
 * or palloc'd.  NULL when it is not valid, has a NUL, or a character that the encoding lacks.
 */
extern const char *db_utf8_to_server(size_t *len, struct evm_bytes utf8);
/*
 * Text that the pure layer made for people (the words of a revert), in the server's encoding,
 * palloc'd and terminated.  Characters that the encoding lacks are written \u{20ac}.
 */
extern char *db_utf8_for_people(const char *utf8);
/* The reverse; raises on a character that Unicode lacks. */
extern struct evm_bytes db_server_to_utf8(const char *text, size_t len);

/* The SQL type that an ABI type is seen as (numeric, rflow.address, numeric[], jsonb, …). */
extern Oid db_abi_type_oid(const struct evm_abi_type *type, bool indexed_dynamic_hash);

/*
 * A decoded value as a Datum of db_abi_type_oid; palloc'd in the current context.
 * A string that is not valid text (bad UTF-8, NUL) is NULL.
 */
extern Datum db_abi_to_datum(const struct evm_abi_type *type, const struct evm_abi_value *value,
							 bool *isnull);
/*
 * The reverse; raises naming `what` on a value that the ABI type cannot hold (never rounds).
 * Items are in the arena; bytes borrow from the datum or are palloc'd in the current context.
 */
extern void db_abi_from_datum(struct evm_arena *arena, struct evm_abi_value *out,
							  const struct evm_abi_type *type, Datum datum, bool isnull,
							  const char *what);

/* "arg" and a number. */
#define DB_ARG_NAME_BYTES 24

/*
 * The name of a parameter in jsonb: its own, or argN (counted from 0, in buffer) where it has
 * none, shares it, or is called like the argN of another.
 */
extern const char *db_abi_member_name(char buffer[DB_ARG_NAME_BYTES],
									  const struct evm_abi_param *params, size_t count,
									  size_t position);
/* Whether all components have names of their own, so that the tuple is an object in jsonb. */
extern bool db_abi_tuple_is_object(const struct evm_abi_type *tuple);

/*
 * The JSON forms: integers up to 48 declared bits are numbers, wider ones decimal strings;
 * addresses checksummed; tuples objects by name, arrays where a component is unnamed or names
 * collide.  A string that is not valid text is {"bytes": "0x…"}.  A hashed indexed value is
 * {"hash": "0x…"}.
 * Pushed onto *state as an element or as the value of the last key; when *state is NULL, what
 * is returned is the whole, for JsonbValueToJsonb.
 */
extern JsonbValue *db_abi_to_jsonb(JsonbParseState **state, const struct evm_abi_type *type,
								   const struct evm_abi_value *value);
/* An object of all parameters by name, argN where unnamed or names collide. */
extern Jsonb *db_abi_params_to_jsonb(const struct evm_abi_param *params, size_t count,
									 const struct evm_abi_value *values);
/*
 * The reverse.  Integers may be numbers or strings of decimal or 0x digits, tuples objects or
 * arrays, parameters an object by the names above or an array.  No member may be missing or
 * unknown.  Bytes as for db_abi_from_datum.
 */
extern void db_abi_from_jsonb(struct evm_arena *arena, struct evm_abi_value *out,
							  const struct evm_abi_type *type, const JsonbValue *json,
							  const char *what);
extern struct evm_abi_value *db_abi_params_from_jsonb(struct evm_arena *arena,
													  const struct evm_abi_param *params,
													  size_t count, Jsonb *json, const char *what);

#endif /* DB_DATUM_H */
