/*
 * utility_hook.c
 *	  Lets commands through that workers are in the way of, and tells workers of
 *	  commands that concern them.
 *
 * PostgreSQL refuses to drop, rename, copy or move a database that someone is connected
 * to.  Around such a command the workers of the database are kept stopped.  Only for
 * callers that may give the command: others must not be able to stop workers.
 */
#include "postgres.h"

#include "worker/utility_hook.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "db/compat.h"
#include "db/identity.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/ipc.h"
#include "tcop/utility.h"
#include "utils/syscache.h"
#include "worker/hold.h"

static ProcessUtility_hook_type next_utility = NULL;
static object_access_hook_type next_object_access = NULL;

static const char *
option_value(List *options, const char *name)
{
	ListCell *lc;

	foreach (lc, options)
	{
		DefElem *option = lfirst(lc);

		if (strcmp(option->defname, name) == 0 && option->arg != NULL)
			return defGetString(option);
	}
	return NULL;
}

/* May the caller copy this database?  As PostgreSQL's createdb decides it. */
static bool
may_copy(Oid database)
{
	HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	bool is_template;

	if (!HeapTupleIsValid(tuple))
		return false;
	is_template = ((Form_pg_database) GETSTRUCT(tuple))->datistemplate;
	ReleaseSysCache(tuple);
	return is_template || object_ownercheck(DatabaseRelationId, database, GetUserId());
}

static bool
may_create_databases(void)
{
	HeapTuple tuple;
	bool may;

	if (superuser())
		return true;
	tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	if (!HeapTupleIsValid(tuple))
		return false;
	may = ((Form_pg_authid) GETSTRUCT(tuple))->rolcreatedb;
	ReleaseSysCache(tuple);
	return may;
}

static Oid
owned_database(const char *name)
{
	Oid database = get_database_oid(name, true);

	if (OidIsValid(database) && object_ownercheck(DatabaseRelationId, database, GetUserId()))
		return database;
	return InvalidOid;
}

static Oid
template_of(const CreatedbStmt *statement)
{
	const char *name = option_value(statement->options, "template");
	Oid database = get_database_oid(name != NULL ? name : "template1", true);

	if (OidIsValid(database) && may_create_databases() && may_copy(database))
		return database;
	return InvalidOid;
}

/* The database that the command needs for itself; InvalidOid for all others. */
static Oid
database_to_hold(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_DropdbStmt:
			return owned_database(((DropdbStmt *) statement)->dbname);
		case T_RenameStmt:
			if (((RenameStmt *) statement)->renameType != OBJECT_DATABASE)
				return InvalidOid;
			return owned_database(((RenameStmt *) statement)->subname);
		case T_AlterDatabaseStmt:
			if (option_value(((AlterDatabaseStmt *) statement)->options, "tablespace") == NULL)
				return InvalidOid;
			return owned_database(((AlterDatabaseStmt *) statement)->dbname);
		case T_CreatedbStmt:
			return template_of((CreatedbStmt *) statement);
		default:
			return InvalidOid;
	}
}

/* Whom the command concerns is told when it commits. */
static void
before_command(Node *statement)
{
	if (IsA(statement, CreatedbStmt))
		db_wake_at_commit(WAKE_LAUNCHER);
	else if (IsA(statement, AlterExtensionStmt) &&
			 strcmp(((AlterExtensionStmt *) statement)->extname, DB_EXTENSION_NAME) == 0)
		db_definitions_changed();
}

static bool
commits_prepared(Node *statement)
{
	return IsA(statement, TransactionStmt) &&
		((TransactionStmt *) statement)->kind == TRANS_STMT_COMMIT_PREPARED;
}

/* A command as the hook is given it. */
struct command
{
	PlannedStmt *pstmt;
	const char *query;
	bool read_only;
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *environment;
	DestReceiver *dest;
	QueryCompletion *qc;
};

static void
run(const struct command *c)
{
	(next_utility ? next_utility : standard_ProcessUtility)(c->pstmt, c->query, c->read_only,
															c->context, c->params, c->environment,
															c->dest, c->qc);
}

static void
release(int code, Datum database)
{
	worker_release(DatumGetObjectId(database));
}

/* The hold ends with the command, however that ends. */
static void
run_holding(const struct command *c, Datum database)
{
	PG_ENSURE_ERROR_CLEANUP(release, database);
	{
		worker_hold(DatumGetObjectId(database));
		run(c);
	}
	PG_END_ENSURE_ERROR_CLEANUP(release, database);
	release(0, database);
}

static void
utility(PlannedStmt *pstmt, const char *query, bool read_only, ProcessUtilityContext context,
		ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest,
		QueryCompletion *qc)
{
	struct command command = {pstmt, query, read_only, context, params, environment, dest, qc};
	Node *statement = pstmt->utilityStmt;
	Oid database = database_to_hold(statement);
	bool prepared = commits_prepared(statement);

	before_command(statement);
	if (OidIsValid(database))
		run_holding(&command, ObjectIdGetDatum(database));
	else
		run(&command);
	/* It may have left work; its own wakes were forgotten by PREPARE. */
	if (prepared)
		db_wake_now(MyDatabaseId, WAKE_ALL & ~WAKE_LAUNCHER);
}

/* However the extension is dropped (also by DROP OWNED, or with what it needs). */
static void
object_access(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *arg)
{
	if (next_object_access)
		next_object_access(access, class_id, object_id, sub_id, arg);
	if (access == OAT_DROP && class_id == ExtensionRelationId && object_id == db_extension_oid())
		db_definitions_changed();
}

void
worker_install_hooks(void)
{
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
	next_object_access = object_access_hook;
	object_access_hook = object_access;
}
