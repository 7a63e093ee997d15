/*
 * step_stop.c
 *	  stop: ends the run as succeeded.
 */
#include "postgres.h"

#include "flow/step_kind.h"

static const struct flow_field fields[] = {{NULL}};

static void
load(struct flow_definition *definition, struct flow_step *step, const struct evm_json *json)
{
}

static void
prepare(struct flow_run *run, struct flow_step *step, struct flow_turn *turn)
{
	flow_step_succeed(run, step, NULL, NULL);
	flow_run_finish(run);
}

const struct flow_step_kind flow_step_stop = {
	.name = "stop",
	.fields = fields,
	.in_watcher = true,
	.load = load,
	.prepare = prepare,
};
