/*
 * settings.c
 *	  Every setting of rflow, as PostgreSQL keeps it, and one function that defines them.
 *
 * What sizes shared memory, or tells one server from a copy of it, is fixed when
 * the server starts; limits that a user must not raise are in the hands of who
 * edits the configuration.
 */
#include "postgres.h"

#include "db/settings.h"

#include "db/compat.h"
#include "utils/guc.h"

/* Bounds of the slots: a worker each, so max_worker_processes is the tighter limit in practice. */
#define MAX_WORKERS_LIMIT 1024
#define EXECUTORS_LIMIT 64
/* A claim of more rows than this has nothing left to gain and holds its locks for long. */
#define CLAIM_BATCH_LIMIT 4096
#define STATEMENT_TIMEOUT_LIMIT_MS (60 * 60 * 1000)

int rflow_max_workers = 32;
int rflow_executors = 2;
int rflow_claim_batch = 256;
int rflow_statement_timeout_ms = 5000;
char *rflow_key_directory = NULL;
char *rflow_instance_id = NULL;
char *rflow_crash_point = NULL;
bool rflow_enabled = true;

static void
define_sizes(void)
{
	DefineCustomIntVariable("rflow.max_workers", "Most workers of rflow on this server.",
							"One for each database, and there one for each executor and two "
							"for each network. Each also takes one of max_worker_processes.",
							&rflow_max_workers, 32, 2, MAX_WORKERS_LIMIT, PGC_POSTMASTER, 0, NULL,
							NULL, NULL);
	DefineCustomIntVariable("rflow.executors", "Executors in each database.",
							"They go on with runs that waited, and do the steps that take long.",
							&rflow_executors, 2, 0, EXECUTORS_LIMIT, PGC_POSTMASTER, 0, NULL, NULL,
							NULL);
	DefineCustomIntVariable("rflow.claim_batch",
							"Most occurrences that a watcher claims in one transaction.", NULL,
							&rflow_claim_batch, 256, 1, CLAIM_BATCH_LIMIT, PGC_SIGHUP, 0, NULL,
							NULL, NULL);
	DefineCustomIntVariable("rflow.statement_timeout",
							"Time that a statement of a user may take in a worker.", NULL,
							&rflow_statement_timeout_ms, 5000, 1, STATEMENT_TIMEOUT_LIMIT_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
}

void
db_define_settings(void)
{
	define_sizes();
	DefineCustomStringVariable("rflow.key_directory",
							   "Directory of the files that signers name.", NULL,
							   &rflow_key_directory, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY, NULL, NULL,
							   NULL);
	DefineCustomStringVariable("rflow.instance_id",
							   "Tells this server apart from snapshots of its disk.",
							   "Set it from outside the data directory; a server that finds "
							   "another value than the one it was armed with does nothing.",
							   &rflow_instance_id, "", PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("rflow.enabled", "Lets workers work; off keeps all of them idle.",
							 NULL, &rflow_enabled, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("rflow.crash_point",
							   "Makes a process die at a named point: NAME:ACTION.",
							   "For tests. Actions: error, exit, abort, wait.", &rflow_crash_point,
							   "", PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL,
							   NULL);
	MarkGUCPrefixReserved("rflow");
}
