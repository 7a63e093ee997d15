/*
 * account.c
 *	  Reads what sending from a relayer needs to know, and keeps it.
 *
 * Every send asks, and what it asks changes with the definitions only: rflow.relayers,
 * rflow.relayer_grants and rflow.policies raise the generation, and so does an address that a
 * relayer process makes known. Whether roles are members of each other is not kept.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "flow/account.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "relay/pool.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

static struct db_statement address_of_relayer = {
	.sql =
		"SELECT s.address FROM rflow_private.relayer_states s "
		" WHERE s.relayer = $1 AND s.address IS NOT NULL",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement account_is_busy = {
	.sql =
		"SELECT EXISTS (SELECT FROM rflow_private.due d "
		"                WHERE d.kind = 'send' AND d.owner = $1) OR "
		"       EXISTS (SELECT FROM rflow_private.nonces n "
		"                WHERE n.chain_id = $2 AND n.address = $3 AND NOT n.settled)",
	.types = {TEXTOID, INT8OID, InvalidOid},
	.count = 3,
};

/* The pools that this transaction has read; they live in its memory. */
static List *pools = NIL;

static MemoryContext kept_context = NULL;
static List *kept = NIL; /* struct flow_account */
static uint64 kept_generation = 0;

/* Whoever changes definitions is waited for: what is read now is what the generation stands for. */
static void
forget_old(void)
{
	if (kept_context == NULL)
		kept_context =
			AllocSetContextCreate(TopMemoryContext, "rflow accounts", ALLOCSET_SMALL_SIZES);
	if (kept_generation == db_definitions_generation())
		return;
	MemoryContextReset(kept_context);
	kept = NIL;
	kept_generation = db_settled_generation();
}

static bool
read_address(struct evm_address *out, const char *relayer)
{
	Datum name = CStringGetTextDatum(relayer);

	if (db_execute(&address_of_relayer, &name, NULL) != 1)
		return false;
	*out = *db_datum_address(db_value(0, 1, NULL));
	return true;
}

/* One whose address is not known is not kept. */
static struct flow_account *
read_account(const char *relayer)
{
	struct evm_address address = {{0}};
	bool known = read_address(&address, relayer);
	MemoryContext old = CurrentMemoryContext;
	struct flow_account *account;

	if (known)
		MemoryContextSwitchTo(kept_context);
	account = palloc0(sizeof(struct flow_account));
	account->relayer = pstrdup(relayer);
	account->grants = relay_read_grants(relayer);
	account->policies = relay_read_policies(CurrentMemoryContext, NULL, relayer);
	account->known = known;
	account->address = address;
	if (known)
		kept = lappend(kept, account);
	MemoryContextSwitchTo(old);
	return account;
}

const struct flow_account *
flow_account_find(const char *relayer)
{
	ListCell *cell;

	forget_old();
	foreach (cell, kept)
	{
		struct flow_account *account = lfirst(cell);

		if (strcmp(account->relayer, relayer) == 0)
			return account;
	}
	return read_account(relayer);
}

bool
flow_account_is_busy(const struct flow_account *account, int64 chain_id)
{
	Datum values[3];

	account_is_busy.types[2] = db_types()->address;
	values[0] = CStringGetTextDatum(account->relayer);
	values[1] = Int64GetDatum(chain_id);
	values[2] = db_address_datum(&account->address);
	(void) db_execute(&account_is_busy, values, NULL);
	return DatumGetBool(db_value(0, 1, NULL));
}

static void
forget_pools(void *unused)
{
	pools = NIL;
}

static struct relay_pool *
read_pool(const char *name)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	struct relay_pool *pool = relay_read_pool(name);

	MemoryContextSwitchTo(TopTransactionContext);
	if (pool != NULL)
	{
		if (pools == NIL)
		{
			MemoryContextCallback *at_end = palloc0(sizeof(MemoryContextCallback));

			at_end->func = forget_pools;
			MemoryContextRegisterResetCallback(TopTransactionContext, at_end);
		}
		pools = lappend(pools, pool);
	}
	MemoryContextSwitchTo(old);
	return pool;
}

static struct relay_pool *
find_pool(const char *name)
{
	ListCell *cell;

	foreach (cell, pools)
	{
		struct relay_pool *pool = lfirst(cell);

		if (strcmp(pool->name, name) == 0)
			return pool;
	}
	return read_pool(name);
}

bool
flow_account_choose(struct relay_send *send, const char *pool_name, bool *known,
					struct evm_address *address, char **problem)
{
	struct relay_pool *pool = find_pool(pool_name);
	const struct relay_member *member;

	if (pool == NULL)
	{
		*problem = psprintf("pool \"%s\" does not exist any more", pool_name);
		return false;
	}
	if (!relay_pool_assign(pool, send, &member))
	{
		*problem = psprintf("role \"%s\" may use no relayer of pool \"%s\"",
							GetUserNameFromId(send->owner, true), pool_name);
		return false;
	}
	*known = member->known;
	*address = member->address;
	return true;
}
