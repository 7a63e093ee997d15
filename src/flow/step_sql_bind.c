/*
 * step_sql_bind.c
 *	  What the statement of a sql step may name, and whether it may run at all.
 *
 * event.value, pool.result, vars and the like are parameters of the statement. As in PL/pgSQL the
 * tables of the statement come first: a name that they know is theirs.
 */
#include "postgres.h"

#include "db/compat.h"
#include "flow/bind.h"
#include "flow/scope.h"
#include "flow/step_sql.h"
#include "mb/pg_wchar.h"
#include "nodes/parsenodes.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

static Node *
make_parameter(const struct flow_scope *scope, const struct flow_column *column, int location)
{
	Param *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = (int) (column - scope->columns) + 1;
	param->paramtype = column->type;
	param->paramtypmod = -1;
	param->paramcollid = get_typcollation(column->type);
	param->location = location;
	return (Node *) param;
}

static Node *
resolve_reference(ParseState *pstate, ColumnRef *reference, Node *var)
{
	const struct sql_parser *parser = pstate->p_ref_hook_state;
	const struct flow_definition *definition = parser->definition;
	const struct flow_column *column;
	const char *alias = NULL;
	const char *name;
	int position = parser->step->index;
	int levels_up;

	if (var != NULL || list_length(reference->fields) > 2 || !IsA(llast(reference->fields), String))
		return NULL;
	name = strVal(llast(reference->fields));
	if (list_length(reference->fields) == 2)
		alias = strVal(linitial(reference->fields));
	/* An alias of the statement itself. */
	if (alias != NULL &&
		refnameNamespaceItem(pstate, NULL, alias, reference->location, &levels_up) != NULL)
		return NULL;
	column = flow_scope_find(definition, alias, name, position);
	if (column != NULL)
		return make_parameter(&definition->scope, column, reference->location);
	if (alias != NULL && flow_scope_names(definition, alias, position) != NULL)
		flow_refuse_column(pstate, definition, position, alias, name, reference->location);
	if (alias != NULL)
		flow_refuse_alias(pstate, definition, position, alias, name, reference->location);
	return NULL;
}

void
flow_sql_parser_setup(ParseState *pstate, void *arg)
{
	pstate->p_post_columnref_hook = resolve_reference;
	pstate->p_ref_hook_state = arg;
}

static void
describe_error(void *arg)
{
	const struct sql_error_frame *frame = arg;
	int position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(frame->step->statement);
	}
	errcontext("step \"%s\" of workflow \"%s\": statement", frame->step->name,
			   frame->definition->workflow);
}

void
flow_sql_push_error_frame(struct sql_error_frame *frame, const struct flow_definition *definition,
						  const struct flow_step *step)
{
	frame->definition = definition;
	frame->step = step;
	frame->callback.callback = describe_error;
	frame->callback.arg = frame;
	frame->callback.previous = error_context_stack;
	error_context_stack = &frame->callback;
}

void
flow_sql_pop_error_frame(struct sql_error_frame *frame)
{
	error_context_stack = frame->callback.previous;
}

/* Why a statement of this kind cannot be in a step, or NULL. */
static const char *
find_refusal(const Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_TransactionStmt:
			return "It runs in the transaction that writes the step.";
		case T_CopyStmt:
			if (((const CopyStmt *) statement)->filename == NULL)
				return "There is no client to copy from or to.";
			return NULL;
		case T_ListenStmt:
		case T_UnlistenStmt:
			return "There is no client to notify.";
		default:
			return NULL;
	}
}

/* Position, in characters from 1, of the first word of a statement. */
static int
position_of(const RawStmt *raw, const char *text)
{
	int offset = Max(raw->stmt_location, 0);

	offset += strspn(text + offset, " \t\r\n\f");
	return pg_mbstrlen_with_len(text, offset) + 1;
}

void
flow_sql_check(struct flow_definition *definition, struct flow_step *step)
{
	struct sql_parser parser = {definition, step};
	struct sql_error_frame frame;
	List *statements;
	ListCell *cell;

	flow_sql_push_error_frame(&frame, definition, step);
	statements = raw_parser(step->statement, RAW_PARSE_DEFAULT);
	if (statements == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("step \"%s\": statement is empty", step->name)));
	foreach (cell, statements)
	{
		RawStmt *raw = lfirst_node(RawStmt, cell);
		const char *refusal = find_refusal(raw->stmt);

		if (refusal != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("step \"%s\": statement cannot contain %s", step->name,
							GetCommandTagName(CreateCommandTag(raw->stmt))),
					 errdetail_internal("%s", refusal),
					 errposition(position_of(raw, step->statement))));
		(void) pg_analyze_and_rewrite_withcb(raw, step->statement, flow_sql_parser_setup, &parser,
											 NULL);
	}
	flow_sql_pop_error_frame(&frame);
}
