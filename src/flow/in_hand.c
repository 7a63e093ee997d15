/*
 * in_hand.c
 *	  Whose code this process is running, so that its end can say so.
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "db/owner.h"
#include "db/settings.h"
#include "db/statement.h"
#include "flow/in_hand.h"
#include "flow/incident.h"
#include "storage/ipc.h"
#include "storage/pmsignal.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#define TOO_LONG \
	"user code went on after its time limit (rflow.statement_timeout), and the process had to end"
/* exit_on_error and, since 17, transaction_timeout are settings that anyone may change. */
#define ENDED "user code has ended the process"

/* Whoever has locked the row of the workflow does not keep the process from ending. */
#define LOCK_TIMEOUT "1s"

static struct
{
	struct flow_definition *definition; /* NULL: nothing */
	struct flow_run **runs;
	int count;
} in_hand;

static void (*fail_runs)(struct flow_run **runs, int count, void *arg) = NULL;
static void *fail_arg = NULL;
static volatile sig_atomic_t terminated = false;

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
disable(const char *workflow, const char *why)
{
	Datum name = CStringGetTextDatum(workflow);

	db_begin("disabling a workflow");
	(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
	(void) db_execute(&disable_workflow, &name, NULL);
	(void) flow_open_incident(
		"time-limit", workflow, workflow, why,
		"Correct the workflow, then call rflow.enable(workflow, resume => 'cursor').");
	db_commit();
}

static void
fail(const char *why)
{
	for (int i = 0; i < in_hand.count; i++)
	{
		struct flow_run *run = in_hand.runs[i];

		flow_step_fail(run, &run->definition->steps[run->next_step],
					   flow_error(ERRCODE_QUERY_CANCELED, "%s", why));
	}
	fail_runs(in_hand.runs, in_hand.count, fail_arg);
}

void
flow_note_termination(void)
{
	terminated = true;
}

static void
mark(int code, Datum arg)
{
	struct flow_definition *definition = in_hand.definition;
	const char *why = db_user_limit_exceeded() ? TOO_LONG : ENDED;

	if (definition == NULL)
		return;
	if (!db_user_limit_exceeded() && (terminated || !PostmasterIsAlive()))
		return;
	in_hand.definition = NULL;
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(TopMemoryContext);
	SetConfigOption("exit_on_error", "off", PGC_USERSET, PGC_S_SESSION);
	ereport(LOG, (errmsg("workflow \"%s\": %s", definition->workflow, why)));
	if (fail_runs != NULL)
		fail(why);
	else
		disable(definition->workflow, why);
}

void
flow_mark_at_exit(void (*function)(struct flow_run **runs, int count, void *arg), void *arg)
{
	fail_runs = function;
	fail_arg = arg;
	db_user_limits_register();
	before_shmem_exit(mark, (Datum) 0);
}
