/*
 * check.c
 *	  Are the expressions of a definition what their fields want?  Asked when a workflow is written.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "flow/bind.h"
#include "flow/step_kind.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

/* A numeric division anywhere outside sub-selects; its location, or -2 when there is none. */
static bool
find_division(Node *node, void *context)
{
	int *location = context;

	if (node == NULL)
		return false;
	if (IsA(node, OpExpr) && ((OpExpr *) node)->opfuncid == F_NUMERIC_DIV)
	{
		*location = ((OpExpr *) node)->location;
		return true;
	}
	if (IsA(node, Query))
		return false;
	return expression_tree_walker(node, find_division, context);
}

static void
check_integral(ParseState *pstate, const struct flow_value_target *target, Node *value, Oid type)
{
	int location = -2;

	if (type == FLOAT4OID || type == FLOAT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s is an integer, but the expression is of type %s", target->what,
						format_type_be(type)),
				 errdetail("Floating-point numbers round."),
				 errhint("Use numeric: 1.5e18 without a cast is one."),
				 parser_errposition(pstate, exprLocation(value))));
	if (find_division(value, &location))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s is an integer, but / on numeric rounds", target->what),
				 errhint("Use div(a, b), the integer quotient."),
				 parser_errposition(pstate, location)));
}

static void
check_target(ParseState *pstate, const struct flow_value_target *target, TargetEntry *entry)
{
	Node *value = (Node *) entry->expr;
	Oid type = exprType(value);

	if (target->as_text)
		return;
	if (type != UNKNOWNOID && type != target->type &&
		!can_coerce_type(1, &type, &target->type, COERCION_ASSIGNMENT))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s must be of type %s, but the expression is of type %s", target->what,
						format_type_be(target->type), format_type_be(type)),
				 parser_errposition(pstate, exprLocation(value))));
	if (target->integral)
		check_integral(pstate, target, value, type);
}

static void
check_query(const struct flow_expression *expression, const Query *query)
{
	const char *forbidden = query->hasAggs ? "aggregate functions"
		: query->hasWindowFuncs            ? "window functions"
		: query->hasTargetSRFs             ? "set-returning functions"
										   : NULL;

	if (forbidden != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot contain %s", expression->sources[0].field, forbidden),
				 errhint("They are allowed inside a sub-select: (SELECT …).")));
}

/*
 * Types are looked at before coercion, with literals still unknown; then it is analysed as it
 * will run.
 */
static void
check_expression(struct flow_definition *definition, struct flow_expression *expression)
{
	struct flow_parser parser = {definition, expression};
	struct flow_error_frame frame;
	ParseState *pstate = make_parsestate(NULL);
	Query *query;

	flow_push_error_frame(&frame, definition, expression);
	pstate->p_sourcetext = flow_expression_text(expression);
	pstate->p_queryEnv = flow_scope_environment(&definition->scope, NULL);
	pstate->p_resolve_unknowns = false;
	flow_parser_setup(pstate, &parser);
	query = transformTopLevelStmt(pstate, flow_bind(definition, expression, false));
	check_query(expression, query);
	for (int i = 0; i < expression->target_count; i++)
		check_target(pstate, &expression->targets[i],
					 list_nth_node(TargetEntry, query->targetList, i));
	free_parsestate(pstate);

	pstate = make_parsestate(NULL);
	pstate->p_sourcetext = flow_expression_text(expression);
	pstate->p_queryEnv = flow_scope_environment(&definition->scope, NULL);
	flow_parser_setup(pstate, &parser);
	transformTopLevelStmt(pstate, flow_bind(definition, expression, true));
	free_parsestate(pstate);
	flow_pop_error_frame(&frame);
}

void
flow_check_expressions(struct flow_definition *definition)
{
	if (definition->filter != NULL)
		check_expression(definition, definition->filter);
	if (definition->once_per != NULL)
		check_expression(definition, definition->once_per);
	for (int i = 0; i < definition->step_count; i++)
	{
		const struct flow_step *step = &definition->steps[i];

		if (step->run_if != NULL)
			check_expression(definition, step->run_if);
		if (step->values != NULL)
			check_expression(definition, step->values);
		if (step->kind->check_loaded != NULL)
			step->kind->check_loaded(definition, &definition->steps[i]);
	}
}
