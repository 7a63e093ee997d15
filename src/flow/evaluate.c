/*
 * evaluate.c
 *	  Runs the kept plan of an expression over the scopes of many runs at once.
 *
 * The rows are a tuplestore that the statement reads as a relation. Values come back by ordinal
 * in the target list, never through a WHERE: the planner reorders conditions and would break a
 * user's guard. The transaction is read-only and always ends with an abort.
 */
#include "postgres.h"

#include "access/xact.h"
#include "db/compat.h"
#include "db/owner.h"
#include "db/settings.h"
#include "executor/executor.h"
#include "flow/bind.h"
#include "flow/in_hand.h"
#include "flow/run.h"
#include "flow/scope.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

/* Collects (ordinal, values…) into evaluations. */
struct value_receiver
{
	DestReceiver base;
	struct flow_evaluation *evaluations;
	int count;
	int seen;
	int targets;
	MemoryContext context; /* where values are copied */
};

static bool
receive_slot(TupleTableSlot *slot, DestReceiver *self)
{
	struct value_receiver *receiver = (struct value_receiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	struct flow_evaluation *evaluation;
	int ordinal;

	slot_getallattrs(slot);
	ordinal = DatumGetInt32(slot->tts_values[0]);
	if (ordinal < 0 || ordinal >= receiver->count)
		elog(ERROR, "ordinal %d is out of range", ordinal);
	evaluation = &receiver->evaluations[ordinal];
	for (int i = 0; i < receiver->targets; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(slot->tts_tupleDescriptor, i + 1);

		evaluation->nulls[i] = slot->tts_isnull[i + 1];
		if (evaluation->nulls[i])
			continue;
		if (attribute->attlen == -1)
			evaluation->values[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(slot->tts_values[i + 1]));
		else
			evaluation->values[i] =
				datumCopy(slot->tts_values[i + 1], attribute->attbyval, attribute->attlen);
	}
	receiver->seen++;
	MemoryContextSwitchTo(old);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
receive_nothing(DestReceiver *self)
{
}

/* Once per expression and process: analysed under the owner's path, kept for ever. */
static void
prepare(struct flow_definition *definition, struct flow_expression *expression)
{
	struct flow_parser *parser = MemoryContextAlloc(definition->context, sizeof(*parser));
	char *text = flow_expression_text(expression);
	RawStmt *statement = flow_bind(definition, expression, true);
	CachedPlanSource *source = CreateCachedPlan(statement, text, CMDTAG_SELECT);
	List *queries;

	parser->definition = definition;
	parser->expression = expression;
	queries = pg_analyze_and_rewrite_withcb(statement, text, flow_parser_setup, parser,
											flow_scope_environment(&definition->scope, NULL));
	CompleteCachedPlan(source, queries, NULL, NULL, 0, flow_parser_setup, parser,
					   CURSOR_OPT_GENERIC_PLAN, true);
	SaveCachedPlan(source);
	expression->plan = source;
}

static Tuplestorestate *
collect_rows(const struct flow_scope *scope, struct flow_run **runs, int count)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);

	for (int i = 0; i < count; i++)
	{
		runs[i]->values[0] = Int32GetDatum(i);
		runs[i]->nulls[0] = false;
		tuplestore_putvalues(rows, scope->desc, runs[i]->values, runs[i]->nulls);
	}
	return rows;
}

static void
execute(struct flow_definition *definition, struct flow_expression *expression,
		struct value_receiver *receiver, Tuplestorestate *rows)
{
	QueryEnvironment *environment = flow_scope_environment(&definition->scope, rows);
	CachedPlan *plan = GetCachedPlan(expression->plan, NULL, CurrentResourceOwner, environment);
	PlannedStmt *statement = linitial_node(PlannedStmt, plan->stmt_list);
	QueryDesc *query =
		CreateQueryDesc(statement, expression->plan->query_string, GetActiveSnapshot(),
						InvalidSnapshot, &receiver->base, NULL, environment, 0);

	ExecutorStart(query, 0);
	executor_run(query);
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	ReleaseCachedPlan(plan, CurrentResourceOwner);
}

/* Everything between start and abort; raises what the user's SQL raises. */
static void
evaluate_as_owner(struct flow_definition *definition, struct flow_expression *expression,
				  struct flow_run **runs, int count, struct value_receiver *receiver)
{
	struct flow_error_frame errors;
	struct db_identity_frame identity;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	XactReadOnly = true;
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, definition->workflow);
	flow_push_error_frame(&errors, definition, expression);
	db_act_as(&identity, definition->owner, definition->search_path, true);
	flow_take_in_hand(definition, runs, count);
	if (expression->plan == NULL)
		prepare(definition, expression);
	execute(definition, expression, receiver, collect_rows(&definition->scope, runs, count));
	flow_pop_error_frame(&errors);
	if (receiver->seen != count)
		elog(ERROR, "an expression gave %d values for %d rows", receiver->seen, count);
}

/* NULL when it went well. */
static ErrorData *
try_evaluate(struct flow_definition *definition, struct flow_expression *expression,
			 struct flow_run **runs, int count, struct flow_evaluation *evaluations)
{
	MemoryContext context = CurrentMemoryContext;
	struct value_receiver receiver = {
		.base = {receive_slot, receive_startup, receive_nothing, receive_nothing, DestNone},
		.evaluations = evaluations,
		.count = count,
		.targets = expression->target_count,
		.context = context,
	};
	ErrorData *volatile error = NULL;

	PG_TRY();
	{
		evaluate_as_owner(definition, expression, runs, count, &receiver);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = flow_catch_error();
	}
	PG_END_TRY();
	flow_put_down();
	db_abort_user_transaction();
	MemoryContextSwitchTo(context);
	pgstat_report_activity(STATE_IDLE, NULL);
	return error;
}

/* One by one, within twice the limit of a statement together: the guilty one gets the error. */
static void
evaluate_singly(struct flow_definition *definition, struct flow_expression *expression,
				struct flow_run **runs, int count, struct flow_evaluation *evaluations,
				ErrorData *batch_error)
{
	TimestampTz deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), 2 * db_statement_timeout_ms);

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (GetCurrentTimestamp() > deadline)
			evaluations[i].error = batch_error;
		else
			evaluations[i].error =
				try_evaluate(definition, expression, &runs[i], 1, &evaluations[i]);
	}
}

struct flow_evaluation *
flow_evaluate(struct flow_definition *definition, struct flow_expression *expression,
			  struct flow_run **runs, int count)
{
	struct flow_evaluation *evaluations = palloc0(Max(count, 1) * sizeof(*evaluations));
	ErrorData *error;

	for (int i = 0; i < count; i++)
	{
		evaluations[i].values = palloc0(expression->target_count * sizeof(Datum));
		evaluations[i].nulls = palloc0(expression->target_count * sizeof(bool));
	}
	error = try_evaluate(definition, expression, runs, count, evaluations);
	if (error == NULL)
		return evaluations;
	if (count == 1)
		evaluations[0].error = error;
	else
		evaluate_singly(definition, expression, runs, count, evaluations, error);
	return evaluations;
}

void
flow_warm(struct flow_definition *definition)
{
	if (definition->filter != NULL)
		(void) flow_evaluate(definition, definition->filter, NULL, 0);
	if (definition->once_per != NULL)
		(void) flow_evaluate(definition, definition->once_per, NULL, 0);
	for (int i = 0; i < definition->step_count; i++)
	{
		struct flow_step *step = &definition->steps[i];

		if (step->run_if != NULL)
			(void) flow_evaluate(definition, step->run_if, NULL, 0);
		if (step->values != NULL)
			(void) flow_evaluate(definition, step->values, NULL, 0);
	}
}

void
flow_expression_release(struct flow_expression *expression)
{
	if (expression->plan != NULL)
		DropCachedPlan(expression->plan);
	expression->plan = NULL;
}
