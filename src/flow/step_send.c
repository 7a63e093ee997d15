/*
 * step_send.c
 *	  send_transaction: what the step looks like, and how it is checked and loaded.
 *
 * What it does is in step_send_run.c.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "flow/scope.h"
#include "flow/step_send.h"
#include "relay/pool.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

static const char *const wait_choices[] = {"none", "sent", "mined", "confirmed", NULL};
static const char *const simulate_choices[] = {"auto", "always", "never", NULL};

static const struct flow_field fields[] = {
	{"relayer", FLOW_FIELD_NAME, true, NULL},
	{"contract", FLOW_FIELD_NAME, false, NULL},
	{"function", FLOW_FIELD_NAME, false, NULL},
	{"args", FLOW_FIELD_EXPRESSION, false, NULL},
	{"recipient", FLOW_FIELD_EXPRESSION, false, NULL},
	{"data", FLOW_FIELD_EXPRESSION, false, NULL},
	{"value", FLOW_FIELD_EXPRESSION, false, NULL},
	{"wait_for", FLOW_FIELD_NAME, false, wait_choices},
	{"confirmations", FLOW_FIELD_NUMBER, false, NULL},
	{"simulate", FLOW_FIELD_NAME, false, simulate_choices},
	{"gas_limit", FLOW_FIELD_EXPRESSION, false, NULL},
	{"max_fee_per_gas", FLOW_FIELD_EXPRESSION, false, NULL},
	{"expires_in", FLOW_FIELD_NAME, false, NULL},
	{NULL},
};

/* NULL when the field is not there. */
static const Interval *
interval_field(const struct evm_json *json, const char *name)
{
	const char *text = flow_json_string(json, "expires_in");
	Interval *interval;

	if (text == NULL)
		return NULL;
	interval =
		DatumGetIntervalP(DirectFunctionCall3(interval_in, CStringGetDatum(text),
											  ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	if (!relay_is_ahead(interval))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("step \"%s\": field \"expires_in\" must be above 0", name)));
	return interval;
}

static void
check(const struct evm_json *json, const char *name)
{
	bool has_contract = evm_json_object_get(json, "contract") != NULL;
	bool has_function = evm_json_object_get(json, "function") != NULL;
	bool has_recipient = evm_json_object_get(json, "recipient") != NULL;
	bool has_data = evm_json_object_get(json, "data") != NULL;

	if (has_contract != has_function)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("step \"%s\": field \"%s\" is missing", name,
						has_contract ? "function" : "contract")));
	if (has_contract == has_recipient)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("step \"%s\": give either contract and function, or recipient", name)));
	if (has_contract && has_data)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("step \"%s\": field \"data\" goes with recipient, args goes with function",
						name)));
	if (has_recipient && evm_json_object_get(json, "args") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("step \"%s\": field \"args\" goes with contract and function", name)));
	(void) interval_field(json, name);
}

static void
resolve(struct flow_resolver *resolver, const struct evm_json *json)
{
	const char *contract = flow_json_string(json, "contract");
	const char *relayer = flow_json_string(json, "relayer");
	const char *network = relay_pool_name(relayer) != NULL
		? flow_resolve_pool(resolver, relay_pool_name(relayer))
		: flow_resolve_relayer(resolver, relayer);
	const struct evm_abi_item *function;

	if (contract == NULL)
		return;
	function = flow_resolve_item(resolver, contract, EVM_ABI_ITEM_FUNCTION,
								 flow_json_string(json, "function"));
	if (strcmp(network, db_text(0, 1)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: relayer \"%s\" is on network \"%s\", contract \"%s\" on \"%s\"",
						resolver->subject, relayer, network, contract, db_text(0, 1))));
	if (function->mutability == EVM_ABI_VIEW || function->mutability == EVM_ABI_PURE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: function %s changes nothing (it is %s)", resolver->subject,
						function->signature,
						function->mutability == EVM_ABI_VIEW ? "view" : "pure"),
				 errhint("Use rflow.read().")));
	if (function->mutability != EVM_ABI_PAYABLE && evm_json_object_get(json, "value") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: function %s is not payable, but field \"value\" is given",
						resolver->subject, function->signature)));
}

static int
add_target(struct flow_definition *definition, struct flow_step *step, const struct evm_json *json,
		   const char *field, Oid type)
{
	const char *text = flow_json_string(json, field);
	int target;

	if (text == NULL)
		return -1;
	target = flow_expression_add(definition, step->values, field, text, 1);
	step->values->targets[target].type = type;
	step->values->targets[target].integral = type == NUMERICOID;
	step->values->targets[target].what = field;
	return target;
}

static const char *
string_or(const struct evm_json *json, const char *field, const char *missing)
{
	const char *text = flow_json_string(json, field);

	return text != NULL ? text : missing;
}

static void
load(struct flow_definition *definition, struct flow_step *step, const struct evm_json *json)
{
	int64_t confirmations = 0;

	flow_load_target(definition, &step->target, json);
	step->target.network = flow_json_string(json, "relayer_network");
	evm_json_integer(evm_json_object_get(json, "relayer_chain_id"), &step->target.chain_id);
	step->relayer = flow_json_string(json, "relayer");
	step->wait_for = string_or(json, "wait_for", "confirmed");
	step->simulate = string_or(json, "simulate", "auto");
	evm_json_integer(evm_json_object_get(json, "confirmations"), &confirmations);
	step->confirmations = confirmations;
	step->expires_in = interval_field(json, step->name);

	step->values = flow_expression_create(definition, step);
	if (step->target.item != NULL)
		flow_load_arguments(definition, step, json);
	step->value_target = add_target(definition, step, json, "value", NUMERICOID);
	step->recipient_target = add_target(definition, step, json, "recipient", db_types()->address);
	step->data_target = add_target(definition, step, json, "data", db_types()->hex);
	step->gas_limit_target = add_target(definition, step, json, "gas_limit", NUMERICOID);
	step->max_fee_target = add_target(definition, step, json, "max_fee_per_gas", NUMERICOID);
}

static void
columns(struct flow_definition *definition, struct flow_step *step)
{
	flow_scope_add(definition, step->name, step->index, "status", TEXTOID);
	flow_scope_add(definition, step->name, step->index, "transaction_hash", db_types()->hex);
	flow_scope_add(definition, step->name, step->index, "block_number", INT8OID);
	flow_scope_add(definition, step->name, step->index, "gas_used", INT8OID);
}

const struct flow_step_kind flow_step_send_transaction = {
	.name = "send_transaction",
	.fields = fields,
	.in_watcher = true,
	.calls_network = true,
	.check = check,
	.resolve = resolve,
	.load = load,
	.columns = columns,
	.prepare = flow_send_prepare,
	.apply = flow_send_apply,
	.restore = flow_send_restore,
	.resume = flow_send_resume,
};
