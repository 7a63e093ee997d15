/*
 * versions.h
 *	  The versions of workflows that this process has loaded, with their plans.
 */
#ifndef FLOW_VERSIONS_H
#define FLOW_VERSIONS_H

#include "flow/definition.h"

/*
 * A version, loaded when it is first asked for and then kept. Needs an SPI connection; what it
 * runs replaces the current result. NULL when there is no such version; raises when it does not
 * load.
 */
extern struct flow_definition *flow_version(const char *workflow, int version);

/*
 * Frees versions that have not been asked for lately, when there are many, and all of them when the
 * extension was made anew.  Inside a transaction, while no run is in hand.
 */
extern void flow_versions_trim(void);

#endif /* FLOW_VERSIONS_H */
