/*
 * codec_argument.h
 *	  Arguments of VARIADIC "any" functions, of any SQL type, as ABI values.
 */
#ifndef API_CODEC_ARGUMENT_H
#define API_CODEC_ARGUMENT_H

#include "postgres.h"

#include "evm/abi.h"
#include "fmgr.h"

/*
 * The arguments behind the first as values of the parameters, which they must match in number
 * (the error calls them the arguments of what).  Each is converted as by an assignment to the
 * SQL type of its ABI type; floating-point numbers, which round, are refused for integers.
 */
extern struct evm_abi_value *api_arguments(FunctionCallInfo fcinfo, struct evm_arena *arena,
										   const struct evm_abi_param *params, size_t count,
										   const char *what);

#endif /* API_CODEC_ARGUMENT_H */
