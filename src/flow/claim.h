/*
 * claim.h
 *	  The one commit: occurrences, runs, journal and queue of fresh runs, in the caller's
 *	  transaction.
 */
#ifndef FLOW_CLAIM_H
#define FLOW_CLAIM_H

#include "flow/run.h"

/*
 * The occurrence key of a log (DESIGN §4): keccak256 over kind, workflow, chain id, genesis hash,
 * transaction, emitter, topics, hash of the data, and the ordinal among equal logs of the
 * transaction. With once_per the key is made of its value instead of the log.
 */
struct flow_log_identity
{
	const char *workflow;
	int64 chain_id;
	struct evm_hash genesis_hash;
	struct evm_hash transaction_hash;
	struct evm_address address;
	const struct evm_hash *topics;
	int topic_count;
	struct evm_bytes data;
	int ordinal;
};
extern void flow_log_key(uint8 out[32], const struct flow_log_identity *log);
extern void flow_once_per_key(uint8 out[32], const char *workflow, int64 chain_id,
							  const char *value);
/* Of a manual start: the caller's key. */
extern void flow_start_key(uint8 out[32], const char *workflow, const char *key);

/*
 * Writes fresh runs that flow_advance is done with: those whose key is new win; the others, which
 * an earlier claim has started, are left out without a trace, unless the run that it has started
 * was retracted (held.h): that has come back. Returns how many won. Needs SPI;
 * the keys of the runs given must differ. Wakes relayers and executors at commit.
 */
extern int flow_claim(struct flow_run **runs, int count, const char *network, TimestampTz now);

/* Rows of step_runs for the journal of these runs; transaction ids are filled in. */
extern void flow_write_journal(struct flow_run **runs, int count);
/* Queues the sends of these runs with the relayer. */
extern void flow_write_sends(struct flow_run **runs, int count, TimestampTz now);
/* Makes the runs due that an executor has to go on with. */
extern void flow_write_due(struct flow_run **runs, int count, TimestampTz now);

extern const char *flow_state_name(enum flow_state state);

#endif /* FLOW_CLAIM_H */
