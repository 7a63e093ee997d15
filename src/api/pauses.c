/*
 * pauses.c
 *	  Pausing and resuming a relayer, a network, a workflow, or everything.
 *
 * Relayers hold pauses among their definitions, which a signing transaction checks to be those of
 * the moment: once rflow.pause() has committed, nothing is signed that it holds.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "api/relay.h"
#include "db/identity.h"
#include "db/statement.h"
#include "db/wake.h"
#include "relay/operator_log.h"

/* Of the thing that has the name: its owner, where it has one.  No row: there is none. */
static struct db_statement find_subject = {
	.sql =
		"SELECT NULL::oid FROM rflow.networks WHERE $1 = 'network' AND name = $2"
		" UNION ALL "
		"SELECT NULL::oid FROM rflow.relayers WHERE $1 = 'relayer' AND name = $2"
		" UNION ALL "
		"SELECT owner::oid FROM rflow.workflows WHERE $1 = 'workflow' AND name = $2"
		" UNION ALL "
		"SELECT NULL::oid WHERE $1 = 'all' AND $2 = ''",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

static struct db_statement add_pause = {
	.sql =
		"INSERT INTO rflow_private.pauses (kind, name, paused_by, reason)"
		"SELECT $1, $2, $3, $4"
		" WHERE $1 <> 'relayer'"
		"    OR EXISTS (SELECT FROM rflow.relayers r WHERE r.name = $2 AND NOT r.paused)"
		"    ON CONFLICT DO NOTHING",
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID},
	.count = 4,
};

static struct db_statement remove_pause = {
	.sql =
		"DELETE FROM rflow_private.pauses"
		" WHERE kind = $1 AND name = $2 AND kind <> 'relayer'",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

static struct db_statement switch_relayer = {
	.sql =
		"UPDATE rflow.relayers"
		"   SET paused = $2"
		" WHERE name = $1 AND paused <> $2",
	.types = {TEXTOID, BOOLOID},
	.count = 2,
};

PG_FUNCTION_INFO_V1(rflow_pause);
PG_FUNCTION_INFO_V1(rflow_resume);

struct subject
{
	char *kind;
	char *name; /* "" for all */
	Oid owner;  /* of a workflow */
	bool is_relayer;
};

static char *
show(const struct subject *subject)
{
	if (subject->name[0] == '\0')
		return pstrdup("all");
	return psprintf("%s %s", subject->kind, subject->name);
}

/* Raises unless there is such a thing, and the caller may switch it. */
static void
find(struct subject *subject, const char *verb, Oid caller, bool operates)
{
	Datum parameters[2];
	bool isnull;
	Datum owner;

	parameters[0] = CStringGetTextDatum(subject->kind);
	parameters[1] = CStringGetTextDatum(subject->name);
	if (db_execute(&find_subject, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no %s \"%s\"", subject->kind, subject->name)));
	owner = db_value(0, 1, &isnull);
	subject->owner = isnull ? InvalidOid : DatumGetObjectId(owner);
	subject->is_relayer = strcmp(subject->kind, "relayer") == 0;
	if (!operates && !(OidIsValid(subject->owner) && has_privs_of_role(caller, subject->owner)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to %s %s", verb, show(subject)),
				 errhint("Members of rflow_operator may, and the owner of a workflow.")));
}

static bool
switch_paused(const struct subject *subject, bool paused)
{
	Datum parameters[2];

	parameters[0] = CStringGetTextDatum(subject->name);
	parameters[1] = BoolGetDatum(paused);
	return db_execute(&switch_relayer, parameters, NULL) > 0;
}

static bool
begin_pause(const struct subject *subject, Oid caller, const char *reason)
{
	Datum parameters[4];
	bool added;

	parameters[0] = CStringGetTextDatum(subject->kind);
	parameters[1] = CStringGetTextDatum(subject->name);
	parameters[2] = CStringGetTextDatum(GetUserNameFromId(caller, false));
	parameters[3] = reason == NULL ? (Datum) 0 : CStringGetTextDatum(reason);
	added = db_execute(&add_pause, parameters, reason == NULL ? "   n" : NULL) > 0;
	return subject->is_relayer ? switch_paused(subject, true) : added;
}

static bool
end_pause(const struct subject *subject)
{
	Datum parameters[2];

	if (subject->is_relayer)
		return switch_paused(subject, false);
	parameters[0] = CStringGetTextDatum(subject->kind);
	parameters[1] = CStringGetTextDatum(subject->name);
	return db_execute(&remove_pause, parameters, NULL) > 0;
}

static void
check_arguments(FunctionCallInfo fcinfo, struct subject *subject)
{
	api_need_argument(fcinfo, 0, "kind");
	subject->kind = text_to_cstring(PG_GETARG_TEXT_PP(0));
	subject->name = PG_ARGISNULL(1) ? pstrdup("") : text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (strcmp(subject->kind, "all") != 0 && strcmp(subject->kind, "network") != 0 &&
		strcmp(subject->kind, "relayer") != 0 && strcmp(subject->kind, "workflow") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("kind \"%s\" is none of all, network, relayer, workflow", subject->kind)));
	if ((strcmp(subject->kind, "all") == 0) != (subject->name[0] == '\0'))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("name goes with every kind but all")));
}

/* (kind, name, reason): true when it has changed anything. */
static Datum
set_pause(FunctionCallInfo fcinfo, const char *verb, bool paused)
{
	Oid caller = GetUserId();
	bool operates = api_is_operator();
	char *reason = api_text_or_null(fcinfo, 2);
	struct db_identity_frame frame;
	struct relay_verb entry = {0};
	struct subject subject = {0};
	bool changed;

	check_arguments(fcinfo, &subject);
	api_begin_private(&frame);
	find(&subject, verb, caller, operates);
	changed = paused ? begin_pause(&subject, caller, reason) : end_pause(&subject);
	entry.verb = verb;
	entry.subject = show(&subject);
	entry.caller = caller;
	entry.owner = subject.owner;
	entry.reason = reason;
	entry.outcome = changed ? (paused ? "paused" : "resumed")
		: paused            ? "was paused already"
							: "was not paused";
	relay_log_verb(&entry);
	api_end_private(&frame);
	if (changed && db_is_armed())
		db_definitions_changed();
	PG_RETURN_BOOL(changed);
}

Datum
rflow_pause(PG_FUNCTION_ARGS)
{
	return set_pause(fcinfo, "pause", true);
}

Datum
rflow_resume(PG_FUNCTION_ARGS)
{
	return set_pause(fcinfo, "resume", false);
}
