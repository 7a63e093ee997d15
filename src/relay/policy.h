/*
 * policy.h
 *	  What relayers may sign: the rows of rflow.policies, and a transaction held against them.
 *
 * A transaction comes under a policy by its network, relayer, workflow and owner; every policy
 * that it comes under must allow it.  What can never be allowed is refused with a reason that
 * names the policy and the field; what is not allowed now (a window, a price) waits.
 */
#ifndef RELAY_POLICY_H
#define RELAY_POLICY_H

#include "postgres.h"

#include "evm/bytes.h"

#define RELAY_SELECTOR_BYTES 4

struct relay_limit
{
	bool set;
	struct evm_word amount; /* wei */
};

/* An entry of allowed_contracts. */
struct relay_policy_contract
{
	const char *network; /* of a contract given by name; NULL: any */
	struct evm_address address;
};

struct relay_policy
{
	const char *name;
	const char *relayer; /* NULL: any, and so below */
	const char *workflow;
	Oid role;
	bool lists_contracts;
	struct relay_policy_contract *contracts;
	int contract_count;
	bool lists_functions;
	bool lists_receive; /* a transaction without data is among them */
	uint8 (*selectors)[RELAY_SELECTOR_BYTES];
	int selector_count;
	bool allow_native_transfers;
	bool allow_contract_creation;
	struct relay_limit max_value;
	struct relay_limit window_value;
	int window_transactions; /* 0: any number */
	int64 window_us;         /* 0: no windows */
	const char *window_text; /* for people */
	int64 max_gas_limit;     /* 0: any */
	struct relay_limit max_fee;
	struct relay_limit max_cost;
	const char *check; /* SQL; NULL: none */
	Oid owner;
	const char *search_path;
	bool suspended;         /* its check did not end in time: nothing is decided by it */
	struct _SPI_plan *plan; /* of check; NULL until it is first evaluated */
};

/* Those that transactions of one network can come under. */
struct relay_policies
{
	const char *network;
	struct relay_policy *policies; /* by name */
	int count;
	bool has_windows;
	bool has_checks;
};

/* A transaction, as policies see it. */
struct relay_subject
{
	const char *relayer;
	const char *workflow; /* NULL: not sent by a run */
	Oid owner;
	bool creates;
	struct evm_address recipient;
	struct evm_word value;
	struct evm_bytes data;
	int64 gas_limit; /* 0: not known yet */
};

struct relay_send;

/* The texts and bytes are those of the send. */
extern struct relay_subject relay_subject_of_send(const struct relay_send *send);

/*
 * Reads the policies of a network, or of one relayer and its network, into a context (the other
 * one may be NULL); NULL when there are none.  They change with the definitions (db/wake.h).
 * Needs an SPI connection.  Kept plans go with the context.
 */
extern struct relay_policies *relay_read_policies(MemoryContext context, const char *network,
												  const char *relayer);

extern bool relay_policy_applies(const struct relay_policy *policy,
								 const struct relay_subject *subject);

/*
 * Why this can never be allowed, palloc'd: "policy "x" (max_value): …"; NULL when nothing is
 * against it.  Checks all but check_expression, and what a window or a price does not allow at the
 * moment. policies may be NULL.
 */
extern char *relay_policy_refusal(const struct relay_policies *policies,
								  const struct relay_subject *subject);

/*
 * The lowest fee per gas that max_fee_per_gas and max_total_cost leave at this gas limit, and the
 * policy that it is of; false when there is none.
 */
extern bool relay_policy_fee_cap(const struct relay_policies *policies,
								 const struct relay_subject *subject, int64 gas_limit,
								 struct evm_word *cap, const char **policy);

#endif /* RELAY_POLICY_H */
