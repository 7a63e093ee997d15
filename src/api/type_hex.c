/*
 * type_hex.c
 *	  rflow.hex: bytes, written as "0x" and digits; stored as bytea is.
 */
#include "postgres.h"

#include "api/hex_text.h"
#include "common/hashfn.h"
#include "db/datum.h"
#include "evm/hex.h"
#include "evm/word.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#define PREFIX_BYTES 2

/* ---- text and binary form --------------------------------------------------------- */

static const char *
input_hint(const char *text)
{
	if (strncmp(text, "\\x", PREFIX_BYTES) == 0)
		return "That is how bytea is written: cast it to bytea first.";
	return "Write bytes as 0x and two hexadecimal digits for each.";
}

PG_FUNCTION_INFO_V1(rflow_hex_in);
Datum
rflow_hex_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	size_t len = strlen(text);
	struct varlena *hex = palloc(VARHDRSZ + len / 2 + 1);
	struct evm_error err;
	size_t decoded;

	if (evm_hex_decode((uint8 *) VARDATA(hex), &decoded, text, len, &err) != EVM_OK)
	{
		api_refuse_input(fcinfo->context, "rflow.hex", text, &err, input_hint(text));
		PG_RETURN_NULL();
	}
	SET_VARSIZE(hex, VARHDRSZ + decoded);
	PG_RETURN_POINTER(hex);
}

PG_FUNCTION_INFO_V1(rflow_hex_out);
Datum
rflow_hex_out(PG_FUNCTION_ARGS)
{
	struct evm_bytes bytes = db_datum_hex(PG_GETARG_DATUM(0));
	char *text = palloc(PREFIX_BYTES + 2 * bytes.len + 1);

	memcpy(text, "0x", PREFIX_BYTES);
	evm_hex_digits(text + PREFIX_BYTES, bytes.data, bytes.len);
	text[PREFIX_BYTES + 2 * bytes.len] = '\0';
	PG_RETURN_CSTRING(text);
}

PG_FUNCTION_INFO_V1(rflow_hex_recv);
Datum
rflow_hex_recv(PG_FUNCTION_ARGS)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int len = message->len - message->cursor;

	return db_hex_datum((const uint8 *) pq_getmsgbytes(message, len), (size_t) len);
}

PG_FUNCTION_INFO_V1(rflow_hex_send);
Datum
rflow_hex_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(PG_GETARG_BYTEA_P_COPY(0));
}

PG_FUNCTION_INFO_V1(rflow_try_hex);
Datum
rflow_try_hex(PG_FUNCTION_ARGS)
{
	text *input = PG_GETARG_TEXT_PP(0);
	size_t len = VARSIZE_ANY_EXHDR(input);
	struct varlena *hex = palloc(VARHDRSZ + len / 2 + 1);
	size_t decoded;

	if (evm_hex_decode((uint8 *) VARDATA(hex), &decoded, VARDATA_ANY(input), len, NULL) != EVM_OK)
		PG_RETURN_NULL();
	SET_VARSIZE(hex, VARHDRSZ + decoded);
	PG_RETURN_POINTER(hex);
}

/* ---- integers ----------------------------------------------------------------------- */

PG_FUNCTION_INFO_V1(rflow_hex_to_numeric);
Datum
rflow_hex_to_numeric(PG_FUNCTION_ARGS)
{
	struct evm_bytes bytes = db_datum_hex(PG_GETARG_DATUM(0));
	struct evm_word word;

	if (bytes.len > sizeof(word))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%zu bytes are more than the %zu of a 256-bit integer", bytes.len,
						sizeof(word))));
	evm_word_from_be(&word, bytes.data, bytes.len);
	return db_word_numeric(&word, false);
}

PG_FUNCTION_INFO_V1(rflow_hex_from_numeric);
Datum
rflow_hex_from_numeric(PG_FUNCTION_ARGS)
{
	int len = PG_GETARG_INT32(1);
	uint8 data[sizeof(struct evm_word)];
	struct evm_word word;
	bool negative;

	if (len < 1 || len > (int) sizeof(data))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("length must be between 1 and %zu bytes, not %d", sizeof(data), len)));
	if (!db_numeric_word(&word, &negative, PG_GETARG_DATUM(0)) || negative ||
		!evm_word_fits_unsigned(&word, 8 * (unsigned) len))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s is no unsigned integer of %d bytes",
						db_numeric_text(PG_GETARG_DATUM(0)), len)));
	evm_word_to_be(data, &word);
	return db_hex_datum(data + sizeof(data) - len, (size_t) len);
}

/* ---- comparison --------------------------------------------------------------------- */

static int
compare(struct evm_bytes a, struct evm_bytes b)
{
	size_t common = Min(a.len, b.len);
	int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

	if (order != 0 || a.len == b.len)
		return order;
	return a.len < b.len ? -1 : 1;
}

/* Frees what was detoasted: an index build compares in one memory context. */
static int
compare_args(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);
	int order = compare(db_datum_hex(PointerGetDatum(a)), db_datum_hex(PointerGetDatum(b)));

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return order;
}

#define HEX_COMPARISON(name, relation) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_BOOL(compare_args(fcinfo) relation 0); \
	}

HEX_COMPARISON(rflow_hex_eq, ==)
HEX_COMPARISON(rflow_hex_ne, !=)
HEX_COMPARISON(rflow_hex_lt, <)
HEX_COMPARISON(rflow_hex_le, <=)
HEX_COMPARISON(rflow_hex_gt, >)
HEX_COMPARISON(rflow_hex_ge, >=)

PG_FUNCTION_INFO_V1(rflow_hex_cmp);
Datum
rflow_hex_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_args(fcinfo));
}

PG_FUNCTION_INFO_V1(rflow_hex_larger);
Datum
rflow_hex_larger(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(compare_args(fcinfo) >= 0 ? 0 : 1));
}

PG_FUNCTION_INFO_V1(rflow_hex_smaller);
Datum
rflow_hex_smaller(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(compare_args(fcinfo) <= 0 ? 0 : 1));
}

PG_FUNCTION_INFO_V1(rflow_hex_hash);
Datum
rflow_hex_hash(PG_FUNCTION_ARGS)
{
	struct varlena *hex = PG_GETARG_VARLENA_PP(0);
	Datum hash = hash_any((unsigned char *) VARDATA_ANY(hex), VARSIZE_ANY_EXHDR(hex));

	PG_FREE_IF_COPY(hex, 0);
	return hash;
}

PG_FUNCTION_INFO_V1(rflow_hex_hash_extended);
Datum
rflow_hex_hash_extended(PG_FUNCTION_ARGS)
{
	struct varlena *hex = PG_GETARG_VARLENA_PP(0);
	Datum hash = hash_any_extended((unsigned char *) VARDATA_ANY(hex), VARSIZE_ANY_EXHDR(hex),
								   (uint64) PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(hex, 0);
	return hash;
}
