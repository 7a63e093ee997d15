/*
 * definition.h
 *	  A workflow as the C code sees it: parsed, with everything it names resolved.
 *
 * Two forms of JSON are read here.  What users write (rflow.workflows) is checked for
 * its shape: known fields of the right JSON types.  A version (rflow.workflow_versions)
 * is the same with what contracts and relayers said when it was made: network, chain id,
 * address, and the ABI item as one human-readable line.
 */
#ifndef FLOW_DEFINITION_H
#define FLOW_DEFINITION_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "evm/abi.h"
#include "evm/json.h"
#include "utils/jsonb.h"

#define FLOW_MAX_STEPS 64

struct flow_step_kind;
struct flow_expression;
struct flow_definition;

enum flow_trigger_kind
{
	FLOW_ON_EVENT,
	FLOW_ON_START
};

/* Where something is on a chain; of an event trigger, a read, or a send. */
struct flow_target
{
	const char *network; /* NULL when there is none */
	int64 chain_id;
	const char *contract; /* its name, or NULL */
	bool has_address;
	struct evm_address address;
	const struct evm_abi_item *item; /* event or function; NULL for raw sends */
	struct evm_abi errors;           /* custom errors of the contract, to tell reverts by */
};

struct flow_trigger
{
	enum flow_trigger_kind kind;
	struct flow_target target;
	const char *ceiling; /* "head", a number of confirmations, "safe" or "finalized" */
};

struct flow_step
{
	const char *name;
	int index;
	const struct flow_step_kind *kind;
	struct flow_target target;
	const char *relayer;
	const char *wait_for;
	const char *simulate;
	int confirmations;              /* 0: the network's */
	const Interval *expires_in;     /* of a send; NULL: what the relayer says */
	const char *statement;          /* of sql */
	struct _SPI_plan *plan;         /* of sql: kept; NULL until it first runs */
	struct flow_expression *run_if; /* NULL: always */
	struct flow_expression *values; /* what the kind evaluates: args, value, …; NULL: nothing */
	int arg_count;                  /* the first targets of values are the function's arguments */
	int value_target;               /* index in values' targets, or -1 */
	int recipient_target;
	int data_target;
	int gas_limit_target;
	int max_fee_target;
	int first_column; /* its outputs in the scope */
	int column_count;
};

/* A column of the scope: what an expression can name. */
struct flow_column
{
	const char *alias;    /* event, log, run, a step; NULL: vars and input, named alone */
	const char *name;     /* folded to lower case; NULL when only arg_name works */
	const char *arg_name; /* "arg0", or NULL */
	Oid type;
	int step; /* visible to steps behind this index; -1: to all */
};

struct flow_scope
{
	struct flow_column *columns;
	int count;
	int event_first; /* columns of event.* */
	int log_first;
	int run_first;
	int vars;
	int input;
	TupleDesc desc; /* an int4 "ordinal", then the columns */
};

struct flow_definition
{
	MemoryContext context; /* everything of it lives here */
	struct evm_arena *arena;
	const char *workflow;
	int version;
	Oid owner;
	const char *search_path;
	struct flow_trigger trigger;
	struct flow_expression *filter;   /* NULL: all */
	struct flow_expression *once_per; /* NULL: the occurrence itself */
	Jsonb *vars;
	struct flow_step *steps;
	int step_count;
	struct flow_scope scope;

	/*
	 * filters that raised, in a row, with one SQLSTATE; and why the workflow must be detached,
	 * once it must
	 */
	int strikes;
	int strike_sqlstate;
	char *detach_reason;

	/* requests with calls of its runs that nobody answered, in a row, and when the last one was */
	int unanswered;
	TimestampTz asked_in_vain_at;
};

/*
 * Shape checks of the user's form: raise an error that names the field.  The
 * step's name is in the message when it has one.
 */
extern void flow_check_trigger_shape(Jsonb *trigger);
extern void flow_check_step_shape(Jsonb *step);
extern void flow_check_steps_shape(Jsonb *steps);

/* The JSON as a tree in the arena; what is for the error message. */
extern const struct evm_json *flow_parse_json(struct evm_arena *arena, Jsonb *json,
											  const char *what);
/* A member of an object that is a string, or NULL. */
extern const char *flow_json_string(const struct evm_json *node, const char *member);

/*
 * Looks up what the user's form names and gives the version's definition.  Needs SPI.  Raises
 * on unknown contracts, functions, events and relayers, and on missing grants for owner.
 */
extern Jsonb *flow_resolve(Jsonb *trigger, const char *filter, const char *once_per, Jsonb *steps,
						   Jsonb *vars, Oid owner);

/*
 * Parses a version's definition into a context of its own below parent.  Expressions are not
 * prepared yet (flow_prepare in expression.h).  Inside a transaction.
 */
extern struct flow_definition *flow_load(MemoryContext parent, const char *workflow, int version,
										 Jsonb *definition, Oid owner, const char *search_path);
extern void flow_free(struct flow_definition *definition);

/* Reads network, chain_id, contract, address and abi of a version's trigger or step. */
extern void flow_load_target(struct flow_definition *definition, struct flow_target *target,
							 const struct evm_json *json);

/* The index of a step by name, or -1. */
extern int flow_find_step(const struct flow_definition *definition, const char *name);

#endif /* FLOW_DEFINITION_H */
