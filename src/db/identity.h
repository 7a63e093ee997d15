/*
 * identity.h
 *	  May this database act?  The extension is here, its version is ours, it is armed,
 *	  and it is not a copy.
 */
#ifndef DB_IDENTITY_H
#define DB_IDENTITY_H

#include "postgres.h"

#define DB_EXTENSION_NAME "rflow"

enum db_readiness
{
	DB_READY,
	DB_NO_EXTENSION,  /* not created, or dropped */
	DB_OTHER_VERSION, /* the extension's version is not this library's: a restart is due */
	DB_DISARMED,      /* rflow.arm() has not been called */
	DB_COPY,          /* armed, but with another system identifier, database OID or instance_id */
	DB_STANDBY        /* nothing runs before promotion */
};

/*
 * Looks inside the current transaction, taking AccessShareLock on the extension until its
 * end, so that DROP EXTENSION waits for short transactions only.  Call it at the start of
 * every transaction of a worker.  *signing_held is set when only the timeline differs.
 *
 * The answer is kept while nothing has changed: that costs a lock and two comparisons
 * (0.7 µs measured, against 12 of a whole look).
 */
extern enum db_readiness db_readiness(bool *signing_held);
/* A sentence for status views. */
extern const char *db_readiness_text(enum db_readiness readiness);

/* True when this database is armed and not a copy (in a client backend; for triggers). */
extern bool db_is_armed(void);

/* What rflow.arm() records. */
struct db_identity
{
	uint64 system_identifier;
	Oid database;
	uint32 timeline;
	const char *instance_id; /* static */
};
extern void db_current_identity(struct db_identity *out);

/* OID of the extension in this database, without a lock on it; InvalidOid when there is none. */
extern Oid db_extension_oid(void);

#endif /* DB_IDENTITY_H */
