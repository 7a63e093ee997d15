/*
 * owner.h
 *	  Acting as somebody else for the length of a call, and leaving nothing behind.
 */
#ifndef DB_OWNER_H
#define DB_OWNER_H

#include "postgres.h"

struct db_identity_frame
{
	Oid saved_user;
	int saved_context;
	int guc_level;
};

/*
 * Acts as owner with its rights, under search_path, until db_leave or the end of the
 * (sub)transaction. Raises when the role is gone. restricted: no temporary objects, no deferred
 * triggers (SECURITY_RESTRICTED_OPERATION).
 */
extern void db_act_as(struct db_identity_frame *frame, Oid owner, const char *search_path,
					  bool restricted);

/*
 * Acts as the bootstrap superuser under pg_catalog alone: for our own statements in users'
 * sessions.
 */
extern void db_act_as_superuser(struct db_identity_frame *frame);

extern void db_leave(struct db_identity_frame *frame);

/*
 * Starts and stops the limits on one user statement: a cancel after timeout_ms (the GUC alone
 * never fires in a worker), and the end of the process when that has been swallowed. The second
 * one needs db_user_limits_register.
 */
extern void db_user_limits_start(int timeout_ms);
extern void db_user_limits_stop(void);

/* Once in each process that runs user code, when it is connected. */
extern void db_user_limits_register(void);

/* The second limit has passed: the process is ending because of it. */
extern bool db_user_limit_exceeded(void);

/*
 * Ends a transaction in which user expressions ran: always aborts, and drops what survives an abort
 * (prepared statements, session advisory locks).
 */
extern void db_abort_user_transaction(void);

/*
 * As db_commit, with the id of the owner whose code ran in the transaction: what of it is left to
 * run at the commit (a deferred trigger, a held cursor) has the owner's rights, not ours.
 */
extern void db_commit_as(Oid owner);

/*
 * Removes what user code may have left in the session: temporary objects, held cursors, prepared
 * statements, advisory locks, sequence values, settings. Kept plans stay. In a transaction of its
 * own; whoever calls it does not go on after an error.
 */
extern void db_reset_session(void);

#endif /* DB_OWNER_H */
