/*
 * shape.c
 *	  Is this JSON a trigger, a step?  Known fields, of the right JSON types, none missing.
 *
 * Nothing is looked up here, so the check is the same in the builder functions, in rows written as
 * jsonb literals, and in a database that is being restored.
 */
#include "postgres.h"

#include "common/keywords.h"
#include "db/datum.h"
#include "flow/step_kind.h"
#include "utils/memutils.h"

/* One definition's JSON; more is a mistake or an attack. */
#define DEFINITION_MAX_BYTES (8 * 1024 * 1024)

static const char *const scope_names[] = {"event", "log", "run", "vars", "input", NULL};

static const char *const finality_choices[] = {"safe", "finalized", NULL};

static const char *const on_reorg_choices[] = {"cancel", "ignore", NULL};

static const struct flow_field event_fields[] = {
	{"contract", FLOW_FIELD_NAME, true, NULL},
	{"event", FLOW_FIELD_NAME, true, NULL},
	{"confirmations", FLOW_FIELD_NUMBER, false, NULL},
	{"finality", FLOW_FIELD_NAME, false, finality_choices},
	{"on_reorg", FLOW_FIELD_NAME, false, on_reorg_choices},
	{NULL},
};

static const struct flow_field start_fields[] = {
	{NULL},
};

#define MAX_CONFIRMATIONS 10000

/* Where a check is, for messages: 'step "pool"', or 'trigger'. */
struct shape
{
	const char *subject;
	const struct flow_field *fields;
	bool is_step;
};

const struct evm_json *
flow_parse_json(struct evm_arena *arena, Jsonb *json, const char *what)
{
	char *text = JsonbToCString(NULL, &json->root, VARSIZE(json));
	const struct evm_json *node;
	struct evm_error error;

	if (evm_json_parse(arena, &node, text, strlen(text), &error) != EVM_OK)
		db_raise(&error, what);
	return node;
}

const char *
flow_json_string(const struct evm_json *node, const char *member)
{
	size_t len;

	return evm_json_string(evm_json_object_get(node, member), &len);
}

static char *
choices_text(const char *const *choices)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; choices[i] != NULL; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", choices[i]);
	return text.data;
}

static void
check_choice(const struct shape *shape, const struct flow_field *field, const char *value)
{
	for (int i = 0; field->choices[i] != NULL; i++)
	{
		if (strcmp(field->choices[i], value) == 0)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: field \"%s\" cannot be \"%s\"", shape->subject, field->name, value),
			 errhint("It is one of %s.", choices_text(field->choices))));
}

static void
check_field(const struct shape *shape, const struct flow_field *field, const struct evm_json *value)
{
	size_t len;
	int64_t number;
	const char *text;

	if (field->type == FLOW_FIELD_NUMBER)
	{
		if (!evm_json_integer(value, &number))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: field \"%s\" must be a whole number", shape->subject,
							field->name)));
		return;
	}
	text = evm_json_string(value, &len);
	if (text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: field \"%s\" must be a string", shape->subject, field->name),
				 field->type == FLOW_FIELD_EXPRESSION
					 ? errhint("It holds a SQL expression, as text.")
					 : 0));
	if (field->choices != NULL)
		check_choice(shape, field, text);
}

static const struct flow_field *
find_field(const struct shape *shape, const char *name)
{
	for (const struct flow_field *field = shape->fields; field->name != NULL; field++)
	{
		if (strcmp(field->name, name) == 0)
			return field;
	}
	return NULL;
}

static bool
check_member(void *context, const char *name, const struct evm_json *value)
{
	const struct shape *shape = context;
	static const struct flow_field run_if = {"run_if", FLOW_FIELD_EXPRESSION, false, NULL};
	const struct flow_field *field;
	StringInfoData known;

	if (strcmp(name, "kind") == 0 || (shape->is_step && strcmp(name, "name") == 0))
		return true;
	if (shape->is_step && strcmp(name, "run_if") == 0)
		field = &run_if;
	else
		field = find_field(shape, name);
	if (field != NULL)
	{
		check_field(shape, field, value);
		return true;
	}

	initStringInfo(&known);
	for (field = shape->fields; field->name != NULL; field++)
		appendStringInfo(&known, "%s%s", known.len > 0 ? ", " : "", field->name);
	if (shape->is_step)
		appendStringInfo(&known, "%srun_if", known.len > 0 ? ", " : "");
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s: there is no field \"%s\"", shape->subject, name),
			 known.len > 0 ? errhint("Its fields are %s.", known.data) : 0));
	return false;
}

static void
check_fields(const struct shape *shape, const struct evm_json *node)
{
	evm_json_object_each(node, check_member, unconstify(struct shape *, shape));
	for (const struct flow_field *field = shape->fields; field->name != NULL; field++)
	{
		if (field->required && evm_json_object_get(node, field->name) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s: field \"%s\" is missing", shape->subject, field->name)));
	}
}

static void
check_range(const char *subject, const struct evm_json *node, const char *name, int64 low,
			int64 high)
{
	const struct evm_json *value = evm_json_object_get(node, name);
	int64_t number;

	if (value != NULL && evm_json_integer(value, &number) && (number < low || number > high))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: field \"%s\" must be between " INT64_FORMAT " and " INT64_FORMAT,
						subject, name, low, high)));
}

static void
check_trigger(const struct evm_json *node)
{
	const char *kind = flow_json_string(node, "kind");
	struct shape shape = {.subject = "trigger"};

	if (kind != NULL && strcmp(kind, "event") == 0)
		shape.fields = event_fields;
	else if (kind != NULL && strcmp(kind, "start") == 0)
		shape.fields = start_fields;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("trigger: unknown kind \"%s\"", kind != NULL ? kind : ""),
				 errhint("Use rflow.on_event() or rflow.on_start().")));
	check_fields(&shape, node);
	check_range("trigger", node, "confirmations", 0, MAX_CONFIRMATIONS);
	if (evm_json_object_get(node, "confirmations") != NULL &&
		evm_json_object_get(node, "finality") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("trigger: fields \"confirmations\" and \"finality\" exclude each other")));
}

static bool
is_scope_name(const char *name)
{
	for (int i = 0; scope_names[i] != NULL; i++)
	{
		if (strcmp(scope_names[i], name) == 0)
			return true;
	}
	return false;
}

static void
check_step_name(const char *name)
{
	int keyword;
	bool valid = name != NULL && name[0] >= 'a' && name[0] <= 'z' && strlen(name) < NAMEDATALEN;

	for (const char *c = name; valid && *c != '\0'; c++)
		valid = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_';
	if (!valid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("step name \"%s\" is not valid", name != NULL ? name : ""),
				 errhint("A name begins with a lower-case letter, goes on with lower-case letters, "
						 "digits and _, and has at most %d characters.",
						 NAMEDATALEN - 1)));
	if (is_scope_name(name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME), errmsg("a step cannot be named \"%s\"", name),
				 errdetail("Expressions use that name for something else.")));
	keyword = ScanKeywordLookup(name, &ScanKeywords);
	if (keyword >= 0 &&
		(ScanKeywordCategories[keyword] == RESERVED_KEYWORD ||
		 ScanKeywordCategories[keyword] == TYPE_FUNC_NAME_KEYWORD))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME), errmsg("a step cannot be named \"%s\"", name),
				 errdetail("It is a reserved word of SQL.")));
}

static char *
kinds_text(void)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; flow_step_kinds[i] != NULL; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", flow_step_kinds[i]->name);
	return text.data;
}

static void
check_step(const struct evm_json *node)
{
	const char *name = flow_json_string(node, "name");
	const char *kind_name = flow_json_string(node, "kind");
	const struct flow_step_kind *kind = kind_name != NULL ? flow_step_kind_find(kind_name) : NULL;
	struct shape shape = {.is_step = true};

	check_step_name(name);
	shape.subject = psprintf("step \"%s\"", name);
	if (kind == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: unknown kind \"%s\"", shape.subject,
						kind_name != NULL ? kind_name : ""),
				 errhint("The kinds are %s.", kinds_text())));
	shape.fields = kind->fields;
	check_fields(&shape, node);
	check_range(shape.subject, node, "confirmations", 1, MAX_CONFIRMATIONS);
	if (kind->check != NULL)
		kind->check(node, name);
}

static void
check_steps(const struct evm_json *steps)
{
	size_t count = evm_json_array_size(steps);

	if (evm_json_kind(steps) != EVM_JSON_ARRAY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("steps is not a JSON array"),
				 errhint("Use rflow.steps(), for a single step too.")));
	if (count > FLOW_MAX_STEPS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a workflow has at most %d steps", FLOW_MAX_STEPS)));
	for (size_t i = 0; i < count; i++)
	{
		if (evm_json_kind(evm_json_array_get(steps, i)) != EVM_JSON_OBJECT)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("step %zu of the list is not a JSON object", i + 1)));
		check_step(evm_json_array_get(steps, i));
		for (size_t j = 0; j < i; j++)
		{
			const char *name = flow_json_string(evm_json_array_get(steps, i), "name");

			if (strcmp(name, flow_json_string(evm_json_array_get(steps, j), "name")) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_OBJECT),
						 errmsg("two steps are named \"%s\"", name)));
		}
	}
}

static void
with_json(Jsonb *json, const char *what, void (*check)(const struct evm_json *))
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "rflow shape", ALLOCSET_SMALL_SIZES);
	struct evm_arena *arena = db_arena_create(context, DEFINITION_MAX_BYTES);

	check(flow_parse_json(arena, json, what));
	MemoryContextDelete(context);
}

void
flow_check_trigger_shape(Jsonb *trigger)
{
	with_json(trigger, "trigger", check_trigger);
}

void
flow_check_step_shape(Jsonb *step)
{
	with_json(step, "step", check_step);
}

void
flow_check_steps_shape(Jsonb *steps)
{
	with_json(steps, "steps", check_steps);
}
