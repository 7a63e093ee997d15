/*
 * wait.h
 *	  The one way a worker blocks: on its latch, on sockets, and on time.
 */
#ifndef DB_WAIT_H
#define DB_WAIT_H

#include "postgres.h"

#define DB_WAIT_READ 1
#define DB_WAIT_WRITE 2

struct db_wait_socket
{
	pgsocket socket;
	int wants; /* DB_WAIT_READ | DB_WAIT_WRITE */
	int ready; /* filled: which of them are */
};

/*
 * Waits until a socket is ready, the latch is set or timeout_ms (fractions count; negative: no
 * limit) has passed.  Returns true when the latch was set; it has been reset then.  Serves
 * CHECK_FOR_INTERRUPTS and a pending reload of the configuration; exits when the postmaster
 * died.  wait_event is what pg_stat_activity shows (PostgreSQL 17 and later; "Extension"
 * before).
 *
 * Resolution below a millisecond is not needed by anyone: timeouts are rounded up.
 */
extern bool db_wait(struct db_wait_socket *sockets, int count, double timeout_ms,
					const char *wait_event);

/* Milliseconds on the monotonic clock, with fractions. */
extern double db_now_ms(void);

#endif /* DB_WAIT_H */
