/*
 * policy_scope.h
 *	  What check_expression can name: the columns of send.
 */
#ifndef RELAY_POLICY_SCOPE_H
#define RELAY_POLICY_SCOPE_H

#include "relay/policy.h"

#define RELAY_SCOPE_COLUMNS 12

/* The transaction as parameters of a statement; nulls as SPI wants them. */
struct relay_scope
{
	Datum values[RELAY_SCOPE_COLUMNS];
	char nulls[RELAY_SCOPE_COLUMNS + 1];
};

/* "$1 AS relayer, …" and the types of these parameters. */
extern const char *relay_scope_columns(void);
extern void relay_scope_types(Oid types[RELAY_SCOPE_COLUMNS]);

/*
 * Fills them, in the current context.  contract, function, signature and args are those of the
 * first row of rflow.contracts (by name) at the recipient whose ABI decodes the data; NULL where
 * there is none.  Needs an SPI connection.
 */
extern void relay_scope_fill(struct relay_scope *scope, const char *network,
							 const struct relay_subject *subject);

#endif /* RELAY_POLICY_SCOPE_H */
