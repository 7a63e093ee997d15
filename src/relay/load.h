/*
 * load.h
 *	  From the tables to memory: the definitions of a network, and the view of one round.
 */
#ifndef RELAY_LOAD_H
#define RELAY_LOAD_H

#include "db/statement.h"
#include "relay/state.h"

/*
 * Reads network and relayers again when their generation has changed, in a transaction of its own.
 * False when the worker may not act any more, or the network is gone or disabled.
 */
extern bool relay_load_definitions(struct relay_process *process);

/*
 * For each account without a usable key: reads its reference, derives the address, takes the
 * account for this process.  What is in the way becomes its problem.  No transaction may be open.
 */
extern void relay_resolve_accounts(struct relay_process *process);

/*
 * Loads the view into the current context, in a transaction of its own; NULL when the worker
 * may not act.
 */
extern struct relay_view *relay_load_view(struct relay_process *process, bool signing_held);

/* What a transaction does, and what it was sent to. */
struct relay_payload
{
	bool creates;
	struct evm_address recipient;
	struct evm_word value;
	struct evm_bytes data;
	char *abi; /* JSON of a contract that is known at the recipient; NULL: none is */
};

/* In an open transaction, into a context; false when there is no such transaction. */
extern bool relay_read_payload(MemoryContext context, int64 id, struct relay_payload *out);

/*
 * db_execute, and makes the context current, so that what is read from the rows lives in it: SPI
 * leaves a context of its own, which ends with the connection.
 */
extern uint64 relay_fetch(MemoryContext context, struct db_statement *statement, Datum *parameters);

#endif /* RELAY_LOAD_H */
