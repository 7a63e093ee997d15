/*
 * ask.c
 *	  The questions of one round to the node.
 *
 * One batch, so that its answers come from one endpoint at about one moment: a count of nonces from
 * a node that is ahead, beside receipts from one that lags, looks like a foreign transaction.
 */
#include "postgres.h"

#include "relay/ask.h"

#include "lib/stringinfo.h"
#include "utils/timestamp.h"

#include "db/shmem.h"
#include "evm/word.h"
#include "relay/broadcast.h"
#include "relay/funds.h"
#include "relay/put.h"
#include "rpc/client.h"

/*
 * If headers stop, the relayer asks for its own head after three block times, within these
 * bounds.
 */
#define HEAD_PATIENCE_BLOCKS 3
#define HEAD_PATIENCE_MIN_MS 1000
#define HEAD_PATIENCE_MAX_MS 60000
/* A quote counts for its block, and no longer than this. */
#define QUOTE_MAX_AGE_MS 10000
/* Pace of tries when no node answers: doubled each time. */
#define RETRY_MIN_MS 250
#define RETRY_MAX_MS 15000
/*
 * A node that is behind the newest block for longer than three blocks take, and this time, is left;
 * until then it is asked again so soon.
 */
#define BEHIND_PATIENCE_BLOCKS 3
#define BEHIND_PATIENCE_MS 2000
#define BEHIND_RETRY_MS 200
/* Room that is kept in a request for questions that must not be left out. */
#define REQUEST_RESERVE_BYTES (16 * 1024)
/* An estimate is made on the newest state; what it runs on is a later one. */
#define GAS_MARGIN_NUMERATOR 6
#define GAS_MARGIN_DENOMINATOR 5
/* Any transaction costs as much: what a node says below that is no estimate. */
#define LEAST_GAS 21000
/* Where no block has paid a priority fee and the node names none: 1 gwei. */
#define FALLBACK_PRIORITY_WEI UINT64CONST(1000000000)

struct key_questions
{
	int latest;
	int pending;
	int balance;
};

struct questions
{
	struct rpc_batch *batch;
	StringInfoData text;
	int chain_id;
	int genesis;
	int head;
	int height; /* of the endpoint's own chain, beside receipts */
	int fee_history;
	int priority;
	int gas_price;
	bool receipts;
	bool watch; /* balances of those that are watched */
	struct key_questions *keys;
};

static int
ask(struct questions *questions, const char *method, const char *params)
{
	return rpc_batch_add(questions->batch, method, params);
}

static bool
has_room(const struct questions *questions, size_t bytes)
{
	return rpc_batch_bytes(questions->batch) + bytes + REQUEST_RESERVE_BYTES <
		RPC_MAX_REQUEST_BYTES;
}

static bool
head_is_overdue(const struct relay_process *process, TimestampTz now)
{
	double patience = process->block_ms * HEAD_PATIENCE_BLOCKS;

	patience = Min(Max(patience, HEAD_PATIENCE_MIN_MS), HEAD_PATIENCE_MAX_MS);
	return process->head_number < 0 ||
		TimestampDifferenceExceeds(process->head_changed_at, now, (int) patience);
}

static bool
quote_is_stale(const struct relay_process *process, TimestampTz now)
{
	return !process->has_quote || process->quoted_head != process->head_number ||
		TimestampDifferenceExceeds(process->quoted_at, now, QUOTE_MAX_AGE_MS);
}

static void
ask_fees(struct relay_process *process, struct questions *questions)
{
	if (process->head_number < 0 || process->has_base_fee)
	{
		questions->fee_history = ask(questions, "eth_feeHistory", "[\"0xa\",\"latest\",[50]]");
		questions->priority = ask(questions, "eth_maxPriorityFeePerGas", "[]");
	}
	if (process->head_number < 0 || !process->has_base_fee)
		questions->gas_price = ask(questions, "eth_gasPrice", "[]");
}

static void
ask_receipts(struct questions *questions, struct relay_view *view)
{
	int i;
	int j;

	for (i = 0; i < view->nonce_count; i++)
	{
		struct relay_nonce *nonce = &view->nonces[i];

		if (!has_room(questions, 256 * nonce->attempt_count))
			return;
		for (j = 0; j < nonce->attempt_count; j++)
		{
			int index;

			resetStringInfo(&questions->text);
			appendStringInfoChar(&questions->text, '[');
			relay_put_hex(&questions->text, nonce->attempts[j].hash.b,
						  sizeof(nonce->attempts[j].hash.b));
			appendStringInfoChar(&questions->text, ']');
			index = ask(questions, "eth_getTransactionReceipt", questions->text.data);
			if (j == 0)
				nonce->first_question = index;
		}
	}
}

static void
ask_key(struct questions *questions, struct key_questions *key_questions,
		const struct relay_key *key)
{
	char params[64];
	StringInfoData address;

	initStringInfo(&address);
	relay_put_hex(&address, key->address.b, sizeof(key->address.b));
	snprintf(params, sizeof(params), "[%s,\"latest\"]", address.data);
	key_questions->latest = ask(questions, "eth_getTransactionCount", params);
	key_questions->balance = ask(questions, "eth_getBalance", params);
	snprintf(params, sizeof(params), "[%s,\"pending\"]", address.data);
	key_questions->pending = ask(questions, "eth_getTransactionCount", params);
}

/* To sign, and beside receipts, since a count says whether something else has used a nonce. */
static bool
needs_counts(const struct relay_process *process, const struct questions *questions,
			 const struct relay_view *view, const struct relay_key *key)
{
	int i;

	if (!key->owned || !key->observed || key->held)
		return key->owned;
	if (questions->watch && relay_is_watched(process, key))
		return true;
	for (i = 0; i < view->candidate_count; i++)
		if (view->candidates[i].account->key == key)
			return true;
	for (i = 0; i < view->nonce_count; i++)
		if (view->nonces[i].key == key &&
			(questions->receipts || view->nonces[i].replacement != NULL))
			return true;
	return false;
}

static void
ask_keys(struct relay_process *process, struct questions *questions, struct relay_view *view)
{
	int i;

	questions->keys = palloc(sizeof(struct key_questions) * (process->key_count + 1));
	for (i = 0; i < process->key_count; i++)
	{
		struct relay_key *key = process->keys[i];

		questions->keys[i].latest = -1;
		if (needs_counts(process, questions, view, key))
			ask_key(questions, &questions->keys[i], key);
	}
}

static void
ask_estimate(struct questions *questions, struct relay_candidate *candidate,
			 const struct relay_key *key)
{
	if (candidate->gas_limit != 0 || !has_room(questions, 2 * candidate->data.len))
		return;
	resetStringInfo(&questions->text);
	appendStringInfoChar(&questions->text, '[');
	relay_put_call(&questions->text, &key->address,
				   candidate->creates ? NULL : &candidate->recipient, &candidate->value,
				   candidate->data);
	appendStringInfoString(&questions->text, ",\"latest\"]");
	candidate->estimate = ask(questions, "eth_estimateGas", questions->text.data);
}

static void
ask_estimates(struct questions *questions, struct relay_view *view)
{
	int i;

	for (i = 0; i < view->candidate_count; i++)
		ask_estimate(questions, &view->candidates[i], view->candidates[i].account->key);
	for (i = 0; i < view->nonce_count; i++)
		if (view->nonces[i].replacement != NULL)
			ask_estimate(questions, view->nonces[i].replacement, view->nonces[i].key);
}

/* A transfer to oneself costs more than 21,000 on some chains. */
static void
ask_noops(struct questions *questions, struct relay_view *view)
{
	const struct evm_bytes nothing = {NULL, 0};
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		struct relay_nonce *nonce = &view->nonces[i];

		if (!relay_needs_noop(nonce))
			continue;
		resetStringInfo(&questions->text);
		appendStringInfoChar(&questions->text, '[');
		relay_put_call(&questions->text, &nonce->key->address, &nonce->key->address, &evm_word_zero,
					   nothing);
		appendStringInfoString(&questions->text, ",\"latest\"]");
		nonce->noop_question = ask(questions, "eth_estimateGas", questions->text.data);
	}
}

static void
put_questions(struct relay_process *process, struct questions *questions, struct relay_view *view)
{
	bool prices = view->candidate_count > 0;
	bool active = view->candidate_count > 0 || view->nonce_count > 0;
	bool again = false;
	int i;

	for (i = 0; i < view->nonce_count && !again; i++)
		again =
			relay_needs_noop(&view->nonces[i]) || relay_may_need_bump(process, &view->nonces[i]);
	prices = prices || again;
	if (process->reconciling || (active && head_is_overdue(process, view->now)))
		questions->head = ask(questions, "eth_getBlockByNumber", "[\"latest\",false]");
	/* Another payload is signed only where it is known that none is in a block. */
	questions->receipts = view->nonce_count > 0 &&
		(process->ask_again || again || questions->head >= 0 ||
		 process->asked_head != process->head_number);
	questions->watch = relay_watch_is_due(process, view->now);
	ask_keys(process, questions, view);
	if (prices && quote_is_stale(process, view->now))
		ask_fees(process, questions);
	if (questions->receipts)
	{
		questions->height = ask(questions, "eth_blockNumber", "[]");
		ask_receipts(questions, view);
	}
	ask_noops(questions, view);
	ask_estimates(questions, view);
	/* Each time, since a load balancer can send us anywhere; but not for its own sake. */
	if (rpc_batch_count(questions->batch) > 0 || !process->chain_checked ||
		relay_has_broadcasts(process, view))
	{
		questions->chain_id = ask(questions, "eth_chainId", "[]");
		questions->genesis = ask(questions, "eth_getBlockByNumber", "[\"0x0\",false]");
	}
}

static const struct evm_json *
result_of(const struct questions *questions, int index)
{
	const struct rpc_answer *answer;

	if (index < 0)
		return NULL;
	answer = rpc_batch_answer(questions->batch, index);
	return answer->outcome == RPC_RESULT ? answer->result : NULL;
}

/* A node on another chain would take our bytes for invalid ones, and its receipts mean nothing. */
static bool
read_chain_id(struct relay_process *process, const struct questions *questions)
{
	uint64 chain_id;

	if (questions->chain_id < 0)
		return true;
	if (!relay_parse_u64(&chain_id, result_of(questions, questions->chain_id)))
	{
		db_report_error("%s does not say which chain it is on",
						rpc_client_endpoint(process->client));
		return false;
	}
	if (chain_id != (uint64) process->chain_id)
	{
		db_report_error("%s is on chain %llu, not on %lld", rpc_client_endpoint(process->client),
						(unsigned long long) chain_id, (long long) process->chain_id);
		return false;
	}
	return true;
}

/*
 * A development chain that was started anew has our chain id, and would execute what we had sent
 * to the old one.
 */
static bool
read_genesis(struct relay_process *process, const struct questions *questions)
{
	struct relay_header genesis;

	if (questions->genesis < 0 || !process->has_genesis)
		return true;
	if (!relay_parse_header(&genesis, result_of(questions, questions->genesis)))
	{
		db_report_error("%s does not give its genesis block", rpc_client_endpoint(process->client));
		return false;
	}
	if (memcmp(&genesis.hash, &process->genesis, sizeof(genesis.hash)) != 0)
	{
		db_report_error("%s has another genesis block: this is not the chain that was followed",
						rpc_client_endpoint(process->client));
		return false;
	}
	return true;
}

static bool
is_our_chain(struct relay_process *process, const struct questions *questions)
{
	if (!read_chain_id(process, questions) || !read_genesis(process, questions))
		return false;
	if (questions->chain_id >= 0)
	{
		process->chain_checked = true;
		process->endpoint = rpc_client_generation(process->client);
	}
	return true;
}

static void
read_head(struct relay_process *process, const struct questions *questions, TimestampTz now)
{
	struct relay_header header;

	if (!relay_parse_header(&header, result_of(questions, questions->head)) ||
		header.number <= process->head_number)
		return;
	relay_note_head(process, header.number, now);
	process->head_is_ours = true;
	process->has_base_fee = header.has_base_fee;
}

static void
read_fees(struct relay_process *process, const struct questions *questions, TimestampTz now)
{
	struct relay_fee_history history;
	struct evm_word fee = evm_word_from_u64(FALLBACK_PRIORITY_WEI);
	bool found;

	if (questions->fee_history < 0 && questions->gas_price < 0)
		return;
	if (process->has_base_fee)
	{
		(void) relay_parse_word(&fee, result_of(questions, questions->priority));
		found = relay_parse_fee_history(&history, result_of(questions, questions->fee_history)) &&
			relay_quote_dynamic(&process->quote, &history.base_fee, history.rewards,
								history.reward_count, &fee);
	}
	else
		found = relay_parse_word(&fee, result_of(questions, questions->gas_price)) &&
			relay_quote_legacy(&process->quote, &fee);
	process->has_quote = found;
	process->quoted_head = process->head_number;
	process->quoted_at = now;
	if (!found)
		db_report_error("%s gives no usable fees", rpc_client_endpoint(process->client));
}

static void
read_keys(struct relay_process *process, const struct questions *questions)
{
	int i;

	for (i = 0; i < process->key_count; i++)
	{
		struct relay_key *key = process->keys[i];
		const struct key_questions *asked = &questions->keys[i];

		if (asked->latest < 0)
			continue;
		key->observed = relay_parse_u64(&key->latest, result_of(questions, asked->latest)) &&
			relay_parse_u64(&key->pending, result_of(questions, asked->pending)) &&
			relay_parse_word(&key->balance, result_of(questions, asked->balance));
		key->fresh = key->observed;
	}
}

/*
 * A node that does not have the newest block that is known cannot say that something is not there.
 * One that stays behind is left for another.
 */
static bool
is_behind(struct relay_process *process, const struct questions *questions, TimestampTz now)
{
	int64 patience = Max((int64) (process->block_ms * BEHIND_PATIENCE_BLOCKS), BEHIND_PATIENCE_MS);
	uint64 height;

	if (questions->height < 0)
		return false;
	if (relay_parse_u64(&height, result_of(questions, questions->height)) &&
		(int64) height >= process->head_number)
	{
		process->behind_since = 0;
		return false;
	}
	if (process->behind_since == 0)
		process->behind_since = now;
	else if (TimestampDifferenceExceeds(process->behind_since, now, (int) patience))
	{
		process->behind_since = 0;
		rpc_client_leave_endpoint(process->client, "it is behind the newest block");
		db_report_error("%s", rpc_client_error(process->client));
	}
	process->ask_again = true;
	relay_wake_by(process,
				  TimestampTzPlusMilliseconds(now,
											  (int64) Max(BEHIND_RETRY_MS,
														  Min(process->block_ms / 2,
															  BEHIND_PATIENCE_MS))));
	return true;
}

static void
read_receipts(const struct questions *questions, struct relay_nonce *nonce, bool behind)
{
	struct relay_receipt receipt;
	int i;

	if (nonce->first_question < 0)
		return;
	nonce->finding = behind ? RELAY_NO_ANSWER : RELAY_NO_RECEIPT;
	for (i = 0; i < nonce->attempt_count; i++)
	{
		const struct rpc_answer *answer =
			rpc_batch_answer(questions->batch, nonce->first_question + i);

		if (answer->outcome == RPC_RESULT && evm_json_kind(answer->result) == EVM_JSON_NULL)
			continue;
		if (answer->outcome == RPC_RESULT &&
			relay_parse_receipt(&receipt, answer->result, &nonce->attempts[i].hash))
		{
			receipt.attempt = i;
			nonce->receipt = receipt;
			nonce->finding = RELAY_FOUND;
			return;
		}
		nonce->finding = RELAY_NO_ANSWER;
	}
}

static bool
read_gas(const struct questions *questions, int64 *out, int index)
{
	uint64 gas;

	if (!relay_parse_u64(&gas, result_of(questions, index)) || gas < LEAST_GAS ||
		gas >= PG_INT64_MAX / GAS_MARGIN_NUMERATOR)
		return false;
	*out = (int64) (gas * GAS_MARGIN_NUMERATOR / GAS_MARGIN_DENOMINATOR);
	return true;
}

static void
read_estimate(const struct questions *questions, struct relay_candidate *candidate)
{
	const struct rpc_answer *answer;

	if (candidate->estimate < 0 || read_gas(questions, &candidate->gas_limit, candidate->estimate))
		return;
	answer = rpc_batch_answer(questions->batch, candidate->estimate);
	candidate->refusal = RELAY_UNKNOWN;
	candidate->refusal_text = "eth_estimateGas gave no answer";
	if (answer->outcome == RPC_ERROR)
	{
		candidate->refusal = answer->has_data && answer->data.len > 0
			? RELAY_REVERTS
			: relay_classify(answer->code, answer->message);
		candidate->refusal_text = pstrdup(answer->message);
		if (answer->has_data)
			candidate->refusal_data = relay_copy_bytes(answer->data);
	}
}

/* Tries get rarer while nothing answers as it should. */
static bool
note_failure(struct relay_process *process)
{
	int delay = Min(RETRY_MIN_MS << Min(process->failures, 10), RETRY_MAX_MS);

	process->failures++;
	process->retry_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), delay);
	relay_wake_by(process, process->retry_at);
	return false;
}

bool
relay_run(struct relay_process *process, struct rpc_batch *batch)
{
	if (rpc_batch_run(batch))
		return true;
	db_report_error("%s: %s", rpc_client_endpoint(process->client),
					rpc_client_error(process->client));
	return note_failure(process);
}

bool
relay_ask(struct relay_process *process, struct relay_view *view)
{
	struct questions questions = {0};
	TimestampTz now;
	bool behind;
	int i;

	/* Another endpoint has to say first which chain it is on. */
	if (process->endpoint != rpc_client_generation(process->client))
		process->chain_checked = false;
	for (i = 0; i < process->key_count; i++)
		process->keys[i]->fresh = false;
	questions.chain_id = questions.genesis = questions.head = questions.height = -1;
	questions.fee_history = questions.priority = questions.gas_price = -1;
	questions.batch = rpc_batch_create(process->client);
	initStringInfo(&questions.text);
	put_questions(process, &questions, view);
	if (rpc_batch_count(questions.batch) == 0)
		return true;
	if (!relay_run(process, questions.batch))
		return false;
	if (!is_our_chain(process, &questions) ||
		process->endpoint != rpc_client_generation(process->client))
		return note_failure(process);
	process->failures = 0;
	process->retry_at = 0;
	now = GetCurrentTimestamp();
	read_head(process, &questions, now);
	read_fees(process, &questions, now);
	read_keys(process, &questions);
	if (questions.watch)
		relay_note_watch(process, now);
	if (questions.receipts)
	{
		process->asked_head = process->head_number;
		process->ask_again = false;
	}
	behind = is_behind(process, &questions, now);
	for (i = 0; i < view->nonce_count; i++)
	{
		read_receipts(&questions, &view->nonces[i], behind);
		(void) read_gas(&questions, &view->nonces[i].noop_gas, view->nonces[i].noop_question);
	}
	for (i = 0; i < view->candidate_count; i++)
		read_estimate(&questions, &view->candidates[i]);
	for (i = 0; i < view->nonce_count; i++)
		if (view->nonces[i].replacement != NULL)
			read_estimate(&questions, view->nonces[i].replacement);
	return true;
}
