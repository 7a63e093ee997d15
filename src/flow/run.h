/*
 * run.h
 *	  A run in hand: its scope, the step it is at, and what is to be written about it.
 *
 * While a watcher or an executor has a run in hand nothing is written. The step kinds fill the
 * run's journal and outbox; claim.c (fresh runs) or journal.c (runs that existed) writes them in
 * one transaction.
 */
#ifndef FLOW_RUN_H
#define FLOW_RUN_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "flow/definition.h"
#include "flow/expression.h"
#include "nodes/pg_list.h"
#include "relay/queue.h"
#include "rpc/client.h"

/*
 * What becomes of a run when a turn is over.
 *
 *	FLOW_RUNNING	has a step to do in this turn			→ any other
 *	FLOW_READY		an executor goes on, from wake_at		→ FLOW_RUNNING
 *	FLOW_WAITING	waits for its transaction				→ FLOW_RUNNING
 *	FLOW_SUCCEEDED, FLOW_FAILED								final
 */
enum flow_state
{
	FLOW_RUNNING,
	FLOW_READY,
	FLOW_WAITING,
	FLOW_SUCCEEDED,
	FLOW_FAILED
};

enum flow_step_state
{
	FLOW_STEP_WAITING,
	FLOW_STEP_SUCCEEDED,
	FLOW_STEP_FAILED,
	FLOW_STEP_SKIPPED
};

/* A row of step_runs to be written. */
struct flow_entry
{
	const struct flow_step *step;
	enum flow_step_state state;
	int attempt;
	Jsonb *result;           /* or NULL */
	Jsonb *error;            /* or NULL */
	struct relay_send *send; /* whose id becomes transaction_id, or NULL */
	int64 transaction_id;    /* of a send that is already queued */
	TimestampTz started_at;
	TimestampTz finished_at; /* 0 while it waits */
};

/* Where the occurrence is on the chain. */
struct flow_log
{
	int64 block_number;
	struct evm_hash block_hash;
	TimestampTz block_timestamp;
	struct evm_hash transaction_hash;
	int transaction_index;
	int log_index;
	struct evm_address address;
};

struct flow_run
{
	struct flow_definition *definition;
	uint8 key[32];    /* occurrence key; the first 16 bytes are the run's id */
	char id_text[37]; /* as a uuid */
	bool has_log;
	struct flow_log log;
	Jsonb *event;
	Jsonb *input;
	TimestampTz created_at;
	int incarnation;

	Datum *values; /* of the scope's columns */
	bool *nulls;

	enum flow_state state;
	int next_step;
	int attempt;         /* of the step at next_step, from 1 */
	TimestampTz wake_at; /* of FLOW_READY */
	TimestampTz step_started_at;
	Jsonb *error;  /* of FLOW_FAILED */
	List *journal; /* struct flow_entry */
	List *sends;   /* struct relay_send */

	/* of the step in hand */
	struct flow_evaluation evaluation;
	int prepared_step; /* its index: a run whose next_step differs has been settled */
	int first_call;    /* index in the turn's batch */
	int second_call;
	struct evm_bytes call_data;
	struct relay_send *send;
	struct flow_step *reverted_step; /* the simulation of this step has reverted */

	/* of a run that was loaded from the tables */
	int revision;
	int64 transaction_id; /* that the step at next_step waits for; 0: none */
	List *due;            /* struct flow_due: rows that are deleted when the run is written */
	bool held;            /* its block was replaced: it waits until its event comes back */
};

/* What a turn of advancing has at hand. */
struct flow_turn
{
	const char *network; /* of client */
	struct rpc_client *client;
	const char *problem; /* why the client cannot be used; NULL: it can */
	struct rpc_batch *batch;
	bool executor; /* may do every kind of step */
};

/*
 * A fresh run of an occurrence, with an empty scope but for vars and run; in the current context.
 * key is 32 bytes.
 */
extern struct flow_run *flow_run_create(struct flow_definition *definition, const uint8 *key,
										TimestampTz created_at);
/* Gives the run another key, and so another id. */
extern void flow_run_set_key(struct flow_run *run, const uint8 *key);
/* Fills log.* and event.* (values in the order of the event's inputs). */
extern void flow_run_set_log(struct flow_run *run, const struct flow_log *log);
extern void flow_run_set_event(struct flow_run *run, const struct evm_abi_value *values);
extern void flow_run_set_input(struct flow_run *run, Jsonb *input);
/* Fills columns that flow_scope_add_params made, from first_column on. */
extern void flow_run_set_params(struct flow_run *run, int first_column,
								const struct evm_abi_param *params, size_t count,
								const struct evm_abi_value *values, bool for_event);

/* Sets an output of a step (column counted within the step). */
extern void flow_run_set_output(struct flow_run *run, const struct flow_step *step, int column,
								Datum value, bool isnull);

/*
 * Settles the step in hand and moves on to the next, or ends the run; send: what it queued, or
 * NULL.
 */
extern void flow_step_succeed(struct flow_run *run, struct flow_step *step, Jsonb *result,
							  struct relay_send *send);
extern void flow_step_skip(struct flow_run *run, struct flow_step *step);
extern void flow_step_fail(struct flow_run *run, struct flow_step *step, Jsonb *error);
/* The step has an outbox row (or had one) and waits for it. */
extern void flow_step_wait(struct flow_run *run, struct flow_step *step, struct relay_send *send);
/* The step is tried again by an executor, after a pause that grows with the attempts. */
extern void flow_step_retry(struct flow_run *run, struct flow_step *step, const char *reason,
							bool counts);
/*
 * The step is being done, in a transaction of its own: the run is written as it is until its
 * outcome is.
 */
extern void flow_step_begin(struct flow_run *run, struct flow_step *step);
/* Leaves the step to an executor, at once. */
extern void flow_run_defer(struct flow_run *run);
/* Ends the run as succeeded. */
extern void flow_run_finish(struct flow_run *run);

/*
 * In PG_CATCH, in the context where the error is to live: copies it and clears it away. Users' SQL
 * raises texts of any length; what is kept of each is at most 8 kB.
 */
extern ErrorData *flow_catch_error(void);
/* {"sqlstate": …, "message": …, "detail": …, "hint": …} */
extern Jsonb *flow_error_from_data(const ErrorData *error);
extern Jsonb *flow_error(int sqlstate, const char *format, ...) pg_attribute_printf(2, 3);

/*
 * Advances runs, wave by wave, until none is FLOW_RUNNING: evaluates expressions, collects the
 * calls of all runs into one batch, applies the answers. Outside any transaction. False when the
 * node did not answer; the runs are then unfinished and must be thrown away or parked.
 */
extern bool flow_advance(struct flow_run **runs, int count, struct flow_turn *turn);

#endif /* FLOW_RUN_H */
