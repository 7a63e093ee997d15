/*
 * expire.h
 *	  Transactions whose time is over.
 */
#ifndef RELAY_EXPIRE_H
#define RELAY_EXPIRE_H

#include "relay/state.h"

/*
 * Lets expire what is due to, in a transaction of its own, before anything is planned: true when
 * that has changed something.  Has the process wake for the next one.
 */
extern bool relay_expire(struct relay_process *process, TimestampTz now);

#endif /* RELAY_EXPIRE_H */
