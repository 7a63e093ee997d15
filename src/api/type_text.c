/*
 * type_text.c
 *	  Operators between rflow.hex or rflow.address and text.
 *
 * Without them PostgreSQL would read the text as bytea, to which rflow.hex converts by itself,
 * and find nothing equal.
 */
#include "postgres.h"

#include "api/hex_text.h"
#include "common/hashfn.h"
#include "db/datum.h"
#include "evm/hex.h"
#include "fmgr.h"
#include "utils/builtins.h"

/* ---- equality ------------------------------------------------------------------------ */

static struct evm_bytes
address_bytes(Datum datum)
{
	struct evm_bytes bytes = {db_datum_address(datum)->b, sizeof(struct evm_address)};

	return bytes;
}

static bool
text_equals(Datum datum, struct evm_bytes bytes)
{
	text *written = DatumGetTextPP(datum);

	return api_text_is_hex_of(VARDATA_ANY(written), VARSIZE_ANY_EXHDR(written), bytes);
}

static bool
bytes_equal(struct evm_bytes a, struct evm_bytes b)
{
	return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

#define EQUALITY(name, expression) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) \
	{ \
		Datum a = PG_GETARG_DATUM(0); \
		Datum b = PG_GETARG_DATUM(1); \
\
		PG_RETURN_BOOL(expression); \
	}

EQUALITY(rflow_hex_eq_text, text_equals(b, db_datum_hex(a)))
EQUALITY(rflow_hex_ne_text, !text_equals(b, db_datum_hex(a)))
EQUALITY(rflow_text_eq_hex, text_equals(a, db_datum_hex(b)))
EQUALITY(rflow_text_ne_hex, !text_equals(a, db_datum_hex(b)))
EQUALITY(rflow_address_eq_text, text_equals(b, address_bytes(a)))
EQUALITY(rflow_address_ne_text, !text_equals(b, address_bytes(a)))
EQUALITY(rflow_text_eq_address, text_equals(a, address_bytes(b)))
EQUALITY(rflow_text_ne_address, !text_equals(a, address_bytes(b)))
EQUALITY(rflow_address_eq_hex, bytes_equal(address_bytes(a), db_datum_hex(b)))
EQUALITY(rflow_address_ne_hex, !bytes_equal(address_bytes(a), db_datum_hex(b)))
EQUALITY(rflow_hex_eq_address, bytes_equal(db_datum_hex(a), address_bytes(b)))
EQUALITY(rflow_hex_ne_address, !bytes_equal(db_datum_hex(a), address_bytes(b)))

/* ---- hashing --------------------------------------------------------------------------- */

/* The bytes that a text writes, palloc'd; or, when it writes none, the text itself. */
static struct evm_bytes
bytes_of_text(text *written, bool *is_hex)
{
	size_t len = VARSIZE_ANY_EXHDR(written);
	uint8 *decoded = palloc(len / 2 + 1);
	struct evm_bytes bytes = {decoded, 0};

	*is_hex = evm_hex_decode(decoded, &bytes.len, VARDATA_ANY(written), len, NULL) == EVM_OK;
	if (!*is_hex)
	{
		bytes.data = (const uint8 *) VARDATA_ANY(written);
		bytes.len = len;
	}
	return bytes;
}

/* Both write the same bytes, or are the same text: what makes the hash operator family whole. */
PG_FUNCTION_INFO_V1(rflow_text_eq_as_hex);
Datum
rflow_text_eq_as_hex(PG_FUNCTION_ARGS)
{
	bool a_is_hex;
	bool b_is_hex;
	struct evm_bytes a = bytes_of_text(PG_GETARG_TEXT_PP(0), &a_is_hex);
	struct evm_bytes b = bytes_of_text(PG_GETARG_TEXT_PP(1), &b_is_hex);

	PG_RETURN_BOOL(a_is_hex == b_is_hex && bytes_equal(a, b));
}

PG_FUNCTION_INFO_V1(rflow_text_hash_as_hex);
Datum
rflow_text_hash_as_hex(PG_FUNCTION_ARGS)
{
	bool is_hex;
	struct evm_bytes bytes = bytes_of_text(PG_GETARG_TEXT_PP(0), &is_hex);

	return hash_any(bytes.data, (int) bytes.len);
}

PG_FUNCTION_INFO_V1(rflow_text_hash_as_hex_extended);
Datum
rflow_text_hash_as_hex_extended(PG_FUNCTION_ARGS)
{
	bool is_hex;
	struct evm_bytes bytes = bytes_of_text(PG_GETARG_TEXT_PP(0), &is_hex);

	return hash_any_extended(bytes.data, (int) bytes.len, (uint64) PG_GETARG_INT64(1));
}

/* ---- LIKE and concatenation --------------------------------------------------------------- */

#define LIKE(name, expression) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) \
	{ \
		Datum a = PG_GETARG_DATUM(0); \
\
		PG_RETURN_BOOL(expression); \
	}

LIKE(rflow_hex_like, api_hex_like(db_datum_hex(a), PG_GETARG_TEXT_PP(1)))
LIKE(rflow_hex_not_like, !api_hex_like(db_datum_hex(a), PG_GETARG_TEXT_PP(1)))
LIKE(rflow_address_like, api_hex_like(address_bytes(a), PG_GETARG_TEXT_PP(1)))
LIKE(rflow_address_not_like, !api_hex_like(address_bytes(a), PG_GETARG_TEXT_PP(1)))

static Datum
concatenate(text *first, text *second)
{
	return DirectFunctionCall2(textcat, PointerGetDatum(first), PointerGetDatum(second));
}

PG_FUNCTION_INFO_V1(rflow_hex_concat_text);
Datum
rflow_hex_concat_text(PG_FUNCTION_ARGS)
{
	return concatenate(api_hex_to_text(db_datum_hex(PG_GETARG_DATUM(0))), PG_GETARG_TEXT_PP(1));
}

PG_FUNCTION_INFO_V1(rflow_text_concat_hex);
Datum
rflow_text_concat_hex(PG_FUNCTION_ARGS)
{
	return concatenate(PG_GETARG_TEXT_PP(0), api_hex_to_text(db_datum_hex(PG_GETARG_DATUM(1))));
}
