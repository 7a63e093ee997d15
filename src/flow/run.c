/*
 * run.c
 *	  Makes runs, fills their scope, and settles their steps in memory.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "evm/hex.h"
#include "flow/run.h"
#include "flow/scope.h"
#include "flow/step_kind.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Pauses between tries of a step that the node or the state of the chain did not let through. */
#define RETRY_FIRST_MS 500
#define RETRY_LONGEST_MS 60000
#define RETRY_MAX_ATTEMPTS 12
/*
 * A try that does not count waits for somebody else (a nonce of ours to be mined, a relayer to
 * start).
 */
#define RETRY_UNCOUNTED_MS 1000
/* Of each text of an error: what a person reads of it. */
#define ERROR_TEXT_MAX_BYTES 8192

static void
set_column(struct flow_run *run, int column, Datum value)
{
	run->values[column + 1] = value;
	run->nulls[column + 1] = false;
}

static void
format_uuid(char *out, const uint8 *id)
{
	static const int dashes[] = {4, 6, 8, 10};
	int next = 0;

	for (int i = 0; i < 16; i++)
	{
		if (next < (int) lengthof(dashes) && i == dashes[next])
		{
			*out++ = '-';
			next++;
		}
		evm_hex_digits(out, &id[i], 1);
		out += 2;
	}
	*out = '\0';
}

void
flow_run_set_key(struct flow_run *run, const uint8 *key)
{
	pg_uuid_t *id = palloc(sizeof(pg_uuid_t));

	memcpy(run->key, key, sizeof(run->key));
	memcpy(id->data, key, sizeof(id->data));
	format_uuid(run->id_text, key);
	set_column(run, run->definition->scope.run_first, UUIDPGetDatum(id));
}

struct flow_run *
flow_run_create(struct flow_definition *definition, const uint8 *key, TimestampTz created_at)
{
	struct flow_run *run = palloc0(sizeof(struct flow_run));
	const struct flow_scope *scope = &definition->scope;

	run->definition = definition;
	run->created_at = created_at;
	run->incarnation = 1;
	run->attempt = 1;
	run->values = palloc0((scope->count + 1) * sizeof(Datum));
	run->nulls = palloc((scope->count + 1) * sizeof(bool));
	memset(run->nulls, true, (scope->count + 1) * sizeof(bool));

	flow_run_set_key(run, key);
	set_column(run, scope->vars, JsonbPGetDatum(definition->vars));
	set_column(run, scope->run_first + 1, CStringGetTextDatum(definition->workflow));
	set_column(run, scope->run_first + 2, Int32GetDatum(definition->version));
	set_column(run, scope->run_first + 3, TimestampTzGetDatum(created_at));
	return run;
}

/*
 * Fills columns made by flow_scope_add_params: one per parameter, then the bytes of each string.
 */
void
flow_run_set_params(struct flow_run *run, int first_column, const struct evm_abi_param *params,
					size_t count, const struct evm_abi_value *values, bool for_event)
{
	int column = first_column;

	for (size_t i = 0; i < count; i++, column++)
	{
		bool isnull;
		Datum value = db_abi_to_datum(params[i].type, &values[i], &isnull);

		run->values[column + 1] = value;
		run->nulls[column + 1] = isnull;
	}
	for (size_t i = 0; i < count; i++)
	{
		if (params[i].type->kind != EVM_ABI_STRING || (for_event && params[i].indexed))
			continue;
		set_column(run, column++, db_hex_datum(values[i].bytes.data, values[i].bytes.len));
	}
}

void
flow_run_set_log(struct flow_run *run, const struct flow_log *log)
{
	int first = run->definition->scope.log_first;

	run->has_log = true;
	run->log = *log;
	set_column(run, first, Int64GetDatum(log->block_number));
	set_column(run, first + 1, db_hex_datum(log->block_hash.b, sizeof(log->block_hash.b)));
	set_column(run, first + 2, TimestampTzGetDatum(log->block_timestamp));
	set_column(run, first + 3,
			   db_hex_datum(log->transaction_hash.b, sizeof(log->transaction_hash.b)));
	set_column(run, first + 4, Int32GetDatum(log->transaction_index));
	set_column(run, first + 5, Int32GetDatum(log->log_index));
	set_column(run, first + 6, db_address_datum(&log->address));
}

void
flow_run_set_event(struct flow_run *run, const struct evm_abi_value *values)
{
	const struct evm_abi_item *event = run->definition->trigger.target.item;

	flow_run_set_params(run, run->definition->scope.event_first, event->inputs, event->input_count,
						values, true);
}

void
flow_run_set_input(struct flow_run *run, Jsonb *input)
{
	run->input = input;
	if (input != NULL)
		set_column(run, run->definition->scope.input, JsonbPGetDatum(input));
}

void
flow_run_set_output(struct flow_run *run, const struct flow_step *step, int column, Datum value,
					bool isnull)
{
	run->values[step->first_column + column + 1] = value;
	run->nulls[step->first_column + column + 1] = isnull;
}

static struct flow_entry *
add_entry(struct flow_run *run, struct flow_step *step, enum flow_step_state state)
{
	struct flow_entry *entry = palloc0(sizeof(struct flow_entry));

	entry->step = step;
	entry->state = state;
	entry->attempt = run->attempt;
	entry->started_at = run->step_started_at != 0 ? run->step_started_at : GetCurrentTimestamp();
	if (state != FLOW_STEP_WAITING)
		entry->finished_at = GetCurrentTimestamp();
	run->journal = lappend(run->journal, entry);
	return entry;
}

/* To the next step, or to the end of the run. */
static void
move_on(struct flow_run *run)
{
	run->next_step++;
	run->attempt = 1;
	run->transaction_id = 0;
	run->step_started_at = 0;
	if (run->next_step >= run->definition->step_count)
		run->state = FLOW_SUCCEEDED;
	else
		run->state = FLOW_RUNNING;
}

void
flow_step_succeed(struct flow_run *run, struct flow_step *step, Jsonb *result,
				  struct relay_send *send)
{
	struct flow_entry *entry = add_entry(run, step, FLOW_STEP_SUCCEEDED);

	entry->result = result;
	entry->send = send;
	entry->transaction_id = run->transaction_id;
	move_on(run);
}

void
flow_step_skip(struct flow_run *run, struct flow_step *step)
{
	add_entry(run, step, FLOW_STEP_SKIPPED);
	move_on(run);
}

void
flow_step_fail(struct flow_run *run, struct flow_step *step, Jsonb *error)
{
	struct flow_entry *entry = add_entry(run, step, FLOW_STEP_FAILED);

	entry->error = error;
	entry->transaction_id = run->transaction_id;
	run->error = error;
	run->state = FLOW_FAILED;
}

void
flow_step_wait(struct flow_run *run, struct flow_step *step, struct relay_send *send)
{
	struct flow_entry *entry = add_entry(run, step, FLOW_STEP_WAITING);

	entry->send = send;
	entry->transaction_id = run->transaction_id;
	run->state = FLOW_WAITING;
}

void
flow_step_retry(struct flow_run *run, struct flow_step *step, const char *reason, bool counts)
{
	int pause = RETRY_UNCOUNTED_MS;
	struct flow_entry *entry;

	if (counts && run->attempt >= RETRY_MAX_ATTEMPTS)
	{
		flow_step_fail(run, step,
					   flow_error(ERRCODE_CONNECTION_FAILURE, "given up after %d attempts: %s",
								  run->attempt, reason));
		return;
	}
	if (counts)
		pause = Min(RETRY_FIRST_MS << Min(run->attempt - 1, 10), RETRY_LONGEST_MS);
	entry = add_entry(run, step, FLOW_STEP_WAITING);
	entry->error = flow_error(ERRCODE_CONNECTION_FAILURE, "%s", reason);
	if (counts)
		entry->attempt = run->attempt + 1;
	run->state = FLOW_READY;
	run->wake_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), pause);
}

void
flow_step_begin(struct flow_run *run, struct flow_step *step)
{
	(void) add_entry(run, step, FLOW_STEP_WAITING);
}

void
flow_run_defer(struct flow_run *run)
{
	run->state = FLOW_READY;
	run->wake_at = 0;
}

void
flow_run_finish(struct flow_run *run)
{
	run->next_step = run->definition->step_count;
	run->state = FLOW_SUCCEEDED;
}

/* Length of a text as far as it is kept. */
static int
kept_length(const char *text)
{
	size_t len = strlen(text);

	if (len <= ERROR_TEXT_MAX_BYTES)
		return (int) len;
	return pg_mbcliplen(text, ERROR_TEXT_MAX_BYTES + 1, ERROR_TEXT_MAX_BYTES);
}

static char *
shorten(char *text)
{
	if (text == NULL || strlen(text) <= ERROR_TEXT_MAX_BYTES)
		return text;
	text[kept_length(text)] = '\0';
	return repalloc(text, ERROR_TEXT_MAX_BYTES + 1);
}

ErrorData *
flow_catch_error(void)
{
	ErrorData *error = CopyErrorData();

	FlushErrorState();
	error->message = shorten(error->message);
	error->detail = shorten(error->detail);
	error->hint = shorten(error->hint);
	error->context = shorten(error->context);
	return error;
}

static void
push_field(JsonbParseState **state, const char *name, const char *text)
{
	JsonbValue key = {.type = jbvString};
	JsonbValue value = {.type = jbvString};

	if (text == NULL)
		return;
	key.val.string.val = unconstify(char *, name);
	key.val.string.len = strlen(name);
	value.val.string.val = unconstify(char *, text);
	value.val.string.len = kept_length(text);
	pushJsonbValue(state, WJB_KEY, &key);
	pushJsonbValue(state, WJB_VALUE, &value);
}

Jsonb *
flow_error_from_data(const ErrorData *error)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_field(&state, "sqlstate", unpack_sql_state(error->sqlerrcode));
	push_field(&state, "message", error->message);
	push_field(&state, "detail", error->detail);
	push_field(&state, "hint", error->hint);
	push_field(&state, "context", error->context);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

Jsonb *
flow_error(int sqlstate, const char *format, ...)
{
	ErrorData error = {.sqlerrcode = sqlstate};
	StringInfoData message;
	va_list args;

	initStringInfo(&message);
	for (;;)
	{
		int needed;

		va_start(args, format);
		needed = appendStringInfoVA(&message, format, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&message, needed);
	}
	error.message = message.data;
	return flow_error_from_data(&error);
}
