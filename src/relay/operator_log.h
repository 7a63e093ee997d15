/*
 * operator_log.h
 *	  The journal of what operators do: who, what, why, and what came of it.
 */
#ifndef RELAY_OPERATOR_LOG_H
#define RELAY_OPERATOR_LOG_H

#include "postgres.h"

/* Of one verb.  Texts are borrowed for the call; NULL where there is none. */
struct relay_verb
{
	const char *verb;    /* name of the function */
	const char *subject; /* "transaction 5", "relayer hot", … */
	Oid caller;          /* the role that it was called as; InvalidOid: the relayer itself */
	Oid owner;           /* of the subject, who may read the entry; InvalidOid: operators alone */
	const char *reason;
	const char *detail; /* a JSON object */
	const char *outcome;
};

/*
 * Adds an entry, in the transaction of the verb: both commit, or neither.  Needs an SPI connection
 * of one who may write in rflow_private.
 */
extern void relay_log_verb(const struct relay_verb *verb);

#endif /* RELAY_OPERATOR_LOG_H */
