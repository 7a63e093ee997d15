/*
 * relayer.c
 *	  The relayer process: one per enabled network, from the queue to the confirmed receipt.
 *
 * What it does in a round is in src/relay; here are its start, its waits, and what it owns alone:
 * the network, and each account (chain id, address) whose nonces it assigns.  It sleeps until a
 * commit queues a send, brings a new head or changes a definition, or until something is due.
 */
#include "postgres.h"

#include "worker/worker.h"

#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "db/wake.h"
#include "evm/address.h"
#include "relay/policy_check.h"
#include "relay/round.h"
#include "rpc/client.h"

/* Without a wake, a relayer that has nothing to do looks at its tables this often. */
#define IDLE_LOOK_MS (5 * 60 * 1000)
/* After a new head the watcher goes first, for so long: a claim of one event takes less. */
#define GIVE_WAY_MS 5
/* "chain id:0x…" */
#define ACCOUNT_KEY_BYTES (20 + 1 + EVM_ADDRESS_TEXT_BYTES)

extern PGDLLEXPORT void rflow_relayer_main(Datum arg) pg_attribute_noreturn();

static bool
begin_transaction(void *context, const char *activity)
{
	return worker_begin(context, activity);
}

/* Nonces of an account are assigned by one process of the server, whatever the database. */
static bool
own_account(void *context, int64 chain_id, const struct evm_address *address,
			char problem[RELAY_PROBLEM_BYTES])
{
	char text[EVM_ADDRESS_TEXT_BYTES];
	char key[ACCOUNT_KEY_BYTES];
	pid_t holder;

	evm_address_format(text, address);
	snprintf(key, sizeof(key), "%lld:%s", (long long) chain_id, text);
	if (worker_try_own(DUTY_ACCOUNT, key, &holder))
		return true;
	snprintf(problem, RELAY_PROBLEM_BYTES, "account %s is used by another relayer process (%d)",
			 text, (int) holder);
	return false;
}

static void
report(const struct relay_process *process)
{
	struct worker_report report = {{0}};
	struct rpc_statistics statistics;

	if (process->client == NULL)
		return;
	rpc_client_statistics(process->client, &statistics);
	strlcpy(report.endpoint, rpc_client_endpoint(process->client), sizeof(report.endpoint));
	report.head_number = process->head_number;
	report.head_seen_at = process->head_changed_at;
	report.rpc_latency_ms = statistics.latency_ms;
	report.rpc_requests = (int64) statistics.requests;
	report.rpc_calls = (int64) statistics.calls;
	report.rpc_failures = (int64) statistics.failures;
	report.rpc_units = (int64) statistics.units;
	db_report(&report);
}

static double
ms_until_next(const struct relay_process *process)
{
	TimestampTz now = GetCurrentTimestamp();

	if (process->wake_at == 0)
		return IDLE_LOOK_MS;
	if (process->wake_at <= now)
		return 0;
	/* What a reorganisation holds is due at infinity. */
	return Min((double) process->wake_at - (double) now, IDLE_LOOK_MS * 1000.0) / 1000.0;
}

/*
 * Sleeps until there is something to do.  A new head gives the watcher and the node more to do than
 * us: what it queues within a few milliseconds ends the wait, and is signed in the same round.
 */
static void
wait_for_work(struct relay_process *process)
{
	if (rpc_wait(process->client, ms_until_next(process)) && !db_was_pressed())
		(void) rpc_wait(process->client, GIVE_WAY_MS);
}

/*
 * All that a relayer reads and writes is found by key, and how much there is changes from nothing
 * to thousands of rows within a second.  A plan that was made, and kept, when a table was empty
 * would read the whole of it for each row.
 */
static void
find_rows_by_key(void)
{
	static const char *const settings[] = {"enable_seqscan", "enable_hashjoin", "enable_mergejoin"};
	size_t i;

	for (i = 0; i < lengthof(settings); i++)
		SetConfigOption(settings[i], "off", PGC_SUSET, PGC_S_OVERRIDE);
}

void
rflow_relayer_main(Datum arg)
{
	struct worker *w = worker_start(arg, WORKER_RELAYER);
	struct relay_process *process;

	find_rows_by_key();
	MemoryContextSwitchTo(TopMemoryContext);
	process = relay_create(w->network);
	process->begin = begin_transaction;
	process->own = own_account;
	process->context = w;
	relay_policy_mark_at_exit();
	worker_own(w, DUTY_NETWORK_RELAY, w->network);
	for (;;)
	{
		worker_turn(w);
		if (!worker_ready(w))
		{
			worker_idle(w);
			continue;
		}
		/* The round covers whatever has woken us until now. */
		(void) db_was_pressed();
		relay_round(process, w->signing_held);
		report(process);
		wait_for_work(process);
	}
}
