/*
 * settings.h
 *	  Every setting of rflow, as PostgreSQL keeps it, and one function that defines them.
 */
#ifndef DB_SETTINGS_H
#define DB_SETTINGS_H

#include "postgres.h"

extern int rflow_max_workers;          /* rflow.max_workers: slots in shared memory (postmaster) */
extern int rflow_executors;            /* rflow.executors: per database (postmaster) */
extern int rflow_claim_batch;          /* rflow.claim_batch: occurrences of one round */
extern int rflow_statement_timeout_ms; /* rflow.statement_timeout: of one user statement */
extern char *rflow_key_directory;      /* rflow.key_directory: files of signers */
extern char *rflow_instance_id;        /* rflow.instance_id: tells snapshots of one server apart */
extern char *rflow_crash_point;        /* rflow.crash_point: "NAME:ACTION" (superuser; tests) */
extern bool rflow_enabled;             /* rflow.enabled: off keeps all workers idle (sighup) */

/* Called once from _PG_init. */
extern void db_define_settings(void);

#endif /* DB_SETTINGS_H */
