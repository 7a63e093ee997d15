/*
 * key_authorization.c
 *	  EIP-7702: what an account signs to let a contract's code act for it, and who has.
 */
#include "postgres.h"

#include "api/codec_source.h"
#include "db/datum.h"
#include "evm/personal.h"
#include "evm/tx.h"
#include "evm/word.h"
#include "fmgr.h"

/* Arguments 0 to 2: chain id, the contract, the account's nonce. */
static void
read_authorization(struct evm_authorization *out, FunctionCallInfo fcinfo)
{
	int64 nonce = PG_GETARG_INT64(2);
	bool negative;

	memset(out, 0, sizeof(*out));
	if (!db_numeric_word(&out->chain_id, &negative, PG_GETARG_DATUM(0)) || negative)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("chain_id is not an integer from 0 to 2^256 - 1")));
	if (nonce < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("a nonce is not negative")));
	out->address = *db_datum_address(PG_GETARG_DATUM(1));
	out->nonce = (uint64) nonce;
}

PG_FUNCTION_INFO_V1(rflow_hash_authorization);
Datum
rflow_hash_authorization(PG_FUNCTION_ARGS)
{
	struct evm_authorization authorization;
	struct evm_hash hash;

	read_authorization(&authorization, fcinfo);
	if (evm_authorization_hash(api_codec_arena(), &hash, &authorization) != EVM_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return db_hex_datum(hash.b, sizeof(hash.b));
}

PG_FUNCTION_INFO_V1(rflow_recover_authorization);
Datum
rflow_recover_authorization(PG_FUNCTION_ARGS)
{
	struct evm_authorization authorization;
	struct evm_bytes bytes = db_datum_hex(PG_GETARG_DATUM(3));
	struct evm_address authority;
	struct evm_error err;

	read_authorization(&authorization, fcinfo);
	if (evm_signature_from_bytes(&authorization.signature, bytes.data, bytes.len, &err) != EVM_OK)
		db_raise(&err, NULL);
	if (evm_authorization_authority(api_codec_arena(), &authority, &authorization) != EVM_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no key can have made the signature for this authorization")));
	return db_address_datum(&authority);
}
