/*
 * step_send.h
 *	  What a send_transaction step does: the functions of struct flow_step_kind of the same names.
 */
#ifndef FLOW_STEP_SEND_H
#define FLOW_STEP_SEND_H

#include "flow/step_kind.h"

/* Columns of its outputs, in order. */
enum
{
	FLOW_SEND_STATUS,
	FLOW_SEND_TRANSACTION_HASH,
	FLOW_SEND_BLOCK_NUMBER,
	FLOW_SEND_GAS_USED
};

extern void flow_send_prepare(struct flow_run *run, struct flow_step *step, struct flow_turn *turn);
extern void flow_send_apply(struct flow_run *run, struct flow_step *step, struct flow_turn *turn);
extern void flow_send_resume(struct flow_run *run, struct flow_step *step);
extern void flow_send_restore(struct flow_run *run, struct flow_step *step, Jsonb *result,
							  struct evm_arena *arena);

#endif /* FLOW_STEP_SEND_H */
