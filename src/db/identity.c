/*
 * identity.c
 *	  May this database act?  The extension is here, its version is ours, it is armed,
 *	  and it is not a copy.
 *
 * The tables are read directly, not through SPI: triggers ask on behalf of users who may
 * not read rflow_private, and every transaction of a worker asks.  An answer is kept as
 * long as the generation of the definitions and the OID of the schema are the same:
 * arming, disarming and updating the extension raise the generation, dropping it takes
 * the schema away.
 */
#include "postgres.h"

#include "db/identity.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "db/compat.h"
#include "db/settings.h"
#include "db/wake.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define PRIVATE_SCHEMA "rflow_private"
#define IDENTITY_TABLE "identity"

/* Columns of rflow_private.identity (sql/30_tables.sql). */
enum identity_column
{
	COLUMN_SYSTEM_IDENTIFIER = 2,
	COLUMN_DATABASE_OID,
	COLUMN_TIMELINE,
	COLUMN_INSTANCE_ID
};

/* The last answer and what it depends on. */
static struct
{
	bool known;
	uint64 generation;
	Oid schema;
	Oid extension;
	enum db_readiness readiness;
	bool signing_held;
} cached;

void
db_current_identity(struct db_identity *out)
{
	out->system_identifier = GetSystemIdentifier();
	out->database = MyDatabaseId;
	out->timeline = GetWALInsertionTimeLine();
	out->instance_id = db_instance_id != NULL ? db_instance_id : "";
}

Oid
db_extension_oid(void)
{
	return get_extension_oid(DB_EXTENSION_NAME, true);
}

/* The version of the extension in the catalog, palloc'd; NULL when it is not there. */
static char *
extension_version(Oid extension)
{
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	char *version = NULL;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool isnull;
		Datum value =
			heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(rel), &isnull);

		if (!isnull)
			version = TextDatumGetCString(value);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return version;
}

static Datum
identity_value(HeapTuple tuple, Relation rel, enum identity_column column)
{
	bool isnull;
	Datum value = heap_getattr(tuple, column, RelationGetDescr(rel), &isnull);

	if (isnull)
		elog(ERROR, "null in column %d of rflow_private.identity", column);
	return value;
}

static enum db_readiness
compare_identity(HeapTuple tuple, Relation rel, bool *signing_held)
{
	struct db_identity now;
	char *instance_id;
	bool same;

	db_current_identity(&now);
	instance_id = TextDatumGetCString(identity_value(tuple, rel, COLUMN_INSTANCE_ID));
	same = (uint64) DatumGetInt64(identity_value(tuple, rel, COLUMN_SYSTEM_IDENTIFIER)) ==
			now.system_identifier &&
		DatumGetObjectId(identity_value(tuple, rel, COLUMN_DATABASE_OID)) == now.database &&
		strcmp(instance_id, now.instance_id) == 0;
	pfree(instance_id);
	*signing_held =
		(uint32) DatumGetInt32(identity_value(tuple, rel, COLUMN_TIMELINE)) != now.timeline;
	return same ? DB_READY : DB_COPY;
}

/* What the arming record says. */
static enum db_readiness
read_identity(Oid schema, bool *signing_held)
{
	Oid table = get_relname_relid(IDENTITY_TABLE, schema);
	enum db_readiness readiness = DB_DISARMED;
	Relation rel;
	SysScanDesc scan;
	HeapTuple tuple;

	if (!OidIsValid(table))
		return DB_OTHER_VERSION;
	rel = table_open(table, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		readiness = compare_identity(tuple, rel, signing_held);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return readiness;
}

/* A whole look, once the extension is locked. */
static enum db_readiness
look(Oid extension, Oid schema, bool *signing_held)
{
	char *version = extension_version(extension);
	bool ours;

	if (version == NULL)
		return DB_NO_EXTENSION;
	ours = strcmp(version, RFLOW_VERSION) == 0;
	pfree(version);
	if (!ours || !OidIsValid(schema))
		return DB_OTHER_VERSION;
	return read_identity(schema, signing_held);
}

/*
 * DROP EXTENSION waits for who has this lock, and we for it: it may be gone when we have
 * the lock.
 */
static void
lock_extension(Oid extension)
{
	LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
}

static bool
cache_holds(Oid schema)
{
	return cached.known && cached.schema == schema &&
		cached.generation == db_definitions_generation() && !db_definitions_changed_here();
}

/*
 * Looks under the settled generation, else the old answer would be kept under the new one.  A
 * transaction that changes definitions itself keeps nothing: it may yet roll back.
 */
static enum db_readiness
look_and_keep(bool *signing_held)
{
	Oid extension = db_extension_oid();
	Oid schema;

	cached.known = false;
	if (!OidIsValid(extension))
		return DB_NO_EXTENSION;
	lock_extension(extension);
	cached.generation = db_definitions_changed_here() ? 0 : db_settled_generation();
	schema = get_namespace_oid(PRIVATE_SCHEMA, true);
	cached.readiness = look(extension, schema, signing_held);
	cached.extension = extension;
	cached.schema = schema;
	cached.signing_held = *signing_held;
	cached.known = OidIsValid(schema) && cached.generation != 0;
	return cached.readiness;
}

enum db_readiness
db_readiness(bool *signing_held)
{
	*signing_held = false;
	if (RecoveryInProgress())
		return DB_STANDBY;
	if (cached.known)
	{
		lock_extension(cached.extension);
		if (cache_holds(get_namespace_oid(PRIVATE_SCHEMA, true)))
		{
			*signing_held = cached.signing_held;
			return cached.readiness;
		}
	}
	return look_and_keep(signing_held);
}

const char *
db_readiness_text(enum db_readiness readiness)
{
	switch (readiness)
	{
		case DB_READY:
			return "ready";
		case DB_NO_EXTENSION:
			return "the extension is not created in this database";
		case DB_OTHER_VERSION:
			return "the extension's version is not that of the loaded library (" RFLOW_VERSION
				   "): restart the server, or ALTER EXTENSION rflow UPDATE";
		case DB_DISARMED:
			return "disarmed: call rflow.arm()";
		case DB_COPY:
			return "a copy of the database that was armed: call rflow.arm() if it is to act";
		case DB_STANDBY:
			return "a standby: workers start after promotion";
	}
	return "unknown";
}

bool
db_is_armed(void)
{
	bool signing_held;

	return db_readiness(&signing_held) == DB_READY;
}
