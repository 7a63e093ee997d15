/*
 * in_hand.h
 *	  Whose code this process is running, so that its end can say so.
 *
 * User code can swallow the cancel of its time limit (EXCEPTION WHEN query_canceled). A second
 * limit, which it cannot swallow, ends the process. And it can end the process itself. What then
 * stands here is marked, or the next process would run it again, for ever.
 */
#ifndef FLOW_IN_HAND_H
#define FLOW_IN_HAND_H

#include "flow/run.h"

/*
 * User code for these runs begins (count may be 0): both limits start. runs must live until
 * flow_put_down.
 */
extern void flow_take_in_hand(struct flow_definition *definition, struct flow_run **runs,
							  int count);

/* It has ended, well or not: no limit is running any more. */
extern void flow_put_down(void);

/*
 * Called once at the start of a process that runs user code. fail is called, outside a
 * transaction, when the user code or its second limit ends the process, and writes that the
 * current step of these runs has failed; NULL for a process whose runs are not written yet: the
 * workflow is disabled instead.
 */
extern void flow_mark_at_exit(void (*fail)(struct flow_run **runs, int count, void *arg),
							  void *arg);

/* The process is asked to end: what is in hand is not to blame. Safe in a signal handler. */
extern void flow_note_termination(void);

#endif /* FLOW_IN_HAND_H */
