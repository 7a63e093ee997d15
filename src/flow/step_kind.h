/*
 * step_kind.h
 *	  What a kind of step is made of; one file per kind fills one of these.
 */
#ifndef FLOW_STEP_KIND_H
#define FLOW_STEP_KIND_H

#include "flow/definition.h"
#include "flow/resolve.h"
#include "flow/run.h"
#include "lib/stringinfo.h"

enum flow_field_type
{
	FLOW_FIELD_NAME,       /* a string: the name of something */
	FLOW_FIELD_EXPRESSION, /* a string: one SQL expression, or a list for args */
	FLOW_FIELD_STATEMENT,  /* a string: SQL statements */
	FLOW_FIELD_NUMBER      /* a JSON number without a fraction */
};

struct flow_field
{
	const char *name;
	enum flow_field_type type;
	bool required;
	const char *const *choices; /* NULL-terminated, for a NAME; NULL: any */
};

struct flow_step_kind
{
	const char *name;
	const struct flow_field *fields; /* beside kind, name and run_if; ends with a NULL name */

	/* May the watcher run it, between claim and commit?  Otherwise an executor does. */
	bool in_watcher;
	bool calls_network;

	/* A check of the fields together, beyond the table; may be NULL. */
	void (*check)(const struct evm_json *step, const char *name);

	/* Appends the members that a version adds to the step ("network": …); may be NULL. */
	void (*resolve)(struct flow_resolver *resolver, const struct evm_json *step);

	/* Fills what is its own in the step from the version's JSON, and adds its expressions. */
	void (*load)(struct flow_definition *definition, struct flow_step *step,
				 const struct evm_json *json);

	/* Checks of the loaded step beyond its expressions, as the owner; may be NULL. */
	void (*check_loaded)(struct flow_definition *definition, struct flow_step *step);

	/* Adds its output columns to the scope; may be NULL. */
	void (*columns)(struct flow_definition *definition, struct flow_step *step);

	/*
	 * With its expressions evaluated: adds calls to the batch (calls_network), or does its work
	 * and settles the step. Raises on values the step cannot use; the caller makes that the
	 * step's failure.
	 */
	void (*prepare)(struct flow_run *run, struct flow_step *step, struct flow_turn *turn);

	/*
	 * Instead of prepare and apply, for a step that is done in the transaction that writes it
	 * (executor only): does its work in that transaction and settles the step. Raises what the
	 * user's code raises; the caller makes that the step's failure.
	 */
	void (*execute)(struct flow_run *run, struct flow_step *step);

	/*
	 * Looks at the answers and settles the step: succeeds, fails, waits, or asks to be tried
	 * again.
	 */
	void (*apply)(struct flow_run *run, struct flow_step *step, struct flow_turn *turn);

	/*
	 * Fills its outputs from the journal's result, of a run that is loaded again; may be NULL
	 * without outputs.
	 */
	void (*restore)(struct flow_run *run, struct flow_step *step, Jsonb *result,
					struct evm_arena *arena);

	/*
	 * A waiting step is looked at again (executor only, inside the transaction that will write
	 * the outcome); may be NULL when it never waits.
	 */
	void (*resume)(struct flow_run *run, struct flow_step *step);
};

extern const struct flow_step_kind flow_step_read;
extern const struct flow_step_kind flow_step_send_transaction;
extern const struct flow_step_kind flow_step_sql;
extern const struct flow_step_kind flow_step_stop;

/* NULL-terminated, in the order that messages list them. */
extern const struct flow_step_kind *const flow_step_kinds[];
extern const struct flow_step_kind *flow_step_kind_find(const char *name);

/* Adds the field args with a target for each input of the step's function; call it first. */
extern void flow_load_arguments(struct flow_definition *definition, struct flow_step *step,
								const struct evm_json *json);
/*
 * The call data of the step's function with the evaluated arguments, in the current context;
 * raises on values that do not fit.
 */
extern void flow_encode_call(struct evm_bytes *out, struct flow_run *run,
							 const struct flow_step *step);
/* Raises when it is larger than what one request can ask about. */
extern void flow_check_call_data(const struct evm_bytes *data);
/* Appends 0x and the digits. */
extern void flow_append_call_data(StringInfo out, const struct evm_bytes *data);

/* The node ran it and it reverted, as opposed to a node that could not. */
extern bool flow_is_revert(const struct rpc_answer *answer);
extern Jsonb *flow_revert_error(const struct flow_step *step, const struct rpc_answer *answer,
								struct evm_arena *arena);

#endif /* FLOW_STEP_KIND_H */
