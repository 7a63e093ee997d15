/*
 * type_address.c
 *	  rflow.address: 20 bytes, written with the checksum of EIP-55.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "api/hex_text.h"
#include "common/hashfn.h"
#include "db/datum.h"
#include "evm/address.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"

#define PG_GETARG_ADDRESS(n) db_datum_address(PG_GETARG_DATUM(n))

#define TOPIC_BYTES 32

/* ---- text and binary form --------------------------------------------------------- */

PG_FUNCTION_INFO_V1(rflow_address_in);
Datum
rflow_address_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	struct evm_address address;
	struct evm_error err;
	char checksummed[EVM_ADDRESS_TEXT_BYTES];
	char *hint = NULL;

	if (evm_address_parse(&address, text, strlen(text), &err) == EVM_OK)
		return db_address_datum(&address);
	if (err.status == EVM_ERR_CHECKSUM)
	{
		evm_address_format(checksummed, &address);
		snprintf(err.message, sizeof(err.message),
				 "the mix of upper and lower case is not the EIP-55 checksum of this address");
		hint = psprintf("If every digit is right, write %s.", checksummed);
	}
	api_refuse_input(fcinfo->context, "rflow.address", text, &err, hint);
	PG_RETURN_NULL();
}

PG_FUNCTION_INFO_V1(rflow_address_out);
Datum
rflow_address_out(PG_FUNCTION_ARGS)
{
	char *text = palloc(EVM_ADDRESS_TEXT_BYTES);

	evm_address_format(text, PG_GETARG_ADDRESS(0));
	PG_RETURN_CSTRING(text);
}

PG_FUNCTION_INFO_V1(rflow_address_recv);
Datum
rflow_address_recv(PG_FUNCTION_ARGS)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int len = message->len - message->cursor;
	struct evm_address address;

	if (len != sizeof(address))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("an address has %zu bytes, not %d", sizeof(address), len)));
	pq_copymsgbytes(message, (char *) address.b, sizeof(address.b));
	return db_address_datum(&address);
}

PG_FUNCTION_INFO_V1(rflow_address_send);
Datum
rflow_address_send(PG_FUNCTION_ARGS)
{
	return db_hex_datum(PG_GETARG_ADDRESS(0)->b, sizeof(struct evm_address));
}

/* ---- from and to bytes -------------------------------------------------------------- */

PG_FUNCTION_INFO_V1(rflow_address_from_bytes);
Datum
rflow_address_from_bytes(PG_FUNCTION_ARGS)
{
	struct evm_bytes bytes = db_datum_hex(PG_GETARG_DATUM(0));

	if (bytes.len != sizeof(struct evm_address))
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_LENGTH_MISMATCH),
				 errmsg("an address has %zu bytes, not %zu", sizeof(struct evm_address), bytes.len),
				 bytes.len != TOPIC_BYTES
					 ? 0
					 : errhint("The address of a 32-byte topic is substring(topic, 13, 20).")));
	return db_address_datum((const struct evm_address *) bytes.data);
}

PG_FUNCTION_INFO_V1(rflow_address_to_hex);
Datum
rflow_address_to_hex(PG_FUNCTION_ARGS)
{
	return db_hex_datum(PG_GETARG_ADDRESS(0)->b, sizeof(struct evm_address));
}

PG_FUNCTION_INFO_V1(rflow_try_address);
Datum
rflow_try_address(PG_FUNCTION_ARGS)
{
	text *input = PG_GETARG_TEXT_PP(0);
	struct evm_address address;

	if (evm_address_parse(&address, VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input), NULL) != EVM_OK)
		PG_RETURN_NULL();
	return db_address_datum(&address);
}

/* ---- comparison --------------------------------------------------------------------- */

static int
compare(const struct evm_address *a, const struct evm_address *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

#define ADDRESS_COMPARISON(name, relation) \
	PG_FUNCTION_INFO_V1(name); \
	Datum name(PG_FUNCTION_ARGS) \
	{ \
		PG_RETURN_BOOL(compare(PG_GETARG_ADDRESS(0), PG_GETARG_ADDRESS(1)) relation 0); \
	}

ADDRESS_COMPARISON(rflow_address_eq, ==)
ADDRESS_COMPARISON(rflow_address_ne, !=)
ADDRESS_COMPARISON(rflow_address_lt, <)
ADDRESS_COMPARISON(rflow_address_le, <=)
ADDRESS_COMPARISON(rflow_address_gt, >)
ADDRESS_COMPARISON(rflow_address_ge, >=)

PG_FUNCTION_INFO_V1(rflow_address_cmp);
Datum
rflow_address_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare(PG_GETARG_ADDRESS(0), PG_GETARG_ADDRESS(1)));
}

PG_FUNCTION_INFO_V1(rflow_address_larger);
Datum
rflow_address_larger(PG_FUNCTION_ARGS)
{
	bool first = compare(PG_GETARG_ADDRESS(0), PG_GETARG_ADDRESS(1)) >= 0;

	PG_RETURN_DATUM(PG_GETARG_DATUM(first ? 0 : 1));
}

PG_FUNCTION_INFO_V1(rflow_address_smaller);
Datum
rflow_address_smaller(PG_FUNCTION_ARGS)
{
	bool first = compare(PG_GETARG_ADDRESS(0), PG_GETARG_ADDRESS(1)) <= 0;

	PG_RETURN_DATUM(PG_GETARG_DATUM(first ? 0 : 1));
}

/* The same hash as of the same bytes in rflow.hex: their hash operator family is one. */
PG_FUNCTION_INFO_V1(rflow_address_hash);
Datum
rflow_address_hash(PG_FUNCTION_ARGS)
{
	return hash_any(PG_GETARG_ADDRESS(0)->b, sizeof(struct evm_address));
}

PG_FUNCTION_INFO_V1(rflow_address_hash_extended);
Datum
rflow_address_hash_extended(PG_FUNCTION_ARGS)
{
	return hash_any_extended(PG_GETARG_ADDRESS(0)->b, sizeof(struct evm_address),
							 (uint64) PG_GETARG_INT64(1));
}
