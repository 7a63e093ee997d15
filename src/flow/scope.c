/*
 * scope.c
 *	  The one wide relation that every expression of a definition is evaluated over, and the
 *	  aliases that users see.
 *
 * A definition has one row shape for all its expressions; columns of steps that have not run are
 * NULL. An alias is a LATERAL sub-select that only renames columns, which the planner flattens
 * away.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "flow/scope.h"
#include "access/htup_details.h"
#include "lib/stringinfo.h"
#include "parser/scansup.h"
#include "utils/builtins.h"

static char *
fold(const char *name)
{
	char *folded = downcase_identifier(name, strlen(name), false, true);

	return folded;
}

/* Two parameters with one folded name, or a name that looks like another's argN, have only argN. */
static bool
name_is_usable(const struct evm_abi_param *params, size_t count, size_t index)
{
	char *name = fold(params[index].name);

	if (name[0] == '\0')
		return false;
	for (size_t i = 0; i < count; i++)
	{
		if (i == index)
			continue;
		if (strcmp(fold(params[i].name), name) == 0 || strcmp(psprintf("arg%zu", i), name) == 0 ||
			(params[i].type->kind == EVM_ABI_STRING &&
			 strcmp(psprintf("%s_bytes", fold(params[i].name)), name) == 0))
			return false;
	}
	return true;
}

static struct flow_column *
add_column(struct flow_definition *definition)
{
	struct flow_scope *scope = &definition->scope;
	MemoryContext old = MemoryContextSwitchTo(definition->context);

	if (scope->count >= MaxTupleAttributeNumber - 1)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("the events and steps of this workflow have more than %d values",
						MaxTupleAttributeNumber - 1)));
	if (scope->columns == NULL)
		scope->columns = palloc(64 * sizeof(struct flow_column));
	else if (scope->count >= 64 && (scope->count & (scope->count - 1)) == 0)
		scope->columns = repalloc(scope->columns, 2 * scope->count * sizeof(struct flow_column));
	MemoryContextSwitchTo(old);
	memset(&scope->columns[scope->count], 0, sizeof(struct flow_column));
	return &scope->columns[scope->count++];
}

void
flow_scope_add(struct flow_definition *definition, const char *alias, int step, const char *name,
			   Oid type)
{
	struct flow_column *column = add_column(definition);

	column->alias = alias;
	column->name = name;
	column->type = type;
	column->step = step;
}

void
flow_scope_add_params(struct flow_definition *definition, const char *alias, int step,
					  const struct evm_abi_param *params, size_t count, bool for_event)
{
	MemoryContext old = MemoryContextSwitchTo(definition->context);

	for (size_t i = 0; i < count; i++)
	{
		const struct evm_abi_type *type = params[i].type;
		bool composite =
			type->dynamic || type->kind == EVM_ABI_ARRAY || type->kind == EVM_ABI_TUPLE;
		bool hash = for_event && params[i].indexed && composite;
		struct flow_column *column = add_column(definition);

		column->alias = alias;
		column->name = name_is_usable(params, count, i) ? fold(params[i].name) : NULL;
		column->arg_name = psprintf("arg%zu", i);
		column->type = db_abi_type_oid(type, hash);
		column->step = step;
	}
	/* A string that is no valid text is NULL; its bytes are beside it. */
	for (size_t i = 0; i < count; i++)
	{
		struct flow_column *column;

		if (params[i].type->kind != EVM_ABI_STRING || (for_event && params[i].indexed))
			continue;
		column = add_column(definition);
		column->alias = alias;
		column->name =
			name_is_usable(params, count, i) ? psprintf("%s_bytes", fold(params[i].name)) : NULL;
		column->arg_name = psprintf("arg%zu_bytes", i);
		column->type = db_types()->hex;
		column->step = step;
	}
	MemoryContextSwitchTo(old);
}

void
flow_scope_begin(struct flow_definition *definition)
{
	struct flow_scope *scope = &definition->scope;
	const struct evm_abi_item *event = definition->trigger.target.item;
	Oid address = db_types()->address;
	Oid hex = db_types()->hex;

	scope->vars = scope->count;
	flow_scope_add(definition, NULL, -1, "vars", JSONBOID);
	scope->input = scope->count;
	flow_scope_add(definition, NULL, -1, "input", JSONBOID);

	scope->run_first = scope->count;
	flow_scope_add(definition, "run", -1, "id", UUIDOID);
	flow_scope_add(definition, "run", -1, "workflow", TEXTOID);
	flow_scope_add(definition, "run", -1, "version", INT4OID);
	flow_scope_add(definition, "run", -1, "started_at", TIMESTAMPTZOID);

	scope->log_first = scope->count;
	scope->event_first = scope->count;
	if (definition->trigger.kind != FLOW_ON_EVENT)
		return;
	flow_scope_add(definition, "log", -1, "block_number", INT8OID);
	flow_scope_add(definition, "log", -1, "block_hash", hex);
	flow_scope_add(definition, "log", -1, "block_timestamp", TIMESTAMPTZOID);
	flow_scope_add(definition, "log", -1, "transaction_hash", hex);
	flow_scope_add(definition, "log", -1, "transaction_index", INT4OID);
	flow_scope_add(definition, "log", -1, "log_index", INT4OID);
	flow_scope_add(definition, "log", -1, "address", address);
	scope->event_first = scope->count;
	flow_scope_add_params(definition, "event", -1, event->inputs, event->input_count, true);
}

void
flow_scope_end(struct flow_definition *definition)
{
	struct flow_scope *scope = &definition->scope;
	MemoryContext old = MemoryContextSwitchTo(definition->context);

	scope->desc = CreateTemplateTupleDesc(scope->count + 1);
	TupleDescInitEntry(scope->desc, 1, "ordinal", INT4OID, -1, 0);
	for (int i = 0; i < scope->count; i++)
	{
		const struct flow_column *column = &scope->columns[i];
		char *name = column->alias == NULL ? pstrdup(column->name) : psprintf("rflow %d", i);

		TupleDescInitEntry(scope->desc, i + 2, name, column->type, -1, 0);
	}
	MemoryContextSwitchTo(old);
}

static bool
is_visible(const struct flow_column *column, const char *alias, int position)
{
	if (column->step >= position)
		return false;
	if (alias == NULL || column->alias == NULL)
		return alias == column->alias;
	return strcmp(column->alias, alias) == 0;
}

/* LATERAL (SELECT b."rflow 7" AS "from", b."rflow 7" AS arg0, …) AS "event" */
static void
append_alias(StringInfo text, const struct flow_scope *scope, const char *alias, int position)
{
	const char *separator = " ";

	appendStringInfoString(text, ", LATERAL (SELECT");
	for (int i = 0; i < scope->count; i++)
	{
		const struct flow_column *column = &scope->columns[i];

		if (!is_visible(column, alias, position))
			continue;
		if (column->name != NULL)
		{
			appendStringInfo(text, "%s\"rflow scope\".\"rflow %d\" AS %s", separator, i,
							 quote_identifier(column->name));
			separator = ", ";
		}
		if (column->arg_name != NULL &&
			(column->name == NULL || strcmp(column->name, column->arg_name) != 0))
		{
			appendStringInfo(text, "%s\"rflow scope\".\"rflow %d\" AS %s", separator, i,
							 column->arg_name);
			separator = ", ";
		}
	}
	appendStringInfo(text, ") AS %s", quote_identifier(alias));
}

char *
flow_scope_statement(const struct flow_scope *scope, const struct flow_definition *definition,
					 int position)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(
		&text, "SELECT \"rflow scope\".ordinal FROM \"rflow scope\" AS \"rflow scope\"");
	append_alias(&text, scope, "run", position);
	if (definition->trigger.kind == FLOW_ON_EVENT)
	{
		append_alias(&text, scope, "log", position);
		append_alias(&text, scope, "event", position);
	}
	for (int i = 0; i < definition->step_count && i < position; i++)
		append_alias(&text, scope, definition->steps[i].name, position);
	return text.data;
}

static bool
alias_exists(const struct flow_definition *definition, const char *alias, int position)
{
	if (strcmp(alias, "run") == 0)
		return true;
	if (strcmp(alias, "event") == 0 || strcmp(alias, "log") == 0)
		return definition->trigger.kind == FLOW_ON_EVENT;
	for (int i = 0; i < definition->step_count && i < position; i++)
	{
		if (strcmp(definition->steps[i].name, alias) == 0)
			return true;
	}
	return false;
}

char *
flow_scope_names(const struct flow_definition *definition, const char *alias, int position)
{
	const struct flow_scope *scope = &definition->scope;
	StringInfoData text;

	if (!alias_exists(definition, alias, position))
		return NULL;
	initStringInfo(&text);
	for (int i = 0; i < scope->count; i++)
	{
		const struct flow_column *column = &scope->columns[i];

		if (is_visible(column, alias, position))
			appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
							 column->name != NULL ? column->name : column->arg_name);
	}
	return text.data;
}

char *
flow_scope_aliases(const struct flow_definition *definition, int position)
{
	StringInfoData text;

	initStringInfo(&text);
	if (definition->trigger.kind == FLOW_ON_EVENT)
		appendStringInfoString(&text, "event, log, ");
	appendStringInfoString(&text, "run, vars, input");
	for (int i = 0; i < definition->step_count && i < position; i++)
		appendStringInfo(&text, ", %s", definition->steps[i].name);
	return text.data;
}

static bool
is_named(const struct flow_column *column, const char *name)
{
	return (column->name != NULL && strcmp(column->name, name) == 0) ||
		(column->arg_name != NULL && strcmp(column->arg_name, name) == 0);
}

char *
flow_scope_owners(const struct flow_definition *definition, const char *name, int position)
{
	const struct flow_scope *scope = &definition->scope;
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < scope->count; i++)
	{
		const struct flow_column *column = &scope->columns[i];

		if (column->alias != NULL && column->step < position && is_named(column, name))
			appendStringInfo(&text, "%s%s.%s", text.len > 0 ? " or " : "", column->alias, name);
	}
	return text.data;
}

const struct flow_column *
flow_scope_find(const struct flow_definition *definition, const char *alias, const char *name,
				int position)
{
	const struct flow_scope *scope = &definition->scope;

	for (int i = 0; i < scope->count; i++)
	{
		const struct flow_column *column = &scope->columns[i];

		if (is_visible(column, alias, position) && is_named(column, name))
			return column;
	}
	return NULL;
}
