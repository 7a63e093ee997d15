/*
 * funds.c
 *	  Whether accounts have enough.
 *
 * An account that sends has its balance asked anyway.  One that does not is asked where somebody
 * depends on it: a limit, a pool, a top-up; a balance changes with blocks only.
 */
#include "postgres.h"

#include "relay/funds.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/statement.h"
#include "evm/address.h"
#include "evm/word.h"
#include "relay/record.h"

/* Balances of accounts that send nothing are asked this often at most. */
#define WATCH_MS 5000
/* A low balance is fine again a quarter above the limit, so that it does not flutter. */
#define FINE_AGAIN_DIVISOR 4
#define LOW_BALANCE "low-balance"

static struct db_statement notify_incident = {
	.sql =
		"SELECT pg_catalog.pg_notify('rflow_incidents', id::text)"
		"  FROM rflow_private.incidents"
		" WHERE kind = $1 AND subject = $2",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

bool
relay_is_watched(const struct relay_process *process, const struct relay_key *key)
{
	int i;

	for (i = 0; i < process->account_count; i++)
		if (process->accounts[i].key == key && process->accounts[i].watched)
			return true;
	return false;
}

static bool
watches(const struct relay_process *process)
{
	int i;

	for (i = 0; i < process->account_count; i++)
		if (process->accounts[i].watched && process->accounts[i].key != NULL &&
			process->accounts[i].key->owned)
			return true;
	return false;
}

bool
relay_watch_is_due(struct relay_process *process, TimestampTz now)
{
	TimestampTz next = TimestampTzPlusMilliseconds(process->watched_at, WATCH_MS);

	if (process->watched_head == process->head_number || !watches(process))
		return false;
	if (next <= now)
		return true;
	relay_wake_by(process, next);
	return false;
}

void
relay_note_watch(struct relay_process *process, TimestampTz now)
{
	process->watched_head = process->head_number;
	process->watched_at = now;
}

static struct evm_word
fine_again(const struct evm_word *limit)
{
	struct evm_word margin;
	struct evm_word fine;

	(void) evm_word_div_u64(&margin, limit, FINE_AGAIN_DIVISOR);
	if (evm_word_add(&fine, limit, &margin))
		memset(&fine, 0xff, sizeof(fine));
	return fine;
}

void
relay_judge_balances(struct relay_process *process)
{
	int i;

	for (i = 0; i < process->account_count; i++)
	{
		struct relay_account *account = &process->accounts[i];
		struct evm_word limit = account->low_balance;

		if (!account->has_low_balance)
			account->is_low = false;
		else if (account->key != NULL && account->key->observed)
		{
			if (account->is_low)
				limit = fine_again(&limit);
			account->is_low = evm_word_compare(&account->key->balance, &limit) < 0;
		}
	}
}

static char *
decimal(const struct evm_word *word)
{
	char text[EVM_WORD_DECIMAL_BYTES];

	evm_word_to_decimal(text, word, false);
	return pstrdup(text);
}

void
relay_tell_low_balance(const struct relay_process *process, struct relay_account *account)
{
	char address[EVM_ADDRESS_TEXT_BYTES];
	struct evm_word fine = fine_again(&account->low_balance);
	Datum parameters[2];

	if (account->is_low == account->was_low)
		return;
	if (account->is_low)
	{
		evm_address_format(address, &account->key->address);
		relay_record_incident(LOW_BALANCE, process->network, account->name,
							  psprintf("relayer \"%s\" has %s wei, less than the %s of low_balance",
									   account->name, decimal(&account->key->balance),
									   decimal(&account->low_balance)),
							  psprintf("Send funds to %s: it is over at %s wei", address,
									   decimal(&fine)));
	}
	else
		relay_resolve_incident(LOW_BALANCE, account->name);
	parameters[0] = CStringGetTextDatum(LOW_BALANCE);
	parameters[1] = CStringGetTextDatum(account->name);
	(void) db_execute(&notify_incident, parameters, NULL);
	account->was_low = account->is_low;
}
