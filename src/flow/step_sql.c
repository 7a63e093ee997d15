/*
 * step_sql.c
 *	  sql: runs the user's statement as the workflow's owner, in the transaction that journals the step.
 */
#include "postgres.h"

#include "flow/step_kind.h"

static const struct flow_field fields[] = {
	{"statement", FLOW_FIELD_STATEMENT, true, NULL},
	{NULL}
};

static void
load(struct flow_definition *definition, struct flow_step *step, const struct evm_json *json)
{
	step->statement = flow_json_string(json, "statement");
}

const struct flow_step_kind flow_step_sql = {
	.name = "sql",
	.fields = fields,
	.load = load
};
