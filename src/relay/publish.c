/*
 * publish.c
 *	  What a relayer has learned of its accounts, for the status views.
 *
 * Nothing is decided by these rows, so their commit does not wait for the disk.  Steps that send
 * keep the address in memory (flow/account.h): another one counts as a change of the definitions.
 */
#include "postgres.h"

#include "relay/publish.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/word.h"
#include "relay/funds.h"
#include "relay/record.h"

static struct db_statement write_state = {
	.sql =
		"INSERT INTO rflow_private.relayer_states AS s"
		"       (relayer, address, problem, problem_since, balance, chain_nonce, pending_nonce,"
		"       observed_at, fee_per_gas, low_since)"
		"VALUES ($1, $2::rflow.address, $3, CASE WHEN $3 IS NOT NULL THEN $4 END, $5, $6, $7,"
		"       $4, $8, CASE WHEN $9 THEN $4 END)"
		"    ON CONFLICT (relayer) DO UPDATE"
		"   SET address = EXCLUDED.address, problem = EXCLUDED.problem,"
		"       problem_since = CASE"
		"                         WHEN s.problem = EXCLUDED.problem THEN s.problem_since"
		"                         ELSE EXCLUDED.problem_since"
		"                       END,"
		"       balance = EXCLUDED.balance, chain_nonce = EXCLUDED.chain_nonce,"
		"       pending_nonce = EXCLUDED.pending_nonce, observed_at = EXCLUDED.observed_at,"
		"       fee_per_gas = COALESCE(EXCLUDED.fee_per_gas, s.fee_per_gas),"
		"       low_since = CASE WHEN $9 THEN COALESCE(s.low_since, $4) END",
	.types = {TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, NUMERICOID, INT8OID, INT8OID, NUMERICOID,
			  BOOLOID},
	.count = 9,
};

static struct db_statement same_address = {
	.sql =
		"SELECT FROM rflow_private.relayer_states s"
		" WHERE s.relayer = $1 AND s.address IS NOT DISTINCT FROM $2::rflow.address",
	.types = {TEXTOID, TEXTOID},
	.count = 2,
};

static bool
has_changed(const struct relay_account *account)
{
	const struct relay_key *key = account->key;
	const struct relay_told *told = &account->told;

	if (!told->written || strcmp(told->problem, account->problem) != 0 || told->key != key ||
		account->is_low != account->was_low)
		return true;
	return key != NULL && key->observed &&
		(told->latest != key->latest || told->pending != key->pending ||
		 evm_word_compare(&told->balance, &key->balance) != 0);
}

static void
note_told(struct relay_account *account)
{
	struct relay_told *told = &account->told;

	told->written = true;
	told->key = account->key;
	strlcpy(told->problem, account->problem, sizeof(told->problem));
	if (account->key == NULL)
		return;
	told->latest = account->key->latest;
	told->pending = account->key->pending;
	told->balance = account->key->balance;
}

static void
write_account(const struct relay_process *process, struct relay_account *account)
{
	const struct relay_key *key = account->key;
	const struct relay_told *told = &account->told;
	Datum parameters[9] = {0};
	char nulls[] = "         ";

	parameters[0] = CStringGetTextDatum(account->name);
	if (key == NULL)
		nulls[1] = 'n';
	else
		parameters[1] = relay_address_datum(&key->address);
	if (account->problem[0] == '\0')
		nulls[2] = 'n';
	else
		parameters[2] = CStringGetTextDatum(account->problem);
	parameters[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (key == NULL || !key->observed)
		nulls[4] = nulls[5] = nulls[6] = 'n';
	else
	{
		parameters[4] = db_word_numeric(&key->balance, false);
		parameters[5] = Int64GetDatum((int64) key->latest);
		parameters[6] = Int64GetDatum((int64) key->pending);
	}
	if (process->has_quote)
		parameters[7] = db_word_numeric(&process->quote.max_fee, false);
	else
		nulls[7] = 'n';
	parameters[8] = BoolGetDatum(account->is_low);
	if ((!told->written || told->key != key) && db_execute(&same_address, parameters, nulls) == 0)
		db_definitions_changed();
	(void) db_execute(&write_state, parameters, nulls);
	relay_tell_low_balance(process, account);
	note_told(account);
}

void
relay_publish(struct relay_process *process)
{
	bool changed = false;
	int i;

	relay_judge_balances(process);
	for (i = 0; i < process->account_count; i++)
		changed = changed || has_changed(&process->accounts[i]);
	if (!changed || !process->begin(process->context, "relayer: status"))
		return;
	db_synchronous_commit(false);
	for (i = 0; i < process->account_count; i++)
		if (has_changed(&process->accounts[i]))
			write_account(process, &process->accounts[i]);
	db_commit();
}
