/*
 * lookback.h
 *	  After a reorganisation: which of the settled nonces were mined in blocks that are gone?
 */
#ifndef RELAY_LOOKBACK_H
#define RELAY_LOOKBACK_H

#include "relay/state.h"

/*
 * Compares the blocks of the last settled nonces of each account with the watcher's headers, in a
 * transaction of its own, and tracks again from the first that does not fit.  True when there
 * are any; the view is to be loaded again then.
 */
extern bool relay_look_back(struct relay_process *process);

#endif /* RELAY_LOOKBACK_H */
