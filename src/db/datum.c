/*
 * datum.c
 *	  Addresses, bytes, integers and text between the pure layer and SQL.
 *
 * An integer becomes a numeric, and back, through the binary form of numeric_send and
 * numeric_recv, which is public and as fast as the private one is worth.
 */
#include "postgres.h"

#include "db/datum.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "evm/word.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

/* The binary form of a numeric: four 16-bit fields, then digits of base 10000. */
#define NUMERIC_HEADER_BYTES 8
#define NUMERIC_BASE 10000
#define NUMERIC_NEGATIVE 0x4000

/* A chunk of a word that fits 64 bits: four digits of base 10000. */
#define CHUNK_NUMERIC_DIGITS 4
#define CHUNK_BASE UINT64CONST(10000000000000000)

/* 2^256 has 78 decimal digits. */
#define WORD_CHUNKS 5
#define WORD_NUMERIC_DIGITS (WORD_CHUNKS * CHUNK_NUMERIC_DIGITS)

/* ---- types -------------------------------------------------------------------- */

/* Changes of types that this process was told of, and the count that the cache is good for. */
static uint64 type_changes = 1;
static uint64 types_good_for = 0;
static struct db_types types;

static void
count_type_change(Datum arg, int cacheid, uint32 hash)
{
	type_changes++;
}

static Oid
find_type(Oid schema, const char *name)
{
	Oid type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
							   ObjectIdGetDatum(schema));

	if (!OidIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("type rflow.%s does not exist", name)));
	return type;
}

const struct db_types *
db_types(void)
{
	static bool registered = false;
	uint64 good_for;
	struct db_types found;
	Oid schema;

	if (types_good_for == type_changes)
		return &types;
	if (!registered)
	{
		CacheRegisterSyscacheCallback(TYPEOID, count_type_change, (Datum) 0);
		registered = true;
	}
	/* A change that arrives during the look-ups makes their result stale, so count first. */
	good_for = type_changes;
	schema = get_namespace_oid("rflow", false);
	found.address = find_type(schema, "address");
	found.address_array = get_array_type(found.address);
	found.hex = find_type(schema, "hex");
	found.hex_array = get_array_type(found.hex);
	types = found;
	types_good_for = good_for;
	return &types;
}

/* ---- bytes ---------------------------------------------------------------------- */

Datum
db_address_datum(const struct evm_address *address)
{
	struct evm_address *copy = palloc(sizeof(*copy));

	*copy = *address;
	return PointerGetDatum(copy);
}

const struct evm_address *
db_datum_address(Datum datum)
{
	return (const struct evm_address *) DatumGetPointer(datum);
}

Datum
db_hex_datum(const uint8 *data, size_t len)
{
	struct varlena *hex = palloc(VARHDRSZ + len);

	SET_VARSIZE(hex, VARHDRSZ + len);
	if (len > 0)
		memcpy(VARDATA(hex), data, len);
	return PointerGetDatum(hex);
}

struct evm_bytes
db_datum_hex(Datum datum)
{
	struct varlena *hex = PG_DETOAST_DATUM_PACKED(datum);
	struct evm_bytes bytes = {(const uint8 *) VARDATA_ANY(hex), VARSIZE_ANY_EXHDR(hex)};

	return bytes;
}

/* ---- integers ------------------------------------------------------------------- */

static inline void
put_uint16(uint8 *out, unsigned value)
{
	out[0] = (uint8) (value >> 8);
	out[1] = (uint8) value;
}

static inline unsigned
get_uint16(const uint8 *data)
{
	return (unsigned) data[0] << 8 | data[1];
}

/*
 * Writes the digits of base 10000 in big-endian order so that they end before end; the first one
 * is not a zero when value is not.  Returns where they begin.
 */
static uint8 *
word_to_numeric_digits(uint8 *end, struct evm_word value)
{
	uint8 *p = end;

	while (!evm_word_is_zero(&value))
	{
		uint64 chunk = evm_word_div_u64(&value, &value, CHUNK_BASE);
		bool last = evm_word_is_zero(&value);

		for (int j = 0; j < CHUNK_NUMERIC_DIGITS && (chunk != 0 || !last); j++)
		{
			p -= 2;
			put_uint16(p, (unsigned) (chunk % NUMERIC_BASE));
			chunk /= NUMERIC_BASE;
		}
	}
	return p;
}

Datum
db_word_numeric(const struct evm_word *word, bool is_signed)
{
	uint8 wire[NUMERIC_HEADER_BYTES + 2 * WORD_NUMERIC_DIGITS];
	uint8 *end = wire + sizeof(wire);
	bool negative = is_signed && evm_word_is_negative(word);
	struct evm_word magnitude = *word;
	StringInfoData message;
	uint8 *digits;
	unsigned count;

	if (negative)
		evm_word_negate(&magnitude, word);
	if (evm_word_bits(&magnitude) < 64)
	{
		int64 small = (int64) magnitude.limb[0];

		return NumericGetDatum(int64_to_numeric(negative ? -small : small));
	}
	digits = word_to_numeric_digits(end, magnitude);
	count = (unsigned) (end - digits) / 2;
	message.data = (char *) digits - NUMERIC_HEADER_BYTES;
	message.len = (int) ((char *) end - message.data);
	message.maxlen = message.len;
	message.cursor = 0;
	put_uint16((uint8 *) message.data, count);
	put_uint16((uint8 *) message.data + 2, count - 1); /* weight of the first digit */
	put_uint16((uint8 *) message.data + 4, negative ? NUMERIC_NEGATIVE : 0);
	put_uint16((uint8 *) message.data + 6, 0); /* digits behind the point */
	return DirectFunctionCall3(numeric_recv, PointerGetDatum(&message),
							   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/* *word = *word * factor + addend; false when that needs more than 256 bits. */
static bool
multiply_add(struct evm_word *word, uint64 factor, uint64 addend)
{
	struct evm_word carry = evm_word_from_u64(addend);

	return !evm_word_mul_u64(word, word, factor) && !evm_word_add(word, word, &carry);
}

/* The integer whose first digit of base 10000 has the given weight. */
static bool
numeric_digits_to_word(struct evm_word *out, const uint8 *digits, int count, int weight)
{
	uint64 chunk = 0;
	uint64 factor = 1;

	*out = evm_word_zero;
	for (int i = 0; i <= weight; i++)
	{
		chunk = chunk * NUMERIC_BASE + (i < count ? get_uint16(digits + 2 * i) : 0);
		factor *= NUMERIC_BASE;
		if (factor == CHUNK_BASE || i == weight)
		{
			if (!multiply_add(out, factor, chunk))
				return false;
			chunk = 0;
			factor = 1;
		}
	}
	return true;
}

bool
db_numeric_word(struct evm_word *out, bool *negative, Datum numeric)
{
	bytea *wire = DatumGetByteaP(DirectFunctionCall1(numeric_send, numeric));
	const uint8 *data = (const uint8 *) VARDATA(wire);
	int count = (int) get_uint16(data);
	int weight = (int16) get_uint16(data + 2);
	unsigned sign = get_uint16(data + 4);
	bool fits;

	/* Other signs are NaN and infinities.  Trailing zeros are not stored, so digits tell. */
	fits = (sign == 0 || sign == NUMERIC_NEGATIVE) && weight < WORD_NUMERIC_DIGITS &&
		count <= weight + 1 &&
		numeric_digits_to_word(out, data + NUMERIC_HEADER_BYTES, count, weight);
	pfree(wire);
	if (!fits)
		return false;
	*negative = sign == NUMERIC_NEGATIVE;
	if (!*negative)
		return true;
	evm_word_negate(out, out);
	return evm_word_is_negative(out);
}

char *
db_numeric_text(Datum numeric)
{
	Datum trimmed = DirectFunctionCall1(numeric_trim_scale, numeric);

	return DatumGetCString(DirectFunctionCall1(numeric_out, trimmed));
}

/* ---- text ------------------------------------------------------------------------ */

const char *
db_utf8_to_server(size_t *len, struct evm_bytes utf8)
{
	int encoding = GetDatabaseEncoding();
	Oid conversion;
	size_t room = utf8.len * MAX_CONVERSION_GROWTH + 1;
	unsigned char *text;

	if (!evm_utf8_is_text(utf8.data, utf8.len))
		return NULL;
	*len = utf8.len;
	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII || utf8.len == 0)
		return (const char *) utf8.data;
	conversion = FindDefaultConversionProc(PG_UTF8, encoding);
	if (!OidIsValid(conversion) || utf8.len >= MaxAllocSize / MAX_CONVERSION_GROWTH)
		return NULL;
	text = palloc(room);
	if (pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding, (unsigned char *) utf8.data,
									  (int) utf8.len, text, (int) room, true) < (int) utf8.len)
	{
		pfree(text);
		return NULL;
	}
	*len = strlen((char *) text);
	return (const char *) text;
}

char *
db_utf8_for_people(const char *utf8)
{
	struct evm_bytes character = {(const uint8 *) utf8, strlen(utf8)};
	size_t len;
	const char *text = db_utf8_to_server(&len, character);
	StringInfoData shown;

	if (text != NULL)
		return pnstrdup(text, len);
	initStringInfo(&shown);
	while (*character.data != '\0')
	{
		character.len = (size_t) pg_utf_mblen(character.data);
		text = db_utf8_to_server(&len, character);
		if (text != NULL)
			appendBinaryStringInfo(&shown, text, (int) len);
		else
			appendStringInfo(&shown, "\\u{%x}", (unsigned) utf8_to_unicode(character.data));
		character.data += character.len;
	}
	return shown.data;
}

struct evm_bytes
db_server_to_utf8(const char *text, size_t len)
{
	char *utf8 = pg_server_to_any(text, (int) len, PG_UTF8);
	struct evm_bytes bytes = {(const uint8 *) utf8, utf8 == text ? len : strlen(utf8)};

	return bytes;
}
