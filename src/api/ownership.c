/*
 * ownership.c
 *	  Whose rights the SQL in a definition has, and under which search_path it is read.
 */
#include "postgres.h"

#include "api/workflows.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/varlena.h"

const char *
api_safe_path(const char *path)
{
	StringInfoData safe;
	List *names;
	ListCell *cell;

	if (!SplitIdentifierString(pstrdup(path), ',', &names))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("search_path \"%s\" is not a list of schemas", path)));
	initStringInfo(&safe);
	foreach (cell, names)
	{
		const char *name = lfirst(cell);

		if (name[0] != '\0' && strcmp(name, "pg_temp") != 0)
			appendStringInfo(&safe, "%s, ", quote_identifier(name));
	}
	appendStringInfoString(&safe, "pg_temp");
	return safe.data;
}

Oid
api_decide_owner(const TriggerData *trigger, Oid wanted, const char *what)
{
	Oid user = GetUserId();
	bool isnull = true;
	Datum old = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event)
		? api_row_value(trigger->tg_trigtuple, RelationGetDescr(trigger->tg_relation), "owner",
						&isnull)
		: (Datum) 0;

	if (!OidIsValid(wanted))
		return user;
	if (has_privs_of_role(user, wanted))
		return wanted;
	if (!isnull && DatumGetObjectId(old) == wanted)
		return user;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("role \"%s\" cannot make a %s of role \"%s\"", GetUserNameFromId(user, true),
					what, GetUserNameFromId(wanted, true)),
			 errhint("Only a member of the role can.")));
}
