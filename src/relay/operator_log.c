/*
 * operator_log.c
 *	  The journal of what operators do: who, what, why, and what came of it.
 *
 * Names of roles are kept as they are at the moment: a journal outlives the roles that it names.
 */
#include "postgres.h"

#include "relay/operator_log.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "db/statement.h"

/* Who has done what no user has asked for. */
#define RELAYER_ITSELF "rflow relayer"

static struct db_statement add_entry = {
	.sql =
		"INSERT INTO rflow_private.operator_log"
		"       (who, acting_as, verb, subject, owner, reason, detail, outcome)"
		"VALUES (COALESCE($1, session_user), COALESCE($1, $2), $3, $4, $5, $6, $7::jsonb, $8)",
	.types = {TEXTOID, TEXTOID, TEXTOID, TEXTOID, OIDOID, TEXTOID, TEXTOID, TEXTOID},
	.count = 8,
};

void
relay_log_verb(const struct relay_verb *verb)
{
	bool itself = !OidIsValid(verb->caller);
	const char *texts[8] = {0};
	Datum parameters[8] = {0};
	char nulls[] = "        ";
	int i;

	texts[0] = itself ? RELAYER_ITSELF : NULL;
	texts[1] = itself ? NULL : GetUserNameFromId(verb->caller, false);
	texts[2] = verb->verb;
	texts[3] = verb->subject;
	texts[5] = verb->reason;
	texts[6] = verb->detail;
	texts[7] = verb->outcome;
	for (i = 0; i < lengthof(texts); i++)
	{
		if (texts[i] != NULL)
			parameters[i] = CStringGetTextDatum(texts[i]);
		else
			nulls[i] = 'n';
	}
	if (OidIsValid(verb->owner))
	{
		parameters[4] = ObjectIdGetDatum(verb->owner);
		nulls[4] = ' ';
	}
	(void) db_execute(&add_entry, parameters, nulls);
}
