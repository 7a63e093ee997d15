/*
 * datum_place.c
 *	  Checks that a scalar is one of its ABI type, with messages that say where it was.
 */
#include "postgres.h"

#include "db/datum_place.h"

#include "db/datum.h"
#include "evm/word.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

/* An address and a selector. */
#define FUNCTION_BYTES 24

/* Enough for the text of any type that is worth a message. */
#define TYPE_NAME_ARENA_BYTES (64 * 1024)

static void
append_place(StringInfo text, const struct db_place *place)
{
	if (place->outer != NULL)
		append_place(text, place->outer);
	switch (place->kind)
	{
		case DB_PLACE_WHOLE:
			appendStringInfoString(text, place->name);
			break;
		case DB_PLACE_ARGUMENT:
			appendStringInfo(text, ": argument " UINT64_FORMAT, place->index + 1);
			if (place->name[0] != '\0')
				appendStringInfo(text, " (%s)", place->name);
			break;
		case DB_PLACE_COMPONENT:
			if (place->name[0] == '\0')
				appendStringInfo(text, "." UINT64_FORMAT, place->index);
			else
				appendStringInfo(text, ".%s", place->name);
			break;
		case DB_PLACE_ELEMENT:
			appendStringInfo(text, "[" UINT64_FORMAT "]", place->index);
			break;
	}
}

char *
db_place_text(const struct db_place *place)
{
	StringInfoData text;

	initStringInfo(&text);
	append_place(&text, place);
	return text.data;
}

char *
db_abi_type_name(const struct evm_abi_type *type)
{
	struct evm_arena *arena = db_arena_create(CurrentMemoryContext, TYPE_NAME_ARENA_BYTES);
	char *text = evm_abi_type_text(arena, type);

	return text == NULL ? pstrdup("its type") : text;
}

static bool
integer_fits(const struct evm_abi_type *type, const struct evm_word *word, bool negative)
{
	if (type->kind == EVM_ABI_UINT)
		return !negative && evm_word_fits_unsigned(word, type->size);
	/* A positive number of 256 bits reads as a negative one. */
	return negative == evm_word_is_negative(word) && evm_word_fits_signed(word, type->size);
}

static bool
is_integral(Datum numeric)
{
	Datum whole = DirectFunctionCall2(numeric_trunc, numeric, Int32GetDatum(0));

	return DatumGetBool(DirectFunctionCall2(numeric_eq, numeric, whole));
}

void
db_set_integer(struct evm_abi_value *out, const struct evm_abi_type *type, Datum numeric,
			   const struct db_place *place)
{
	bool negative;
	char *shown;

	if (db_numeric_word(&out->word, &negative, numeric) && integer_fits(type, &out->word, negative))
		return;
	shown = db_numeric_text(numeric);
	if (!is_integral(numeric))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: %s is not an integer", db_place_text(place), shown)));
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s: %s does not fit %s", db_place_text(place), shown,
					db_abi_type_name(type))));
}

void
db_set_bytes(struct evm_abi_value *out, const struct evm_abi_type *type, struct evm_bytes bytes,
			 const struct db_place *place)
{
	size_t wanted = bytes.len;

	if (type->kind == EVM_ABI_FIXED_BYTES)
		wanted = type->size;
	else if (type->kind == EVM_ABI_FUNCTION)
		wanted = FUNCTION_BYTES;
	if (bytes.len != wanted)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_LENGTH_MISMATCH),
				 errmsg("%s: %s takes %zu bytes, not %zu", db_place_text(place),
						db_abi_type_name(type), wanted, bytes.len)));
	out->bytes = bytes;
}

void
db_set_items(struct evm_arena *arena, struct evm_abi_value *out, const struct evm_abi_type *type,
			 size_t count, const struct db_place *place)
{
	if (type->kind == EVM_ABI_ARRAY && type->length != EVM_ABI_DYNAMIC_LENGTH &&
		type->length != count)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s: %s takes " UINT64_FORMAT " elements, not %zu", db_place_text(place),
						db_abi_type_name(type), type->length, count)));
	out->item_count = count;
	out->items = evm_arena_zalloc(arena, count, sizeof(*out->items));
	if (out->items == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s: %zu elements need more memory than allowed", db_place_text(place),
						count)));
}
