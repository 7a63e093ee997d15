/*
 * workflows.h
 *	  What the triggers and verbs on definitions share.
 */
#ifndef API_WORKFLOWS_H
#define API_WORKFLOWS_H

#include "postgres.h"

#include "commands/trigger.h"
#include "executor/spi.h"
#include "flow/publish.h"

/*
 * What our trigger functions are called with; raises where they are called otherwise than by
 * triggers of schema rflow.
 */
extern const TriggerData *api_trigger(FunctionCallInfo fcinfo);

/* A column of a row by name; text is palloc'd, NULL when it is NULL. */
extern Datum api_row_value(HeapTuple row, TupleDesc desc, const char *column, bool *isnull);
extern char *api_row_text(HeapTuple row, TupleDesc desc, const char *column);

/*
 * Raises what the NOT NULL constraint of a column would, which is checked only after the trigger
 * that reads it.
 */
extern void api_check_given(const TriggerData *trigger, HeapTuple row, const char *column);

/* In an UPDATE trigger: does the new row hold another value? */
extern bool api_column_changed(const TriggerData *trigger, const char *column);
/* In an UPDATE trigger: raises when the name has changed; what is "network", … */
extern void api_check_name_stays(const TriggerData *trigger, const char *what);

/*
 * The owner of a definition's new row: who changes it becomes its owner, unless a member of the
 * role that is.  wanted is what the row says, InvalidOid for NULL; raises when that is a role
 * whose privileges the user lacks.  what is "workflow", …
 */
extern Oid api_decide_owner(const TriggerData *trigger, Oid wanted, const char *what);

/*
 * A path that ends in pg_temp, and has it nowhere else: a temporary table must never come before
 * the owner's.
 */
extern const char *api_safe_path(const char *path);

/* Makes new versions of the workflows that name a contract, where its change makes a difference. */
extern void api_remake_versions(const char *contract);

/*
 * True when the next row of rflow.workflows is updated by rflow itself: the trigger then keeps
 * owner and enabled as given, checks the definition again, and sets it back.
 */
extern bool api_own_change;

#endif /* API_WORKFLOWS_H */
