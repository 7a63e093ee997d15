/*
 * versions.c
 *	  The versions of workflows that this process has loaded, with their plans.
 *
 * A version never changes, so nothing here goes stale but by DROP and CREATE EXTENSION, which
 * give our types new OIDs.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "flow/versions.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Plans and parsed ABIs of one version take some 100 kB. */
#define VERSIONS_KEPT 64

struct kept_version
{
	struct flow_definition *definition;
	uint64 asked; /* counts up */
};

static struct db_statement read_version = {
	.sql =
		"SELECT v.definition, v.owner, v.search_path "
		"  FROM rflow.workflow_versions v "
		" WHERE v.workflow = $1 AND v.version = $2",
	.types = {TEXTOID, INT4OID},
	.count = 2,
};

static List *kept = NIL;
static uint64 askings = 0;
static Oid made_for = InvalidOid;

static struct kept_version *
find(const char *workflow, int version)
{
	ListCell *cell;

	foreach (cell, kept)
	{
		struct kept_version *candidate = lfirst(cell);

		if (candidate->definition->version == version &&
			strcmp(candidate->definition->workflow, workflow) == 0)
			return candidate;
	}
	return NULL;
}

static void
keep(struct flow_definition *definition)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	struct kept_version *entry = palloc(sizeof(struct kept_version));

	entry->definition = definition;
	entry->asked = ++askings;
	kept = lappend(kept, entry);
	MemoryContextSwitchTo(old);
}

struct flow_definition *
flow_version(const char *workflow, int version)
{
	struct kept_version *entry = find(workflow, version);
	struct flow_definition *definition;
	Datum values[2];

	if (entry != NULL)
	{
		entry->asked = ++askings;
		return entry->definition;
	}
	values[0] = CStringGetTextDatum(workflow);
	values[1] = Int32GetDatum(version);
	if (db_execute(&read_version, values, NULL) != 1)
		return NULL;
	definition =
		flow_load(CurrentMemoryContext, workflow, version, DatumGetJsonbP(db_value(0, 1, NULL)),
				  DatumGetObjectId(db_value(0, 2, NULL)), db_text(0, 3));
	/* Now that it cannot fail any more. */
	MemoryContextSetParent(definition->context, TopMemoryContext);
	keep(definition);
	return definition;
}

static void
forget(struct kept_version *entry)
{
	kept = list_delete_ptr(kept, entry);
	flow_free(entry->definition);
	pfree(entry);
}

static struct kept_version *
longest_unused(void)
{
	struct kept_version *result = NULL;
	ListCell *cell;

	foreach (cell, kept)
	{
		struct kept_version *candidate = lfirst(cell);

		if (result == NULL || candidate->asked < result->asked)
			result = candidate;
	}
	return result;
}

void
flow_versions_trim(void)
{
	bool renewed = made_for != db_types()->hex;

	made_for = db_types()->hex;
	while (list_length(kept) > (renewed ? 0 : VERSIONS_KEPT))
		forget(longest_unused());
}
