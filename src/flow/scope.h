/*
 * scope.h
 *	  What an expression can name: event.*, log.*, run.*, vars, input, and the outputs of earlier
 *	  steps.
 */
#ifndef FLOW_SCOPE_H
#define FLOW_SCOPE_H

#include "flow/definition.h"

/* Names under which the rows of a scope are offered to a statement; no user would write them. */
#define FLOW_SCOPE_RELATION "rflow scope"

/* event.*, log.*, run.*, vars and input: call it first, before the steps' columns. */
extern void flow_scope_begin(struct flow_definition *definition);
/*
 * Columns of a step, or of the event, from ABI parameters; for_event: indexed dynamic ones are
 * hashes.
 */
extern void flow_scope_add_params(struct flow_definition *definition, const char *alias, int step,
								  const struct evm_abi_param *params, size_t count, bool for_event);
extern void flow_scope_add(struct flow_definition *definition, const char *alias, int step,
						   const char *name, Oid type);
/* Builds the descriptor; inside a transaction. */
extern void flow_scope_end(struct flow_definition *definition);

/*
 * SELECT "ordinal" FROM the relation with every alias that is visible at position, as a statement
 * whose target list the caller extends.
 */
extern char *flow_scope_statement(const struct flow_scope *scope,
								  const struct flow_definition *definition, int position);

/*
 * The columns of an alias for a hint ("from, to, value"); NULL when there is no such alias at
 * position.
 */
extern char *flow_scope_names(const struct flow_definition *definition, const char *alias,
							  int position);
/* All that can be named at position, for a hint ("event, log, run, vars, input, pool"). */
extern char *flow_scope_aliases(const struct flow_definition *definition, int position);
/* Who has a column of this name, for a hint ("event.value or pool.value"). */
extern char *flow_scope_owners(const struct flow_definition *definition, const char *name,
							   int position);
/* Finds alias.name; NULL when there is none.  alias NULL: vars, input. */
extern const struct flow_column *flow_scope_find(const struct flow_definition *definition,
												 const char *alias, const char *name, int position);

#endif /* FLOW_SCOPE_H */
