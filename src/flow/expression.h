/*
 * expression.h
 *	  SQL expressions of users: checked alone, bound to a scope, evaluated for many rows at once.
 *
 * An expression never becomes part of another text. It is parsed by itself, and its parse tree is
 * put into the target list of a statement that we build; a kept plan over an ephemeral named
 * relation then evaluates it for a whole batch, as the workflow's owner, read-only.
 */
#ifndef FLOW_EXPRESSION_H
#define FLOW_EXPRESSION_H

#include "flow/definition.h"

#include "utils/plancache.h"

struct flow_value_target
{
	Oid type;         /* what the value is coerced to, by assignment */
	const char *what; /* for messages: "argument 2 (value) of transfer" */
	bool integral;    /* an ABI integer: numeric division is refused */
	bool as_text;     /* any type, made text (once_per) */
};

struct flow_source
{
	const char *text;  /* what the user wrote: one expression, or a list */
	const char *field; /* "filter", "args", … */
	int first_target;
	int target_count;
};

/* One or more fields that are evaluated together, as one statement. */
struct flow_expression
{
	const char *step; /* name of the step, or NULL */
	int position;     /* sees the outputs of steps before this index */
	struct flow_source *sources;
	int source_count;
	struct flow_value_target *targets;
	int target_count;
	CachedPlanSource *plan; /* NULL until prepared */
};

/* A new expression of a step (or of the workflow, step NULL); in the definition's context. */
extern struct flow_expression *flow_expression_create(struct flow_definition *definition,
													  const struct flow_step *step);
/* Adds a field with room for count targets and returns the index of the first. */
extern int flow_expression_add(struct flow_definition *definition,
							   struct flow_expression *expression, const char *field,
							   const char *text, int count);

/*
 * Parses and analyses every expression of the definition in the current user's name and
 * search_path, raising the first error with field, step and position. Used when a workflow is
 * written.
 */
extern void flow_check_expressions(struct flow_definition *definition);

struct flow_run;

/* What became of an evaluation for one run. */
struct flow_evaluation
{
	Datum *values; /* target_count of them */
	bool *nulls;
	ErrorData *error; /* non-NULL: it raised this */
};

/*
 * Evaluates for all runs, as the definition's owner, in a read-only transaction of its own that is
 * always aborted.  Results live in the current memory context.  When the statement for the
 * whole batch raises, each run is evaluated alone, within the time budget.  Must be called
 * outside a transaction.
 */
extern struct flow_evaluation *flow_evaluate(struct flow_definition *definition,
											 struct flow_expression *expression,
											 struct flow_run **runs, int count);

/* Prepares and plans every expression with no rows, so that the first event finds it warm. */
extern void flow_warm(struct flow_definition *definition);

/* Gives up the plans (before flow_free). */
extern void flow_expression_release(struct flow_expression *expression);

#endif /* FLOW_EXPRESSION_H */
