/*
 * step_read.c
 *	  read: calls a function of a contract (eth_call at the newest block) and keeps its outputs.
 */
#include "postgres.h"

#include "db/datum.h"
#include "evm/hex.h"
#include "flow/scope.h"
#include "flow/step_kind.h"
#include "lib/stringinfo.h"

/* Decoded outputs of one call; bounded for each, so that one run takes nothing from others. */
#define OUTPUTS_MAX_BYTES ((size_t) 64 * 1024 * 1024)

static const struct flow_field fields[] = {
	{"contract", FLOW_FIELD_NAME, true, NULL},
	{"function", FLOW_FIELD_NAME, true, NULL},
	{"args", FLOW_FIELD_EXPRESSION, false, NULL},
	{NULL},
};

static void
resolve(struct flow_resolver *resolver, const struct evm_json *json)
{
	const struct evm_abi_item *function =
		flow_resolve_item(resolver, flow_json_string(json, "contract"), EVM_ABI_ITEM_FUNCTION,
						  flow_json_string(json, "function"));

	if (function->output_count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: function %s returns nothing", resolver->subject, function->signature),
				 errhint("Add its outputs to the ABI: \"function %s returns (…)\".",
						 function->signature)));
}

static void
load(struct flow_definition *definition, struct flow_step *step, const struct evm_json *json)
{
	flow_load_target(definition, &step->target, json);
	step->values = flow_expression_create(definition, step);
	flow_load_arguments(definition, step, json);
}

/* A single output can be named result as well. */
static bool
has_result(const struct flow_step *step)
{
	const struct evm_abi_item *function = step->target.item;

	return function->output_count == 1 && strcmp(function->outputs[0].name, "result") != 0;
}

static void
columns(struct flow_definition *definition, struct flow_step *step)
{
	const struct evm_abi_item *function = step->target.item;

	flow_scope_add_params(definition, step->name, step->index, function->outputs,
						  function->output_count, false);
	if (has_result(step))
		flow_scope_add(definition, step->name, step->index, "result",
					   db_abi_type_oid(function->outputs[0].type, false));
}

static void
prepare(struct flow_run *run, struct flow_step *step, struct flow_turn *turn)
{
	StringInfoData params;
	char address[43];

	flow_encode_call(&run->call_data, run, step);
	evm_address_format(address, &step->target.address);
	initStringInfo(&params);
	appendStringInfo(&params, "[{\"to\":\"%s\",\"data\":\"", address);
	flow_append_call_data(&params, &run->call_data);
	appendStringInfoString(&params, "\"},\"latest\"]");
	run->first_call = rpc_batch_add(turn->batch, "eth_call", params.data);
	pfree(params.data);
}

static void
set_outputs(struct flow_run *run, const struct flow_step *step, const struct evm_abi_value *values)
{
	const struct evm_abi_item *function = step->target.item;
	bool isnull;
	Datum value;

	flow_run_set_params(run, step->first_column, function->outputs, function->output_count, values,
						false);
	if (!has_result(step))
		return;
	value = db_abi_to_datum(function->outputs[0].type, &values[0], &isnull);
	flow_run_set_output(run, step, step->column_count - 1, value, isnull);
}

static void
apply(struct flow_run *run, struct flow_step *step, struct flow_turn *turn)
{
	const struct evm_abi_item *function = step->target.item;
	const struct rpc_answer *answer = rpc_batch_answer(turn->batch, run->first_call);
	struct evm_arena *arena = rpc_batch_arena(turn->batch);
	struct evm_abi_value *values;
	struct evm_error error;
	const char *text;
	uint8 *data;
	size_t len;

	if (flow_is_revert(answer))
	{
		flow_step_fail(run, step, flow_revert_error(step, answer, arena));
		return;
	}
	text = evm_json_string(answer->result, &len);
	if (answer->outcome != RPC_RESULT || text == NULL)
	{
		flow_step_retry(run, step,
						answer->message != NULL ? answer->message : "the node gave no data",
						answer->outcome != RPC_NO_ANSWER);
		return;
	}
	data = palloc(len / 2 + 1);
	if (evm_hex_decode(data, &len, text, len, &error) != EVM_OK)
		flow_step_retry(run, step, psprintf("the node gave no hex data: %s", error.message), true);
	else if (len == 0)
		flow_step_fail(
			run, step,
			flow_error(
				ERRCODE_DATA_EXCEPTION,
				"contract \"%s\" returned nothing to %s: is there code at its address on this "
				"network?",
				step->target.contract, function->signature));
	else if (evm_abi_decode(db_arena_create(CurrentMemoryContext, OUTPUTS_MAX_BYTES), &values,
							function->outputs, function->output_count, data, len, &error) != EVM_OK)
		flow_step_fail(run, step,
					   flow_error(ERRCODE_DATA_EXCEPTION, "the answer to %s does not decode: %s",
								  function->signature, error.message));
	else
	{
		set_outputs(run, step, values);
		flow_step_succeed(run, step,
						  db_abi_params_to_jsonb(function->outputs, function->output_count, values),
						  NULL);
	}
}

static void
restore(struct flow_run *run, struct flow_step *step, Jsonb *result, struct evm_arena *arena)
{
	const struct evm_abi_item *function = step->target.item;

	set_outputs(run, step,
				db_abi_params_from_jsonb(arena, function->outputs, function->output_count, result,
										 step->name));
}

const struct flow_step_kind flow_step_read = {
	.name = "read",
	.fields = fields,
	.in_watcher = true,
	.calls_network = true,
	.resolve = resolve,
	.load = load,
	.columns = columns,
	.prepare = prepare,
	.apply = apply,
	.restore = restore,
};
