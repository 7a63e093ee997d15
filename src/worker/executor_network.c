/*
 * executor_network.c
 *	  The networks that an executor calls: a client each, made on first use and kept.
 *
 * A client is made anew when the definitions have changed, and asked for its chain id whenever it
 * takes another endpoint, or one that has failed again: steps must not read from another chain.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/hex.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "worker/executor_network.h"

/* Pauses of steps whose network does not answer, or cannot be called. */
#define PAUSE_FIRST_MS 500
#define PAUSE_LONGEST_MS 30000

static struct db_statement network_row = {
	.sql =
		"SELECT n.chain_id, n.rpc_urls, (extract(epoch FROM n.rpc_timeout) * 1000)::bigint, "
		"       coalesce(n.max_units_per_second, 0), n.unit_costs::text "
		"  FROM rflow.networks n "
		" WHERE n.name = $1 AND n.enabled",
	.types = {TEXTOID},
	.count = 1,
};

static List *networks = NIL;

static struct executor_network *
find_or_make(const char *name)
{
	struct executor_network *network;
	MemoryContext old;
	ListCell *cell;

	foreach (cell, networks)
	{
		network = lfirst(cell);
		if (strcmp(network->name, name) == 0)
			return network;
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	network = palloc0(sizeof(struct executor_network));
	strlcpy(network->name, name, sizeof(network->name));
	network->context =
		AllocSetContextCreate(TopMemoryContext, "rflow network", ALLOCSET_SMALL_SIZES);
	networks = lappend(networks, network);
	MemoryContextSwitchTo(old);
	return network;
}

static void
read_options(struct rpc_options *out, struct executor_network *network)
{
	const char **urls;
	Datum *values;

	deconstruct_array(DatumGetArrayTypeP(db_value(0, 2, NULL)), TEXTOID, -1, false, TYPALIGN_INT,
					  &values, NULL, &out->url_count);
	urls = palloc(out->url_count * sizeof(char *));
	for (int i = 0; i < out->url_count; i++)
		urls[i] = TextDatumGetCString(values[i]);
	out->urls = urls;
	out->network = network->name;
	out->timeout_ms = (int) db_int64(0, 3);
	db_allowance_open(&network->allowance, network->name, (double) db_int64(0, 4));
	out->spend = network->allowance.per_second > 0 ? db_allowance_spend : NULL;
	out->spend_context = &network->allowance;
	out->units_per_second = network->allowance.per_second;
	out->unit_costs = db_text(0, 5);
}

/* URLs may name a variable that is not set: a problem of this network alone. */
static void
connect_client(struct executor_network *network, const struct rpc_options *options)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		MemoryContextSwitchTo(network->context);
		network->client = rpc_client_create(options);
		MemoryContextSwitchTo(context);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		strlcpy(network->problem, error->message, sizeof(network->problem));
	}
	PG_END_TRY();
}

/* False when the worker may not act any more. */
static bool
read_network(struct worker *w, struct executor_network *network)
{
	uint64 generation = db_settled_generation();
	Datum name = CStringGetTextDatum(network->name);
	struct rpc_options options = {0};

	if (network->client != NULL)
		rpc_client_destroy(network->client);
	network->client = NULL;
	network->identified = 0;
	network->problem[0] = '\0';
	MemoryContextReset(network->context);
	if (!worker_begin(w, "reading a network"))
		return false;
	MemoryContextSwitchTo(network->context);
	network->usable = db_execute(&network_row, &name, NULL) == 1;
	if (network->usable)
	{
		network->chain_id = db_int64(0, 1);
		read_options(&options, network);
	}
	db_commit();
	network->generation = generation;
	if (network->usable)
		connect_client(network, &options);
	else
		snprintf(network->problem, sizeof(network->problem),
				 "network \"%s\" is disabled or does not exist", network->name);
	return true;
}

/* The endpoint in use must be on the chain of the row. */
static void
identify(struct executor_network *network)
{
	struct rpc_batch *batch = rpc_batch_create(network->client);
	const struct rpc_answer *answer;
	const char *text;
	uint64_t chain_id = 0;
	struct evm_error error;
	size_t len;

	(void) rpc_batch_add(batch, "eth_chainId", "[]");
	(void) rpc_batch_run(batch);
	worker_executor_network_note(network);
	answer = rpc_batch_answer(batch, 0);
	text = answer->outcome == RPC_RESULT ? evm_json_string(answer->result, &len) : NULL;
	if (answer->outcome != RPC_RESULT)
		strlcpy(network->problem, answer->message, sizeof(network->problem));
	else if (text == NULL || evm_quantity_decode_u64(&chain_id, text, len, &error) != EVM_OK)
		snprintf(network->problem, sizeof(network->problem), "%s does not say on which chain it is",
				 rpc_client_endpoint(network->client));
	else if ((int64) chain_id != network->chain_id)
		snprintf(network->problem, sizeof(network->problem),
				 "%s is on chain " UINT64_FORMAT ", network \"%s\" is chain " INT64_FORMAT,
				 rpc_client_endpoint(network->client), (uint64) chain_id, network->name,
				 network->chain_id);
	else
	{
		network->problem[0] = '\0';
		network->identified = rpc_client_generation(network->client);
	}
	rpc_batch_destroy(batch);
}

struct executor_network *
worker_executor_network_find(struct worker *w, const char *name)
{
	struct executor_network *network = find_or_make(name);

	if (network->generation != db_definitions_generation() && !read_network(w, network))
		return NULL;
	if (network->client != NULL && network->identified != rpc_client_generation(network->client))
		identify(network);
	return network;
}

void
worker_executor_network_note(struct executor_network *network)
{
	if (rpc_client_error(network->client)[0] == '\0')
		network->failures = 0;
	else
	{
		/* What answers there next may be something else. */
		network->failures++;
		network->identified = 0;
	}
}

double
worker_executor_network_pause_ms(const struct executor_network *network)
{
	double pause = PAUSE_FIRST_MS * (double) (1 << Min(network->failures, 10));

	return network->client == NULL ? PAUSE_LONGEST_MS : Min(pause, PAUSE_LONGEST_MS);
}
