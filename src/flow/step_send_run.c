/*
 * step_send_run.c
 *	  send_transaction: simulates a transaction, queues it with the relayer, and waits for it as
 *	  far as asked.
 *
 * The simulation runs as the relayer's account against the newest block. The queue row is written
 * by whoever writes the step, in the same transaction, under a key that names run and step:
 * however often this is tried, it is one transaction.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "evm/hex.h"
#include "evm/word.h"
#include "flow/account.h"
#include "flow/step_send.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "relay/pool.h"
#include "relay/policy_check.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* The state a transaction meets when it is mined is not the one it was estimated on. */
#define GAS_MARGIN_PERCENT 20
/* Any transaction costs as much: what a node says below that is no estimate. */
#define LEAST_GAS 21000

/* A target that is an unsigned integer; NULL is an error that names the field. */
static void
word_target(struct evm_word *out, const struct flow_run *run, const struct flow_step *step,
			int target)
{
	bool negative;

	if (run->evaluation.nulls[target])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s is NULL", step->values->targets[target].what)));
	if (!db_numeric_word(out, &negative, run->evaluation.values[target]) || negative)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s is not an integer between 0 and 2^256 - 1: %s",
						step->values->targets[target].what,
						DatumGetCString(
							DirectFunctionCall1(numeric_out, run->evaluation.values[target])))));
}

static void
fill_payload(struct relay_send *send, struct flow_run *run, const struct flow_step *step)
{
	const struct flow_evaluation *evaluation = &run->evaluation;
	struct evm_word gas;
	uint64_t gas_limit;

	if (step->target.item != NULL)
	{
		send->recipient = step->target.address;
		flow_encode_call(&send->data, run, step);
	}
	else if (evaluation->nulls[step->recipient_target])
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("recipient is NULL")));
	else
		send->recipient = *db_datum_address(evaluation->values[step->recipient_target]);
	if (step->data_target >= 0 && !evaluation->nulls[step->data_target])
	{
		send->data = db_datum_hex(evaluation->values[step->data_target]);
		flow_check_call_data(&send->data);
	}
	if (step->value_target >= 0)
		word_target(&send->value, run, step, step->value_target);
	if (step->max_fee_target >= 0)
	{
		word_target(&send->max_fee_per_gas, run, step, step->max_fee_target);
		send->has_max_fee = true;
	}
	if (step->gas_limit_target >= 0)
	{
		word_target(&gas, run, step, step->gas_limit_target);
		if (!evm_word_to_u64(&gas_limit, &gas) || gas_limit > PG_INT64_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("gas_limit is out of range")));
		send->gas_limit = gas_limit;
	}
}

static struct relay_send *
make_send(struct flow_run *run, struct flow_step *step, const struct relay_grants *grants)
{
	struct relay_send *send = palloc0(sizeof(struct relay_send));

	send->relayer = step->relayer;
	send->network = step->target.network;
	send->chain_id = step->target.chain_id;
	send->owner = run->definition->owner;
	send->idempotency_key = psprintf("run:%s:%d:%s:1", run->id_text, run->incarnation, step->name);
	send->has_run = true;
	memcpy(send->run_id, run->key, sizeof(send->run_id));
	send->workflow = run->definition->workflow;
	send->step = step->name;
	send->wait_for = step->wait_for;
	send->confirmations = step->confirmations;
	send->valid_until = relay_valid_until(step->expires_in, grants);
	fill_payload(send, run, step);
	return send;
}

/* {"status": …, …} as the steps behind it see it. */
static Jsonb *
result_json(const char *status, const char *hash, int64 block_number, int64 gas_used)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "{\"status\":\"%s\"", status);
	if (hash != NULL)
		appendStringInfo(&text, ",\"transaction_hash\":\"%s\"", hash);
	if (block_number >= 0)
		appendStringInfo(&text, ",\"block_number\":" INT64_FORMAT, block_number);
	if (gas_used >= 0)
		appendStringInfo(&text, ",\"gas_used\":" INT64_FORMAT, gas_used);
	appendStringInfoChar(&text, '}');
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text.data)));
}

/*
 * What a policy refuses fails the step.  Checks are evaluated once, before the simulation; what
 * has a limit is looked at again when the gas is known.
 */
static bool
is_refused(struct flow_run *run, struct flow_step *step, const struct relay_send *send,
		   bool with_checks)
{
	struct relay_policies *policies = flow_account_find(send->relayer)->policies;
	struct relay_subject subject;
	char *refusal;

	if (policies == NULL)
		return false;
	subject = relay_subject_of_send(send);
	refusal = with_checks ? relay_policy_denial(policies, &subject)
						  : relay_policy_refusal(policies, &subject);
	if (refusal != NULL)
		flow_step_fail(run, step, flow_error(ERRCODE_INSUFFICIENT_PRIVILEGE, "%s", refusal));
	return refusal != NULL;
}

/* The send goes to the outbox; the step is over, or waits for it. */
static void
queue(struct flow_run *run, struct flow_step *step, struct relay_send *send)
{
	if (is_refused(run, step, send, false))
		return;
	run->sends = lappend(run->sends, send);
	if (strcmp(step->wait_for, "none") != 0)
	{
		flow_step_wait(run, step, send);
		return;
	}
	flow_run_set_output(run, step, FLOW_SEND_STATUS, CStringGetTextDatum("queued"), false);
	flow_step_succeed(run, step, result_json("queued", NULL, -1, -1), send);
}

static bool
wants_call(const struct flow_step *step)
{
	if (strcmp(step->simulate, "auto") == 0)
		return step->target.item != NULL && step->target.item->output_count > 0;
	return strcmp(step->simulate, "always") == 0;
}

static void
add_calls(struct flow_run *run, struct flow_step *step, struct flow_turn *turn,
		  const struct relay_send *send, const struct evm_address *sender)
{
	StringInfoData params;
	char from[43];
	char to[43];
	char value[EVM_QUANTITY_TEXT_BYTES];

	evm_address_format(from, sender);
	evm_address_format(to, &send->recipient);
	evm_quantity_encode(value, &send->value);
	initStringInfo(&params);
	appendStringInfo(&params, "[{\"from\":\"%s\",\"to\":\"%s\",\"value\":\"%s\",\"data\":\"", from,
					 to, value);
	flow_append_call_data(&params, &send->data);
	appendStringInfoString(&params, "\"},\"latest\"]");
	run->first_call = run->second_call = -1;
	if (wants_call(step))
		run->first_call = rpc_batch_add(turn->batch, "eth_call", params.data);
	if (strcmp(step->simulate, "never") != 0 || send->gas_limit == 0)
		run->second_call = rpc_batch_add(turn->batch, "eth_estimateGas", params.data);
	pfree(params.data);
}

/* The relayer that a step names, and its address where known.  NULL, or why it may not be used. */
static char *
use_relayer(const struct flow_run *run, const struct flow_step *step, bool *known,
			struct evm_address *address)
{
	const struct flow_account *account = flow_account_find(step->relayer);

	*known = account->known;
	*address = account->address;
	if (relay_grants_allow(account->grants, run->definition->owner))
		return NULL;
	return psprintf("role \"%s\" may not use relayer \"%s\"",
					GetUserNameFromId(run->definition->owner, true), step->relayer);
}

void
flow_send_prepare(struct flow_run *run, struct flow_step *step, struct flow_turn *turn)
{
	const char *pool = relay_pool_name(step->relayer);
	struct relay_send *send = NULL;
	struct evm_address address = {{0}};
	char *problem = NULL;
	bool known = false;

	if (pool == NULL)
		problem = use_relayer(run, step, &known, &address);
	if (problem == NULL)
	{
		send = make_send(run, step, pool != NULL ? NULL : flow_account_find(step->relayer)->grants);
		if (pool != NULL)
			(void) flow_account_choose(send, pool, &known, &address, &problem);
	}
	if (problem != NULL)
	{
		flow_step_fail(run, step, flow_error(ERRCODE_INSUFFICIENT_PRIVILEGE, "%s", problem));
		return;
	}
	run->send = send;
	if (is_refused(run, step, send, true))
		return;
	if (strcmp(step->simulate, "never") == 0 && send->gas_limit > 0)
		queue(run, step, send);
	else if (!known)
		flow_step_retry(run, step,
						psprintf("the address of relayer \"%s\" is not known yet", send->relayer),
						false);
	else
		add_calls(run, step, turn, send, &address);
}

/*
 * What would revert now may pass when what is in flight has been mined. What was in flight when
 * the node simulated may be mined by now, so a revert counts when nothing was in flight before
 * the node was asked: it is asked again.
 */
static void
would_revert(struct flow_run *run, struct flow_step *step, struct flow_turn *turn,
			 const struct rpc_answer *answer)
{
	if (run->reverted_step == step)
		flow_step_fail(run, step, flow_revert_error(step, answer, rpc_batch_arena(turn->batch)));
	else if (flow_account_is_busy(flow_account_find(run->send->relayer), step->target.chain_id))
		flow_step_retry(
			run, step,
			psprintf("the simulation reverts while relayer \"%s\" has transactions in flight",
					 run->send->relayer),
			false);
	else
		run->reverted_step = step;
}

/*
 * A function that returns one bool and would return false: a token that refuses without
 * reverting.
 */
static bool
returns_false(const struct flow_step *step, const struct rpc_answer *answer)
{
	const struct evm_abi_item *function = step->target.item;
	const char *text;
	size_t len;

	if (function == NULL || function->output_count != 1 ||
		function->outputs[0].type->kind != EVM_ABI_BOOL)
		return false;
	text = evm_json_string(answer->result, &len);
	return text != NULL && len == 66 && strspn(text + 2, "0") == 64;
}

void
flow_send_apply(struct flow_run *run, struct flow_step *step, struct flow_turn *turn)
{
	const struct rpc_answer *call =
		run->first_call < 0 ? NULL : rpc_batch_answer(turn->batch, run->first_call);
	const struct rpc_answer *estimate =
		run->second_call < 0 ? NULL : rpc_batch_answer(turn->batch, run->second_call);
	struct evm_error error;
	const char *text;
	uint64_t gas;
	size_t len;

	if (call != NULL && flow_is_revert(call))
		would_revert(run, step, turn, call);
	else if (estimate != NULL && flow_is_revert(estimate))
		would_revert(run, step, turn, estimate);
	else if (call != NULL && call->outcome != RPC_RESULT)
		flow_step_retry(run, step, call->message, call->outcome != RPC_NO_ANSWER);
	else if (estimate != NULL && estimate->outcome != RPC_RESULT)
		flow_step_retry(run, step, estimate->message, estimate->outcome != RPC_NO_ANSWER);
	else if (call != NULL && returns_false(step, call))
		flow_step_fail(run, step,
					   flow_error(ERRCODE_TRIGGERED_ACTION_EXCEPTION, "%s would return false",
								  step->target.item->signature));
	else if (estimate == NULL || run->send->gas_limit > 0)
		queue(run, step, run->send);
	else if ((text = evm_json_string(estimate->result, &len)) == NULL ||
			 evm_quantity_decode_u64(&gas, text, len, &error) != EVM_OK || gas < LEAST_GAS ||
			 gas > PG_INT32_MAX)
		flow_step_retry(run, step, "the node gave no gas estimate", true);
	else
	{
		run->send->gas_limit = gas + gas * GAS_MARGIN_PERCENT / 100;
		queue(run, step, run->send);
	}
}

static void
set_outputs(struct flow_run *run, const struct flow_step *step, const struct relay_outcome *outcome)
{
	flow_run_set_output(run, step, FLOW_SEND_STATUS, CStringGetTextDatum(outcome->state), false);
	if (outcome->has_hash)
		flow_run_set_output(run, step, FLOW_SEND_TRANSACTION_HASH,
							db_hex_datum(outcome->hash.b, sizeof(outcome->hash.b)), false);
	if (!outcome->has_block)
		return;
	flow_run_set_output(run, step, FLOW_SEND_BLOCK_NUMBER, Int64GetDatum(outcome->block_number),
						false);
	flow_run_set_output(run, step, FLOW_SEND_GAS_USED, Int64GetDatum(outcome->gas_used), false);
}

static Jsonb *
outcome_json(const struct relay_outcome *outcome)
{
	char hash[67] = "0x";

	if (outcome->has_hash)
		evm_hex_digits(hash + 2, outcome->hash.b, sizeof(outcome->hash.b));
	hash[66] = '\0';
	return result_json(outcome->state, outcome->has_hash ? hash : NULL,
					   outcome->has_block ? outcome->block_number : -1,
					   outcome->has_block ? outcome->gas_used : -1);
}

/*
 * What the relayer knows of the failure, with the sentence in front that a reader of the run
 * wants.
 */
static Jsonb *
outcome_error(const struct flow_run *run, const struct relay_outcome *outcome)
{
	return flow_error(ERRCODE_TRIGGERED_ACTION_EXCEPTION, "transaction " INT64_FORMAT " %s: %s",
					  run->transaction_id, outcome->state,
					  outcome->reason != NULL ? outcome->reason : "no reason is known");
}

void
flow_send_resume(struct flow_run *run, struct flow_step *step)
{
	struct relay_outcome outcome;

	if (!relay_look(run->transaction_id, &outcome))
	{
		flow_step_fail(run, step,
					   flow_error(ERRCODE_UNDEFINED_OBJECT,
								  "transaction " INT64_FORMAT " does not exist any more",
								  run->transaction_id));
		return;
	}
	switch (outcome.verdict)
	{
		case RELAY_PENDING:
			run->state = FLOW_WAITING;
			break;
		case RELAY_REACHED:
			set_outputs(run, step, &outcome);
			flow_step_succeed(run, step, outcome_json(&outcome), NULL);
			break;
		case RELAY_WITHOUT_EFFECT:
			flow_step_fail(run, step, outcome_error(run, &outcome));
			break;
	}
}

void
flow_send_restore(struct flow_run *run, struct flow_step *step, Jsonb *result,
				  struct evm_arena *arena)
{
	const struct evm_json *node = flow_parse_json(arena, result, step->name);
	const char *status = flow_json_string(node, "status");
	const char *hash = flow_json_string(node, "transaction_hash");
	int64_t number;

	if (status != NULL)
		flow_run_set_output(run, step, FLOW_SEND_STATUS, CStringGetTextDatum(status), false);
	if (hash != NULL)
	{
		struct evm_hash bytes;
		struct evm_error error;
		size_t len;

		if (strlen(hash) != 66 ||
			evm_hex_decode(bytes.b, &len, hash, strlen(hash), &error) != EVM_OK)
			elog(ERROR, "step \"%s\" has a transaction hash that is none", step->name);
		flow_run_set_output(run, step, FLOW_SEND_TRANSACTION_HASH, db_hex_datum(bytes.b, len),
							false);
	}
	if (evm_json_integer(evm_json_object_get(node, "block_number"), &number))
		flow_run_set_output(run, step, FLOW_SEND_BLOCK_NUMBER, Int64GetDatum(number), false);
	if (evm_json_integer(evm_json_object_get(node, "gas_used"), &number))
		flow_run_set_output(run, step, FLOW_SEND_GAS_USED, Int64GetDatum(number), false);
}
