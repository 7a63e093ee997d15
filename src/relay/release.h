/*
 * release.h
 *	  Sends that were held for a later time, when what they were held for has changed.
 */
#ifndef RELAY_RELEASE_H
#define RELAY_RELEASE_H

#include "relay/state.h"

/*
 * Makes all that this network's relayers hold due at once, in a transaction of its own, where
 * policies or pauses are others than when it was last asked.  False when the worker may not act any
 * more.
 */
extern bool relay_release_held(struct relay_process *process);

#endif /* RELAY_RELEASE_H */
