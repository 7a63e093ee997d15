/*
 * codec_units.c
 *	  Amounts with a decimal point, from and to integers of the smallest unit.
 *
 * Each function takes the decimals as a number or as the name of a unit (gwei, ether), and the
 * amount as numeric or text: the SQL declarations share these bodies.
 */
#include "postgres.h"

#include "db/datum.h"
#include "evm/units.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

static unsigned
checked_decimals(int32 decimals)
{
	if (decimals < 0 || decimals > EVM_UNITS_MAX_DECIMALS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("decimals must be between 0 and %d, not %d", EVM_UNITS_MAX_DECIMALS,
						decimals)));
	return (unsigned) decimals;
}

static unsigned
unit_decimals(text *unit)
{
	unsigned decimals;

	if (!evm_units_decimals(&decimals, VARDATA_ANY(unit), VARSIZE_ANY_EXHDR(unit)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unit \"%s\" is not known", text_to_cstring(unit)),
				 errhint("Units are wei, kwei, mwei, gwei, szabo, finney, ether; or give the "
						 "number of decimals.")));
	return decimals;
}

static Datum
parse(const char *amount, size_t len, unsigned decimals)
{
	struct evm_word word;
	struct evm_error err;
	bool negative;

	if (evm_units_parse(&word, &negative, amount, len, decimals, &err) != EVM_OK)
		db_raise(&err, psprintf("amount \"%.*s\"", (int) Min(len, 100), amount));
	return db_word_numeric(&word, negative);
}

static Datum
parse_text(text *amount, unsigned decimals)
{
	return parse(VARDATA_ANY(amount), VARSIZE_ANY_EXHDR(amount), decimals);
}

static Datum
parse_numeric(Datum amount, unsigned decimals)
{
	const char *written = DatumGetCString(DirectFunctionCall1(numeric_out, amount));

	return parse(written, strlen(written), decimals);
}

static Datum
format(Datum amount, unsigned decimals)
{
	char written[EVM_UNITS_TEXT_BYTES];
	struct evm_word word;
	bool negative;
	size_t len;

	if (!db_numeric_word(&word, &negative, amount))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s is not an integer of 256 bits", db_numeric_text(amount))));
	len = evm_units_format(written, &word, negative, decimals);
	return PointerGetDatum(cstring_to_text_with_len(written, (int) len));
}

PG_FUNCTION_INFO_V1(rflow_parse_units_text_int);
Datum
rflow_parse_units_text_int(PG_FUNCTION_ARGS)
{
	return parse_text(PG_GETARG_TEXT_PP(0), checked_decimals(PG_GETARG_INT32(1)));
}

PG_FUNCTION_INFO_V1(rflow_parse_units_text_unit);
Datum
rflow_parse_units_text_unit(PG_FUNCTION_ARGS)
{
	return parse_text(PG_GETARG_TEXT_PP(0), unit_decimals(PG_GETARG_TEXT_PP(1)));
}

PG_FUNCTION_INFO_V1(rflow_parse_units_numeric_int);
Datum
rflow_parse_units_numeric_int(PG_FUNCTION_ARGS)
{
	return parse_numeric(PG_GETARG_DATUM(0), checked_decimals(PG_GETARG_INT32(1)));
}

PG_FUNCTION_INFO_V1(rflow_parse_units_numeric_unit);
Datum
rflow_parse_units_numeric_unit(PG_FUNCTION_ARGS)
{
	return parse_numeric(PG_GETARG_DATUM(0), unit_decimals(PG_GETARG_TEXT_PP(1)));
}

PG_FUNCTION_INFO_V1(rflow_format_units_int);
Datum
rflow_format_units_int(PG_FUNCTION_ARGS)
{
	return format(PG_GETARG_DATUM(0), checked_decimals(PG_GETARG_INT32(1)));
}

PG_FUNCTION_INFO_V1(rflow_format_units_unit);
Datum
rflow_format_units_unit(PG_FUNCTION_ARGS)
{
	return format(PG_GETARG_DATUM(0), unit_decimals(PG_GETARG_TEXT_PP(1)));
}
