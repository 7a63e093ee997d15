/*
 * bind.h
 *	  From the text of an expression to a checked parse tree over its scope.
 */
#ifndef FLOW_BIND_H
#define FLOW_BIND_H

#include "flow/expression.h"

#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "utils/queryenvironment.h"
#include "utils/tuplestore.h"

/*
 * What errors are about while an expression is parsed, checked, planned or run: pushed on
 * error_context_stack around it.
 */
struct flow_error_frame
{
	ErrorContextCallback callback;
	struct flow_definition *definition;
	struct flow_expression *expression;
};

extern void flow_push_error_frame(struct flow_error_frame *frame,
								  struct flow_definition *definition,
								  struct flow_expression *expression);
extern void flow_pop_error_frame(struct flow_error_frame *frame);

/* The combined text that positions refer to: SELECT, then the sources, one per line. */
extern char *flow_expression_text(const struct flow_expression *expression);

/*
 * The statement that evaluates it: with coerce the ordinal, then its targets, coerced; without,
 * the targets as they are. Raises on what is not exactly the wanted number of expressions.
 */
extern RawStmt *flow_bind(struct flow_definition *definition, struct flow_expression *expression,
						  bool coerce);

/* Makes references to columns that do not exist an error that says which there are. */
struct flow_parser
{
	struct flow_definition *definition;
	struct flow_expression *expression;
};
extern void flow_parser_setup(ParseState *pstate, void *arg);

/* Raise: alias has no such column; nothing is called alias at this position. */
extern void flow_refuse_column(ParseState *pstate, const struct flow_definition *definition,
							   int position, const char *alias, const char *name, int location)
	pg_attribute_noreturn();
extern void flow_refuse_alias(ParseState *pstate, const struct flow_definition *definition,
							  int position, const char *alias, const char *name, int location)
	pg_attribute_noreturn();

/* A query environment that offers the scope; rows may be NULL (for analysis alone). */
extern QueryEnvironment *flow_scope_environment(const struct flow_scope *scope,
												Tuplestorestate *rows);

#endif /* FLOW_BIND_H */
