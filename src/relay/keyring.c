/*
 * keyring.c
 *	  Signing with the keys of accounts, which are in memory for one transaction only.
 */
#include "postgres.h"

#include "relay/sign.h"

#include "utils/memutils.h"

#include "db/crash.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/tx.h"
#include "evm/word.h"

/* The largest transaction that a node takes is 128 kB; it is copied a few times. */
#define SIGNING_ARENA_BYTES (16 * 1024 * 1024)

/* The keys of the accounts that sign in this round, in the order of process->accounts. */
struct keyring
{
	struct relay_process *process;
	struct evm_key *keys;
	bool *read;
};

static void
fill_transaction(struct evm_tx *tx, const struct relay_order *order, uint64 nonce,
				 const struct relay_payload *payload, int64 chain_id)
{
	memset(tx, 0, sizeof(*tx));
	tx->type = order->price.dynamic ? EVM_TX_DYNAMIC_FEE : EVM_TX_LEGACY;
	tx->has_chain_id = true;
	tx->chain_id = (uint64) chain_id;
	tx->nonce = nonce;
	if (order->price.dynamic)
	{
		tx->max_fee_per_gas = order->price.max_fee;
		tx->max_priority_fee_per_gas = order->price.priority;
	}
	else
		tx->gas_price = order->price.max_fee;
	tx->gas_limit = evm_word_from_u64((uint64) order->gas_limit);
	tx->creates = payload->creates;
	tx->to = payload->recipient;
	tx->value = payload->value;
	tx->data = payload->data;
}

static const char *
sign_with_key(const struct relay_order *order, uint64 nonce, const struct relay_payload *payload,
			  int64 chain_id, struct evm_bytes *raw, struct evm_hash *hash, void *context)
{
	struct keyring *keyring = context;
	struct evm_arena *arena = db_arena_create(CurrentMemoryContext, SIGNING_ARENA_BYTES);
	struct evm_tx tx;
	struct evm_error err;

	fill_transaction(&tx, order, nonce, payload, chain_id);
	if (evm_tx_sign(arena, raw, hash, &tx,
					&keyring->keys[order->account - keyring->process->accounts], &err) != EVM_OK)
		return pstrdup(err.message);
	return NULL;
}

/*
 * Reads the keys that the plan needs.  One that has become another or cannot be read any more takes
 * its orders out of the plan.
 */
static void
read_keys(struct keyring *keyring, struct relay_plan *plan)
{
	int i;

	for (i = 0; i < plan->order_count; i++)
	{
		struct relay_account *account = plan->orders[i].account;
		int index = (int) (account - keyring->process->accounts);
		struct evm_address address;

		if (keyring->read[index] || account->key == NULL)
			continue;
		if (!relay_signer_read(&keyring->keys[index], &address, account->signer,
							   keyring->process->chain_id, account->problem))
			account->key = NULL;
		else if (memcmp(&address, &account->key->address, sizeof(address)) != 0)
		{
			strlcpy(account->problem, "the key has become that of another account",
					sizeof(account->problem));
			account->key = NULL;
		}
		keyring->read[index] = account->key != NULL;
	}
}

/* Keeps what can be signed; what nobody can sign now waits, and its account says why. */
static void
leave_out_unreadable(const struct keyring *keyring, struct relay_plan *plan)
{
	int kept = 0;
	int i;

	for (i = 0; i < plan->order_count; i++)
		if (keyring->read[plan->orders[i].account - keyring->process->accounts])
			plan->orders[kept++] = plan->orders[i];
	plan->order_count = kept;
}

static int
sign_in_transaction(struct keyring *keyring, struct relay_plan *plan)
{
	struct relay_process *process = keyring->process;
	int count;

	if (!process->begin(process->context, "relayer: signing"))
		return -1;
	/* What the plan was made from must still hold when the bytes exist. */
	db_lock_definitions();
	if (db_definitions_generation() != process->generation)
	{
		db_abort();
		return 0;
	}
	db_synchronous_commit(true);
	count =
		relay_sign_orders(plan, process->chain_id, process->head_number, sign_with_key, keyring);
	DB_CRASH_POINT("relay-before-sign-commit");
	db_commit();
	return count;
}

int
relay_sign(struct relay_process *process, struct relay_plan *plan)
{
	struct keyring keyring;
	volatile int count = 0;

	if (plan->order_count == 0 && plan->ruling_count == 0)
		return 0;
	keyring.process = process;
	keyring.keys = palloc0(sizeof(struct evm_key) * (process->account_count + 1));
	keyring.read = palloc0(sizeof(bool) * (process->account_count + 1));
	PG_TRY();
	{
		read_keys(&keyring, plan);
		leave_out_unreadable(&keyring, plan);
		count = sign_in_transaction(&keyring, plan);
	}
	PG_FINALLY();
	{
		evm_wipe(keyring.keys, sizeof(struct evm_key) * (process->account_count + 1));
	}
	PG_END_TRY();
	if (plan->look_at != 0)
		relay_wake_by(process, plan->look_at);
	if (count > 0)
		DB_CRASH_POINT("relay-after-sign-commit");
	return count;
}
