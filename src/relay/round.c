/*
 * round.c
 *	  One turn of a relayer: load, ask, settle, sign, broadcast, record.
 *
 * Each step is a short transaction or a network batch, never both.  The order is what makes it safe
 * to die anywhere: bytes are stored before they are sent, and what is sent is what is stored.
 */
#include "postgres.h"

#include "relay/round.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "db/shmem.h"
#include "relay/adopt.h"
#include "relay/ask.h"
#include "relay/broadcast.h"
#include "relay/expire.h"
#include "relay/funds.h"
#include "relay/load.h"
#include "relay/lookback.h"
#include "relay/move.h"
#include "relay/plan.h"
#include "relay/policy_plan.h"
#include "relay/publish.h"
#include "relay/reconcile.h"
#include "relay/release.h"
#include "relay/settle.h"
#include "relay/sign.h"
#include "relay/top_up.h"

/* Something waits for a key: its file may appear, or another process may give the account up. */
#define KEY_RETRY_MS 5000
/* With something in flight and headers that stand still, the node is asked this often at least. */
#define HEAD_RETRY_MIN_MS 1000
#define HEAD_RETRY_MAX_MS 60000
#define HEAD_PATIENCE_BLOCKS 3
/* Something is queued behind a full window: how soon receipts are asked for, doubled in vain. */
#define HURRY_MIN_MS 5
#define HURRY_MAX_MS 640

struct relay_process *
relay_create(const char *network)
{
	struct relay_process *process = palloc0(sizeof(struct relay_process));

	process->process_context = CurrentMemoryContext;
	process->config_context =
		AllocSetContextCreate(CurrentMemoryContext, "relayer definitions", ALLOCSET_DEFAULT_SIZES);
	process->network = pstrdup(network);
	process->head_number = process->seen_number = -1;
	process->asked_head = -1;
	process->watched_head = process->topped_head = -2;
	return process;
}

static bool
has_unobserved(const struct relay_process *process)
{
	int i;

	for (i = 0; i < process->key_count; i++)
		if (process->keys[i]->owned && !process->keys[i]->observed)
			return true;
	return false;
}

/* An account says what is in its way as long as something is queued for it. */
static void
note_problems(struct relay_process *process, TimestampTz now)
{
	int i;

	for (i = 0; i < process->account_count; i++)
	{
		struct relay_account *account = &process->accounts[i];
		bool usable = account->key != NULL && account->key->owned;

		if (usable && account->key->held && account->problem[0] == '\0')
			relay_say_held(process, account->key, "the account is about to be reconciled");
		if (usable && !account->has_due && !account->key->held)
			account->problem[0] = '\0';
		if (!account->has_due)
			continue;
		if (!usable)
			relay_wake_by(process, TimestampTzPlusMilliseconds(now, KEY_RETRY_MS));
		else if (account->first_due > now)
			relay_wake_by(process, account->first_due);
	}
}

static void
wake_for_head(struct relay_process *process)
{
	double patience = process->block_ms * HEAD_PATIENCE_BLOCKS;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz when;

	patience = Min(Max(patience, HEAD_RETRY_MIN_MS), HEAD_RETRY_MAX_MS);
	when = TimestampTzPlusMilliseconds(process->head_changed_at, (int64) patience);
	if (when < now)
		when = TimestampTzPlusMilliseconds(now, (int64) patience);
	relay_wake_by(process, when);
}

static bool
waits_for_room(const struct relay_process *process, TimestampTz now)
{
	int i;

	for (i = 0; i < process->account_count; i++)
	{
		const struct relay_account *account = &process->accounts[i];

		if (account->has_due && account->first_due <= now && !account->paused &&
			account->key != NULL && account->key->in_flight >= account->max_in_flight)
			return true;
	}
	return false;
}

/* Blocks may come faster than headers are seen: what waits for room does not wait for them. */
static void
hurry(struct relay_process *process)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!waits_for_room(process, now))
		return;
	if (process->progress)
		process->hurry_ms = HURRY_MIN_MS;
	else
		process->hurry_ms = Min(process->hurry_ms * 2, HURRY_MAX_MS);
	process->ask_again = true;
	relay_wake_by(process, TimestampTzPlusMilliseconds(now, process->hurry_ms));
}

/*
 * What was signed is not in the first view; and the tables may say since that it is not to go
 * out.
 */
static void
send_out(struct relay_process *process, struct relay_view *view, int signed_now, bool signing_held)
{
	bool due = relay_has_broadcasts(process, view);

	if (signed_now > 0)
	{
		view = relay_load_view(process, signing_held);
		due = view != NULL && relay_has_broadcasts(process, view);
	}
	if (due)
		(void) relay_broadcast(process, view);
	if (view == NULL || view->nonce_count == 0)
		return;
	wake_for_head(process);
	hurry(process);
}

static void
work(struct relay_process *process, struct relay_view *view, bool signing_held)
{
	struct relay_plan *plan;
	int signed_now;

	if (!relay_ask(process, view) || !relay_verify(process, view) || !relay_settle(process, view))
		return;
	if (process->reconciling && !view->signing_held && !relay_reconcile(process, view))
		return;
	if (!view->signing_held && !relay_adopt_wished(process))
		return;
	plan = relay_make_plan(process, view);
	if (!relay_check_plan(process, plan))
		return;
	signed_now = relay_sign(process, plan);
	if (signed_now < 0)
		return;
	process->progress = process->progress || signed_now > 0;
	send_out(process, view, signed_now, signing_held);
}

/* False when this round is over: all accounts go on, and the definitions say so. */
static bool
load_holds(struct relay_process *process)
{
	int i;

	if (!relay_load_holds(process))
		return false;
	for (i = 0; i < process->account_count; i++)
		if (process->accounts[i].key == NULL || !process->accounts[i].key->owned ||
			process->accounts[i].key->held)
			return true;
	if (relay_end_reconciliation(process))
		relay_wake_by(process, GetCurrentTimestamp());
	return false;
}

void
relay_round(struct relay_process *process, bool signing_held)
{
	TimestampTz now = GetCurrentTimestamp();
	struct relay_view *view;

	process->wake_at = 0;
	process->progress = false;
	if (!relay_load_definitions(process))
		return;
	if (!relay_release_held(process))
		return;
	relay_resolve_accounts(process);
	if (process->reconciling && !load_holds(process))
		return;
	view = relay_load_view(process, signing_held);
	if (view == NULL)
		return;
	if (process->look_back && relay_look_back(process))
		view = relay_load_view(process, signing_held);
	/* What was queued for a relayer is found by it while the chain is compared. */
	if (view != NULL && !signing_held && !process->reconciling && relay_move_queued(process, now))
		view = relay_load_view(process, signing_held);
	/* What is not known here may have been paid: nothing is given up while signing is held. */
	if (view != NULL && !signing_held && relay_expire(process, now))
		view = relay_load_view(process, signing_held);
	if (view == NULL)
		return;
	note_problems(process, now);
	if (process->retry_at > now)
		relay_wake_by(process, process->retry_at);
	else if (view->nonce_count > 0 || view->candidate_count > 0 || signing_held ||
			 process->reconciling || has_unobserved(process) ||
			 relay_wishes_are_due(process, now) || relay_watch_is_due(process, now))
		work(process, view, signing_held);
	if (!signing_held && !process->reconciling && process->retry_at <= now)
		relay_top_up(process);
	relay_publish(process);
}
