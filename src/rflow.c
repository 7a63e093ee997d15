/*
 * rflow.c
 *	  _PG_init: settings, shared memory, hooks, launcher; nothing else.
 */
#include "postgres.h"

#include "db/settings.h"
#include "db/shmem.h"
#include "db/wake.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "worker/launcher.h"
#include "worker/utility_hook.h"

PG_MODULE_MAGIC;

extern void _PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("rflow is not loaded"),
				 errhint("Add rflow to shared_preload_libraries and restart the server.")));
	db_define_settings();
	db_request_shared_memory();
	db_register_wake();
	worker_install_hooks();
	worker_register_launcher();
}
