/*
 * watcher.c
 *	  Follows one network: finds new heads, keeps the header chain, and hands ranges to the round.
 *
 * The story of a turn: may we act; have the definitions changed; is the node on our chain; is it
 * time to ask for the head; is there something to read. Then it sleeps until the next poll, or
 * until something wakes it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/crash.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wait.h"
#include "db/wake.h"
#include "flow/expression.h"
#include "flow/held.h"
#include "flow/in_hand.h"
#include "miscadmin.h"
#include "relay/policy_check.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/watcher.h"

/*
 * While a block is overdue, fast polls ask for the number alone, and one in so many for the
 * header.
 */
#define HEADER_EVERY 8
/* With several endpoints, one that gives no new head for ten blocks is left: at least so long. */
#define STALL_BLOCKS 10
#define STALL_MIN_MS 5000
/* On a chain without a pace. */
#define STALL_IRREGULAR_MS 60000
/* A node on the wrong chain is looked at again after this. */
#define BROKEN_PAUSE_MS 5000
/* Another branch is looked at again after this, before it is adopted. */
#define RIVAL_PAUSE_MS 20

static struct db_statement network_row = {
	.sql =
		"SELECT n.chain_id, n.rpc_urls, "
		"       (extract(epoch FROM n.poll_min) * 1000)::bigint, "
		"       (extract(epoch FROM n.poll_max) * 1000)::bigint, "
		"       (extract(epoch FROM n.rpc_timeout) * 1000)::bigint, n.log_range, "
		"       coalesce(n.max_units_per_second, 0), n.unit_costs::text "
		"  FROM rflow.networks n "
		" WHERE n.name = $1 AND n.enabled",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement workflows_of_network = {
	.sql =
		"SELECT w.name, v.version, v.definition, v.owner, v.search_path "
		"  FROM rflow_private.subscriptions s "
		"  JOIN rflow.workflows w ON w.name = s.workflow AND w.enabled "
		"  JOIN rflow.workflow_versions v ON v.workflow = w.name AND v.version = w.version "
		" WHERE s.network = $1 "
		" ORDER BY w.name",
	.types = {TEXTOID},
	.count = 1,
};

/* ---- definitions ---------------------------------------------------------- */

static List *
read_urls(void)
{
	ArrayType *array = DatumGetArrayTypeP(db_value(0, 2, NULL));
	List *urls = NIL;
	Datum *values;
	int count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, NULL, &count);
	for (int i = 0; i < count; i++)
		urls = lappend(urls, TextDatumGetCString(values[i]));
	return urls;
}

static bool
same_urls(const List *a, const List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
	{
		if (strcmp(list_nth(a, i), list_nth(b, i)) != 0)
			return false;
	}
	return true;
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* A client lives as long as what it was made for. */
static void
connect_client(struct watcher *watcher, int timeout_ms)
{
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "rflow network", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	List *urls = read_urls();
	struct rpc_options options = {
		.network = watcher->chain->network,
		.url_count = list_length(urls),
		.timeout_ms = timeout_ms,
	};
	const char **texts = palloc(options.url_count * sizeof(char *));
	double units_per_second = (double) db_int64(0, 7);
	char *unit_costs = db_text(0, 8);

	for (int i = 0; i < options.url_count; i++)
		texts[i] = list_nth(urls, i);
	options.urls = texts;
	if (watcher->client != NULL && watcher->timeout_ms == timeout_ms &&
		watcher->allowance.per_second == units_per_second &&
		same_text(unit_costs, watcher->unit_costs) && same_urls(urls, watcher->urls))
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		return;
	}
	if (watcher->network_context != NULL)
		MemoryContextDelete(watcher->network_context);
	watcher->client = NULL;
	watcher->network_context = context;
	watcher->urls = urls;
	watcher->timeout_ms = timeout_ms;
	watcher->unit_costs = unit_costs;
	db_allowance_open(&watcher->allowance, options.network, units_per_second);
	options.spend = units_per_second > 0 ? db_allowance_spend : NULL;
	options.spend_context = &watcher->allowance;
	options.units_per_second = units_per_second;
	options.unit_costs = unit_costs;
	watcher->client = rpc_client_create(&options);
	watcher->identified = 0;
	MemoryContextSwitchTo(old);
}

/* False when the network is not enabled any more: the coordinator is about to stop us. */
static bool
read_network(struct watcher *watcher)
{
	Datum name = CStringGetTextDatum(watcher->worker->network);
	int64 chain_id;
	int64 min_ms;
	int64 max_ms;
	int64 timeout_ms;

	if (db_execute(&network_row, &name, NULL) != 1)
		return false;
	chain_id = db_int64(0, 1);
	min_ms = db_int64(0, 3);
	max_ms = db_int64(0, 4);
	timeout_ms = db_int64(0, 5);
	watcher->log_range = (int) db_int64(0, 6);
	if (!watcher->chain_loaded)
		watcher->chain->network = watcher->worker->network;
	connect_client(watcher, (int) timeout_ms);
	/* Of one that is halted an operator may have had the headers forgotten. */
	if (!watcher->chain_loaded || watcher->chain->chain_id != chain_id || watcher->halted)
	{
		chain_load(watcher->chain, watcher->worker->network, chain_id);
		chain_pace_init(&watcher->pace, Max(min_ms, 1), Max(max_ms, 1), db_now_ms());
		watcher->chain_loaded = true;
		watcher->identified = 0;
	}
	watcher->pace.min_ms = Max(min_ms, 1);
	watcher->pace.max_ms = Max(max_ms, 1);
	return true;
}

static struct flow_definition *
find_definition(List *definitions, const char *workflow, int version)
{
	ListCell *cell;

	foreach (cell, definitions)
	{
		struct flow_definition *definition = lfirst(cell);

		if (definition->version == version && strcmp(definition->workflow, workflow) == 0)
			return definition;
	}
	return NULL;
}

/* Versions that are still the newest keep their plans. */
static void
read_definitions(struct watcher *watcher)
{
	Datum network = CStringGetTextDatum(watcher->worker->network);
	uint64 count = db_execute(&workflows_of_network, &network, NULL);
	List *old = watcher->definitions;
	List *current = NIL;
	MemoryContext context;
	ListCell *cell;

	for (uint64 i = 0; i < count; i++)
	{
		char *workflow = db_text(i, 1);
		int version = (int) db_int64(i, 2);
		struct flow_definition *definition = find_definition(old, workflow, version);

		if (definition == NULL)
			definition =
				flow_load(TopMemoryContext, workflow, version, DatumGetJsonbP(db_value(i, 3, NULL)),
						  DatumGetObjectId(db_value(i, 4, NULL)), db_text(i, 5));
		context = MemoryContextSwitchTo(TopMemoryContext);
		current = lappend(current, definition);
		MemoryContextSwitchTo(context);
	}
	watcher->definitions = current;
	foreach (cell, old)
	{
		if (!list_member_ptr(current, lfirst(cell)))
			flow_free(lfirst(cell));
	}
	list_free(old);
}

static void
read_cursors(struct watcher *watcher)
{
	MemoryContext old;
	ListCell *cell;

	MemoryContextReset(watcher->cursor_context);
	old = MemoryContextSwitchTo(watcher->cursor_context);
	watcher->cursors = NIL;
	if (watcher->chain->tip >= 0)
		watcher->cursors = chain_load_cursors(watcher->chain, watcher->log_range);
	watcher->with_finality = false;
	foreach (cell, watcher->cursors)
	{
		const char *ceiling = ((struct chain_cursor *) lfirst(cell))->ceiling;

		watcher->with_finality |= strcmp(ceiling, "safe") == 0 || strcmp(ceiling, "finalized") == 0;
	}
	MemoryContextSwitchTo(old);
	watcher->cursors_stale = watcher->chain->tip < 0;
}

static bool
load(struct watcher *watcher)
{
	uint64 generation = db_settled_generation();
	List *before = list_copy(watcher->definitions);
	ListCell *cell;

	if (!worker_begin(watcher->worker, "loading definitions"))
		return false;
	if (!read_network(watcher))
	{
		db_commit();
		return false;
	}
	read_definitions(watcher);
	read_cursors(watcher);
	watcher->reorg_due = flow_has_held(watcher->chain->network);
	watcher->reorg_tip = -1;
	db_commit();
	foreach (cell, watcher->definitions)
	{
		if (!list_member_ptr(before, lfirst(cell)))
			flow_warm(lfirst(cell));
	}
	watcher->generation = generation;
	watcher->hold_until = 0;
	return true;
}

static bool
reload_cursors(struct watcher *watcher)
{
	if (!worker_begin(watcher->worker, "loading cursors"))
		return false;
	read_cursors(watcher);
	db_commit();
	return true;
}

/* ---- the head ------------------------------------------------------------- */

static bool
store_genesis(struct watcher *watcher)
{
	if (!worker_begin(watcher->worker, "storing the genesis block"))
		return false;
	chain_store_genesis(watcher->chain);
	db_commit();
	return true;
}

/* Another chain, or too deep a reorganisation: nothing is done until somebody acts. */
static void
halt(struct watcher *watcher, const char *why)
{
	db_report_status("halted: %s", why);
	watcher->report.status[0] = '\0';
	watcher->identified = 0;
	watcher->halted = true;
	watcher->misses = 0;
	(void) rpc_wait(watcher->client, BROKEN_PAUSE_MS);
}

/* The node has shown that it is on our chain, and on our branch or one that we have adopted. */
static void
follow_again(struct watcher *watcher)
{
	if (!watcher->halted)
		return;
	watcher->halted = false;
	db_report_status("running");
}

/* True when the endpoint in use is known to be on our chain. */
static bool
identify(struct watcher *watcher)
{
	struct chain_update update;
	bool first_contact;

	if (watcher->identified == rpc_client_generation(watcher->client) && watcher->identified != 0)
		return true;
	update = chain_identify(watcher->chain, watcher->client, &first_contact);
	if (update.news == CHAIN_BROKEN)
	{
		halt(watcher, update.error);
		return false;
	}
	if (update.news == CHAIN_NO_ANSWER)
	{
		worker_watcher_hold(watcher, update.error);
		(void) rpc_wait(watcher->client,
						Min(watcher->hold_until - db_now_ms(), watcher->pace.max_ms));
		return false;
	}
	if (first_contact && !store_genesis(watcher))
	{
		memset(&watcher->chain->genesis_hash, 0, sizeof(watcher->chain->genesis_hash));
		return false;
	}
	watcher->identified = rpc_client_generation(watcher->client);
	watcher->failures = 0;
	watcher->hold_until = 0;
	if (!watcher->halted)
		db_report_status("running");
	return true;
}

/* Headers are stored at once: the relayer waits for them, not for logs. */
static void
store_headers(struct watcher *watcher, const struct chain_update *update, int64 old_tip)
{
	watcher->chain->tip_seen_at = GetCurrentTimestamp();
	if (!worker_begin(watcher->worker, "storing headers"))
	{
		watcher->chain_loaded = false;
		watcher->generation = 0;
		return;
	}
	db_synchronous_commit(false); /* can be derived again from the chain */
	chain_store(watcher->chain, update, old_tip);
	if (update->news == CHAIN_REORGANISED)
		DB_CRASH_POINT("reorg-before-commit");
	db_commit();
	if (update->news == CHAIN_REORGANISED)
		DB_CRASH_POINT("reorg-after-commit");
	watcher->report.blocks += watcher->chain->tip - update->fork;
	if (update->news == CHAIN_REORGANISED)
		watcher->cursors_stale = watcher->reorg_due = true;
}

/*
 * A head that does not fit ours may be of another chain at the same place: the node is asked
 * again who it is.
 */
static void
adopt_head(struct watcher *watcher, const struct chain_header *head, double asked_at)
{
	int64 old_tip = watcher->chain->tip;
	struct chain_update update = chain_connect(watcher->chain, watcher->client, head);

	switch (update.news)
	{
		case CHAIN_NOTHING_NEW:
			chain_pace_miss(&watcher->pace, asked_at);
			break;
		case CHAIN_RIVAL:
			db_report_error("%s", update.error);
			watcher->misses = 0;
			watcher->pace.poll_at = db_now_ms() + RIVAL_PAUSE_MS;
			break;
		case CHAIN_NO_ANSWER:
			db_report_error("%s", update.error);
			watcher->identified = 0;
			chain_pace_miss(&watcher->pace, db_now_ms());
			break;
		case CHAIN_BROKEN:
			halt(watcher, update.error);
			break;
		case CHAIN_NEW_BLOCKS:
		case CHAIN_REORGANISED:
			watcher->misses = 0;
			follow_again(watcher);
			watcher->stands_since = 0;
			chain_pace_hit(&watcher->pace, head->number, asked_at);
			store_headers(watcher, &update, old_tip);
			break;
	}
}

/* Another endpoint may have the blocks that this one does not show. */
static void
leave_stalled_endpoint(struct watcher *watcher)
{
	double now = db_now_ms();
	double patience = STALL_IRREGULAR_MS;

	if (chain_pace_is_regular(&watcher->pace))
		patience = Max(watcher->pace.period_ms * STALL_BLOCKS, STALL_MIN_MS);
	if (watcher->stands_since == 0)
		watcher->stands_since = now;
	if (list_length(watcher->urls) < 2 || now - watcher->stands_since < patience)
		return;
	rpc_client_leave_endpoint(watcher->client,
							  psprintf("no block after " INT64_FORMAT " for %.0f s",
									   watcher->chain->tip, (now - watcher->stands_since) / 1000));
	db_report_error("%s", rpc_client_error(watcher->client));
	watcher->stands_since = now;
}

static void
poll_head(struct watcher *watcher)
{
	struct chain_poll poll = {
		.with_header = watcher->misses % HEADER_EVERY == 0,
		.with_finality = watcher->with_finality,
	};
	struct chain_header head;
	struct chain_update update = chain_poll_head(watcher->chain, watcher->client, &poll, &head);
	double asked_at = db_now_ms();

	watcher->report.polls++;
	watcher->misses++;
	if (update.news == CHAIN_NEW_BLOCKS && !poll.with_header)
	{
		poll.with_header = true;
		poll.with_finality = false;
		update = chain_poll_head(watcher->chain, watcher->client, &poll, &head);
	}
	if (update.news == CHAIN_NO_ANSWER)
	{
		/* A node that comes back may have been started anew, with another chain. */
		db_report_error("%s", update.error);
		watcher->identified = 0;
		chain_pace_failed(&watcher->pace, db_now_ms());
	}
	else if (update.news == CHAIN_NOTHING_NEW)
	{
		chain_pace_miss(&watcher->pace, asked_at);
		if (poll.with_header)
			follow_again(watcher);
		leave_stalled_endpoint(watcher);
	}
	else
		adopt_head(watcher, &head, asked_at);
}

/* ---- the loop ------------------------------------------------------------- */

static void
report(struct watcher *watcher)
{
	const struct chain_header *tip = chain_header_at(watcher->chain, watcher->chain->tip);
	struct worker_report *out = &watcher->report;
	struct rpc_statistics statistics;

	rpc_client_statistics(watcher->client, &statistics);
	strlcpy(out->endpoint, rpc_client_endpoint(watcher->client), sizeof(out->endpoint));
	out->head_number = watcher->chain->tip;
	out->head_at = tip != NULL ? chain_timestamp(tip->timestamp) : 0;
	out->head_seen_at = watcher->chain->tip_seen_at;
	out->finalized_number = watcher->chain->finalized;
	out->rpc_latency_ms = statistics.latency_ms;
	out->rpc_requests = statistics.requests;
	out->rpc_calls = statistics.calls;
	out->rpc_failures = statistics.failures;
	out->rpc_units = statistics.units;
	db_report(out);
}

static struct watcher *
open_watcher(Datum arg)
{
	struct watcher *watcher = MemoryContextAllocZero(TopMemoryContext, sizeof(struct watcher));

	watcher->worker = worker_start(arg, WORKER_WATCHER);
	watcher->chain = MemoryContextAllocZero(TopMemoryContext, sizeof(struct chain));
	watcher->cursor_context =
		AllocSetContextCreate(TopMemoryContext, "rflow cursors", ALLOCSET_SMALL_SIZES);
	watcher->report.head_number = -1;
	watcher->report.finalized_number = -1;
	worker_own(watcher->worker, DUTY_NETWORK_WATCH, watcher->worker->network);
	relay_policy_mark_at_exit();
	flow_mark_at_exit(NULL, NULL);
	return watcher;
}

/* Milliseconds until there is something to do: the next poll, or the end of a pause. */
static double
pause_ms(const struct watcher *watcher, bool more)
{
	double now = db_now_ms();
	double until = watcher->pace.poll_at;

	if (more)
		return 0;
	if (watcher->hold_until > now)
		until = Min(until, watcher->hold_until);
	return Max(until - now, 0);
}

void
rflow_watcher_main(Datum arg)
{
	struct watcher *watcher = open_watcher(arg);

	for (;;)
	{
		bool more;

		worker_turn(watcher->worker);
		if (!worker_ready(watcher->worker))
		{
			worker_idle(watcher->worker);
			continue;
		}
		if (watcher->generation != db_definitions_generation() && !load(watcher))
		{
			worker_idle(watcher->worker);
			continue;
		}
		if (!identify(watcher))
			continue;
		if (db_now_ms() >= watcher->pace.poll_at)
			poll_head(watcher);
		if (watcher->cursors_stale && watcher->chain->tip >= 0 && !reload_cursors(watcher))
			continue;
		more = worker_watcher_round(watcher);
		if (watcher->reorg_due && !more)
			worker_watcher_settle_reorgs(watcher);
		report(watcher);
		(void) rpc_wait(watcher->client, pause_ms(watcher, more));
	}
}
