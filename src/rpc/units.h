/*
 * units.h
 *	  What calls cost at hosted nodes, in compute units.
 *
 * Plain C.  The costs that are known here are those of the provider that made the unit; others
 * count alike or count requests, and a network can say so.
 */
#ifndef RPC_UNITS_H
#define RPC_UNITS_H

#include "evm/json.h"

/*
 * The cost of a call.  own is NULL or an object of a network's own costs: {"eth_getLogs": 75,
 * "*": 20}, where "*" is every method that it does not name.
 */
extern double rpc_units_of(const struct evm_json *own, const char *method);

#endif /* RPC_UNITS_H */
