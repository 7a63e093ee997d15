/*
 * units.c
 *	  What calls cost at hosted nodes, in compute units.
 */
#include "rpc/units.h"

#include <stddef.h>
#include <string.h>

/* Of what is not in the table. */
#define OTHER_UNITS 20

static const struct
{
	const char *method;
	int units;
} costs[] = {
	{"eth_chainId", 0},
	{"eth_blockNumber", 10},
	{"eth_call", 26},
	{"eth_estimateGas", 87},
	{"eth_feeHistory", 10},
	{"eth_gasPrice", 20},
	{"eth_getBalance", 20},
	{"eth_getBlockByHash", 20},
	{"eth_getBlockByNumber", 20},
	{"eth_getBlockReceipts", 500},
	{"eth_getLogs", 75},
	{"eth_getTransactionByHash", 20},
	{"eth_getTransactionCount", 26},
	{"eth_getTransactionReceipt", 20},
	{"eth_maxPriorityFeePerGas", 10},
	{"eth_sendRawTransaction", 250},
};

double
rpc_units_of(const struct evm_json *own, const char *method)
{
	int64_t units;

	if (evm_json_integer(evm_json_object_get(own, method), &units) ||
		evm_json_integer(evm_json_object_get(own, "*"), &units))
		return (double) units;
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
	{
		if (strcmp(costs[i].method, method) == 0)
			return costs[i].units;
	}
	return OTHER_UNITS;
}
