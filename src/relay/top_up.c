/*
 * top_up.c
 *	  Which accounts have to be topped up, and whether their sources can pay.
 *
 * All balances of a look are those of one block, which is asked for by its number: a node that lags
 * does not have it and answers nothing.  That block is the newest one, and not before the block of
 * the last transfer to the target, so what that transfer brought is in the balance.
 *
 * What would fail is not sent: the transfer is simulated, and the source must cover it with its gas
 * beside all that it may have to pay already.
 */
#include "postgres.h"

#include "relay/top_up.h"

#include "lib/stringinfo.h"
#include "utils/timestamp.h"

#include "db/shmem.h"
#include "evm/word.h"
#include "relay/ask.h"
#include "relay/put.h"
#include "rpc/client.h"

/* How often balances are looked at, at most. */
#define LOOK_MS 5000
/* Room above the node's estimate, as for any send (ask.c). */
#define GAS_MARGIN_NUMERATOR 6
#define GAS_MARGIN_DENOMINATOR 5
/* What a transfer is expected to pay for gas: twice the usual price, as quotes do. */
#define PRICE_FACTOR 2
/* A node that lags has no answer for the newest block: that is told when it stays so. */
#define SILENT_LOOKS 3
#define WORD_TEXT_LENGTH 66 /* "0x" and 64 digits */

static const uint8 balance_of[4] = {0x70, 0xa0, 0x82, 0x31};
static const uint8 transfer_to[4] = {0xa9, 0x05, 0x9c, 0xbb};

static void say(struct relay_top_up *top_up, const char *format, ...) pg_attribute_printf(2, 3);

static void
say(struct relay_top_up *top_up, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(top_up->problem, sizeof(top_up->problem), format, arguments);
	va_end(arguments);
	top_up->wanted = false;
}

static char *
decimal(const struct evm_word *word)
{
	char text[EVM_WORD_DECIMAL_BYTES];

	evm_word_to_decimal(text, word, false);
	return pstrdup(text);
}

static bool
is_due(struct relay_process *process, TimestampTz now)
{
	TimestampTz next = TimestampTzPlusMilliseconds(process->topped_at, LOOK_MS);

	if (process->top_up_count == 0 || process->head_number < 0 ||
		process->topped_head == process->head_number || !process->chain_checked ||
		process->endpoint != rpc_client_generation(process->client))
		return false;
	if (next <= now)
		return true;
	relay_wake_by(process, next);
	return false;
}

/* ---- who ---------------------------------------------------------------- */

static void
find_accounts(struct relay_process *process, struct relay_top_up *top_up)
{
	struct relay_account *target =
		top_up->relayer == NULL ? NULL : relay_find_account(process, top_up->relayer);

	top_up->problem[0] = '\0';
	top_up->wanted = top_up->answered = top_up->open = false;
	top_up->balance_question = top_up->funds_question = top_up->tokens_question = -1;
	top_up->gas_question = top_up->call_question = -1;
	top_up->from = relay_find_account(process, top_up->source);
	if (top_up->from == NULL || top_up->from->key == NULL || !top_up->from->key->owned)
	{
		say(top_up, "relayer \"%s\" cannot sign: %s", top_up->source,
			top_up->from == NULL ? "it does not exist" : top_up->from->problem);
		top_up->from = NULL;
		return;
	}
	if (top_up->relayer == NULL)
		top_up->target = top_up->recipient;
	else if (target == NULL || target->key == NULL)
	{
		say(top_up, "the address of relayer \"%s\" is not known", top_up->relayer);
		top_up->from = NULL;
		return;
	}
	else
		top_up->target = target->key->address;
	if (memcmp(&top_up->target, &top_up->from->key->address, sizeof(top_up->target)) == 0)
		say(top_up, "relayer \"%s\" has the same account: a source does not top itself up",
			top_up->source);
}

/* ---- the questions ------------------------------------------------------ */

static void
append_block(StringInfo text, int64 block_number)
{
	appendStringInfoChar(text, ',');
	relay_put_u64(text, (uint64) block_number);
	appendStringInfoChar(text, ']');
}

static int
ask_balance(struct rpc_batch *batch, const struct evm_address *account, int64 block_number)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoChar(&text, '[');
	relay_put_hex(&text, account->b, sizeof(account->b));
	append_block(&text, block_number);
	return rpc_batch_add(batch, "eth_getBalance", text.data);
}

static int
ask_tokens(struct rpc_batch *batch, const struct relay_top_up *top_up,
		   const struct evm_address *account, int64 block_number)
{
	uint8 data[4 + 32] = {0};
	struct evm_bytes bytes = {data, sizeof(data)};
	StringInfoData text;

	memcpy(data, balance_of, sizeof(balance_of));
	memcpy(data + 4 + 12, account->b, sizeof(account->b));
	initStringInfo(&text);
	appendStringInfoChar(&text, '[');
	relay_put_call(&text, &top_up->from->key->address, &top_up->token, &evm_word_zero, bytes);
	append_block(&text, block_number);
	return rpc_batch_add(batch, "eth_call", text.data);
}

static void
ask_balances(struct relay_process *process, struct rpc_batch *batch, int64 block_number)
{
	int i;

	for (i = 0; i < process->top_up_count; i++)
	{
		struct relay_top_up *top_up = &process->top_ups[i];

		if (top_up->from == NULL || top_up->open ||
			rpc_batch_bytes(batch) > RPC_MAX_REQUEST_BYTES / 2)
			continue;
		top_up->funds_question = ask_balance(batch, &top_up->from->key->address, block_number);
		if (!top_up->is_token)
		{
			top_up->balance_question = ask_balance(batch, &top_up->target, block_number);
			continue;
		}
		top_up->balance_question = ask_tokens(batch, top_up, &top_up->target, block_number);
		top_up->tokens_question =
			ask_tokens(batch, top_up, &top_up->from->key->address, block_number);
	}
}

/* The transfer as it would be sent, at the newest state. */
static void
ask_transfer(struct rpc_batch *batch, struct relay_top_up *top_up)
{
	uint8 data[4 + 32 + 32] = {0};
	struct evm_bytes bytes = {data, top_up->is_token ? sizeof(data) : 0};
	StringInfoData text;

	memcpy(data, transfer_to, sizeof(transfer_to));
	memcpy(data + 4 + 12, top_up->target.b, sizeof(top_up->target.b));
	evm_word_to_be(data + 4 + 32, &top_up->transfer);
	initStringInfo(&text);
	appendStringInfoChar(&text, '[');
	relay_put_call(&text, &top_up->from->key->address,
				   top_up->is_token ? &top_up->token : &top_up->target,
				   top_up->is_token ? &evm_word_zero : &top_up->transfer, bytes);
	appendStringInfoString(&text, ",\"latest\"]");
	top_up->gas_question = rpc_batch_add(batch, "eth_estimateGas", text.data);
	if (top_up->is_token)
		top_up->call_question = rpc_batch_add(batch, "eth_call", text.data);
}

static bool
run_batch(struct relay_process *process, struct rpc_batch *batch)
{
	return rpc_batch_count(batch) == 0 ||
		(relay_run(process, batch) && process->endpoint == rpc_client_generation(process->client));
}

static bool
word_answer(struct evm_word *out, struct rpc_batch *batch, int question)
{
	const struct rpc_answer *answer = rpc_batch_answer(batch, question);

	return answer->outcome == RPC_RESULT && relay_parse_word(out, answer->result);
}

/* ---- the decision ------------------------------------------------------- */

static void
read_balances(struct relay_top_up *top_up, struct rpc_batch *batch, int64 block_number)
{
	if (top_up->balance_question < 0)
		return;
	top_up->answered = word_answer(&top_up->balance, batch, top_up->balance_question) &&
		word_answer(&top_up->funds, batch, top_up->funds_question) &&
		(!top_up->is_token || word_answer(&top_up->tokens, batch, top_up->tokens_question));
	top_up->silent = top_up->answered ? 0 : top_up->silent + 1;
	if (top_up->silent >= SILENT_LOOKS && top_up->problem[0] == '\0')
		say(top_up, "the node does not give the balances of block %lld%s", (long long) block_number,
			top_up->is_token ? ", or the token is no ERC-20 contract" : "");
}

/* Is something to be transferred, and how much? */
static void
want(struct relay_top_up *top_up, int64 block_number)
{
	struct evm_word sum;

	if (!top_up->answered || evm_word_compare(&top_up->balance, &top_up->below) >= 0)
	{
		/* What is in the way of nothing is no problem. */
		if (top_up->answered)
			top_up->problem[0] = '\0';
		return;
	}
	if (top_up->problem[0] != '\0' || block_number < top_up->last_block)
		return;
	if (top_up->has_amount)
		top_up->transfer = top_up->amount;
	else
		(void) evm_word_sub(&top_up->transfer, &top_up->amount, &top_up->balance);
	top_up->wanted = true;
	if (top_up->from->paused)
		say(top_up, "source \"%s\" is paused", top_up->source);
	else if (top_up->has_limit &&
			 (evm_word_add(&sum, &top_up->sent, &top_up->transfer) ||
			  evm_word_compare(&sum, &top_up->limit) > 0))
		say(top_up, "%s of max_per_day %s are sent, and %s are needed", decimal(&top_up->sent),
			decimal(&top_up->limit), decimal(&top_up->transfer));
}

static bool
add_to(struct evm_word *sum, const struct evm_word *more)
{
	return !evm_word_add(sum, sum, more);
}

/* Does the source cover the transfer and its gas, beside what it may have to pay already? */
static void
check_funds(struct relay_top_up *top_up, const struct evm_word *price)
{
	struct evm_word needed = top_up->debts;
	struct evm_word tokens = top_up->promised;
	struct evm_word gas;
	bool fits = !evm_word_mul_u64(&gas, price, (uint64) top_up->gas_limit * PRICE_FACTOR) &&
		add_to(&needed, &gas) && (top_up->is_token || add_to(&needed, &top_up->transfer));

	if (!fits || evm_word_compare(&needed, &top_up->funds) > 0)
		say(top_up,
			"source \"%s\" has too little: %s wei, and with gas and what is outstanding it needs "
			"%s",
			top_up->source, decimal(&top_up->funds),
			fits ? decimal(&needed) : "more than there is");
	else if (top_up->is_token &&
			 (!add_to(&tokens, &top_up->transfer) ||
			  evm_word_compare(&tokens, &top_up->tokens) > 0))
		say(top_up, "source \"%s\" has too little: %s of the token, and it needs %s",
			top_up->source, decimal(&top_up->tokens), decimal(&tokens));
}

/* A token that returns false instead of reverting would be paid for in vain, again and again. */
static bool
returns_false(const struct rpc_answer *answer)
{
	struct evm_word word;
	const char *text;
	size_t len;

	if (answer->outcome != RPC_RESULT)
		return false;
	text = evm_json_string(answer->result, &len);
	return text != NULL && len == WORD_TEXT_LENGTH && relay_parse_word(&word, answer->result) &&
		evm_word_is_zero(&word);
}

static void
read_transfer(struct relay_top_up *top_up, struct rpc_batch *batch, const struct evm_word *price)
{
	const struct rpc_answer *estimate = rpc_batch_answer(batch, top_up->gas_question);
	const struct rpc_answer *call =
		top_up->call_question < 0 ? NULL : rpc_batch_answer(batch, top_up->call_question);
	uint64 gas;

	/* Estimates are refused for a lack of funds, too: that is said in our words. */
	top_up->gas_limit = 21000;
	check_funds(top_up, price);
	if (!top_up->wanted)
		return;
	if (estimate->outcome != RPC_RESULT)
		say(top_up, "the transfer would fail: %s", estimate->message);
	else if (!relay_parse_u64(&gas, estimate->result) || gas > PG_INT32_MAX)
		say(top_up, "the node gives no usable gas estimate");
	else if (call != NULL && call->outcome != RPC_RESULT)
		say(top_up, "the transfer would fail: %s", call->message);
	else if (call != NULL && returns_false(call))
		say(top_up, "the token would refuse the transfer: it returns false");
	else
	{
		top_up->gas_limit = (int64) (gas * GAS_MARGIN_NUMERATOR / GAS_MARGIN_DENOMINATOR);
		check_funds(top_up, price);
	}
}

/* What a source pays in this look is not there for its next transfer. */
static void
book(struct relay_process *process, const struct relay_top_up *made, const struct evm_word *price)
{
	struct evm_word gas;
	int i;

	if (evm_word_mul_u64(&gas, price, (uint64) made->gas_limit * PRICE_FACTOR))
		return;
	for (i = 0; i < process->top_up_count; i++)
	{
		struct relay_top_up *other = &process->top_ups[i];

		if (other->from == NULL || other->from->key != made->from->key)
			continue;
		(void) add_to(&other->debts, &gas);
		if (!made->is_token)
			(void) add_to(&other->debts, &made->transfer);
		else if (memcmp(&other->token, &made->token, sizeof(made->token)) == 0)
			(void) add_to(&other->promised, &made->transfer);
	}
}

/* False when the node has not answered: another time. */
static bool
look_at_transfers(struct relay_process *process)
{
	struct rpc_batch *batch = rpc_batch_create(process->client);
	int price_question = rpc_batch_add(batch, "eth_gasPrice", "[]");
	struct evm_word price;
	bool any = false;
	int i;

	for (i = 0; i < process->top_up_count; i++)
	{
		any = any || process->top_ups[i].wanted;
		if (process->top_ups[i].wanted)
			ask_transfer(batch, &process->top_ups[i]);
	}
	if (!any)
		return true;
	if (!run_batch(process, batch) || !word_answer(&price, batch, price_question))
		return false;
	for (i = 0; i < process->top_up_count; i++)
	{
		struct relay_top_up *top_up = &process->top_ups[i];

		if (!top_up->wanted)
			continue;
		read_transfer(top_up, batch, &price);
		if (top_up->wanted)
			book(process, top_up, &price);
	}
	return true;
}

/* What was queued is for this process; what was not answered is asked again. */
static void
finish(struct relay_process *process, const struct relay_top_up *top_up)
{
	if (top_up->wanted)
		relay_wake_by(process, GetCurrentTimestamp());
	if (top_up->balance_question < 0 || top_up->answered)
		return;
	process->topped_head = -2;
	relay_wake_by(process, TimestampTzPlusMilliseconds(process->topped_at, LOOK_MS));
}

void
relay_top_up(struct relay_process *process)
{
	TimestampTz now = GetCurrentTimestamp();
	int64 block_number = process->head_number;
	struct rpc_batch *batch;
	int i;

	if (!is_due(process, now))
		return;
	process->topped_at = now;
	for (i = 0; i < process->top_up_count; i++)
		find_accounts(process, &process->top_ups[i]);
	if (!relay_load_transfers(process))
		return;
	batch = rpc_batch_create(process->client);
	ask_balances(process, batch, block_number);
	if (!run_batch(process, batch))
		return;
	for (i = 0; i < process->top_up_count; i++)
	{
		read_balances(&process->top_ups[i], batch, block_number);
		want(&process->top_ups[i], block_number);
	}
	if (!look_at_transfers(process) || !relay_write_top_ups(process, block_number))
		return;
	process->topped_head = block_number;
	for (i = 0; i < process->top_up_count; i++)
		finish(process, &process->top_ups[i]);
}
