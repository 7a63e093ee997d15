/*
 * due.h
 *	  Runs that are due: rows of rflow_private.due of kind 'run'.
 */
#ifndef FLOW_DUE_H
#define FLOW_DUE_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/tuplestore.h"

/* A run's bucket is the first hex digit of its id. */
#define FLOW_BUCKETS 16

/* A row; the run's id is text as it is there. */
struct flow_due
{
	char bucket;
	TimestampTz wake_at;
	char run_id[37];
};

struct flow_due_list
{
	struct flow_due *rows; /* by wake_at */
	int count;
	TimestampTz next_at; /* when the next row is due that is not in the list; DT_NOEND: none is */
};

/*
 * What is due now in the buckets whose number leaves the remainder index when divided by count,
 * at most limit rows of each bucket; in the current context. Needs SPI.
 */
extern void flow_read_due(struct flow_due_list *out, int index, int count, TimestampTz now,
						  int limit);

/* Deletes exactly these rows (a List of struct flow_due); others of the same runs stay. */
extern void flow_delete_due(List *rows);

/* The rows of these runs are due again at a time.  Wakes nobody. */
extern void flow_postpone_due(List *rows, TimestampTz wake_at);

#endif /* FLOW_DUE_H */
