/*
 * settings.h
 *	  Every setting of rflow, as PostgreSQL keeps it, and one function that defines them.
 */
#ifndef DB_SETTINGS_H
#define DB_SETTINGS_H

#include "postgres.h"

extern int db_max_workers;          /* rflow.max_workers: slots in shared memory (postmaster) */
extern int db_executors;            /* rflow.executors: per database (postmaster) */
extern int db_claim_batch;          /* rflow.claim_batch: occurrences of one round */
extern int db_statement_timeout_ms; /* rflow.statement_timeout: of one user statement */
extern char *db_key_directory;      /* rflow.key_directory: files of signers */
extern char *db_instance_id;        /* rflow.instance_id: tells snapshots of one server apart */
extern char *db_crash_point;        /* rflow.crash_point: "NAME:ACTION" (superuser; tests) */
extern bool db_enabled;             /* rflow.enabled: off keeps all workers idle (sighup) */

/* Called once from _PG_init. */
extern void db_define_settings(void);

#endif /* DB_SETTINGS_H */
