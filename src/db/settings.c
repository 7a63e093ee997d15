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

int db_max_workers = 32;
int db_executors = 2;
int db_claim_batch = 256;
int db_statement_timeout_ms = 5000;
char *db_key_directory = NULL;
char *db_instance_id = NULL;
char *db_crash_point = NULL;
bool db_enabled = true;

static void
define_sizes(void)
{
	DefineCustomIntVariable("rflow.max_workers", "Most workers of rflow on this server.",
							"One for each database, and there one for each executor and two "
							"for each network. Each also takes one of max_worker_processes.",
							&db_max_workers, 32, 2, MAX_WORKERS_LIMIT, PGC_POSTMASTER, 0, NULL,
							NULL, NULL);
	DefineCustomIntVariable("rflow.executors", "Executors in each database.",
							"They go on with runs that waited, and do the steps that take long.",
							&db_executors, 2, 0, EXECUTORS_LIMIT, PGC_POSTMASTER, 0, NULL, NULL,
							NULL);
	DefineCustomIntVariable("rflow.claim_batch",
							"Most occurrences that a watcher claims in one transaction.", NULL,
							&db_claim_batch, 256, 1, CLAIM_BATCH_LIMIT, PGC_SIGHUP, 0, NULL, NULL,
							NULL);
	DefineCustomIntVariable("rflow.statement_timeout",
							"Time that a statement of a user may take in a worker.", NULL,
							&db_statement_timeout_ms, 5000, 1, STATEMENT_TIMEOUT_LIMIT_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
}

void
db_define_settings(void)
{
	define_sizes();
	DefineCustomStringVariable("rflow.key_directory", "Directory of the files that signers name.",
							   NULL, &db_key_directory, "", PGC_SIGHUP, GUC_SUPERUSER_ONLY, NULL,
							   NULL, NULL);
	DefineCustomStringVariable("rflow.instance_id",
							   "Tells this server apart from snapshots of its disk.",
							   "Set it from outside the data directory; a server that finds "
							   "another value than the one it was armed with does nothing.",
							   &db_instance_id, "", PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("rflow.enabled", "Lets workers work; off keeps all of them idle.",
							 NULL, &db_enabled, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("rflow.crash_point",
							   "Makes a process die at a named point: NAME:ACTION.",
							   "For tests. Actions: error, exit, abort, wait.", &db_crash_point, "",
							   PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	MarkGUCPrefixReserved("rflow");
}
