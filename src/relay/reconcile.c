/*
 * reconcile.c
 *	  After a promotion or a restore: what have our accounts sent that this database does not know?
 *
 * An account goes on when every nonce that the chain counts is explained: by a receipt of a
 * payload that is stored here, by a transaction that was found and matched, or by an operator.
 * Nothing else is needed for nothing to be paid twice; that the watcher has passed the blocks, so
 * that what was sent for them is queued again, is needed for a transaction to be matched at all.
 */
#include "postgres.h"

#include "relay/reconcile.h"

#include "utils/timestamp.h"

#include "db/crash.h"
#include "db/statement.h"
#include "relay/reconcile_adopt.h"
#include "relay/reconcile_scan.h"
#include "relay/reconcile_tables.h"

/* How often what is waited for is looked at. */
#define LOOK_MS 500
/*
 * What the old server had sent last may not have reached our node yet: the counts must have stood
 * still for two blocks, within these bounds.
 */
#define QUIET_BLOCKS 2
#define QUIET_MIN_MS 1000
#define QUIET_MAX_MS 30000
/*
 * Something is missing in all blocks after the restored one: it was known neither before, so older
 * ones are read, further back each time.
 */
#define LOOK_BACK_MIN_BLOCKS 256
#define LOOK_BACK_FACTOR 2

void
relay_say_held(struct relay_process *process, const struct relay_key *key, const char *status)
{
	int i;

	for (i = 0; i < process->account_count; i++)
		if (process->accounts[i].key == key)
			snprintf(process->accounts[i].problem, RELAY_PROBLEM_BYTES, "signing is held: %s",
					 status);
}

bool
relay_any_held(const struct relay_process *process)
{
	int i;

	for (i = 0; i < process->key_count; i++)
		if (process->keys[i]->held && process->keys[i]->owned)
			return true;
	return false;
}

/* The newest block as of these counts; one more, since the node answers one by one. */
static void
note_counts(struct relay_process *process, struct relay_key *key, TimestampTz now)
{
	if (key->quiet_since != 0 && key->quiet_latest == key->latest &&
		key->quiet_pending == key->pending)
		return;
	key->quiet_since = now;
	key->quiet_latest = key->latest;
	key->quiet_pending = key->pending;
	key->counted_block = process->head_number + 1;
}

static bool
is_quiet(const struct relay_process *process, const struct relay_key *key, TimestampTz now)
{
	double ms = Min(Max(process->block_ms * QUIET_BLOCKS, QUIET_MIN_MS), QUIET_MAX_MS);

	return TimestampDifferenceExceeds(key->quiet_since, now, (int) ms);
}

/* ---- what is known of the nonces that the chain counts -------------------- */

static bool
was_found(const struct relay_account_progress *progress, uint64 nonce)
{
	int low = 0;
	int high = progress->known_count;

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (progress->known[middle] < nonce)
			low = middle + 1;
		else
			high = middle;
	}
	return low < progress->known_count && progress->known[low] == nonce;
}

/* Those that are live here: a receipt of one of their payloads explains them. */
static bool
knows_live_nonces(const struct relay_view *view, const struct relay_account_progress *progress)
{
	const struct relay_key *key = progress->key;
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		const struct relay_nonce *nonce = &view->nonces[i];

		if (nonce->key == key && nonce->nonce < key->latest && nonce->finding != RELAY_FOUND &&
			nonce->state != RELAY_MINED && !was_found(progress, nonce->nonce))
			return false;
	}
	return true;
}

/* Those from the first unknown one on; without one, all that the blocks up to the counts have. */
static bool
knows_later_nonces(const struct relay_account_progress *progress)
{
	const struct relay_key *key = progress->key;
	uint64 nonce;

	if (!progress->has_first)
		return key->latest == 0 ||
			(progress->scanned_to >= key->counted_block &&
			 (progress->known_count == 0 ||
			  progress->known[progress->known_count - 1] + 1 >= key->latest));
	for (nonce = progress->first_nonce; nonce < key->latest; nonce++)
		if (!was_found(progress, nonce))
			return false;
	return true;
}

static void
judge(const struct relay_view *view, struct relay_account_progress *progress)
{
	progress->complete = knows_live_nonces(view, progress) && knows_later_nonces(progress);
}

/* ---- steps ---------------------------------------------------------------- */

static bool
is_due(const struct relay_key *key)
{
	return key->held && key->owned && key->fresh;
}

/* The chain counts what no block after scanned_from has. */
static bool
must_look_back(const struct relay_account_progress *progress)
{
	return !progress->complete && progress->has_first && progress->scanned_from >= 0 &&
		progress->scanned_to >= progress->key->counted_block;
}

static void
look_back(const struct relay_process *process, struct relay_account_progress *progress)
{
	int64 blocks = progress->scanned_to - progress->scanned_from;

	blocks = Max(blocks * LOOK_BACK_FACTOR, LOOK_BACK_MIN_BLOCKS);
	progress->scanned_from = progress->scanned_to = Max(progress->scanned_from - blocks, -1);
	relay_store_look_back(process, progress, progress->scanned_from);
}

/* In an open transaction; into the round's context. */
static int
read_all(struct relay_process *process, const struct relay_view *view,
		 struct relay_account_progress *progress, MemoryContext round)
{
	int count = 0;
	int i;

	for (i = 0; i < process->key_count; i++)
	{
		if (!is_due(process->keys[i]))
			continue;
		relay_read_progress(round, process, &progress[count], process->keys[i]);
		judge(view, &progress[count++]);
	}
	return count;
}

/* What an account waits for; NULL when for nothing. */
static const char *
say_what_is_missing(const struct relay_process *process,
					const struct relay_account_progress *progress, TimestampTz now)
{
	const struct relay_key *key = progress->key;
	long long head = process->head_number;

	if (!progress->complete)
		return psprintf(
			"the chain has transactions of the account that this database does not "
			"know; blocks are read up to %lld of %lld",
			(long long) progress->scanned_to, head);
	if (progress->found_count > 0 && progress->behind)
		return psprintf(
			"%d transactions that were found are not explained yet: the workflows "
			"have not come to block %lld, which has the last one",
			progress->found_count, (long long) progress->highest_block);
	if (progress->found_count > 0)
		return psprintf(
			"%d transactions of the account are on the chain and no send of this "
			"database: see rflow.unmatched_transactions",
			progress->found_count);
	if (progress->behind)
		return psprintf(
			"the workflows have not come to block %lld, which has the last "
			"transaction that was found",
			(long long) progress->highest_block);
	if (key->pending > Max(key->latest, key->next_nonce))
		return psprintf(
			"the node has %llu transactions of the account pending that this database "
			"does not know",
			(unsigned long long) (key->pending - Max(key->latest, key->next_nonce)));
	if (!is_quiet(process, key, now))
		return "the chain is watched for what was sent last";
	return NULL;
}

/* A relayer that is not paused and whose account this process does not have; NULL: none. */
static const struct relay_account *
find_absent(const struct relay_process *process)
{
	int i;

	for (i = 0; i < process->account_count; i++)
	{
		const struct relay_account *account = &process->accounts[i];

		if (!account->paused_itself && (account->key == NULL || !account->key->owned))
			return account;
	}
	return NULL;
}

static bool
all_are_here(const struct relay_process *process, int count)
{
	int held = 0;
	int i;

	for (i = 0; i < process->key_count; i++)
		if (process->keys[i]->held && process->keys[i]->owned)
			held++;
	return held == count && find_absent(process) == NULL;
}

/* Why an account waits that lacks nothing: a send may be queued for another one than before. */
static const char *
say_who_is_missing(const struct relay_process *process)
{
	const struct relay_account *absent = find_absent(process);

	if (absent == NULL)
		return "another account of the network is not reconciled yet";
	return psprintf(
		"relayer \"%s\" has no account yet that could be reconciled (%s); pause it to go on "
		"without it",
		absent->name, absent->problem);
}

/* In an open transaction.  All go on together, since a pool's sends may be of any of them. */
static bool
finish_or_say(struct relay_process *process, struct relay_account_progress *progress, int count,
			  TimestampTz now)
{
	const char **missing = palloc0(sizeof(char *) * (count + 1));
	bool finished = all_are_here(process, count);
	int i;

	for (i = 0; i < count; i++)
	{
		progress[i].behind = progress[i].highest_block >= 0 &&
			!relay_watcher_has_passed(process, progress[i].highest_block);
		missing[i] = say_what_is_missing(process, &progress[i], now);
		finished = finished && missing[i] == NULL;
	}
	for (i = 0; i < count && finished; i++)
		finished = relay_store_finished(process, &progress[i]);
	for (i = 0; i < count && !finished; i++)
	{
		const char *status = missing[i] != NULL ? missing[i] : say_who_is_missing(process);

		relay_say_held(process, progress[i].key, status);
		relay_store_status(process, &progress[i], status);
	}
	return finished;
}

/*
 * The last transaction of a round: what was found is matched, and accounts that wait for nothing
 * go on.  The next nonces are those of the view: the round after an adoption sees what it has
 * raised.
 */
static bool
settle(struct relay_process *process, const struct relay_view *view,
	   struct relay_account_progress *progress, int *adopted)
{
	MemoryContext round = CurrentMemoryContext;
	bool finished = false;
	int count;
	int i;

	*adopted = 0;
	if (!process->begin(process->context, "relayer: what was found on the chain"))
		return false;
	count = read_all(process, view, progress, round);
	for (i = 0; i < count; i++)
		*adopted += relay_adopt_found(process, &progress[i]);
	if (*adopted > 0)
		DB_CRASH_POINT("reconcile-before-adopt-commit");
	else
		finished = finish_or_say(process, progress, count, view->now);
	db_commit();
	if (*adopted > 0)
		DB_CRASH_POINT("reconcile-after-adopt-commit");
	for (i = 0; i < count && finished; i++)
		progress[i].key->held = false;
	process->progress = process->progress || finished;
	return true;
}

bool
relay_reconcile(struct relay_process *process, struct relay_view *view)
{
	MemoryContext round = CurrentMemoryContext;
	struct relay_account_progress *progress =
		palloc0(sizeof(struct relay_account_progress) * (process->key_count + 1));
	bool advanced;
	int adopted;
	int count;
	int i;

	for (i = 0; i < process->key_count; i++)
		if (is_due(process->keys[i]))
			note_counts(process, process->keys[i], view->now);
	if (!process->begin(process->context, "relayer: how far accounts are reconciled"))
		return false;
	count = read_all(process, view, progress, round);
	for (i = 0; i < count; i++)
		if (must_look_back(&progress[i]))
			look_back(process, &progress[i]);
	db_commit();
	relay_wake_by(process, TimestampTzPlusMilliseconds(view->now, LOOK_MS));
	process->ask_again = true;
	if (!relay_scan(process, progress, count, &advanced))
		return false;
	MemoryContextSwitchTo(round);
	if (!settle(process, view, progress, &adopted))
		return false;
	if (advanced || adopted > 0)
		relay_wake_by(process, GetCurrentTimestamp());
	return adopted == 0;
}
