/*
 * codec_items.c
 *	  rflow.abi_items(): what an ABI has, an item a row.
 */
#include "postgres.h"

#include "api/codec_source.h"
#include "db/datum.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

/* Four bytes tell functions and errors apart, the whole hash events. */
#define SELECTOR_BYTES 4

enum item_column
{
	COLUMN_KIND,
	COLUMN_NAME,
	COLUMN_SIGNATURE,
	COLUMN_ID,
	COLUMN_DECLARATION,
	ITEM_COLUMNS
};

static const char *
kind_name(enum evm_abi_item_kind kind)
{
	switch (kind)
	{
		case EVM_ABI_ITEM_FUNCTION:
			return "function";
		case EVM_ABI_ITEM_EVENT:
			return "event";
		case EVM_ABI_ITEM_ERROR:
			return "error";
		case EVM_ABI_ITEM_CONSTRUCTOR:
			return "constructor";
		case EVM_ABI_ITEM_FALLBACK:
			return "fallback";
		case EVM_ABI_ITEM_RECEIVE:
			return "receive";
	}
	return "unknown";
}

/* Bytes of the hash by which the chain knows an item; 0: by none. */
static size_t
id_bytes(const struct evm_abi_item *item)
{
	switch (item->kind)
	{
		case EVM_ABI_ITEM_FUNCTION:
		case EVM_ABI_ITEM_ERROR:
			return SELECTOR_BYTES;
		case EVM_ABI_ITEM_EVENT:
			return item->anonymous ? 0 : sizeof(item->hash.b);
		default:
			return 0;
	}
}

static void
put_text(Datum *values, bool *nulls, enum item_column column, const char *text)
{
	nulls[column] = text[0] == '\0';
	if (text[0] != '\0')
		values[column] = CStringGetTextDatum(db_utf8_for_people(text));
}

PG_FUNCTION_INFO_V1(rflow_abi_items);
Datum
rflow_abi_items(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const struct evm_abi *abi = &api_source(fcinfo, 0, API_SOURCE_ABI)->abi;
	struct evm_arena *arena;

	InitMaterializedSRF(fcinfo, 0);
	arena = api_codec_arena();
	for (size_t i = 0; i < abi->item_count; i++)
	{
		const struct evm_abi_item *item = &abi->items[i];
		char *declaration = evm_abi_item_text(arena, item);
		Datum values[ITEM_COLUMNS];
		bool nulls[ITEM_COLUMNS] = {false};

		if (declaration == NULL)
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("the ABI is too large")));
		put_text(values, nulls, COLUMN_KIND, kind_name(item->kind));
		put_text(values, nulls, COLUMN_NAME, item->name);
		put_text(values, nulls, COLUMN_SIGNATURE, item->signature);
		put_text(values, nulls, COLUMN_DECLARATION, declaration);
		nulls[COLUMN_ID] = id_bytes(item) == 0;
		values[COLUMN_ID] = db_hex_datum(item->hash.b, id_bytes(item));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
