/*
 * step_sql.c
 *	  sql: runs the user's statements as the workflow's owner, in the transaction that journals
 *	  the step.
 *
 * Everything of the user's runs before the journal is written: deferred constraint triggers and
 * held cursors are not left for the commit. The executor commits in the name of the owner all the
 * same, and cleans the session afterwards.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "db/owner.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "flow/in_hand.h"
#include "flow/scope.h"
#include "flow/step_kind.h"
#include "flow/step_sql.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/portal.h"

/* The row that later steps see is kept in the journal. */
#define RESULT_MAX_BYTES (1024 * 1024)

static const struct flow_field fields[] = {
	{"statement", FLOW_FIELD_STATEMENT, true, NULL},
	{NULL},
};

/* Columns of its outputs, in order. */
enum
{
	OUTPUT_RESULT,
	OUTPUT_ROW_COUNT
};

/* Keeps the first row of the last statement that returns rows. */
struct row_receiver
{
	DestReceiver base;
	Jsonb *row;
	TupleDesc desc;        /* of the statement that runs */
	MemoryContext context; /* where the row is copied */
};

static void
load(struct flow_definition *definition, struct flow_step *step, const struct evm_json *json)
{
	step->statement = flow_json_string(json, "statement");
}

static void
columns(struct flow_definition *definition, struct flow_step *step)
{
	flow_scope_add(definition, step->name, step->index, "result", JSONBOID);
	flow_scope_add(definition, step->name, step->index, "row_count", INT8OID);
}

/* to_jsonb() wants to be told the type of its argument. */
static Datum
record_to_jsonb(Datum record)
{
	Const *argument = makeNullConst(RECORDOID, -1, InvalidOid);
	FuncExpr *call = makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(argument), InvalidOid,
								  InvalidOid, COERCE_EXPLICIT_CALL);
	FmgrInfo function;

	fmgr_info(F_TO_JSONB, &function);
	fmgr_info_set_expr((Node *) call, &function);
	return FunctionCall1(&function, record);
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	struct row_receiver *receiver = (struct row_receiver *) self;
	MemoryContext old;
	HeapTuple tuple;
	Datum row;

	if (receiver->row != NULL)
		return true;
	/* The slot may be that of a scan, whose columns have no names. */
	slot_getallattrs(slot);
	tuple = heap_form_tuple(receiver->desc, slot->tts_values, slot->tts_isnull);
	row = record_to_jsonb(HeapTupleGetDatum(tuple));
	if (VARSIZE_ANY(DatumGetPointer(row)) > RESULT_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the row that the statement returns is larger than %d bytes as jsonb",
						RESULT_MAX_BYTES)));
	old = MemoryContextSwitchTo(receiver->context);
	receiver->row = DatumGetJsonbPCopy(row);
	MemoryContextSwitchTo(old);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
	struct row_receiver *receiver = (struct row_receiver *) self;

	receiver->row = NULL;
	receiver->desc = BlessTupleDesc(CreateTupleDescCopy(desc));
}

static void
receive_nothing(DestReceiver *self)
{
}

/* Once per version and process; analysed under the owner's path and kept. */
static void
prepare_plan(struct flow_definition *definition, struct flow_step *step)
{
	struct sql_parser *parser = MemoryContextAlloc(definition->context, sizeof(*parser));
	SPIPlanPtr plan;

	parser->definition = definition;
	parser->step = step;
	plan = SPI_prepare_params(step->statement, flow_sql_parser_setup, parser, 0);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "the statement cannot be prepared: %s", SPI_result_code_string(SPI_result));
	step->plan = plan;
}

static ParamListInfo
make_parameters(const struct flow_run *run)
{
	const struct flow_scope *scope = &run->definition->scope;
	ParamListInfo parameters = makeParamList(scope->count);

	for (int i = 0; i < scope->count; i++)
	{
		ParamExternData *parameter = &parameters->params[i];

		parameter->value = run->values[i + 1];
		parameter->isnull = run->nulls[i + 1];
		parameter->pflags = PARAM_FLAG_CONST;
		parameter->ptype = scope->columns[i].type;
	}
	return parameters;
}

/* All that is the user's; returns how many rows the last statement touched or returned. */
static uint64
run_statement(struct flow_run *run, struct flow_step *step, struct row_receiver *receiver)
{
	SPIExecuteOptions options = {
		.params = make_parameters(run),
		.dest = &receiver->base,
	};
	uint64 processed;
	int result;

	if (step->plan == NULL)
		prepare_plan(run->definition, step);
	result = SPI_execute_plan_extended(step->plan, &options);
	if (result < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the statement cannot run in a step: %s", SPI_result_code_string(result))));
	processed = SPI_processed;
	AfterTriggerFireDeferred();
	PortalHashTableDeleteAll();
	return processed;
}

static void
push_key(JsonbParseState **state, const char *name)
{
	JsonbValue key = {.type = jbvString};

	key.val.string.val = unconstify(char *, name);
	key.val.string.len = strlen(name);
	pushJsonbValue(state, WJB_KEY, &key);
}

/* {"result": …, "row_count": …} */
static Jsonb *
result_json(Jsonb *row, uint64 row_count)
{
	JsonbParseState *state = NULL;
	JsonbValue value = {.type = jbvNull};

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_key(&state, "result");
	if (row != NULL)
	{
		value.type = jbvBinary;
		value.val.binary.data = &row->root;
		value.val.binary.len = VARSIZE(row) - VARHDRSZ;
	}
	pushJsonbValue(&state, WJB_VALUE, &value);
	push_key(&state, "row_count");
	value.type = jbvNumeric;
	value.val.numeric =
		DatumGetNumeric(DirectFunctionCall1(int8_numeric, Int64GetDatum(row_count)));
	pushJsonbValue(&state, WJB_VALUE, &value);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
}

static void
execute(struct flow_run *run, struct flow_step *step)
{
	struct flow_definition *definition = run->definition;
	MemoryContext context = CurrentMemoryContext;
	struct row_receiver receiver = {
		.base = {receive_row, receive_startup, receive_nothing, receive_nothing, DestTuplestore},
		.context = context,
	};
	struct db_identity_frame identity;
	struct sql_error_frame errors;
	uint64 row_count;

	SPI_connect();
	flow_sql_push_error_frame(&errors, definition, step);
	db_act_as(&identity, definition->owner, definition->search_path, false);
	flow_take_in_hand(definition, &run, 1);
	row_count = run_statement(run, step, &receiver);
	flow_put_down();
	db_leave(&identity);
	flow_sql_pop_error_frame(&errors);
	SPI_finish();
	MemoryContextSwitchTo(context);

	flow_run_set_output(run, step, OUTPUT_RESULT, JsonbPGetDatum(receiver.row),
						receiver.row == NULL);
	flow_run_set_output(run, step, OUTPUT_ROW_COUNT, Int64GetDatum(row_count), false);
	flow_step_succeed(run, step, result_json(receiver.row, row_count), NULL);
}

static void
restore(struct flow_run *run, struct flow_step *step, Jsonb *result, struct evm_arena *arena)
{
	JsonbValue *row = getKeyJsonValueFromContainer(&result->root, "result", strlen("result"), NULL);
	JsonbValue *row_count =
		getKeyJsonValueFromContainer(&result->root, "row_count", strlen("row_count"), NULL);

	if (row != NULL && row->type != jbvNull)
		flow_run_set_output(run, step, OUTPUT_RESULT, JsonbPGetDatum(JsonbValueToJsonb(row)),
							false);
	if (row_count != NULL && row_count->type == jbvNumeric)
		flow_run_set_output(run, step, OUTPUT_ROW_COUNT,
							DirectFunctionCall1(numeric_int8,
												NumericGetDatum(row_count->val.numeric)),
							false);
}

const struct flow_step_kind flow_step_sql = {
	.name = "sql",
	.fields = fields,
	.load = load,
	.check_loaded = flow_sql_check,
	.columns = columns,
	.execute = execute,
	.restore = restore,
};
