/*
 * definitions.c
 *	  From the tables to memory: network and relayers, and whose keys can be used.
 */
#include "postgres.h"

#include "relay/load.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/word.h"
#include "relay/top_up.h"
#include "rpc/client.h"

static struct db_statement load_network = {
	.sql =
		"SELECT chain_id, confirmations,"
		"       (EXTRACT(epoch FROM rpc_timeout) * 1000)::int, rpc_urls,"
		"       EXISTS (SELECT FROM rflow.relayer_pools p WHERE p.network = $1),"
		"       COALESCE(max_units_per_second, 0), unit_costs::text,"
		"       EXISTS (SELECT FROM rflow_private.adoptions a WHERE a.network = $1)"
		"  FROM rflow.networks"
		" WHERE name = $1 AND enabled",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement load_accounts = {
	.sql =
		"SELECT r.name, r.signer,"
		"       r.paused OR EXISTS (SELECT"
		"                             FROM rflow_private.pauses p"
		"                            WHERE p.kind = 'all'"
		"                               OR (p.kind = 'network' AND p.name = r.network)),"
		"       r.max_in_flight, r.max_fee_per_gas, r.max_gas_limit,"
		"       r.bump_blocks, r.low_balance, s.low_since IS NOT NULL,"
		"       r.low_balance IS NOT NULL OR EXISTS (SELECT"
		"                                              FROM rflow.relayer_pools p"
		"                                             WHERE r.name = ANY (p.relayers))"
		"       OR EXISTS (SELECT"
		"                    FROM rflow.top_ups u"
		"                   WHERE r.name IN (u.source, u.relayer)),"
		"       r.paused"
		"  FROM rflow.relayers r"
		"  LEFT JOIN rflow_private.relayer_states s ON s.relayer = r.name"
		" WHERE r.network = $1"
		" ORDER BY r.name",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement load_reconciliation = {
	.sql =
		"SELECT from_block"
		"  FROM rflow_private.reconciliations"
		" WHERE network = $1 AND finished_at IS NULL",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement hash_rules = {
	.sql =
		"SELECT pg_catalog.hashtextextended(pg_catalog.concat_ws("
		"           ' | ',"
		"           (SELECT pg_catalog.string_agg(p::text, ' ' ORDER BY p.name)"
		"              FROM rflow.policies p),"
		"           (SELECT pg_catalog.string_agg(p::text, ' ' ORDER BY p.kind, p.name)"
		"              FROM rflow_private.pauses p)), 0)",
	.count = 0,
};

static struct db_statement load_paused_workflows = {
	.sql =
		"SELECT p.name, pg_catalog.format('workflow \"%s\" is paused by %s%s', p.name, p.paused_by,"
		"                                 ': ' || p.reason)"
		"  FROM rflow_private.pauses p"
		" WHERE p.kind = 'workflow'",
	.count = 0,
};

static char **
urls_at(int *count, int column)
{
	Datum *elements;
	char **urls;
	int i;

	deconstruct_array(DatumGetArrayTypeP(db_value(0, column, NULL)), TEXTOID, -1, false,
					  TYPALIGN_INT, &elements, NULL, count);
	urls = palloc(sizeof(char *) * *count);
	for (i = 0; i < *count; i++)
		urls[i] = TextDatumGetCString(elements[i]);
	return urls;
}

static bool
read_network(struct relay_process *process)
{
	Datum parameters[1];

	parameters[0] = CStringGetTextDatum(process->network);
	if (relay_fetch(process->config_context, &load_network, parameters) != 1)
		return false;
	process->chain_id = db_int64(0, 1);
	process->confirmations = (int) db_int64(0, 2);
	process->rpc_timeout_ms = (int) db_int64(0, 3);
	process->urls = urls_at(&process->url_count, 4);
	process->has_pools = DatumGetBool(db_value(0, 5, NULL));
	process->has_wishes = DatumGetBool(db_value(0, 8, NULL));
	process->wishes_at = 0;
	process->move_at = process->watched_at = process->topped_at = 0;
	process->watched_head = process->topped_head = -2;
	db_allowance_open(&process->allowance, process->network, (double) db_int64(0, 6));
	process->unit_costs = db_text(0, 7);
	return true;
}

static void
read_account(struct relay_account *account, uint64 row)
{
	bool isnull;
	bool negative;
	Datum value;

	account->name = db_text(row, 1);
	account->signer = db_text(row, 2);
	account->paused = DatumGetBool(db_value(row, 3, NULL));
	account->max_in_flight = (int) db_int64(row, 4);
	value = db_value(row, 5, &isnull);
	account->has_cap = !isnull && db_numeric_word(&account->cap, &negative, value);
	(void) db_value(row, 6, &isnull);
	account->max_gas_limit = isnull ? 0 : db_int64(row, 6);
	account->bump_blocks = (int) db_int64(row, 7);
	value = db_value(row, 8, &isnull);
	account->has_low_balance = !isnull && db_numeric_word(&account->low_balance, &negative, value);
	account->was_low = account->is_low = DatumGetBool(db_value(row, 9, NULL));
	account->watched = DatumGetBool(db_value(row, 10, NULL));
	account->paused_itself = DatumGetBool(db_value(row, 11, NULL));
}

static void
read_paused_workflows(struct relay_process *process)
{
	uint64 rows = relay_fetch(process->config_context, &load_paused_workflows, NULL);
	uint64 row;

	process->paused_workflows = palloc(sizeof(struct relay_paused_workflow) * (rows + 1));
	process->paused_workflow_count = (int) rows;
	for (row = 0; row < rows; row++)
	{
		process->paused_workflows[row].name = db_text(row, 1);
		process->paused_workflows[row].reason = db_text(row, 2);
	}
}

static void
read_rules(struct relay_process *process)
{
	bool isnull;
	Datum hash;

	read_paused_workflows(process);
	process->policies = relay_read_policies(process->config_context, process->network, NULL);
	(void) relay_fetch(process->config_context, &hash_rules, NULL);
	hash = db_value(0, 1, &isnull);
	process->rules = isnull ? 0 : DatumGetInt64(hash);
}

static void
read_accounts(struct relay_process *process)
{
	Datum parameters[1];
	uint64 rows;
	uint64 row;

	parameters[0] = CStringGetTextDatum(process->network);
	rows = relay_fetch(process->config_context, &load_accounts, parameters);
	process->accounts = palloc0(sizeof(struct relay_account) * (rows + 1));
	process->account_count = (int) rows;
	for (row = 0; row < rows; row++)
		read_account(&process->accounts[row], row);
}

/* An operator, a promotion or a nonce that nothing explains may have begun one. */
static void
read_reconciliation(struct relay_process *process)
{
	Datum parameters[1];
	int i;

	parameters[0] = CStringGetTextDatum(process->network);
	process->reconciling =
		relay_fetch(process->config_context, &load_reconciliation, parameters) == 1;
	process->restored_block = process->reconciling ? db_int64(0, 1) : -1;
	for (i = 0; i < process->key_count; i++)
		process->keys[i]->held = process->reconciling;
}

/* Keys of signers that no relayer names any more leave the memory. */
static void
forget_unused_keys(const struct relay_process *process)
{
	const char **signers = palloc(sizeof(char *) * (process->account_count + 1));
	int i;

	for (i = 0; i < process->account_count; i++)
		signers[i] = process->accounts[i].signer;
	relay_signers_retain(signers, process->account_count);
	pfree(signers);
}

/* A new client, since URLs or time-outs may be others; which chain it talks to is asked again. */
static void
connect_client(struct relay_process *process)
{
	struct rpc_options options = {0};
	MemoryContext before;

	if (process->client != NULL)
		rpc_client_destroy(process->client);
	process->client = NULL;
	options.network = process->network;
	options.urls = (const char *const *) process->urls;
	options.url_count = process->url_count;
	options.timeout_ms = process->rpc_timeout_ms;
	options.spend = process->allowance.per_second > 0 ? db_allowance_spend : NULL;
	options.spend_context = &process->allowance;
	options.units_per_second = process->allowance.per_second;
	options.unit_costs = process->unit_costs;
	before = MemoryContextSwitchTo(process->config_context);
	process->client = rpc_client_create(&options);
	MemoryContextSwitchTo(before);
	process->chain_checked = false;
}

bool
relay_load_definitions(struct relay_process *process)
{
	uint64 generation = db_settled_generation();
	bool found;

	if (process->generation == generation)
		return true;
	if (process->client != NULL)
		rpc_client_destroy(process->client);
	process->client = NULL;
	process->account_count = process->top_up_count = 0;
	process->policies = NULL;
	process->paused_workflow_count = 0;
	process->generation = 0;
	process->has_genesis = false;
	MemoryContextReset(process->config_context);
	if (!process->begin(process->context, "relayer: definitions"))
		return false;
	found = read_network(process);
	if (found)
	{
		read_accounts(process);
		read_reconciliation(process);
		read_rules(process);
		relay_load_top_ups(process);
	}
	db_commit();
	forget_unused_keys(process);
	if (!found)
		return false;
	connect_client(process);
	process->generation = generation;
	process->ask_again = true;
	return true;
}

static struct relay_key *
find_or_make_key(struct relay_process *process, const struct evm_address *address)
{
	struct relay_key *key = relay_find_key(process, address);
	MemoryContext before;

	if (key != NULL)
		return key;
	before = MemoryContextSwitchTo(process->process_context);
	key = palloc0(sizeof(struct relay_key));
	key->address = *address;
	key->reopened_head = -1;
	if (process->keys == NULL)
		process->keys = palloc(sizeof(struct relay_key *));
	else
		process->keys =
			repalloc(process->keys, sizeof(struct relay_key *) * (process->key_count + 1));
	process->keys[process->key_count++] = key;
	MemoryContextSwitchTo(before);
	return key;
}

void
relay_resolve_accounts(struct relay_process *process)
{
	int i;

	for (i = 0; i < process->account_count; i++)
	{
		struct relay_account *account = &process->accounts[i];
		struct evm_address address;
		struct evm_key secret;
		bool usable;

		if (account->key != NULL && account->key->owned)
			continue;
		usable = relay_signer_read(&secret, &address, account->signer, process->chain_id,
								   account->problem);
		evm_wipe(&secret, sizeof(secret));
		if (!usable)
			continue;
		account->key = find_or_make_key(process, &address);
		if (!account->key->owned)
			account->key->owned =
				process->own(process->context, process->chain_id, &address, account->problem);
		if (account->key->owned)
			account->problem[0] = '\0';
	}
}
