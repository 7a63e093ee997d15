/*
 * step_sql.h
 *	  What the parts of the step kind sql share.
 */
#ifndef FLOW_STEP_SQL_H
#define FLOW_STEP_SQL_H

#include "flow/definition.h"
#include "nodes/params.h"
#include "parser/parse_node.h"

/*
 * The names of the scope as parameters of the user's statement: parameter n is column n - 1 of
 * the scope. Columns of the statement's own tables come first.
 */
struct sql_parser
{
	struct flow_definition *definition;
	struct flow_step *step;
};
extern void flow_sql_parser_setup(ParseState *pstate, void *arg);

/* An error in the statement is told with its place in it, and the step. */
struct sql_error_frame
{
	ErrorContextCallback callback;
	const struct flow_definition *definition;
	const struct flow_step *step;
};
extern void flow_sql_push_error_frame(struct sql_error_frame *frame,
									  const struct flow_definition *definition,
									  const struct flow_step *step);
extern void flow_sql_pop_error_frame(struct sql_error_frame *frame);

/*
 * Raises unless the statements can be analysed, as the current user, and are of kinds that a step
 * may run.
 */
extern void flow_sql_check(struct flow_definition *definition, struct flow_step *step);

#endif /* FLOW_STEP_SQL_H */
