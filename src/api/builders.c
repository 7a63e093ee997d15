/*
 * builders.c
 *	  SQL functions behind the builders: the shape of a trigger or step is checked where it is
 *	  written.
 */
#include "postgres.h"

#include "flow/definition.h"
#include "fmgr.h"

PG_FUNCTION_INFO_V1(rflow_check_step);
PG_FUNCTION_INFO_V1(rflow_check_trigger);

static void
check_object(Jsonb *json, const char *what)
{
	if (!JB_ROOT_IS_OBJECT(json))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a %s is a JSON object", what)));
}

Datum
rflow_check_step(PG_FUNCTION_ARGS)
{
	Jsonb *step = PG_GETARG_JSONB_P(0);

	check_object(step, "step");
	flow_check_step_shape(step);
	PG_RETURN_JSONB_P(step);
}

Datum
rflow_check_trigger(PG_FUNCTION_ARGS)
{
	Jsonb *trigger = PG_GETARG_JSONB_P(0);

	check_object(trigger, "trigger");
	flow_check_trigger_shape(trigger);
	PG_RETURN_JSONB_P(trigger);
}
