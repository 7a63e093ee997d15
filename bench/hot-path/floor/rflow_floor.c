/*
 * rflow_floor.c
 *	  Measures the least that a claim can cost, in a server process like the watcher.
 *
 * The floor of a single deposit is its simulation, one or two JSON-RPC batches with the same
 * bodies to the same node, and one commit of the same rows. The worker sleeps like the watcher
 * between two blocks, and goes through the same steps before the measurement (the head, a header
 * committed without waiting, the logs), so that it finds the caches of processor, kernel and node
 * as the watcher finds them. It uses rflow's own RPC client and transactions, and leaves out all
 * that is rflow: decoding, filters, expressions, checks.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "db/statement.h"
#include "db/wait.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "rpc/client.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(floor_launch);
PG_FUNCTION_INFO_V1(floor_wake);
extern PGDLLEXPORT void floor_main(Datum arg);

/* As rflow.claim_batch. */
#define PAIRS_PER_BATCH 256
#define RPC_TIMEOUT_MS 30000
#define US_PER_MS 1000.0

/* Rows of a claim, as composite values. */
enum row_kind
{
	ROW_RUN,
	ROW_STEPS,
	ROW_TRANSACTION,
	ROW_KINDS
};

struct order
{
	int id;
	bool has_run;
	Datum run_id;
	TimestampTz start_at;
	char *logs_params; /* or NULL */
	char *read_params; /* or NULL */
	int send_count;
	char **send_params;
	Datum rows[ROW_KINDS];
};

/* Durations of one measurement, milliseconds. */
struct sample
{
	int calls;
	double read_ms;
	double send_ms;
	double write_ms;
	double commit_ms;
};

static struct db_statement next_order = {
	.sql =
		"SELECT id, run_id, start_at, logs_params, read_params, send_params "
		"  FROM floor.orders WHERE NOT done ORDER BY id LIMIT 1",
};

static struct db_statement read_rows[ROW_KINDS] = {
	[ROW_RUN] = {.sql = "SELECT r FROM rflow_private.workflow_runs r WHERE r.id = $1",
				 .types = {UUIDOID},
				 .count = 1},
	[ROW_STEPS] = {.sql = "SELECT array_agg(s ORDER BY s.position) "
						  "  FROM rflow_private.step_runs s WHERE s.run_id = $1",
				   .types = {UUIDOID},
				   .count = 1},
	[ROW_TRANSACTION] =
		{.sql = "SELECT t FROM rflow_private.relayer_transactions t WHERE t.run_id = $1",
		 .types = {UUIDOID},
		 .count = 1},
};

static struct db_statement finish_order = {
	.sql =
		"WITH done AS (UPDATE floor.orders SET done = true WHERE id = $1 RETURNING id) "
		"INSERT INTO floor.samples (order_id, calls, read_us, send_us, write_us, commit_us, "
		"measured_at) "
		"SELECT id, $2, $3, $4, $5, $6, pg_catalog.clock_timestamp() FROM done",
	.types = {INT4OID, INT4OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID},
	.count = 6,
};

static struct db_statement store_header = {
	.sql =
		"INSERT INTO floor.blocks "
		"       (network, number, hash, parent_hash, block_timestamp, base_fee_per_gas, seen_at) "
		"SELECT b.network, $1, b.hash, b.parent_hash, b.block_timestamp, b.base_fee_per_gas, "
		"b.seen_at "
		"  FROM rflow_private.blocks b ORDER BY b.number DESC LIMIT 1",
	.types = {INT8OID},
	.count = 1,
};

/* The statements of a claim, with the columns that it fills. */
static struct db_statement advance_cursor = {
	.sql =
		"UPDATE floor.cursors SET next_block = next_block + 1, revision = revision + 1 WHERE id "
		"= 1",
};

static struct db_statement write_occurrence = {
	.sql =
		"INSERT INTO floor.occurrences (key, network, block_number) "
		"SELECT ($1).transaction_hash, ($1).network, ($1).block_number",
	.count = 1,
};

static struct db_statement write_run = {
	.sql =
		"INSERT INTO floor.workflow_runs "
		"       (id, workflow, version, incarnation, owner, state, next_step, network, "
		"block_number, "
		"        block_hash, block_timestamp, transaction_hash, transaction_index, log_index, "
		"address, "
		"        event, input, error, created_at, finished_at) "
		"SELECT ($1).id, ($1).workflow, ($1).version, ($1).incarnation, ($1).owner, 'waiting', "
		"       ($1).next_step, ($1).network, ($1).block_number, ($1).block_hash, "
		"($1).block_timestamp, "
		"       ($1).transaction_hash, ($1).transaction_index, ($1).log_index, ($1).address, "
		"       ($1).event, ($1).input, ($1).error, ($1).created_at, NULL",
	.count = 1,
};

static struct db_statement write_steps = {
	.sql =
		"INSERT INTO floor.step_runs "
		"       (run_id, step, position, kind, state, attempt, result, error, transaction_id, "
		"        started_at, finished_at) "
		"SELECT j.run_id, j.step, j.position, j.kind, j.state, j.attempt, j.result, j.error, "
		"       j.transaction_id, j.started_at, j.finished_at "
		"  FROM unnest($1) j",
	.count = 1,
};

static struct db_statement write_transaction = {
	.sql =
		"INSERT INTO floor.relayer_transactions "
		"       (id, relayer, network, chain_id, owner, idempotency_key, run_id, step, "
		"recipient, value, "
		"        data, gas_limit, max_fee_per_gas, wait_for, confirmations, state_since, due_at, "
		"created_at) "
		"SELECT ($1).id, ($1).relayer, ($1).network, ($1).chain_id, ($1).owner, "
		"($1).idempotency_key, "
		"       ($1).run_id, ($1).step, ($1).recipient, ($1).value, ($1).data, ($1).gas_limit, "
		"       ($1).max_fee_per_gas, ($1).wait_for, ($1).confirmations, ($1).created_at, "
		"'-infinity', "
		"       ($1).created_at",
	.count = 1,
};

static struct db_statement write_due = {
	.sql =
		"INSERT INTO floor.due (kind, owner, wake_at, id) "
		"VALUES ('send', ($1).relayer, '-infinity', pg_catalog.lpad(($1).id::text, 19, '0'))",
	.count = 1,
};

/* ---- called from SQL ------------------------------------------------------ */

/* launch(url): starts the worker and returns its pid. */
Datum
floor_launch(PG_FUNCTION_ARGS)
{
	char *url = text_to_cstring(PG_GETARG_TEXT_PP(0));
	BackgroundWorker worker = {
		.bgw_name = "rflow floor",
		.bgw_type = "rflow floor",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "rflow_floor",
		.bgw_function_name = "floor_main",
		.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId),
		.bgw_notify_pid = MyProcPid,
	};
	BackgroundWorkerHandle *handle;
	pid_t pid;

	strlcpy(worker.bgw_extra, url, sizeof(worker.bgw_extra));
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		ereport(ERROR, (errmsg("no free background worker")));
	if (WaitForBackgroundWorkerStartup(handle, &pid) != BGWH_STARTED)
		ereport(ERROR, (errmsg("the floor's worker did not start")));
	PG_RETURN_INT32(pid);
}

/* wake(pid): makes the worker look for an order. */
Datum
floor_wake(PG_FUNCTION_ARGS)
{
	PGPROC *proc = BackendPidGetProc(PG_GETARG_INT32(0));

	if (proc == NULL)
		ereport(ERROR, (errmsg("the floor's worker does not run")));
	SetLatch(&proc->procLatch);
	PG_RETURN_VOID();
}

/* ---- orders --------------------------------------------------------------- */

static void
read_sends(struct order *order, Datum array)
{
	Datum *values;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &values, NULL,
					  &order->send_count);
	order->send_params = palloc(Max(order->send_count, 1) * sizeof(char *));
	for (int i = 0; i < order->send_count; i++)
		order->send_params[i] = TextDatumGetCString(values[i]);
}

/* What the statements that write take as their parameter. */
static void
set_types(const Oid *types)
{
	write_occurrence.types[0] = write_run.types[0] = types[ROW_RUN];
	write_steps.types[0] = types[ROW_STEPS];
	write_transaction.types[0] = write_due.types[0] = types[ROW_TRANSACTION];
}

static void
load_rows(struct order *order)
{
	Oid types[ROW_KINDS];

	for (int i = 0; i < ROW_KINDS; i++)
	{
		if (db_execute(&read_rows[i], &order->run_id, NULL) != 1)
			ereport(ERROR, (errmsg("order %d: no such run", order->id)));
		order->rows[i] = datumCopy(db_value(0, 1, NULL), false, -1);
		types[i] = SPI_gettypeid(SPI_tuptable->tupdesc, 1);
	}
	set_types(types);
}

/* False when there is none. */
static bool
take_order(struct order *order)
{
	MemoryContext turn = CurrentMemoryContext;
	bool isnull;
	bool found;

	db_begin("looking for an order");
	MemoryContextSwitchTo(turn);
	found = db_execute(&next_order, NULL, NULL) == 1;
	if (found)
	{
		order->id = (int) db_int64(0, 1);
		order->run_id = db_value(0, 2, &isnull);
		order->has_run = !isnull;
		if (order->has_run)
			order->run_id = datumCopy(order->run_id, false, UUID_LEN);
		order->start_at = DatumGetTimestampTz(db_value(0, 3, NULL));
		order->logs_params = db_text(0, 4);
		order->read_params = db_text(0, 5);
		read_sends(order, db_value(0, 6, NULL));
		if (order->has_run)
			load_rows(order);
	}
	db_commit();
	return found;
}

/* ---- measuring ------------------------------------------------------------ */

static void
run_batch(struct rpc_batch *batch)
{
	if (!rpc_batch_run(batch))
		ereport(ERROR, (errmsg("the node did not answer")));
	for (int i = 0; i < rpc_batch_count(batch); i++)
	{
		if (rpc_batch_answer(batch, i)->outcome != RPC_RESULT)
			ereport(ERROR,
					(errmsg("the node refused a call: %s", rpc_batch_answer(batch, i)->message)));
	}
	rpc_batch_destroy(batch);
}

static void
call(struct rpc_client *client, const char *method, const char *params)
{
	struct rpc_batch *batch = rpc_batch_create(client);

	rpc_batch_add(batch, method, params);
	run_batch(batch);
}

/* What a watcher has done when it holds a log. */
static void
go_before(struct rpc_client *client, const struct order *order)
{
	Datum number = Int64GetDatum(order->id);

	call(client, "eth_getBlockByNumber", "[\"latest\",false]");
	db_begin("storing a header");
	db_synchronous_commit(false);
	db_execute_exactly(&store_header, &number, NULL, 1, "header");
	db_commit();
	call(client, "eth_getLogs", order->logs_params);
}

static void
simulate(struct rpc_client *client, const struct order *order)
{
	for (int first = 0; first < order->send_count; first += PAIRS_PER_BATCH)
	{
		struct rpc_batch *batch = rpc_batch_create(client);

		for (int i = first; i < Min(first + PAIRS_PER_BATCH, order->send_count); i++)
		{
			rpc_batch_add(batch, "eth_call", order->send_params[i]);
			rpc_batch_add(batch, "eth_estimateGas", order->send_params[i]);
		}
		run_batch(batch);
	}
}

static void
write_rows(struct order *order)
{
	(void) db_execute(&advance_cursor, NULL, NULL);
	(void) db_execute(&write_occurrence, &order->rows[ROW_RUN], NULL);
	(void) db_execute(&write_run, &order->rows[ROW_RUN], NULL);
	(void) db_execute(&write_transaction, &order->rows[ROW_TRANSACTION], NULL);
	(void) db_execute(&write_due, &order->rows[ROW_TRANSACTION], NULL);
	(void) db_execute(&write_steps, &order->rows[ROW_STEPS], NULL);
}

static void
measure(struct sample *out, struct rpc_client *client, struct order *order)
{
	double started;
	double read;
	double sent;
	double written;

	memset(out, 0, sizeof(*out));
	if (order->logs_params != NULL)
		go_before(client, order);
	started = db_now_ms();
	if (order->read_params != NULL)
		call(client, "eth_call", order->read_params);
	read = db_now_ms();
	simulate(client, order);
	sent = db_now_ms();
	out->calls = 2 * order->send_count + (order->read_params != NULL);
	out->read_ms = read - started;
	out->send_ms = sent - read;
	if (!order->has_run)
		return;
	db_begin("committing the same rows");
	write_rows(order);
	written = db_now_ms();
	db_commit();
	out->write_ms = written - sent;
	out->commit_ms = db_now_ms() - written;
}

static void
store(const struct order *order, const struct sample *sample)
{
	Datum values[6];

	values[0] = Int32GetDatum(order->id);
	values[1] = Int32GetDatum(sample->calls);
	values[2] = Float8GetDatum(sample->read_ms * US_PER_MS);
	values[3] = Float8GetDatum(sample->send_ms * US_PER_MS);
	values[4] = Float8GetDatum(sample->write_ms * US_PER_MS);
	values[5] = Float8GetDatum(sample->commit_ms * US_PER_MS);
	db_begin("storing a sample");
	db_synchronous_commit(false);
	(void) db_execute(&finish_order, values, NULL);
	db_commit();
}

/* ---- the worker ----------------------------------------------------------- */

static void
sleep_until(struct rpc_client *client, TimestampTz when)
{
	TimestampTz now;

	while ((now = GetCurrentTimestamp()) < when)
		(void) rpc_wait(client, (double) (when - now) / US_PER_MS);
}

/* As a worker of rflow sets its session up. */
static void
set_up_session(void)
{
	SetConfigOption("search_path", "pg_catalog, pg_temp", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("plan_cache_mode", "force_generic_plan", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("jit", "off", PGC_SUSET, PGC_S_OVERRIDE);
}

void
floor_main(Datum arg)
{
	MemoryContext turn =
		AllocSetContextCreate(TopMemoryContext, "floor turn", ALLOCSET_DEFAULT_SIZES);
	const char *url = MyBgworkerEntry->bgw_extra;
	struct rpc_options options = {
		.network = "floor",
		.urls = &url,
		.url_count = 1,
		.timeout_ms = RPC_TIMEOUT_MS,
	};
	struct rpc_client *client;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	set_up_session();
	MemoryContextSwitchTo(TopMemoryContext);
	client = rpc_client_create(&options);
	for (;;)
	{
		struct order order;
		struct sample sample;

		MemoryContextReset(turn);
		MemoryContextSwitchTo(turn);
		CHECK_FOR_INTERRUPTS();
		if (!take_order(&order))
		{
			(void) rpc_wait(client, -1);
			continue;
		}
		sleep_until(client, order.start_at);
		measure(&sample, client, &order);
		store(&order, &sample);
	}
}
