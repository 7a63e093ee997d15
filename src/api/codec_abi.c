/*
 * codec_abi.c
 *	  rflow.abi(): human-readable fragments and JSON ABIs to one JSON ABI; topics and selectors.
 */
#include "postgres.h"

#include "api/codec_source.h"
#include "catalog/pg_type.h"
#include "db/datum.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#define SELECTOR_BYTES 4

/* The texts, sorted into what they are. */
struct abi_texts
{
	char **fragments;
	int *fragment_numbers; /* of the argument, from 1 */
	int fragment_count;
	char **jsons;
	int *json_numbers;
	int json_count;
};

static bool
is_json(const char *text)
{
	text += strspn(text, " \t\r\n");
	return *text == '[' || *text == '{';
}

static void
sort_texts(struct abi_texts *out, ArrayType *array)
{
	Datum *datums;
	bool *nulls;
	int count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &datums, &nulls, &count);
	out->fragments = palloc(count * sizeof(char *));
	out->fragment_numbers = palloc(count * sizeof(int));
	out->jsons = palloc(count * sizeof(char *));
	out->json_numbers = palloc(count * sizeof(int));
	out->fragment_count = 0;
	out->json_count = 0;
	for (int i = 0; i < count; i++)
	{
		char *fragment;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("fragment %d of the ABI is NULL", i + 1)));
		fragment = TextDatumGetCString(datums[i]);
		if (is_json(fragment))
		{
			out->json_numbers[out->json_count] = i + 1;
			out->jsons[out->json_count++] = fragment;
		}
		else
		{
			out->fragment_numbers[out->fragment_count] = i + 1;
			out->fragments[out->fragment_count++] = fragment;
		}
	}
}

/* Fragments are parsed together: a struct may be in another one than its user. */
static void
parse_fragments(struct evm_arena *arena, struct evm_abi *out, const struct abi_texts *texts)
{
	struct evm_bytes *fragments = palloc0((texts->fragment_count + 1) * sizeof(*fragments));
	struct evm_error err;
	size_t which;

	for (int i = 0; i < texts->fragment_count; i++)
	{
		fragments[i].data = (const uint8 *) texts->fragments[i];
		fragments[i].len = strlen(texts->fragments[i]);
	}
	if (evm_abi_parse_fragments(arena, out, fragments, (size_t) texts->fragment_count, &which,
								&err) == EVM_OK)
		return;
	if (which >= (size_t) texts->fragment_count)
		db_raise(&err, "abi");
	api_raise_in_text(&err, psprintf("fragment %d of the ABI", texts->fragment_numbers[which]),
					  texts->fragments[which]);
}

static void
parse_json(struct evm_arena *arena, struct evm_abi *out, const char *text, int number)
{
	struct evm_error err;

	if (evm_abi_parse_json(arena, out, NULL, text, strlen(text), &err) != EVM_OK)
		db_raise(&err, psprintf("JSON ABI in fragment %d", number));
}

static void
append_items(struct evm_abi *all, const struct evm_abi *more)
{
	size_t count = all->item_count + more->item_count;
	struct evm_abi_item *items;

	if (count > EVM_ABI_MAX_ITEMS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("abi: more than %d items", EVM_ABI_MAX_ITEMS)));
	items = palloc((count + 1) * sizeof(*items));
	if (all->item_count > 0)
		memcpy(items, all->items, all->item_count * sizeof(*items));
	if (more->item_count > 0)
		memcpy(items + all->item_count, more->items, more->item_count * sizeof(*items));
	all->items = items;
	all->item_count = count;
}

PG_FUNCTION_INFO_V1(rflow_abi);
Datum
rflow_abi(PG_FUNCTION_ARGS)
{
	struct evm_arena *arena = api_codec_arena();
	struct evm_abi all = {NULL, 0};
	struct evm_abi part;
	struct evm_bytes json;
	struct abi_texts texts;

	sort_texts(&texts, PG_GETARG_ARRAYTYPE_P(0));
	for (int i = 0; i < texts.json_count; i++)
	{
		parse_json(arena, &part, texts.jsons[i], texts.json_numbers[i]);
		append_items(&all, &part);
	}
	parse_fragments(arena, &part, &texts);
	append_items(&all, &part);
	if (evm_abi_to_json(arena, &json, &all) != EVM_OK)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("abi: too large")));
	return DirectFunctionCall1(jsonb_in,
							   CStringGetDatum(pnstrdup((const char *) json.data, json.len)));
}

PG_FUNCTION_INFO_V1(rflow_event_topic);
Datum
rflow_event_topic(PG_FUNCTION_ARGS)
{
	const struct evm_abi_item *event = api_source(fcinfo, 0, API_SOURCE_EVENT)->item;

	if (event->anonymous)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("event %s is anonymous: its logs have no topic that names it",
						event->name)));
	return db_hex_datum(event->hash.b, sizeof(event->hash));
}

PG_FUNCTION_INFO_V1(rflow_function_selector);
Datum
rflow_function_selector(PG_FUNCTION_ARGS)
{
	const struct evm_abi_item *item = api_source(fcinfo, 0, API_SOURCE_FUNCTION)->item;

	if (item->kind != EVM_ABI_ITEM_FUNCTION && item->kind != EVM_ABI_ITEM_ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a constructor, fallback or receive has no selector")));
	return db_hex_datum(item->hash.b, SELECTOR_BYTES);
}
