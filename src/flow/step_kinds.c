/*
 * step_kinds.c
 *	  The kinds of steps there are, and what several of them share: a contract's function and its
 *	  arguments.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "evm/hex.h"
#include "flow/step_kind.h"

/* Twice as hex, for a call and an estimate, it stays below RPC_MAX_REQUEST_BYTES. */
#define CALL_DATA_MAX_BYTES (240 * 1024)
/* Values and call data of one run, while they are encoded. */
#define CALL_ARENA_BYTES ((size_t) 16 * 1024 * 1024)

const struct flow_step_kind *const flow_step_kinds[] = {
	&flow_step_read, &flow_step_send_transaction, &flow_step_sql, &flow_step_stop, NULL,
};

const struct flow_step_kind *
flow_step_kind_find(const char *name)
{
	for (int i = 0; flow_step_kinds[i] != NULL; i++)
	{
		if (strcmp(flow_step_kinds[i]->name, name) == 0)
			return flow_step_kinds[i];
	}
	return NULL;
}

/* Is it an integer, or an array of integers? */
static bool
is_integral(const struct evm_abi_type *type)
{
	while (type->kind == EVM_ABI_ARRAY)
		type = type->element;
	return type->kind == EVM_ABI_UINT || type->kind == EVM_ABI_INT;
}

void
flow_load_arguments(struct flow_definition *definition, struct flow_step *step,
					const struct evm_json *json)
{
	const struct evm_abi_item *function = step->target.item;
	const char *args = flow_json_string(json, "args");
	MemoryContext old = MemoryContextSwitchTo(definition->context);
	int first;

	step->arg_count = function->input_count;
	first = flow_expression_add(definition, step->values, "args", args != NULL ? args : "",
								step->arg_count);
	Assert(first == 0);
	for (int i = 0; i < step->arg_count; i++)
	{
		const struct evm_abi_param *param = &function->inputs[i];
		struct flow_value_target *target = &step->values->targets[first + i];

		target->type = db_abi_type_oid(param->type, false);
		target->integral = is_integral(param->type);
		target->what = param->name[0] != '\0'
			? psprintf("argument %d (%s) of %s", i + 1, param->name, function->signature)
			: psprintf("argument %d of %s", i + 1, function->signature);
	}
	MemoryContextSwitchTo(old);
}

void
flow_check_call_data(const struct evm_bytes *data)
{
	if (data->len > CALL_DATA_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the call data has %zu bytes, more than %d", data->len,
						CALL_DATA_MAX_BYTES)));
}

void
flow_append_call_data(StringInfo out, const struct evm_bytes *data)
{
	appendStringInfoString(out, "0x");
	enlargeStringInfo(out, (int) (2 * data->len));
	evm_hex_digits(out->data + out->len, data->data, data->len);
	out->len += (int) (2 * data->len);
	out->data[out->len] = '\0';
}

/* In an arena of its own: what one run needs is not taken from others. */
void
flow_encode_call(struct evm_bytes *out, struct flow_run *run, const struct flow_step *step)
{
	struct evm_arena *arena = db_arena_create(CurrentMemoryContext, CALL_ARENA_BYTES);
	const struct evm_abi_item *function = step->target.item;
	struct evm_abi_value *values = palloc0(Max(step->arg_count, 1) * sizeof(*values));
	struct evm_error error;

	for (int i = 0; i < step->arg_count; i++)
		db_abi_from_datum(arena, &values[i], function->inputs[i].type, run->evaluation.values[i],
						  run->evaluation.nulls[i], step->values->targets[i].what);
	if (evm_abi_encode_call(arena, out, function, values, step->arg_count, &error) != EVM_OK)
		db_raise(&error, function->signature);
	flow_check_call_data(out);
}

bool
flow_is_revert(const struct rpc_answer *answer)
{
	/* Geth, reth and anvil: code 3 with the data; others: data alone, or only the words. */
	return answer->outcome == RPC_ERROR &&
		(answer->code == 3 || answer->has_data || strstr(answer->message, "revert") != NULL);
}

Jsonb *
flow_revert_error(const struct flow_step *step, const struct rpc_answer *answer,
				  struct evm_arena *arena)
{
	struct evm_revert revert;

	if (!answer->has_data ||
		evm_abi_decode_revert(arena, &revert, &step->target.errors, answer->data.data,
							  answer->data.len) != EVM_OK)
		return flow_error(ERRCODE_TRIGGERED_ACTION_EXCEPTION, "%s would revert: %s",
						  step->target.item != NULL ? step->target.item->signature
													: "the transaction",
						  answer->message);
	return flow_error(ERRCODE_TRIGGERED_ACTION_EXCEPTION, "%s would revert: %s",
					  step->target.item != NULL ? step->target.item->signature : "the transaction",
					  revert.text);
}
