/*
 * lookback.c
 *	  After a reorganisation: which of the settled nonces were mined in blocks that are gone?
 *
 * Confirmed is a depth that somebody chose; a chain may reorganise beyond it.  Nonces follow the
 * order of blocks, so the newest ones of an account are all that can be concerned.
 */
#include "postgres.h"

#include "relay/lookback.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/statement.h"
#include "relay/record.h"

/* More than an account gets into the blocks that are kept, and few enough to be read at once. */
#define LOOK_BACK_NONCES 4096

static struct db_statement find_displaced = {
	.sql =
		"SELECT n.nonce"
		"  FROM rflow_private.nonces n"
		"  JOIN rflow_private.relayer_transactions t ON t.id = n.transaction_id"
		"  JOIN rflow_private.blocks b ON b.network = $1 AND b.number = t.block_number"
		" WHERE n.chain_id = $2 AND n.address = $3::rflow.address AND n.nonce >= $4"
		"   AND n.settled AND b.hash <> t.block_hash"
		" ORDER BY n.nonce"
		" LIMIT 1",
	.types = {TEXTOID, INT8OID, TEXTOID, INT8OID},
	.count = 4,
};

static bool
look_at_key(struct relay_process *process, const struct relay_key *key)
{
	Datum parameters[4];
	uint64 oldest = key->next_nonce > LOOK_BACK_NONCES ? key->next_nonce - LOOK_BACK_NONCES : 0;

	parameters[0] = CStringGetTextDatum(process->network);
	parameters[1] = Int64GetDatum(process->chain_id);
	parameters[2] = relay_address_datum(&key->address);
	parameters[3] = Int64GetDatum((int64) oldest);
	if (db_execute(&find_displaced, parameters, NULL) == 0)
		return false;
	return relay_reopen_nonces(process->chain_id, &key->address, (uint64) db_int64(0, 1)) > 0;
}

bool
relay_look_back(struct relay_process *process)
{
	bool found = false;
	int i;

	if (!process->begin(process->context, "relayer: blocks that are gone"))
		return false;
	for (i = 0; i < process->key_count; i++)
		if (process->keys[i]->owned && process->keys[i]->adopted)
			found = look_at_key(process, process->keys[i]) || found;
	db_commit();
	process->look_back = false;
	process->ask_again = process->ask_again || found;
	return found;
}
