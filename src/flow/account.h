/*
 * account.h
 *	  What sending from a relayer needs to know, kept in the process until the definitions change.
 */
#ifndef FLOW_ACCOUNT_H
#define FLOW_ACCOUNT_H

#include "postgres.h"

#include "evm/bytes.h"
#include "relay/policy.h"
#include "relay/queue.h"

struct flow_account
{
	const char *relayer;
	const struct relay_grants *grants;
	struct relay_policies *policies; /* NULL: none */
	bool known;                      /* address is set */
	struct evm_address address;
};

/*
 * The account of a relayer. In a transaction with an SPI connection; valid until the next call
 * and the end of the transaction. The tables are read once, and again when the definitions have
 * changed or while the address is not known.
 */
extern const struct flow_account *flow_account_find(const char *relayer);

/*
 * Gives a send to a member of a pool; fills its relayer, and the member's address where known.
 * What the members have to do is read once in a transaction, in one statement; what is given away
 * in it counts.  False, with the reason, when the send's owner may use none.  Needs an SPI
 * connection.
 */
extern bool flow_account_choose(struct relay_send *send, const char *pool, bool *known,
								struct evm_address *address, char **problem);

/* True when the account has queued sends, or nonces that are not settled.  Reads the tables. */
extern bool flow_account_is_busy(const struct flow_account *account, int64 chain_id);

#endif /* FLOW_ACCOUNT_H */
