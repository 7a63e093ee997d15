/*
 * policy_load.c
 *	  From the rows of rflow.policies to structs.
 *
 * Contracts are looked up by name here, so that a policy follows a contract to another address.
 * One that is gone is left out of the list, and then allows nothing.
 */
#include "postgres.h"

#include "relay/policy_load.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "db/datum.h"
#include "db/statement.h"
#include "evm/abi.h"
#include "evm/address.h"
#include "evm/hex.h"

/* What one signature may take to parse. */
#define SIGNATURE_ARENA_BYTES (1024 * 1024)
#define RECEIVE "receive()"

static struct db_statement load_policies = {
	.sql =
		"SELECT p.name, p.relayer, p.workflow, p.role,"
		"       CASE WHEN p.allowed_contracts IS NOT NULL"
		"            THEN ARRAY(SELECT pg_catalog.concat(c.network, ' ',"
		"                                                COALESCE(c.address::text, i.item))"
		"                         FROM pg_catalog.unnest(p.allowed_contracts) i (item)"
		"                         LEFT JOIN rflow.contracts c ON c.name = i.item"
		"                        WHERE c.name IS NOT NULL OR i.item ~ '^0x')"
		"       END,"
		"       p.allowed_functions, p.allow_native_transfers, p.allow_contract_creation,"
		"       p.max_value, p.max_value_per_window, p.max_transactions_per_window,"
		"       (EXTRACT(epoch FROM p.window_length) * 1000000)::int8, p.max_gas_limit,"
		"       p.max_fee_per_gas, p.max_total_cost, p.check_expression, p.owner, p.search_path,"
		"       EXISTS (SELECT"
		"                 FROM rflow_private.incidents i"
		"                WHERE i.kind = 'policy' AND i.subject = p.name AND i.resolved_at IS NULL),"
		"       COALESCE($1, (SELECT r.network"
		"                       FROM rflow.relayers r"
		"                      WHERE r.name = $2)),"
		"       p.window_length::text"
		"  FROM rflow.policies p"
		" WHERE p.enabled"
		"   AND (p.network IS NULL"
		"        OR p.network = COALESCE($1, (SELECT r.network"
		"                                       FROM rflow.relayers r"
		"                                      WHERE r.name = $2)))"
		"   AND ($2 IS NULL OR p.relayer IS NULL OR p.relayer = $2)"
		" ORDER BY p.name COLLATE \"C\"",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

bool
relay_selector_of(uint8 selector[RELAY_SELECTOR_BYTES], bool *receive, const char *function,
				  struct evm_error *error)
{
	struct evm_bytes fragment = {(const uint8 *) function, strlen(function)};
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "function signature", ALLOCSET_SMALL_SIZES);
	struct evm_arena *arena = db_arena_create(context, SIGNATURE_ARENA_BYTES);
	struct evm_abi abi;
	size_t which;
	size_t len;
	bool good;

	*receive = strcmp(function, RECEIVE) == 0;
	if (*receive)
		good = true;
	else if (strncmp(function, "0x", 2) == 0)
		good = strlen(function) == 2 + 2 * RELAY_SELECTOR_BYTES
			? evm_hex_decode(selector, &len, function, strlen(function), error) == EVM_OK
			: (evm_fail(error, EVM_ERR_SYNTAX, 0, "a selector has %d bytes", RELAY_SELECTOR_BYTES),
			   false);
	else
	{
		good = evm_abi_parse_fragments(arena, &abi, &fragment, 1, &which, error) == EVM_OK;
		if (good && (abi.item_count != 1 || abi.items[0].kind != EVM_ABI_ITEM_FUNCTION))
			good = (evm_fail(error, EVM_ERR_SYNTAX, 0, "it is no function"), false);
		if (good)
			memcpy(selector, abi.items[0].hash.b, RELAY_SELECTOR_BYTES);
	}
	MemoryContextDelete(context);
	return good;
}

/* False when the column is NULL. */
static bool
texts_at(char ***texts, int *count, uint64 row, int column)
{
	bool isnull;
	Datum value = db_value(row, column, &isnull);
	Datum *elements;
	int i;

	*count = 0;
	if (isnull)
		return false;
	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL,
					  count);
	*texts = palloc(sizeof(char *) * (*count + 1));
	for (i = 0; i < *count; i++)
		(*texts)[i] = TextDatumGetCString(elements[i]);
	return true;
}

static void
read_contracts(struct relay_policy *policy, uint64 row)
{
	char **texts;
	int count;
	int i;

	policy->lists_contracts = texts_at(&texts, &count, row, 5);
	policy->contracts = palloc(sizeof(struct relay_policy_contract) * (count + 1));
	for (i = 0; i < count; i++)
	{
		struct relay_policy_contract *contract = &policy->contracts[policy->contract_count];
		char *address = strchr(texts[i], ' ');
		struct evm_error error;

		*address++ = '\0';
		contract->network = texts[i][0] == '\0' ? NULL : texts[i];
		if (evm_address_parse(&contract->address, address, strlen(address), &error) == EVM_OK)
			policy->contract_count++;
	}
}

static void
read_functions(struct relay_policy *policy, uint64 row)
{
	char **texts;
	int count;
	int i;

	policy->lists_functions = texts_at(&texts, &count, row, 6);
	policy->selectors = palloc(RELAY_SELECTOR_BYTES * (count + 1));
	for (i = 0; i < count; i++)
	{
		struct evm_error error;
		bool receive;

		if (!relay_selector_of(policy->selectors[policy->selector_count], &receive, texts[i],
							   &error))
			continue;
		if (receive)
			policy->lists_receive = true;
		else
			policy->selector_count++;
	}
}

static struct relay_limit
limit_at(uint64 row, int column)
{
	struct relay_limit limit = {0};
	bool isnull;
	bool negative;
	Datum value = db_value(row, column, &isnull);

	limit.set = !isnull;
	if (!isnull && (!db_numeric_word(&limit.amount, &negative, value) || negative))
		elog(ERROR, "column %d is not an amount", column);
	return limit;
}

static int64
number_at(uint64 row, int column)
{
	bool isnull;

	(void) db_value(row, column, &isnull);
	return isnull ? 0 : db_int64(row, column);
}

static Oid
role_at(uint64 row, int column)
{
	bool isnull;
	Datum value = db_value(row, column, &isnull);

	return isnull ? InvalidOid : DatumGetObjectId(value);
}

static void
read_policy(struct relay_policy *policy, uint64 row)
{
	policy->name = db_text(row, 1);
	policy->relayer = db_text(row, 2);
	policy->workflow = db_text(row, 3);
	policy->role = role_at(row, 4);
	read_contracts(policy, row);
	read_functions(policy, row);
	policy->allow_native_transfers = DatumGetBool(db_value(row, 7, NULL));
	policy->allow_contract_creation = DatumGetBool(db_value(row, 8, NULL));
	policy->max_value = limit_at(row, 9);
	policy->window_value = limit_at(row, 10);
	policy->window_transactions = (int) number_at(row, 11);
	policy->window_us = number_at(row, 12);
	policy->max_gas_limit = number_at(row, 13);
	policy->max_fee = limit_at(row, 14);
	policy->max_cost = limit_at(row, 15);
	policy->check = db_text(row, 16);
	policy->owner = role_at(row, 17);
	policy->search_path = db_text(row, 18);
	policy->window_text = db_text(row, 21);
	policy->suspended = DatumGetBool(db_value(row, 19, NULL));
}

/* When the context goes, kept plans go too. */
static void
free_plans(void *arg)
{
	struct relay_policies *policies = arg;
	int i;

	for (i = 0; i < policies->count; i++)
		if (policies->policies[i].plan != NULL)
			SPI_freeplan(policies->policies[i].plan);
}

struct relay_policies *
relay_read_policies(MemoryContext context, const char *network, const char *relayer)
{
	MemoryContext before = CurrentMemoryContext;
	struct relay_policies *policies;
	MemoryContextCallback *callback;
	Datum parameters[2];
	uint64 rows;
	uint64 row;

	Assert(network != NULL || relayer != NULL);
	parameters[0] = network == NULL ? (Datum) 0 : CStringGetTextDatum(network);
	parameters[1] = relayer == NULL ? (Datum) 0 : CStringGetTextDatum(relayer);
	rows = db_execute(&load_policies, parameters,
					  network == NULL       ? "n "
						  : relayer == NULL ? " n"
											: "  ");
	if (rows == 0)
		return NULL;
	MemoryContextSwitchTo(context);
	policies = palloc0(sizeof(struct relay_policies));
	policies->network = db_text(0, 20);
	policies->policies = palloc0(sizeof(struct relay_policy) * rows);
	policies->count = (int) rows;
	for (row = 0; row < rows; row++)
	{
		struct relay_policy *policy = &policies->policies[row];

		read_policy(policy, row);
		policies->has_windows = policies->has_windows || policy->window_us != 0;
		policies->has_checks = policies->has_checks || policy->check != NULL;
	}
	callback = palloc(sizeof(MemoryContextCallback));
	callback->func = free_plans;
	callback->arg = policies;
	MemoryContextRegisterResetCallback(context, callback);
	MemoryContextSwitchTo(before);
	return policies;
}
