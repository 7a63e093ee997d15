/*
 * publish.h
 *	  What a relayer has learned of its accounts, for the status views.
 */
#ifndef RELAY_PUBLISH_H
#define RELAY_PUBLISH_H

#include "relay/state.h"

/* Writes relayer_states where something has changed since it was written last. */
extern void relay_publish(struct relay_process *process);

#endif /* RELAY_PUBLISH_H */
