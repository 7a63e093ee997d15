/*
 * policy_scope.c
 *	  A transaction as check_expression sees it, with its arguments decoded.
 */
#include "postgres.h"

#include "relay/policy_scope.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "db/datum.h"
#include "db/statement.h"
#include "evm/abi.h"
#include "relay/record.h"

/* The ABI of one contract, and the arguments of one call. */
#define DECODING_ARENA_BYTES ((size_t) 64 * 1024 * 1024)

enum scope_column
{
	SCOPE_RELAYER,
	SCOPE_NETWORK,
	SCOPE_WORKFLOW,
	SCOPE_OWNER,
	SCOPE_RECIPIENT,
	SCOPE_VALUE,
	SCOPE_DATA,
	SCOPE_GAS_LIMIT,
	SCOPE_CONTRACT,
	SCOPE_FUNCTION,
	SCOPE_SIGNATURE,
	SCOPE_ARGS
};

static struct db_statement find_contracts = {
	.sql =
		"SELECT name, abi::text"
		"  FROM rflow.contracts"
		" WHERE network = $1 AND address = $2::rflow.address"
		" ORDER BY name COLLATE \"C\"",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

const char *
relay_scope_columns(void)
{
	return "$1 AS relayer, $2 AS network, $3 AS workflow, $4 AS owner, $5 AS recipient,"
		   " $6 AS value, $7 AS data, $8 AS gas_limit, $9 AS contract, $10 AS function,"
		   " $11 AS signature, $12 AS args";
}

void
relay_scope_types(Oid types[RELAY_SCOPE_COLUMNS])
{
	const struct db_types *ours = db_types();

	types[SCOPE_RELAYER] = types[SCOPE_NETWORK] = types[SCOPE_WORKFLOW] = TEXTOID;
	types[SCOPE_OWNER] = REGROLEOID;
	types[SCOPE_RECIPIENT] = ours->address;
	types[SCOPE_VALUE] = NUMERICOID;
	types[SCOPE_DATA] = ours->hex;
	types[SCOPE_GAS_LIMIT] = INT8OID;
	types[SCOPE_CONTRACT] = types[SCOPE_FUNCTION] = types[SCOPE_SIGNATURE] = TEXTOID;
	types[SCOPE_ARGS] = JSONBOID;
}

static void
put(struct relay_scope *scope, enum scope_column column, Datum value)
{
	scope->values[column] = value;
	scope->nulls[column] = ' ';
}

static void
put_text(struct relay_scope *scope, enum scope_column column, const char *text)
{
	if (text != NULL)
		put(scope, column, CStringGetTextDatum(text));
}

static const struct evm_abi_item *
find_function(const struct evm_abi *abi, struct evm_bytes data)
{
	size_t i;

	for (i = 0; i < abi->item_count; i++)
		if (abi->items[i].kind == EVM_ABI_ITEM_FUNCTION &&
			memcmp(abi->items[i].hash.b, data.data, RELAY_SELECTOR_BYTES) == 0)
			return &abi->items[i];
	return NULL;
}

/* False when this ABI does not tell what the call is. */
static bool
put_call(struct relay_scope *scope, const char *abi_text, struct evm_bytes data)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "call of a policy", ALLOCSET_DEFAULT_SIZES);
	struct evm_arena *arena = db_arena_create(context, DECODING_ARENA_BYTES);
	const struct evm_abi_item *item = NULL;
	struct evm_abi_value *values;
	struct evm_error error;
	struct evm_abi abi;
	bool found = false;

	if (evm_abi_parse_json(arena, &abi, NULL, abi_text, strlen(abi_text), &error) == EVM_OK)
		item = find_function(&abi, data);
	if (item != NULL &&
		evm_abi_decode(arena, &values, item->inputs, item->input_count,
					   data.data + RELAY_SELECTOR_BYTES, data.len - RELAY_SELECTOR_BYTES,
					   &error) == EVM_OK)
	{
		put_text(scope, SCOPE_FUNCTION, item->name);
		put_text(scope, SCOPE_SIGNATURE, item->signature);
		put(scope, SCOPE_ARGS,
			PointerGetDatum(db_abi_params_to_jsonb(item->inputs, item->input_count, values)));
		found = true;
	}
	MemoryContextDelete(context);
	return found;
}

static void
put_contract(struct relay_scope *scope, const char *network, const struct relay_subject *subject)
{
	Datum parameters[2];
	uint64 rows;
	uint64 row;

	if (subject->creates)
		return;
	parameters[0] = CStringGetTextDatum(network);
	parameters[1] = relay_address_datum(&subject->recipient);
	rows = db_execute(&find_contracts, parameters, NULL);
	for (row = 0; row < rows; row++)
	{
		bool decodes = subject->data.len >= RELAY_SELECTOR_BYTES &&
			put_call(scope, db_text(row, 2), subject->data);

		if (row == 0 || decodes)
			put_text(scope, SCOPE_CONTRACT, db_text(row, 1));
		if (decodes)
			return;
	}
}

void
relay_scope_fill(struct relay_scope *scope, const char *network,
				 const struct relay_subject *subject)
{
	memset(scope->nulls, 'n', RELAY_SCOPE_COLUMNS);
	scope->nulls[RELAY_SCOPE_COLUMNS] = '\0';
	memset(scope->values, 0, sizeof(scope->values));
	put_text(scope, SCOPE_RELAYER, subject->relayer);
	put_text(scope, SCOPE_NETWORK, network);
	put_text(scope, SCOPE_WORKFLOW, subject->workflow);
	put(scope, SCOPE_OWNER, ObjectIdGetDatum(subject->owner));
	if (!subject->creates)
		put(scope, SCOPE_RECIPIENT, db_address_datum(&subject->recipient));
	put(scope, SCOPE_VALUE, db_word_numeric(&subject->value, false));
	put(scope, SCOPE_DATA, db_hex_datum(subject->data.data, subject->data.len));
	if (subject->gas_limit != 0)
		put(scope, SCOPE_GAS_LIMIT, Int64GetDatum(subject->gas_limit));
	put_contract(scope, network, subject);
}
