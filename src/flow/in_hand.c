/*
 * in_hand.c
 *	  Whose code this process is running, so that its end can say so.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "db/owner.h"
#include "db/settings.h"
#include "db/statement.h"
#include "flow/in_hand.h"
#include "flow/incident.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#define WHY \
	"user code went on after its time limit (rflow.statement_timeout), and the process had to end"

static struct
{
	struct flow_definition *definition; /* NULL: nothing */
	struct flow_run **runs;
	int count;
} in_hand;

static void (*fail_runs)(struct flow_run **runs, int count, void *arg) = NULL;
static void *fail_arg = NULL;

static struct db_statement disable_workflow = {
	.sql = "UPDATE rflow.workflows w SET enabled = false WHERE w.name = $1 AND w.enabled",
	.types = {TEXTOID},
	.count = 1,
};

void
flow_take_in_hand(struct flow_definition *definition, struct flow_run **runs, int count)
{
	in_hand.definition = definition;
	in_hand.runs = runs;
	in_hand.count = count;
	db_user_limits_start(db_statement_timeout_ms);
}

void
flow_put_down(void)
{
	db_user_limits_stop();
	in_hand.definition = NULL;
}

/* The next process does not run it; its place on the chain is kept. */
static void
disable(const char *workflow)
{
	Datum name = CStringGetTextDatum(workflow);

	db_begin("disabling a workflow");
	(void) db_execute(&disable_workflow, &name, NULL);
	(void) flow_open_incident(
		"time-limit", workflow, workflow, WHY,
		"Correct the workflow, then call rflow.enable(workflow, resume => 'cursor').");
	db_commit();
}

static void
fail(const char *workflow)
{
	for (int i = 0; i < in_hand.count; i++)
	{
		struct flow_run *run = in_hand.runs[i];

		flow_step_fail(run, &run->definition->steps[run->next_step],
					   flow_error(ERRCODE_QUERY_CANCELED, WHY));
	}
	fail_runs(in_hand.runs, in_hand.count, fail_arg);
}

static void
mark(int code, Datum arg)
{
	struct flow_definition *definition = in_hand.definition;

	if (definition == NULL || !db_user_limit_exceeded())
		return;
	in_hand.definition = NULL;
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(TopMemoryContext);
	ereport(LOG, (errmsg("workflow \"%s\": " WHY, definition->workflow)));
	if (fail_runs != NULL)
		fail(definition->workflow);
	else
		disable(definition->workflow);
}

void
flow_mark_at_exit(void (*function)(struct flow_run **runs, int count, void *arg), void *arg)
{
	fail_runs = function;
	fail_arg = arg;
	db_user_limits_register();
	before_shmem_exit(mark, (Datum) 0);
}
