/*
 * policy_load.h
 *	  What the trigger on rflow.policies shares with those who read the table.
 */
#ifndef RELAY_POLICY_LOAD_H
#define RELAY_POLICY_LOAD_H

#include "evm/status.h"
#include "relay/policy.h"

/*
 * An entry of allowed_functions: "transfer(address,uint256)", "0xa9059cbb", or "receive()", which
 * sets *receive instead.  False, and *error says why, when it is none.
 */
extern bool relay_selector_of(uint8 selector[RELAY_SELECTOR_BYTES], bool *receive,
							  const char *function, struct evm_error *error);

#endif /* RELAY_POLICY_LOAD_H */
