/*
 * definition.c
 *	  Parses a version of a workflow into the structs of definition.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "evm/hex.h"
#include "executor/spi.h"
#include "flow/scope.h"
#include "flow/step_kind.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

/* JSON tree, ABI items and names of one version. */
#define DEFINITION_MAX_BYTES (64 * 1024 * 1024)

/* An item of a version: one human-readable line, or a JSON ABI of one item. */
static const struct evm_abi_item *
parse_item(struct flow_definition *definition, const char *text)
{
	struct evm_bytes fragment = {(const uint8_t *) text, strlen(text)};
	struct evm_abi abi;
	struct evm_error error;
	enum evm_status status;
	size_t which;

	if (text[0] == '[')
		status = evm_abi_parse_json(definition->arena, &abi, NULL, text, strlen(text), &error);
	else
		status = evm_abi_parse_fragments(definition->arena, &abi, &fragment, 1, &which, &error);
	if (status != EVM_OK)
		db_raise(&error,
				 psprintf("ABI of workflow \"%s\" version %d", definition->workflow,
						  definition->version));
	return abi.items;
}

static void
parse_errors(struct flow_definition *definition, struct evm_abi *out, const struct evm_json *lines)
{
	size_t count = evm_json_array_size(lines);
	struct evm_bytes *fragments = palloc(Max(count, 1) * sizeof(struct evm_bytes));
	struct evm_error error;
	size_t which;

	for (size_t i = 0; i < count; i++)
		fragments[i].data =
			(const uint8_t *) evm_json_string(evm_json_array_get(lines, i), &fragments[i].len);
	if (count > 0 &&
		evm_abi_parse_fragments(definition->arena, out, fragments, count, &which, &error) != EVM_OK)
		db_raise(&error,
				 psprintf("errors of workflow \"%s\" version %d", definition->workflow,
						  definition->version));
}

void
flow_load_target(struct flow_definition *definition, struct flow_target *target,
				 const struct evm_json *json)
{
	const char *address = flow_json_string(json, "address");
	const char *abi = flow_json_string(json, "abi");
	struct evm_error error;

	target->network = flow_json_string(json, "network");
	target->contract = flow_json_string(json, "contract");
	evm_json_integer(evm_json_object_get(json, "chain_id"), &target->chain_id);
	if (address != NULL)
	{
		if (evm_address_parse(&target->address, address, strlen(address), &error) != EVM_OK)
			db_raise(&error,
					 psprintf("address of workflow \"%s\" version %d", definition->workflow,
							  definition->version));
		target->has_address = true;
	}
	if (abi != NULL)
		target->item = parse_item(definition, abi);
	parse_errors(definition, &target->errors, evm_json_object_get(json, "errors"));
}

static void
load_trigger(struct flow_definition *definition, const struct evm_json *json)
{
	struct flow_trigger *trigger = &definition->trigger;

	trigger->kind =
		strcmp(flow_json_string(json, "kind"), "event") == 0 ? FLOW_ON_EVENT : FLOW_ON_START;
	flow_load_target(definition, &trigger->target, json);
	trigger->ceiling = flow_json_string(json, "ceiling");
}

static void
load_step(struct flow_definition *definition, int index, const struct evm_json *json)
{
	struct flow_step *step = &definition->steps[index];
	const char *run_if = flow_json_string(json, "run_if");

	step->name = flow_json_string(json, "name");
	step->index = index;
	step->kind = flow_step_kind_find(flow_json_string(json, "kind"));
	step->value_target = step->recipient_target = step->data_target = -1;
	step->gas_limit_target = step->max_fee_target = -1;
	if (run_if != NULL)
	{
		int target;

		step->run_if = flow_expression_create(definition, step);
		target = flow_expression_add(definition, step->run_if, "run_if", run_if, 1);
		step->run_if->targets[target].type = BOOLOID;
		step->run_if->targets[target].what = "run_if";
	}
	step->kind->load(definition, step, json);
	step->first_column = definition->scope.count;
	if (step->kind->columns != NULL)
		step->kind->columns(definition, step);
	step->column_count = definition->scope.count - step->first_column;
}

static void
load_workflow_expressions(struct flow_definition *definition, const struct evm_json *json)
{
	const char *filter = flow_json_string(json, "filter");
	const char *once_per = flow_json_string(json, "once_per");
	int target;

	if (filter != NULL)
	{
		definition->filter = flow_expression_create(definition, NULL);
		target = flow_expression_add(definition, definition->filter, "filter", filter, 1);
		definition->filter->targets[target].type = BOOLOID;
		definition->filter->targets[target].what = "filter";
	}
	if (once_per != NULL)
	{
		definition->once_per = flow_expression_create(definition, NULL);
		target = flow_expression_add(definition, definition->once_per, "once_per", once_per, 1);
		definition->once_per->targets[target].type = TEXTOID;
		definition->once_per->targets[target].as_text = true;
		definition->once_per->targets[target].what = "once_per";
	}
}

static Jsonb *
load_vars(Jsonb *definition)
{
	JsonbValue key = {.type = jbvString};
	JsonbValue *vars;

	key.val.string.val = "vars";
	key.val.string.len = strlen("vars");
	vars = findJsonbValueFromContainer(&definition->root, JB_FOBJECT, &key);
	if (vars == NULL)
		return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
	return JsonbValueToJsonb(vars);
}

struct flow_definition *
flow_load(MemoryContext parent, const char *workflow, int version, Jsonb *json, Oid owner,
		  const char *search_path)
{
	MemoryContext context = AllocSetContextCreate(parent, "rflow workflow", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	struct flow_definition *definition = palloc0(sizeof(struct flow_definition));
	const struct evm_json *node;
	const struct evm_json *steps;

	definition->context = context;
	definition->arena = db_arena_create(context, DEFINITION_MAX_BYTES);
	definition->workflow = pstrdup(workflow);
	definition->version = version;
	definition->owner = owner;
	definition->search_path = pstrdup(search_path);
	definition->vars = load_vars(json);

	node = flow_parse_json(definition->arena, json, psprintf("workflow \"%s\"", workflow));
	load_trigger(definition, evm_json_object_get(node, "trigger"));
	load_workflow_expressions(definition, node);
	flow_scope_begin(definition);

	steps = evm_json_object_get(node, "steps");
	definition->step_count = evm_json_array_size(steps);
	definition->steps = palloc0(Max(definition->step_count, 1) * sizeof(struct flow_step));
	for (int i = 0; i < definition->step_count; i++)
		load_step(definition, i, evm_json_array_get(steps, i));
	flow_scope_end(definition);
	MemoryContextSwitchTo(old);
	return definition;
}

void
flow_free(struct flow_definition *definition)
{
	if (definition->filter != NULL)
		flow_expression_release(definition->filter);
	if (definition->once_per != NULL)
		flow_expression_release(definition->once_per);
	for (int i = 0; i < definition->step_count; i++)
	{
		if (definition->steps[i].run_if != NULL)
			flow_expression_release(definition->steps[i].run_if);
		if (definition->steps[i].values != NULL)
			flow_expression_release(definition->steps[i].values);
		if (definition->steps[i].plan != NULL)
			SPI_freeplan(definition->steps[i].plan);
	}
	MemoryContextDelete(definition->context);
}

int
flow_find_step(const struct flow_definition *definition, const char *name)
{
	for (int i = 0; i < definition->step_count; i++)
	{
		if (strcmp(definition->steps[i].name, name) == 0)
			return i;
	}
	return -1;
}
