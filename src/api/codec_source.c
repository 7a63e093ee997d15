/*
 * codec_source.c
 *	  ABIs, fragments and lists of types as arguments of SQL functions.
 *
 * A query that decodes a table of logs passes the same ABI for each row, and parsing it takes
 * longer than decoding: the result stays with the call site (fn_extra) until the argument changes.
 */
#include "postgres.h"

#include "api/codec_source.h"

#include "db/datum.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

#define BLANKS " \t\r\n"

struct evm_arena *
api_codec_arena(void)
{
	return db_arena_create(CurrentMemoryContext, API_CODEC_ARENA_BYTES);
}

void
api_raise_in_text(const struct evm_error *err, const char *what, const char *text)
{
	size_t len = strlen(text);
	int before = (int) Min(err->position, len);

	ereport(ERROR,
			(errcode(db_sqlstate(err->status)), errmsg("%s: %s", what, err->message),
			 internalerrposition(pg_mbstrlen_with_len(text, before) + 1), internalerrquery(text)));
	pg_unreachable();
}

static void
parse_abi(struct api_source *source, struct evm_arena *arena, struct varlena *json)
{
	char *text = JsonbToCString(NULL, &((Jsonb *) json)->root, VARSIZE(json));
	struct evm_error err;

	if (evm_abi_parse_json(arena, &source->abi, NULL, text, strlen(text), &err) != EVM_OK)
		db_raise(&err, "abi");
}

/* Whether a fragment says what it declares; a bare signature does not. */
static bool
has_keyword(const char *text)
{
	static const char *const keywords[] = {"event",       "function", "error",  "struct",
										   "constructor", "fallback", "receive"};
	size_t len;

	text += strspn(text, BLANKS);
	len = strcspn(text, BLANKS "(");
	for (int i = 0; i < lengthof(keywords); i++)
	{
		if (strlen(keywords[i]) == len && memcmp(keywords[i], text, len) == 0)
			return true;
	}
	return false;
}

static void
parse_fragment(struct api_source *source, struct evm_arena *arena, const char *text,
			   enum api_source_kind kind)
{
	const char *what = kind == API_SOURCE_EVENT ? "event" : "function";
	struct evm_bytes fragment;
	struct evm_error err;
	bool is_event;

	if (kind == API_SOURCE_EVENT && !has_keyword(text))
		text = psprintf("event %s", text);
	fragment.data = (const uint8 *) text;
	fragment.len = strlen(text);
	if (evm_abi_parse_fragments(arena, &source->abi, &fragment, 1, NULL, &err) != EVM_OK)
		api_raise_in_text(&err, what, text);
	source->item = &source->abi.items[0];
	is_event = source->item->kind == EVM_ABI_ITEM_EVENT;
	if (is_event != (kind == API_SOURCE_EVENT))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is not %s", text, is_event ? "a function or error" : "an event")));
}

static void
parse_types(struct api_source *source, struct evm_arena *arena, const char *text)
{
	struct evm_error err;

	if (evm_abi_parse_params(arena, &source->params, &source->param_count, text, strlen(text),
							 &err) != EVM_OK)
		api_raise_in_text(&err, "types", text);
}

static struct api_source *
parse_source(MemoryContext context, struct varlena *argument, enum api_source_kind kind)
{
	struct api_source *source = palloc0(sizeof(*source));
	struct evm_arena *arena = db_arena_create(context, API_CODEC_ARENA_BYTES);

	source->context = context;
	source->given_len = VARSIZE(argument);
	source->given = palloc(source->given_len);
	memcpy(source->given, argument, source->given_len);
	switch (kind)
	{
		case API_SOURCE_ABI:
			parse_abi(source, arena, argument);
			break;
		case API_SOURCE_EVENT:
		case API_SOURCE_FUNCTION:
			parse_fragment(source, arena, text_to_cstring((text *) argument), kind);
			break;
		case API_SOURCE_TYPES:
			parse_types(source, arena, text_to_cstring((text *) argument));
			break;
	}
	return source;
}

const struct api_source *
api_source(FunctionCallInfo fcinfo, int n, enum api_source_kind kind)
{
	struct api_source *kept = fcinfo->flinfo->fn_extra;
	struct varlena *argument;
	MemoryContext context;
	MemoryContext caller;

	/* Functions of "any" cannot be strict: NULL may be among their values. */
	if (PG_ARGISNULL(n))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument %d of %s is NULL", n + 1,
						format_procedure(fcinfo->flinfo->fn_oid))));
	argument = PG_GETARG_VARLENA_P(n);
	if (kept != NULL && kept->given_len == VARSIZE(argument) &&
		memcmp(kept->given, argument, kept->given_len) == 0)
		return kept;
	fcinfo->flinfo->fn_extra = NULL;
	if (kept != NULL)
		MemoryContextDelete(kept->context);
	context =
		AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "rflow parsed ABI", ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(context);
	kept = parse_source(context, argument, kind);
	MemoryContextSwitchTo(caller);
	fcinfo->flinfo->fn_extra = kept;
	return kept;
}
