/*
 * gap.c
 *	  Nonces that the chain waits for and nothing of ours holds.
 *
 * The node counts up to the gap, pool and all; a nonce of ours beyond it, and none at it, is what a
 * gap looks like.  A node that lags looks the same for a moment, so it has to stay for some blocks.
 * That nothing holds the nonce is checked again under the lock of the account, under which nonces
 * are assigned.
 */
#include "postgres.h"

#include "relay/gap.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "relay/load.h"
#include "relay/operator_log.h"
#include "relay/record.h"

/* A gap is filled by itself when it has stayed for this many blocks. */
#define GAP_MIN_BLOCKS 3

static struct db_statement load_keys = {
	.sql =
		"SELECT address, next_nonce, gaps"
		"  FROM rflow_private.relayer_keys"
		" WHERE chain_id = $1",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement make_filler = {
	.sql =
		"WITH added AS ("
		"    INSERT INTO rflow_private.relayer_transactions"
		"           (relayer, network, chain_id, owner, idempotency_key, recipient, data,"
		"            state_since, created_at, due_at)"
		"    SELECT r.name, r.network, $2, $5::regrole,"
		"           pg_catalog.format('gap:%s:%s:%s', $2, $4, pg_catalog.gen_random_uuid()),"
		"           $3::rflow.address, '0x', $6, $6, '-infinity'"
		"      FROM rflow.relayers r"
		"     WHERE r.name = $1"
		"       AND EXISTS (SELECT"
		"                     FROM rflow_private.relayer_keys k"
		"                    WHERE k.chain_id = $2 AND k.address = $3::rflow.address"
		"                      AND k.next_nonce > $4)"
		"       AND NOT EXISTS (SELECT"
		"                         FROM rflow_private.nonces n"
		"                        WHERE n.chain_id = $2 AND n.address = $3::rflow.address"
		"                          AND n.nonce = $4)"
		"    RETURNING id, relayer), "
		"due AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', relayer, '-infinity', pg_catalog.lpad(id::text, 19, '0')"
		"      FROM added) "
		"SELECT id FROM added",
	.types = {TEXTOID, INT8OID, TEXTOID, INT8OID, OIDOID, TIMESTAMPTZOID},
	.count = 6,
};

static struct db_statement forget_wish = {
	.sql =
		"UPDATE rflow_private.relayer_keys"
		"   SET gaps = pg_catalog.array_remove(gaps, $3)"
		" WHERE chain_id = $1 AND address = $2::rflow.address AND $3 = ANY (gaps)",
	.types = {INT8OID, TEXTOID, INT8OID},
	.count = 3,
};

static void
read_gaps(struct relay_key *key, uint64 row)
{
	Datum *elements;
	int i;

	deconstruct_array(DatumGetArrayTypeP(db_value(row, 3, NULL)), INT8OID, sizeof(int64),
					  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &elements, NULL, &key->gap_count);
	key->gaps = palloc(sizeof(uint64) * (key->gap_count + 1));
	for (i = 0; i < key->gap_count; i++)
		key->gaps[i] = (uint64) DatumGetInt64(elements[i]);
}

void
relay_load_keys(MemoryContext context, struct relay_process *process)
{
	Datum parameters[1];
	uint64 rows;
	uint64 row;
	int i;

	for (i = 0; i < process->key_count; i++)
	{
		process->keys[i]->adopted = false;
		process->keys[i]->gap_count = 0;
	}
	parameters[0] = Int64GetDatum(process->chain_id);
	rows = relay_fetch(context, &load_keys, parameters);
	for (row = 0; row < rows; row++)
	{
		struct relay_key *key = relay_find_key(process, db_datum_address(db_value(row, 1, NULL)));

		if (key == NULL)
			continue;
		key->adopted = true;
		key->next_nonce = (uint64) db_int64(row, 2);
		read_gaps(key, row);
	}
}

static struct relay_account *
account_of(const struct relay_process *process, const struct relay_key *key)
{
	int i;

	for (i = 0; i < process->account_count; i++)
		if (process->accounts[i].key == key && !process->accounts[i].paused)
			return &process->accounts[i];
	return NULL;
}

static void
add_filler(const struct relay_process *process, struct relay_view *view, struct relay_key *key,
		   uint64 gap)
{
	struct relay_account *account = account_of(process, key);
	struct relay_candidate *candidates;
	struct relay_candidate *filler;

	if (account == NULL || gap >= key->next_nonce ||
		(key->observed && (gap < key->latest || gap < key->pending)))
		return;
	candidates = palloc0(sizeof(struct relay_candidate) * (view->candidate_count + 1));
	if (view->candidate_count > 0)
		memcpy(candidates, view->candidates,
			   sizeof(struct relay_candidate) * view->candidate_count);
	view->candidates = candidates;
	filler = &candidates[view->candidate_count++];
	filler->fills = true;
	filler->gap = gap;
	filler->account = account;
	filler->chain_id = process->chain_id;
	filler->network = process->network;
	filler->owner = BOOTSTRAP_SUPERUSERID;
	filler->recipient = key->address;
	filler->estimate = -1;
}

void
relay_load_fillers(struct relay_process *process, struct relay_view *view)
{
	int i;
	int j;

	for (i = 0; i < process->key_count; i++)
	{
		struct relay_key *key = process->keys[i];
		bool wished = false;

		if (!key->owned || key->held)
			continue;
		for (j = 0; j < key->gap_count; j++)
		{
			add_filler(process, view, key, key->gaps[j]);
			wished = wished || key->gaps[j] == key->gap;
		}
		if (key->fills_gap && !wished)
			add_filler(process, view, key, key->gap);
	}
}

/* Nothing of ours at the nonce that comes next on the chain, and something behind it. */
static bool
has_gap(const struct relay_view *view, const struct relay_key *key)
{
	bool behind = false;
	int i;

	for (i = 0; i < view->nonce_count; i++)
	{
		const struct relay_nonce *nonce = &view->nonces[i];

		if (nonce->key != key)
			continue;
		if (nonce->nonce == key->pending)
			return false;
		behind = behind || nonce->nonce > key->pending;
	}
	return behind && key->pending < key->next_nonce;
}

static void
say_gap(struct relay_account *account)
{
	snprintf(
		account->problem, sizeof(account->problem),
		"nonce %llu is missing: the chain waits for it, nothing of rflow's holds it, and what is "
		"behind it waits too; a no-op fills it after %d blocks, or at once by "
		"rflow.fill_gap('%s', %llu)",
		(unsigned long long) account->key->gap, GAP_MIN_BLOCKS, account->name,
		(unsigned long long) account->key->gap);
}

void
relay_find_gaps(struct relay_process *process, const struct relay_view *view)
{
	int i;

	for (i = 0; i < process->key_count; i++)
	{
		struct relay_key *key = process->keys[i];

		if (!key->fresh || !key->owned || !key->adopted || key->held)
			continue;
		if (!has_gap(view, key))
			key->has_gap = key->fills_gap = false;
		else if (!key->has_gap || key->gap != key->pending)
		{
			key->has_gap = true;
			key->fills_gap = false;
			key->gap = key->pending;
			key->gap_since = process->head_number;
		}
		else if (process->head_number - key->gap_since >= GAP_MIN_BLOCKS)
			key->fills_gap = true;
	}
	for (i = 0; i < process->account_count; i++)
		if (process->accounts[i].key != NULL && process->accounts[i].key->has_gap)
			say_gap(&process->accounts[i]);
}

static void
log_filler(const struct relay_candidate *filler)
{
	struct relay_verb entry = {0};

	entry.verb = "fill_gap";
	entry.subject =
		psprintf("relayer %s nonce %llu", filler->account->name, (unsigned long long) filler->gap);
	entry.reason = "the chain waits for it, and nothing of ours holds it";
	entry.outcome = psprintf("signed: transaction %lld", (long long) filler->id);
	relay_log_verb(&entry);
}

static void
make_one(struct relay_candidate *filler, int64 chain_id)
{
	Datum parameters[6];
	Datum address = relay_address_datum(&filler->recipient);

	parameters[0] = CStringGetTextDatum(filler->account->name);
	parameters[1] = Int64GetDatum(chain_id);
	parameters[2] = address;
	parameters[3] = Int64GetDatum((int64) filler->gap);
	parameters[4] = ObjectIdGetDatum(filler->owner);
	parameters[5] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (db_execute(&make_filler, parameters, NULL) == 1)
	{
		filler->id = db_int64(0, 1);
		log_filler(filler);
	}
	parameters[0] = Int64GetDatum(chain_id);
	parameters[1] = address;
	parameters[2] = Int64GetDatum((int64) filler->gap);
	(void) db_execute(&forget_wish, parameters, NULL);
}

void
relay_make_fillers(struct relay_plan *plan, int64 chain_id)
{
	int i;

	for (i = 0; i < plan->order_count; i++)
		if (plan->orders[i].candidate != NULL && plan->orders[i].candidate->fills)
			make_one(plan->orders[i].candidate, chain_id);
}
