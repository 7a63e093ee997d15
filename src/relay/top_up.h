/*
 * top_up.h
 *	  Accounts that are kept above a balance, by transfers of a relayer.
 *
 * A transfer is an ordinary transaction of the queue, with an idempotency key of its own.  It is
 * queued in the transaction that writes it into top_up_transfers, where a unique index allows one
 * that is not final for each target and asset.
 */
#ifndef RELAY_TOP_UP_H
#define RELAY_TOP_UP_H

#include "relay/state.h"

/* A row of rflow.top_ups whose source is on this network. */
struct relay_top_up
{
	char *name;
	char *source;
	char *relayer; /* NULL: recipient is topped up */
	struct evm_address recipient;
	bool is_token;
	struct evm_address token; /* zero: the native coin */
	struct evm_word below;
	bool has_amount;
	struct evm_word amount; /* what is transferred, or else the balance to reach */
	bool has_limit;
	struct evm_word limit; /* in 24 hours */

	/* What relayer_states of top-ups say: written when it changes. */
	bool told;
	bool told_balance;
	struct evm_word told_balance_is;
	char told_problem[RELAY_PROBLEM_BYTES];

	/* One look. */
	struct relay_account *from;
	struct evm_address target;
	bool open;                /* a transfer to the target is not final */
	int64 last_block;         /* of the last one that is in a block; -1: none */
	struct evm_word sent;     /* in 24 hours, of this row */
	struct evm_word debts;    /* what the source may have to pay for, wei */
	struct evm_word promised; /* of the token, by transfers of the source that are not mined */
	int balance_question;     /* -1: not asked */
	int funds_question;
	int tokens_question;
	int gas_question;
	int call_question;
	bool answered;
	int silent;              /* looks in a row without an answer */
	struct evm_word balance; /* of the target */
	struct evm_word funds;   /* of the source, wei */
	struct evm_word tokens;  /* of the source */
	bool wanted;             /* a transfer is to be made */
	struct evm_word transfer;
	int64 gas_limit;
	char problem[RELAY_PROBLEM_BYTES];
};

/* With the definitions, in an open transaction, into the context of the configuration. */
extern void relay_load_top_ups(struct relay_process *process);

/*
 * At a new head, every few seconds at most: looks at the balances, and queues the transfers that
 * are needed.  No transaction may be open.  Does nothing where there are no top-ups.
 */
extern void relay_top_up(struct relay_process *process);

/* Of top_up_rows.c: what the tables say of earlier transfers, in a transaction of its own. */
extern bool relay_load_transfers(struct relay_process *process);
/* Queues what is wanted, and writes what has changed; in a transaction of its own. */
extern bool relay_write_top_ups(struct relay_process *process, int64 block_number);

#endif /* RELAY_TOP_UP_H */
