/*
 * store.c
 *	  The header chain in its table: read at the start, written as soon as headers are checked.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "chain/follow.h"
#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Old headers are deleted once in so many blocks. */
#define PRUNE_EVERY 64

static struct db_statement network_state = {
	.sql = "SELECT n.genesis_hash FROM rflow_private.network_states n WHERE n.network = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement insert_network_state = {
	.sql =
		"INSERT INTO rflow_private.network_states (network, chain_id, genesis_hash) "
		"VALUES ($1, $2, $3)",
	.types = {TEXTOID, INT8OID},
	.count = 3,
};

static struct db_statement stored_headers = {
	.sql =
		"SELECT b.number, b.hash, b.parent_hash, "
		"       extract(epoch FROM b.block_timestamp)::bigint, b.seen_at "
		"  FROM (SELECT * FROM rflow_private.blocks b "
		"         WHERE b.network = $1 ORDER BY b.number DESC LIMIT $2) b "
		" ORDER BY b.number",
	.types = {TEXTOID, INT4OID},
	.count = 2,
};

static struct db_statement insert_block = {
	.sql =
		"INSERT INTO rflow_private.blocks "
		"       (network, number, hash, parent_hash, block_timestamp, base_fee_per_gas, seen_at) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7)",
	.types = {TEXTOID, INT8OID, InvalidOid, InvalidOid, TIMESTAMPTZOID, NUMERICOID, TIMESTAMPTZOID},
	.count = 7,
};

static struct db_statement delete_blocks_above = {
	.sql = "DELETE FROM rflow_private.blocks WHERE network = $1 AND number > $2",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static struct db_statement delete_blocks_below = {
	.sql = "DELETE FROM rflow_private.blocks WHERE network = $1 AND number < $2",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static struct db_statement set_cursors_back = {
	.sql =
		"UPDATE rflow_private.cursors "
		"   SET next_block = $2 + 1, next_log = 0, revision = revision + 1 "
		" WHERE network = $1 AND next_block > $2",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

/* Before the blocks are deleted: it reads the hash of the old head. */
static struct db_statement detach_runs = {
	.sql = "SELECT rflow_private.detach_runs($1, $2, $3, $4, $5::rflow.hex)",
	.types = {TEXTOID, INT8OID, INT8OID, INT8OID, BYTEAOID},
	.count = 5,
};

static void
read_hash(struct evm_hash *out, uint64 row, int column)
{
	struct evm_bytes bytes = db_datum_hex(db_value(row, column, NULL));

	if (bytes.len != sizeof(out->b))
		elog(ERROR, "a stored hash has %zu bytes", bytes.len);
	memcpy(out->b, bytes.data, sizeof(out->b));
}

void
chain_load(struct chain *chain, const char *network, int64 chain_id)
{
	Datum values[2] = {CStringGetTextDatum(network), Int32GetDatum(CHAIN_WINDOW)};
	uint64 count;

	memset(chain, 0, sizeof(*chain));
	chain->network = MemoryContextStrdup(TopMemoryContext, network);
	chain->chain_id = chain_id;
	chain->first = 0;
	chain->tip = -1;
	chain->safe = chain->finalized = -1;
	if (db_execute(&network_state, values, NULL) == 1)
		read_hash(&chain->genesis_hash, 0, 1);
	count = db_execute(&stored_headers, values, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		int64 number = db_int64(i, 1);
		struct chain_header *header = &chain->headers[number % CHAIN_WINDOW];

		/* A gap would be a chain that cannot be checked: only what is above it counts. */
		if (chain->tip < 0 || number != chain->tip + 1)
			chain->first = number;
		chain->tip = number;
		memset(header, 0, sizeof(*header));
		header->number = number;
		read_hash(&header->hash, i, 2);
		read_hash(&header->parent_hash, i, 3);
		header->timestamp = db_int64(i, 4);
		header->stored = true;
		chain->tip_seen_at = DatumGetTimestampTz(db_value(i, 5, NULL));
	}
}

void
chain_store_genesis(const struct chain *chain)
{
	Datum values[3];

	insert_network_state.types[2] = db_types()->hex;
	values[0] = CStringGetTextDatum(chain->network);
	values[1] = Int64GetDatum(chain->chain_id);
	values[2] = db_hex_datum(chain->genesis_hash.b, sizeof(chain->genesis_hash.b));
	db_execute_exactly(&insert_network_state, values, NULL, 1, "network");
}

static void
store_header(const struct chain *chain, const struct chain_header *header)
{
	Datum values[7];

	insert_block.types[2] = insert_block.types[3] = db_types()->hex;
	values[0] = CStringGetTextDatum(chain->network);
	values[1] = Int64GetDatum(header->number);
	values[2] = db_hex_datum(header->hash.b, sizeof(header->hash.b));
	values[3] = db_hex_datum(header->parent_hash.b, sizeof(header->parent_hash.b));
	values[4] = TimestampTzGetDatum(chain_timestamp(header->timestamp));
	values[5] = header->has_base_fee ? db_word_numeric(&header->base_fee, false) : (Datum) 0;
	values[6] = TimestampTzGetDatum(chain->tip_seen_at);
	db_execute_exactly(&insert_block, values, header->has_base_fee ? NULL : "     n ", 1, "block");
}

static void
store_reorganisation(const struct chain *chain, int64 fork, int64 old_tip)
{
	const struct chain_header *tip = chain_header_at(chain, chain->tip);
	Datum values[5] = {
		CStringGetTextDatum(chain->network),
		Int64GetDatum(fork),
		Int64GetDatum(old_tip),
		Int64GetDatum(tip->number),
		db_hex_datum(tip->hash.b, sizeof(tip->hash.b)),
	};

	(void) db_execute(&detach_runs, values, NULL);
	(void) db_execute(&delete_blocks_above, values, NULL);
	(void) db_execute(&set_cursors_back, values, NULL);
}

void
chain_store(struct chain *chain, const struct chain_update *update, int64 old_tip)
{
	Datum values[2] = {CStringGetTextDatum(chain->network)};

	if (update->news == CHAIN_REORGANISED)
		store_reorganisation(chain, update->fork, old_tip);
	for (int64 number = Max(update->fork + 1, chain->first); number <= chain->tip; number++)
		store_header(chain, chain_header_at(chain, number));
	if (chain->tip / PRUNE_EVERY != old_tip / PRUNE_EVERY)
	{
		values[1] = Int64GetDatum(chain->tip - 2 * CHAIN_WINDOW);
		(void) db_execute(&delete_blocks_below, values, NULL);
	}
	db_wake_at_commit(WAKE_FOR_HEAD);
}
