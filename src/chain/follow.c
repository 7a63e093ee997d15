/*
 * follow.c
 *	  Asks a node for its head and connects it to the headers we have.
 *
 * A head is never believed alone: every header that is taken names the one before it, down to one
 * that was stored.  A lower head on our branch is a node that lags, not news.
 */
#include "postgres.h"

#include "chain/follow.h"
#include "evm/hex.h"
#include "utils/timestamp.h"

/* Headers that a chain which was never followed begins with. */
#define FIRST_CONTACT_HEADERS 128
/* Headers asked for in one batch while looking for a fork. */
#define FORK_STEP 16
/* Polls in a row that have to show another branch before it is adopted: one that is higher … */
#define RIVAL_POLLS_HIGHER 3
/* … and one that is as high: two nodes that take turns at random are not to look like it. */
#define RIVAL_POLLS_EQUAL 20
/* For how long they must have shown it, while the node goes back and forth. */
#define RIVAL_UNSTEADY_MS 10000
/* For how long a node is distrusted that has gone back to a branch that it had left. */
#define UNSTEADY_MS (10 * 60 * 1000)

static struct chain_update
update(enum chain_news news, int64 fork)
{
	struct chain_update result = {.news = news, .fork = fork};

	return result;
}

static struct chain_update failure(enum chain_news news, const char *format, ...)
	pg_attribute_printf(2, 3);

static struct chain_update
failure(enum chain_news news, const char *format, ...)
{
	struct chain_update result = {.news = news};
	va_list args;
	char text[512];

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	result.error = pstrdup(text);
	return result;
}

TimestampTz
chain_timestamp(int64 seconds)
{
	return (seconds - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY) * USECS_PER_SEC;
}

const struct chain_header *
chain_header_at(const struct chain *chain, int64 number)
{
	if (number < chain->first || number > chain->tip)
		return NULL;
	return &chain->headers[number % CHAIN_WINDOW];
}

static bool
same_hash(const struct evm_hash *a, const struct evm_hash *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static void
add_block_call(struct rpc_batch *batch, int64 number)
{
	char quantity[EVM_QUANTITY_TEXT_BYTES];

	evm_quantity_encode_u64(quantity, number);
	rpc_batch_add(batch, "eth_getBlockByNumber", psprintf("[\"%s\",false]", quantity));
}

/* The header in an answer; NULL, or why there is none. */
static const char *
read_header(struct chain_header *out, const struct rpc_answer *answer)
{
	struct evm_error error;

	if (answer->outcome != RPC_RESULT)
		return answer->message;
	if (chain_parse_header(out, answer->result, &error) != EVM_OK)
		return pstrdup(error.message);
	return NULL;
}

/* ---- who the node is ------------------------------------------------------ */

static struct chain_update
check_chain_id(const struct chain *chain, const struct rpc_answer *answer)
{
	struct evm_error error;
	const char *text;
	uint64_t id;
	size_t len;

	if (answer->outcome != RPC_RESULT)
		return failure(CHAIN_NO_ANSWER, "eth_chainId: %s", answer->message);
	text = evm_json_string(answer->result, &len);
	if (text == NULL || evm_quantity_decode_u64(&id, text, len, &error) != EVM_OK)
		return failure(CHAIN_NO_ANSWER, "eth_chainId: the answer is not a number");
	if (id != (uint64_t) chain->chain_id)
		return failure(CHAIN_BROKEN, "the endpoint is on chain %llu, not %lld",
					   (unsigned long long) id, (long long) chain->chain_id);
	return update(CHAIN_NOTHING_NEW, chain->tip);
}

static bool
is_zero_hash(const struct evm_hash *hash)
{
	static const struct evm_hash zero;

	return same_hash(hash, &zero);
}

struct chain_update
chain_identify(struct chain *chain, struct rpc_client *client, bool *first_contact)
{
	struct rpc_batch *batch = rpc_batch_create(client);
	struct chain_update result;
	struct chain_header genesis;
	const char *why;

	*first_contact = false;
	rpc_batch_add(batch, "eth_chainId", "[]");
	add_block_call(batch, 0);
	if (!rpc_batch_run(batch))
		result = failure(CHAIN_NO_ANSWER, "%s", rpc_client_error(client));
	else
		result = check_chain_id(chain, rpc_batch_answer(batch, 0));
	if (result.news == CHAIN_NOTHING_NEW)
	{
		why = read_header(&genesis, rpc_batch_answer(batch, 1));
		if (why != NULL)
			result = failure(CHAIN_NO_ANSWER, "block 0: %s", why);
		else if (is_zero_hash(&chain->genesis_hash))
		{
			chain->genesis_hash = genesis.hash;
			*first_contact = true;
		}
		else if (!same_hash(&genesis.hash, &chain->genesis_hash))
			result = failure(
				CHAIN_BROKEN,
				"the endpoint has another genesis block: this is not the chain that was followed");
	}
	rpc_batch_destroy(batch);
	return result;
}

/* ---- the head ------------------------------------------------------------- */

/* The number of a tagged block; -1 when the node gives none (young chains). */
static int64
tagged_number(const struct rpc_answer *answer)
{
	struct chain_header header;

	return read_header(&header, answer) == NULL ? header.number : -1;
}

static struct chain_update
read_number(const struct chain *chain, const struct rpc_answer *answer)
{
	struct evm_error error;
	const char *text;
	uint64_t number;
	size_t len;

	if (answer->outcome != RPC_RESULT)
		return failure(CHAIN_NO_ANSWER, "eth_blockNumber: %s", answer->message);
	text = evm_json_string(answer->result, &len);
	if (text == NULL || evm_quantity_decode_u64(&number, text, len, &error) != EVM_OK)
		return failure(CHAIN_NO_ANSWER, "eth_blockNumber: the answer is not a number");
	/* A lower one is a node that lags; or another branch, which the next header shows. */
	if (number <= PG_INT64_MAX && (int64) number <= chain->tip)
		return update(CHAIN_NOTHING_NEW, chain->tip);
	return update(CHAIN_NEW_BLOCKS, chain->tip);
}

struct chain_update
chain_poll_head(struct chain *chain, struct rpc_client *client, const struct chain_poll *poll,
				struct chain_header *head)
{
	struct rpc_batch *batch = rpc_batch_create(client);
	struct chain_update result;
	const struct chain_header *tip = chain_header_at(chain, chain->tip);
	const char *why;

	rpc_batch_set_priority(batch, RPC_URGENT);
	if (poll->with_header)
		rpc_batch_add(batch, "eth_getBlockByNumber", "[\"latest\",false]");
	else
		rpc_batch_add(batch, "eth_blockNumber", "[]");
	if (poll->with_finality)
	{
		rpc_batch_add(batch, "eth_getBlockByNumber", "[\"safe\",false]");
		rpc_batch_add(batch, "eth_getBlockByNumber", "[\"finalized\",false]");
	}
	if (!rpc_batch_run(batch))
		result = failure(CHAIN_NO_ANSWER, "%s", rpc_client_error(client));
	else if (!poll->with_header)
		result = read_number(chain, rpc_batch_answer(batch, 0));
	else if ((why = read_header(head, rpc_batch_answer(batch, 0))) != NULL)
		result = failure(CHAIN_NO_ANSWER, "head: %s", why);
	else if (tip != NULL && same_hash(&tip->hash, &head->hash))
	{
		chain->rival_polls = 0;
		result = update(CHAIN_NOTHING_NEW, chain->tip);
	}
	else
		result = update(CHAIN_NEW_BLOCKS, chain->tip);
	if (poll->with_finality && result.news != CHAIN_NO_ANSWER)
	{
		chain->safe = tagged_number(rpc_batch_answer(batch, 1));
		chain->finalized = tagged_number(rpc_batch_answer(batch, 2));
	}
	rpc_batch_destroy(batch);
	return result;
}

/* ---- connecting ----------------------------------------------------------- */

/*
 * Headers low..high of the node, which must be a chain among themselves; NULL and the reason
 * otherwise.
 */
static struct chain_header *
fetch_headers(struct rpc_client *client, int64 low, int64 high, const char **why)
{
	struct rpc_batch *batch = rpc_batch_create(client);
	int count = (int) (high - low + 1);
	struct chain_header *headers = palloc(count * sizeof(struct chain_header));

	*why = NULL;
	for (int64 number = low; number <= high; number++)
		add_block_call(batch, number);
	if (!rpc_batch_run(batch))
		*why = pstrdup(rpc_client_error(client));
	for (int i = 0; i < count && *why == NULL; i++)
	{
		*why = read_header(&headers[i], rpc_batch_answer(batch, i));
		if (*why != NULL)
			*why = psprintf("block " INT64_FORMAT ": %s", low + i, *why);
		else if (headers[i].number != low + i)
			*why = psprintf("block " INT64_FORMAT ": the node gave another one", low + i);
		else if (i > 0 && !same_hash(&headers[i].parent_hash, &headers[i - 1].hash))
			*why = psprintf("block " INT64_FORMAT " does not follow the block before it", low + i);
	}
	rpc_batch_destroy(batch);
	return *why == NULL ? headers : NULL;
}

static void
take(struct chain *chain, const struct chain_header *header)
{
	if (chain->tip < chain->first)
		chain->first = header->number;
	chain->headers[header->number % CHAIN_WINDOW] = *header;
	chain->tip = header->number;
	if (chain->tip - chain->first >= CHAIN_WINDOW)
		chain->first = chain->tip - CHAIN_WINDOW + 1;
}

/* The window begins anew with the blocks up to the head. */
static struct chain_update
begin_window(struct chain *chain, struct rpc_client *client, const struct chain_header *head)
{
	int64 low = Max(head->number - FIRST_CONTACT_HEADERS + 1, 0);
	const char *why;
	struct chain_header *headers = fetch_headers(client, low, head->number, &why);

	if (headers == NULL)
		return failure(CHAIN_NO_ANSWER, "%s", why);
	chain->first = low;
	chain->tip = low - 1;
	for (int64 number = low; number <= head->number; number++)
		take(chain, &headers[number - low]);
	return update(CHAIN_NEW_BLOCKS, low - 1);
}

/* ---- other branches ------------------------------------------------------- */

static bool
was_left(const struct chain *chain, const struct evm_hash *first)
{
	for (int i = 0; i < CHAIN_LEFT; i++)
	{
		if (same_hash(&chain->left[i], first))
			return true;
	}
	return false;
}

static int
polls_needed(const struct chain *chain, const struct chain_header *head, TimestampTz now)
{
	return head->number > chain->tip && chain->unsteady_until <= now ? RIVAL_POLLS_HIGHER
																	 : RIVAL_POLLS_EQUAL;
}

/*
 * Counts that the node has shown another branch, which begins with the block first; true when that
 * was often enough to believe it.
 */
static bool
is_settled(struct chain *chain, const struct chain_header *head, const struct evm_hash *first)
{
	TimestampTz now = GetCurrentTimestamp();

	if (chain->rival_polls == 0 || !same_hash(&chain->rival, first))
	{
		chain->rival = *first;
		chain->rival_polls = 0;
		chain->rival_since = now;
	}
	chain->rival_polls++;
	if (was_left(chain, first))
		chain->unsteady_until = TimestampTzPlusMilliseconds(now, UNSTEADY_MS);
	return chain->rival_polls >= polls_needed(chain, head, now) &&
		(chain->unsteady_until <= now ||
		 TimestampDifferenceExceeds(chain->rival_since, now, RIVAL_UNSTEADY_MS));
}

static struct chain_update
rival(const struct chain *chain, const struct chain_header *head, int64 fork)
{
	TimestampTz now = GetCurrentTimestamp();

	return failure(CHAIN_RIVAL,
				   "the node shows another branch above block " INT64_FORMAT
				   ": it is adopted when it has come %d times in a row%s",
				   fork, polls_needed(chain, head, now),
				   chain->unsteady_until > now
					   ? " for ten seconds, since the node goes back and forth between branches"
					   : "");
}

/* Our branch, whose first block this is, was given up for another. */
static void
leave_branch(struct chain *chain, const struct evm_hash *first)
{
	chain->left[chain->left_next] = *first;
	chain->left_next = (chain->left_next + 1) % CHAIN_LEFT;
	chain->rival_polls = 0;
}

/*
 * The highest block that both have, asking downwards from our tip; -2 when the node did not
 * answer. *first is the block of the node above it.
 */
static int64
find_fork(struct chain *chain, struct rpc_client *client, int64 high, struct evm_hash *first,
		  const char **why)
{
	while (high >= chain->first)
	{
		int64 low = Max(high - FORK_STEP + 1, chain->first);
		struct chain_header *theirs = fetch_headers(client, low, high, why);

		if (theirs == NULL)
			return -2;
		for (int64 number = high; number >= low; number--)
		{
			if (same_hash(&theirs[number - low].hash, &chain_header_at(chain, number)->hash))
				return number;
			*first = theirs[number - low].hash;
		}
		high = low - 1;
	}
	return -1;
}

static struct chain_update
too_deep(const struct chain *chain)
{
	return failure(CHAIN_BROKEN,
				   "no block of the last %d is on the node's chain: the reorganisation is deeper "
				   "than what is kept",
				   (int) (chain->tip - chain->first + 1));
}

/*
 * The head is so far ahead that the window would not reach: it begins anew. Our tip may have been
 * replaced meanwhile.
 */
static struct chain_update
jump_ahead(struct chain *chain, struct rpc_client *client, const struct chain_header *head)
{
	int64 tip = chain->tip;
	struct chain_update result;
	struct evm_hash first;
	struct evm_hash ours;
	const char *why;
	int64 fork = find_fork(chain, client, tip, &first, &why);

	if (fork == -2)
		return failure(CHAIN_NO_ANSWER, "%s", why);
	if (fork < tip && !is_settled(chain, head, &first))
		return rival(chain, head, fork);
	if (fork == -1)
		return too_deep(chain);
	if (fork < tip)
		ours = chain_header_at(chain, fork + 1)->hash;
	result = begin_window(chain, client, head);
	if (result.news != CHAIN_NEW_BLOCKS || fork == tip)
		return result;
	leave_branch(chain, &ours);
	return update(CHAIN_REORGANISED, fork);
}

/* Fetches and takes the blocks above fork up to the head. */
static struct chain_update
take_branch(struct chain *chain, struct rpc_client *client, const struct chain_header *head,
			int64 fork, enum chain_news news)
{
	struct chain_header *between = NULL;
	const struct chain_header *last = chain_header_at(chain, fork);
	const char *why;

	if (head->number > fork + 1)
	{
		between = fetch_headers(client, fork + 1, head->number - 1, &why);
		if (between == NULL)
			return failure(CHAIN_NO_ANSWER, "%s", why);
		if (!same_hash(&between[0].parent_hash, &last->hash))
			return failure(CHAIN_NO_ANSWER, "block " INT64_FORMAT " changed while it was read",
						   fork + 1);
		last = &between[head->number - fork - 2];
	}
	if (!same_hash(&head->parent_hash, &last->hash))
		return failure(CHAIN_NO_ANSWER, "block " INT64_FORMAT " changed while it was read",
					   head->number);
	chain->tip = fork;
	for (int64 number = fork + 1; number < head->number; number++)
		take(chain, &between[number - fork - 1]);
	take(chain, head);
	return update(news, fork);
}

struct chain_update
chain_connect(struct chain *chain, struct rpc_client *client, const struct chain_header *head)
{
	const struct chain_header *ours;
	struct chain_update result;
	struct evm_hash first;
	struct evm_hash left;
	const char *why;
	int64 fork;

	if (chain->tip < 0)
		return begin_window(chain, client, head);
	if (head->number - chain->tip >= CHAIN_WINDOW)
		return jump_ahead(chain, client, head);
	if (head->number == chain->tip + 1 &&
		same_hash(&head->parent_hash, &chain_header_at(chain, chain->tip)->hash))
	{
		take(chain, head);
		chain->rival_polls = 0;
		return update(CHAIN_NEW_BLOCKS, chain->tip - 1);
	}
	ours = chain_header_at(chain, head->number);
	if (head->number < chain->tip)
	{
		if (ours != NULL && same_hash(&ours->hash, &head->hash))
			return update(CHAIN_NOTHING_NEW, chain->tip);
		return failure(CHAIN_NO_ANSWER,
					   "the head, block " INT64_FORMAT
					   ", is below ours and on another branch: waiting until it is as high",
					   head->number);
	}
	fork = find_fork(chain, client, Min(chain->tip, head->number), &first, &why);
	if (fork == -2)
		return failure(CHAIN_NO_ANSWER, "%s", why);
	if (fork == chain->tip)
	{
		chain->rival_polls = 0;
		return take_branch(chain, client, head, fork, CHAIN_NEW_BLOCKS);
	}
	if (!is_settled(chain, head, &first))
		return rival(chain, head, fork);
	if (fork == -1)
		return too_deep(chain);
	left = chain_header_at(chain, fork + 1)->hash;
	result = take_branch(chain, client, head, fork, CHAIN_REORGANISED);
	if (result.news == CHAIN_REORGANISED)
		leave_branch(chain, &left);
	return result;
}
