/*
 * watcher_reorg.c
 *	  What reorganisations leave to do: runs whose event did not come back are retracted.
 *
 * That takes money back, so it is not done because some logs were empty. The node is asked for the
 * receipt of the transaction: one in a block of our chain, with the log, re-attaches the run
 * whatever filters and definitions say by now; one in another block decides nothing.
 */
#include "postgres.h"

#include "db/crash.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wait.h"
#include "evm/hex.h"
#include "flow/claim.h"
#include "flow/held.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
#include "worker/watcher.h"

/* Receipts that are asked for in one batch. */
#define RETRACT_BATCH 100
/* When what could not be decided or written is looked at again. */
#define RETRY_MS 500

enum verdict
{
	UNDECIDED, /* no answer, or one that does not fit our chain */
	GONE,
	BACK
};

/* The log of a receipt that the run's occurrence key is made of; NULL: there is none. */
static const struct chain_log *
find_log(const struct chain *chain, const struct flow_retractable *run,
		 const struct chain_log *logs, size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		const struct chain_log *log = &logs[i];
		struct flow_log_identity identity = {
			.workflow = run->workflow,
			.chain_id = chain->chain_id,
			.genesis_hash = chain->genesis_hash,
			.transaction_hash = log->transaction_hash,
			.address = log->address,
			.topics = log->topics,
			.topic_count = log->topic_count,
			.data = log->data,
			.ordinal = log->ordinal,
		};
		uint8 key[32];

		if (memcmp(log->address.b, run->address.b, sizeof(run->address.b)) != 0)
			continue;
		flow_log_key(key, &identity);
		/* The key of once_per is not made of the log: one of the contract has to do. */
		if (run->has_once_per || memcmp(key, run->first_run, UUID_LEN) == 0)
			return log;
	}
	return NULL;
}

static enum verdict
judge_logs(const struct chain *chain, const struct flow_retractable *run,
		   const struct evm_json *receipt, struct evm_arena *arena, struct flow_returned *back)
{
	const struct evm_json *node = evm_json_object_get(receipt, "logs");
	const struct chain_header *header;
	const struct chain_log *log;
	struct chain_log *logs;
	struct evm_error error;
	size_t count;

	if (node == NULL || chain_parse_logs(arena, &logs, &count, node, &error) != EVM_OK ||
		chain_number_logs(arena, logs, count) != EVM_OK)
		return UNDECIDED;
	log = find_log(chain, run, logs, count);
	if (log == NULL)
		return GONE;
	header = chain_header_at(chain, log->block_number);
	if (header == NULL || memcmp(header->hash.b, log->block_hash.b, sizeof(header->hash.b)) != 0)
		return UNDECIDED;
	strlcpy(back->id, run->id, sizeof(back->id));
	back->log.block_number = log->block_number;
	back->log.block_hash = log->block_hash;
	back->log.block_timestamp = chain_timestamp(header->timestamp);
	back->log.transaction_index = log->transaction_index;
	back->log.log_index = log->log_index;
	return BACK;
}

/* Is the block of a receipt the one that our chain has there? */
static bool
is_on_chain(const struct chain *chain, const struct evm_json *receipt)
{
	const struct chain_header *header;
	struct evm_error error;
	struct evm_hash hash;
	uint64_t number;
	const char *text;
	size_t len;

	text = evm_json_string(evm_json_object_get(receipt, "blockNumber"), &len);
	if (text == NULL || evm_quantity_decode_u64(&number, text, len, &error) != EVM_OK ||
		number > PG_INT64_MAX)
		return false;
	header = chain_header_at(chain, (int64) number);
	text = evm_json_string(evm_json_object_get(receipt, "blockHash"), &len);
	if (header == NULL || text == NULL || len != 2 + 2 * sizeof(hash.b) ||
		evm_hex_decode(hash.b, &len, text, len, &error) != EVM_OK)
		return false;
	return memcmp(header->hash.b, hash.b, sizeof(hash.b)) == 0;
}

static enum verdict
judge(const struct chain *chain, const struct flow_retractable *run,
	  const struct rpc_answer *answer, struct evm_arena *arena, struct flow_returned *back)
{
	if (answer->outcome != RPC_RESULT)
		return UNDECIDED;
	if (evm_json_kind(answer->result) == EVM_JSON_NULL)
		return GONE;
	if (!is_on_chain(chain, answer->result))
		return UNDECIDED;
	return judge_logs(chain, run, answer->result, arena, back);
}

/* Asks for the receipts of runs; gone gets those whose event is not there, back the others. */
static void
ask(struct watcher *watcher, struct rpc_batch *batch, List *runs, List **gone, List **back)
{
	struct flow_returned *returned;
	ListCell *cell;
	int index = 0;

	foreach (cell, runs)
	{
		const struct flow_retractable *run = lfirst(cell);
		char hash[67] = "0x";

		evm_hex_digits(hash + 2, run->transaction_hash.b, sizeof(run->transaction_hash.b));
		hash[66] = '\0';
		rpc_batch_add(batch, "eth_getTransactionReceipt", psprintf("[\"%s\"]", hash));
	}
	if (!rpc_batch_run(batch))
	{
		db_report_error("%s", rpc_client_error(watcher->client));
		return;
	}
	foreach (cell, runs)
	{
		returned = palloc0(sizeof(struct flow_returned));
		switch (judge(watcher->chain, lfirst(cell), rpc_batch_answer(batch, index++),
					  rpc_batch_arena(batch), returned))
		{
			case UNDECIDED:
				break;
			case GONE:
				*gone = lappend(*gone, lfirst(cell));
				break;
			case BACK:
				*back = lappend(*back, returned);
				break;
		}
	}
}

static List *
load(struct watcher *watcher)
{
	MemoryContext context = CurrentMemoryContext;
	const char *network = watcher->chain->network;
	List *runs;

	if (!worker_begin(watcher->worker, "looking at what a reorganisation has left"))
		return NIL;
	MemoryContextSwitchTo(context);
	flow_settle_held(network);
	runs = flow_load_retractable(network, RETRACT_BATCH);
	watcher->reorg_due = flow_has_held(network);
	db_commit();
	return runs;
}

/* False when somebody has locked a transaction of a run that is to be retracted. */
static bool
write_verdicts(struct watcher *watcher, List *gone, List *back)
{
	bool all = true;
	ListCell *cell;

	if (!worker_begin(watcher->worker, "retracting runs"))
		return false;
	if (back != NIL)
		flow_reattach(back);
	foreach (cell, gone)
		all = flow_retract(lfirst(cell), watcher->chain->network) && all;
	DB_CRASH_POINT("retract-before-commit");
	db_commit();
	DB_CRASH_POINT("retract-after-commit");
	return all;
}

void
worker_watcher_settle_reorgs(struct watcher *watcher)
{
	struct rpc_batch *batch;
	List *runs;
	List *gone = NIL;
	List *back = NIL;
	bool done;

	if (watcher->reorg_tip == watcher->chain->tip || db_now_ms() < watcher->reorg_at)
		return;
	watcher->reorg_tip = watcher->chain->tip;
	runs = load(watcher);
	if (runs == NIL)
		return;
	batch = rpc_batch_create(watcher->client);
	ask(watcher, batch, runs, &gone, &back);
	done = list_length(gone) + list_length(back) == list_length(runs);
	if (gone != NIL || back != NIL)
		done = write_verdicts(watcher, gone, back) && done;
	rpc_batch_destroy(batch);
	if (done && list_length(runs) < RETRACT_BATCH)
		return;
	/* What is left: another batch, one that was not answered, or one that somebody has locked. */
	watcher->reorg_tip = -1;
	watcher->reorg_at = done ? 0 : db_now_ms() + RETRY_MS;
}
