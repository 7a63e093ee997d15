/*
 * reconcile_scan.c
 *	  Reads a range of blocks for the accounts that miss something, and stores what is found.
 *
 * Only blocks at the depth of confirmations are read: what is found there stays.  How far it has
 * got is stored with what was found, so whoever goes on after a crash reads no block twice for
 * nothing, and a block that the node cannot give stops the reading there: an empty answer proves
 * nothing.
 */
#include "postgres.h"

#include "relay/reconcile_scan.h"

#include "lib/stringinfo.h"
#include "utils/timestamp.h"

#include "db/crash.h"
#include "db/shmem.h"
#include "db/statement.h"
#include "relay/ask.h"
#include "relay/put.h"
#include "relay/reconcile_tables.h"
#include "rpc/client.h"

/* Blocks in one batch: a full one is half a megabyte of JSON. Halved when the node fails. */
#define SCAN_MAX_BLOCKS 32
/* How soon a range that was not answered is asked for again. */
#define SCAN_RETRY_MS 1000

struct scan
{
	struct relay_process *process;
	struct relay_account_progress *progress;
	int count;
	struct rpc_batch *batch;
	StringInfoData text;
	int64 first_block;
	int block_count;
	int first_block_question;
	int *count_questions; /* of each account; -1: not asked */
};

static int64
newest_deep_block(const struct relay_process *process)
{
	return process->head_number - process->confirmations + 1;
}

/* Accounts share what is read; one that was read further ignores it. */
static void
choose_range(struct scan *scan)
{
	int64 lowest = PG_INT64_MAX;
	int64 deep = newest_deep_block(scan->process);
	int i;

	for (i = 0; i < scan->count; i++)
		if (!scan->progress[i].complete)
			lowest = Min(lowest, scan->progress[i].scanned_to);
	if (scan->process->scan_blocks == 0)
		scan->process->scan_blocks = SCAN_MAX_BLOCKS;
	scan->first_block = lowest == PG_INT64_MAX ? 0 : lowest + 1;
	scan->block_count = lowest >= deep ? 0 : (int) Min(deep - lowest, scan->process->scan_blocks);
}

static void
ask_blocks(struct scan *scan)
{
	int i;

	scan->first_block_question = rpc_batch_count(scan->batch);
	for (i = 0; i < scan->block_count; i++)
	{
		resetStringInfo(&scan->text);
		appendStringInfoChar(&scan->text, '[');
		relay_put_u64(&scan->text, (uint64) (scan->first_block + i));
		appendStringInfoString(&scan->text, ",true]");
		(void) rpc_batch_add(scan->batch, "eth_getBlockByNumber", scan->text.data);
	}
}

/* The chain's nonces before the restored database's head are none of those that are missing. */
static void
ask_counts(struct scan *scan)
{
	int i;

	for (i = 0; i < scan->count; i++)
	{
		const struct relay_account_progress *progress = &scan->progress[i];

		scan->count_questions[i] = -1;
		if (progress->has_first || progress->scanned_to < 0 ||
			progress->scanned_to != scan->process->restored_block)
			continue;
		resetStringInfo(&scan->text);
		appendStringInfoChar(&scan->text, '[');
		relay_put_hex(&scan->text, progress->key->address.b, sizeof(progress->key->address.b));
		appendStringInfoChar(&scan->text, ',');
		relay_put_u64(&scan->text, (uint64) progress->scanned_to);
		appendStringInfoChar(&scan->text, ']');
		scan->count_questions[i] =
			rpc_batch_add(scan->batch, "eth_getTransactionCount", scan->text.data);
	}
}

/* The blocks of the range that were answered, from the first on without a gap. */
static int
count_answered(struct scan *scan)
{
	int i;

	for (i = 0; i < scan->block_count; i++)
	{
		const struct rpc_answer *answer =
			rpc_batch_answer(scan->batch, scan->first_block_question + i);

		if (answer->outcome != RPC_RESULT || evm_json_kind(answer->result) != EVM_JSON_OBJECT)
			return i;
	}
	return scan->block_count;
}

/* False when the block is not what it should be. */
static bool
store_block(struct scan *scan, const struct relay_account_progress *progress, int index)
{
	const struct rpc_answer *answer =
		rpc_batch_answer(scan->batch, scan->first_block_question + index);
	struct relay_block_transaction *transactions;
	int64 number = scan->first_block + index;
	int count;
	int i;

	if (!relay_parse_block(rpc_batch_arena(scan->batch), &transactions, &count, answer->result,
						   number, &progress->key->address))
	{
		db_report_error("%s gives no usable block %lld", rpc_client_endpoint(scan->process->client),
						(long long) number);
		return false;
	}
	for (i = 0; i < count; i++)
		(void) relay_store_found(scan->process, progress, number, &transactions[i]);
	return true;
}

static int64
store_account(struct scan *scan, const struct relay_account_progress *progress, int answered)
{
	int64 last = progress->scanned_to;
	int i;

	for (i = 0; i < answered; i++)
	{
		if (scan->first_block + i <= progress->scanned_to)
			continue;
		if (!store_block(scan, progress, i))
			break;
		last = scan->first_block + i;
	}
	if (last > progress->scanned_to)
		relay_store_scanned(scan->process, progress, last);
	return last;
}

/* A node without that old a state says so; then all that is found counts. */
static void
store_count(struct scan *scan, struct relay_account_progress *progress, int question)
{
	const struct rpc_answer *answer;
	uint64 nonce;

	if (question < 0)
		return;
	answer = rpc_batch_answer(scan->batch, question);
	if (answer->outcome != RPC_RESULT || !relay_parse_u64(&nonce, answer->result))
		return;
	progress->has_first = true;
	progress->first_nonce = nonce;
	relay_store_first_nonce(scan->process, progress, nonce);
}

static bool
store(struct scan *scan, int answered, bool *advanced)
{
	int i;

	DB_CRASH_POINT("reconcile-before-scan-commit");
	if (!scan->process->begin(scan->process->context, "relayer: what the blocks have"))
		return false;
	for (i = 0; i < scan->count; i++)
	{
		struct relay_account_progress *progress = &scan->progress[i];
		int64 before = progress->scanned_to;

		store_count(scan, progress, scan->count_questions[i]);
		if (progress->complete)
			continue;
		progress->scanned_to = store_account(scan, progress, answered);
		*advanced = *advanced || progress->scanned_to > before;
	}
	db_commit();
	return true;
}

static bool
note_trouble(struct relay_process *process)
{
	process->scan_blocks = Max(process->scan_blocks / 2, 1);
	relay_wake_by(process, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), SCAN_RETRY_MS));
	return false;
}

bool
relay_scan(struct relay_process *process, struct relay_account_progress *progress, int count,
		   bool *advanced)
{
	struct scan scan = {.process = process, .progress = progress, .count = count};
	int answered;
	bool stored;

	*advanced = false;
	initStringInfo(&scan.text);
	scan.batch = rpc_batch_create(process->client);
	rpc_batch_pin(scan.batch, process->endpoint);
	scan.count_questions = palloc(sizeof(int) * (count + 1));
	choose_range(&scan);
	ask_counts(&scan);
	ask_blocks(&scan);
	if (rpc_batch_count(scan.batch) == 0)
		return true;
	if (!relay_run(process, scan.batch))
		return note_trouble(process);
	answered = count_answered(&scan);
	stored = store(&scan, answered, advanced);
	rpc_batch_destroy(scan.batch);
	if (stored && answered < scan.block_count)
		(void) note_trouble(process);
	else
		process->scan_blocks = Min(process->scan_blocks * 2, SCAN_MAX_BLOCKS);
	return stored;
}
