/*
 * crash.c
 *	  Named points at which tests make a process die; inert in production.
 *
 * Only superusers can set rflow.crash_point, so nobody gains by it.
 */
#include "postgres.h"

#include "db/crash.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

/* How often a process that waits looks whether the setting has changed. */
#define CRASH_WAIT_MS 50

/* The action of the setting when it names this point, else NULL. */
static const char *
action_at(const char *name)
{
	size_t len = strlen(name);

	if (db_crash_point == NULL || strncmp(db_crash_point, name, len) != 0 ||
		db_crash_point[len] != ':')
		return NULL;
	return db_crash_point + len + 1;
}

/* Signals end it, and a reload of the configuration that takes the setting away. */
static void
wait_at(const char *name)
{
	const char *action;

	while ((action = action_at(name)) != NULL && strcmp(action, "wait") == 0)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, CRASH_WAIT_MS,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}

void
db_crash_point_reached(const char *name)
{
	const char *action = action_at(name);

	if (action == NULL)
		return;
	ereport(LOG, (errmsg("rflow: crash point \"%s\" reached", name)));
	if (strcmp(action, "error") == 0)
		ereport(ERROR, (errmsg("rflow: crash point \"%s\"", name)));
	else if (strcmp(action, "exit") == 0)
		proc_exit(1);
	else if (strcmp(action, "abort") == 0)
		abort();
	else if (strcmp(action, "wait") == 0)
		wait_at(name);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown action \"%s\" of crash point \"%s\"", action, name)));
}
