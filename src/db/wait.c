/*
 * wait.c
 *	  The one way a worker blocks: on its latch, on sockets, and on time.
 *
 * A WaitEventSet is made for each wait that has sockets.  Keeping it would save
 * nothing: libcurl drops its socket after each transfer, and the events of a set
 * cannot be removed (measured: 86 against 85 microseconds for a whole request).
 */
#include "postgres.h"

#include "db/wait.h"

#include <math.h>

#include "db/compat.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

/* A longer wait is cut here: the caller only wakes once more than it had to. */
#define WAIT_MAX_MS (24 * 60 * 60 * 1000.0)

/* The latch and the death of the postmaster come before the sockets. */
#define WAIT_FIXED_EVENTS 2

double
db_now_ms(void)
{
	instr_time now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MILLISEC(now);
}

static long
whole_milliseconds(double timeout_ms)
{
	if (timeout_ms < 0)
		return -1;
	return (long) ceil(Min(timeout_ms, WAIT_MAX_MS));
}

static bool
wait_for_latch(long timeout, uint32 wait_event)
{
	int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	if (timeout >= 0)
		events |= WL_TIMEOUT;
	return (WaitLatch(MyLatch, events, timeout, wait_event) & WL_LATCH_SET) != 0;
}

static uint32
events_of(int wants)
{
	return ((wants & DB_WAIT_READ) ? WL_SOCKET_READABLE : 0) |
		((wants & DB_WAIT_WRITE) ? WL_SOCKET_WRITEABLE : 0);
}

static int
ready_of(uint32 events)
{
	return ((events & WL_SOCKET_READABLE) ? DB_WAIT_READ : 0) |
		((events & WL_SOCKET_WRITEABLE) ? DB_WAIT_WRITE : 0);
}

/* Waits on a set that has the latch, the postmaster and the sockets; marks which are ready. */
static bool
wait_on_set(WaitEventSet *set, struct db_wait_socket *sockets, int count, long timeout,
			uint32 wait_event)
{
	WaitEvent *events = palloc(sizeof(WaitEvent) * (count + WAIT_FIXED_EVENTS));
	bool latch_set = false;
	int occurred;

	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
	for (int i = 0; i < count; i++)
	{
		sockets[i].ready = 0;
		AddWaitEventToSet(set, events_of(sockets[i].wants), sockets[i].socket, NULL, &sockets[i]);
	}
	occurred = WaitEventSetWait(set, timeout, events, count + WAIT_FIXED_EVENTS, wait_event);
	for (int i = 0; i < occurred; i++)
	{
		struct db_wait_socket *ready = events[i].user_data;

		if (events[i].events & WL_LATCH_SET)
			latch_set = true;
		else if (ready != NULL)
			ready->ready = ready_of(events[i].events);
	}
	pfree(events);
	return latch_set;
}

static bool
wait_for_sockets(struct db_wait_socket *sockets, int count, long timeout, uint32 wait_event)
{
	WaitEventSet *volatile set = CreateWaitEventSet(NULL, count + WAIT_FIXED_EVENTS);
	volatile bool latch_set = false;

	PG_TRY();
	{
		latch_set = wait_on_set(set, sockets, count, timeout, wait_event);
	}
	PG_CATCH();
	{
		FreeWaitEventSet(set);
		PG_RE_THROW();
	}
	PG_END_TRY();
	FreeWaitEventSet(set);
	return latch_set;
}

bool
db_wait(struct db_wait_socket *sockets, int count, double timeout_ms, const char *wait_event)
{
	long timeout = whole_milliseconds(timeout_ms);
	uint32 event = WaitEventExtensionNew(wait_event);
	bool latch_set;

	/* What is pending already would not set the latch again. */
	CHECK_FOR_INTERRUPTS();
	if (count == 0)
		latch_set = wait_for_latch(timeout, event);
	else
		latch_set = wait_for_sockets(sockets, count, timeout, event);
	if (latch_set)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	return latch_set;
}
