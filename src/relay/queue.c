/*
 * queue.c
 *	  The outbox of chain transactions: rows that a transaction leaves for the relayer.
 *
 * This runs inside the commit of a claim, so it is two statements with kept plans for any number of
 * sends, fed by a tuplestore.  Ids are taken from the sequence beforehand: that is how the rows
 * are told apart from those whose idempotency key was there already.
 */
#include "postgres.h"

#include "relay/queue.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "db/datum.h"
#include "db/statement.h"
#include "db/wake.h"
#include "evm/address.h"
#include "evm/word.h"

/* The columns of the tuplestore, in order. */
enum send_column
{
	SEND_ID,
	SEND_RELAYER,
	SEND_POOL,
	SEND_NETWORK,
	SEND_CHAIN_ID,
	SEND_OWNER,
	SEND_KEY,
	SEND_RUN_ID,
	SEND_WORKFLOW,
	SEND_STEP,
	SEND_RECIPIENT,
	SEND_VALUE,
	SEND_DATA,
	SEND_GAS_LIMIT,
	SEND_MAX_FEE,
	SEND_WAIT_FOR,
	SEND_CONFIRMATIONS,
	SEND_REASON,
	SEND_CREATED_AT,
	SEND_VALID_UNTIL,
	SEND_COLUMNS
};

static struct db_statement queue_sends = {
	.sql =
		"WITH added AS ("
		"    INSERT INTO rflow_private.relayer_transactions"
		"           (id, relayer, pool, network, chain_id, owner, idempotency_key, run_id,"
		"            workflow, step, recipient, value, data, gas_limit, max_fee_per_gas, wait_for,"
		"            confirmations, reason, state_since, due_at, created_at, valid_until)"
		"    SELECT id, relayer, pool, network, chain_id, owner, idempotency_key, run_id,"
		"           workflow, step, recipient, value, data, gas_limit, max_fee_per_gas, wait_for,"
		"           confirmations, reason, created_at, '-infinity', created_at, valid_until"
		"      FROM rflow_sends"
		"        ON CONFLICT (owner, idempotency_key) DO NOTHING"
		"    RETURNING id, relayer), "
		"due AS ("
		"    INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"    SELECT 'send', relayer, '-infinity', pg_catalog.lpad(id::text, 19, '0')"
		"      FROM added) "
		"SELECT id FROM added",
};

/* Only for sends that expire; those that were there already are not. */
static struct db_statement queue_expiries = {
	.sql =
		"INSERT INTO rflow_private.due (kind, owner, wake_at, id)"
		"SELECT 'expire', s.network, s.valid_until, pg_catalog.lpad(s.id::text, 19, '0')"
		"  FROM rflow_sends s"
		" WHERE s.valid_until IS NOT NULL"
		"   AND EXISTS (SELECT FROM rflow_private.relayer_transactions t WHERE t.id = s.id)",
};

static struct db_statement find_by_key = {
	.sql =
		"SELECT id, COALESCE('pool:' || pool, relayer), recipient, value, data, relayer"
		"  FROM rflow_private.relayer_transactions"
		" WHERE owner = $1 AND idempotency_key = $2",
	.types = {REGROLEOID, TEXTOID},
	.count = 2,
};

/* Did it have this payload before rflow.replace_transaction() changed it? */
static struct db_statement find_former = {
	.sql =
		"SELECT"
		"  FROM rflow_private.operator_log l"
		" WHERE l.verb = 'replace_transaction'"
		"   AND l.subject = pg_catalog.format('transaction %s', $1)"
		"   AND (l.detail->'was'->>'recipient')::rflow.address"
		"       IS NOT DISTINCT FROM $2::rflow.address"
		"   AND (l.detail->'was'->>'value')::numeric = $3"
		"   AND (l.detail->'was'->>'data')::rflow.hex = $4::rflow.hex"
		" LIMIT 1",
	.types = {INT8OID, TEXTOID, NUMERICOID, BYTEAOID},
	.count = 4,
};

static struct db_statement find_grants = {
	.sql =
		"SELECT g.grantee, r.expires_in"
		"  FROM rflow.relayers r"
		"  LEFT JOIN rflow.relayer_grants g ON g.relayer = r.name"
		" WHERE r.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

/* What has become of a transaction that was replaced is what became of its replacement. */
static struct db_statement look_at_replacement = {
	.sql =
		"SELECT n.id"
		"  FROM rflow_private.relayer_transactions t"
		"  JOIN rflow_private.relayer_transactions n ON n.id = t.replaced_by"
		" WHERE t.id = $1 AND (t.state = 'replaced' OR n.state IN ('mined', 'confirmed'))"
		"   FOR SHARE OF t, n",
	.types = {INT8OID},
	.count = 1,
};

static struct db_statement look_at = {
	.sql =
		"SELECT state, reason, error::text, transaction_hash, block_number, block_hash, gas_used,"
		"       rflow_private.relay_verdict(state, reverted, wait_for),"
		"       signed_at, broadcast_at, mined_at, confirmed_at, replaced_by IS NOT NULL"
		"  FROM rflow_private.relayer_transactions"
		" WHERE id = $1"
		"   FOR SHARE",
	.types = {INT8OID},
	.count = 1,
};

/*
 * Kept for the life of the process; made again when DROP and CREATE EXTENSION gave the types
 * new OIDs.
 */
static TupleDesc
send_descriptor(void)
{
	static TupleDesc descriptor = NULL;
	static Oid made_for = InvalidOid;
	const struct db_types *types = db_types();
	const struct
	{
		const char *name;
		Oid type;
	} columns[SEND_COLUMNS] = {
		{"id", INT8OID},
		{"relayer", TEXTOID},
		{"pool", TEXTOID},
		{"network", TEXTOID},
		{"chain_id", INT8OID},
		{"owner", REGROLEOID},
		{"idempotency_key", TEXTOID},
		{"run_id", UUIDOID},
		{"workflow", TEXTOID},
		{"step", TEXTOID},
		{"recipient", types->address},
		{"value", NUMERICOID},
		{"data", types->hex},
		{"gas_limit", INT8OID},
		{"max_fee_per_gas", NUMERICOID},
		{"wait_for", TEXTOID},
		{"confirmations", INT4OID},
		{"reason", TEXTOID},
		{"created_at", TIMESTAMPTZOID},
		{"valid_until", TIMESTAMPTZOID},
	};
	MemoryContext before;
	int i;

	if (descriptor != NULL && made_for == types->address)
		return descriptor;
	before = MemoryContextSwitchTo(TopMemoryContext);
	descriptor = CreateTemplateTupleDesc(SEND_COLUMNS);
	for (i = 0; i < SEND_COLUMNS; i++)
		TupleDescInitEntry(descriptor, i + 1, columns[i].name, columns[i].type, -1, 0);
	made_for = types->address;
	MemoryContextSwitchTo(before);
	return descriptor;
}

static Oid
id_sequence(void)
{
	Oid schema = get_namespace_oid("rflow_private", false);
	Oid sequence = get_relname_relid("relayer_transactions_id_seq", schema);

	if (!OidIsValid(sequence))
		elog(ERROR, "sequence rflow_private.relayer_transactions_id_seq does not exist");
	return sequence;
}

static void
put_text(Datum *values, bool *nulls, enum send_column column, const char *text)
{
	nulls[column] = text == NULL;
	if (text != NULL)
		values[column] = CStringGetTextDatum(text);
}

static void
put_send(Tuplestorestate *rows, TupleDesc descriptor, const struct relay_send *send,
		 TimestampTz now)
{
	Datum values[SEND_COLUMNS] = {0};
	bool nulls[SEND_COLUMNS] = {0};
	pg_uuid_t run_id;

	values[SEND_ID] = Int64GetDatum(send->id);
	values[SEND_RELAYER] = CStringGetTextDatum(send->relayer);
	put_text(values, nulls, SEND_POOL, send->pool);
	values[SEND_NETWORK] = CStringGetTextDatum(send->network);
	values[SEND_CHAIN_ID] = Int64GetDatum(send->chain_id);
	values[SEND_OWNER] = ObjectIdGetDatum(send->owner);
	values[SEND_KEY] = CStringGetTextDatum(send->idempotency_key);
	nulls[SEND_RUN_ID] = !send->has_run;
	memcpy(run_id.data, send->run_id, UUID_LEN);
	values[SEND_RUN_ID] = UUIDPGetDatum(&run_id);
	put_text(values, nulls, SEND_WORKFLOW, send->workflow);
	put_text(values, nulls, SEND_STEP, send->step);
	nulls[SEND_RECIPIENT] = send->creates;
	if (!send->creates)
		values[SEND_RECIPIENT] = db_address_datum(&send->recipient);
	values[SEND_VALUE] = db_word_numeric(&send->value, false);
	values[SEND_DATA] = db_hex_datum(send->data.data, send->data.len);
	nulls[SEND_GAS_LIMIT] = send->gas_limit == 0;
	values[SEND_GAS_LIMIT] = Int64GetDatum(send->gas_limit);
	nulls[SEND_MAX_FEE] = !send->has_max_fee;
	if (send->has_max_fee)
		values[SEND_MAX_FEE] = db_word_numeric(&send->max_fee_per_gas, false);
	values[SEND_WAIT_FOR] = CStringGetTextDatum(send->wait_for);
	nulls[SEND_CONFIRMATIONS] = send->confirmations == 0;
	values[SEND_CONFIRMATIONS] = Int32GetDatum(send->confirmations);
	put_text(values, nulls, SEND_REASON, send->reason);
	values[SEND_CREATED_AT] = TimestampTzGetDatum(now);
	nulls[SEND_VALID_UNTIL] = send->valid_until == 0;
	values[SEND_VALID_UNTIL] = TimestampTzGetDatum(send->valid_until);
	tuplestore_putvalues(rows, descriptor, values, nulls);
}

static bool
same_bytes(struct evm_bytes a, struct evm_bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool
relay_has_key(Oid owner, const char *idempotency_key)
{
	Datum parameters[2];

	parameters[0] = ObjectIdGetDatum(owner);
	parameters[1] = CStringGetTextDatum(idempotency_key);
	return db_execute(&find_by_key, parameters, NULL) > 0;
}

static bool
was_replaced(int64 id, const struct relay_send *send)
{
	char recipient[EVM_ADDRESS_TEXT_BYTES];
	Datum parameters[4] = {0};
	char nulls[] = "    ";

	parameters[0] = Int64GetDatum(id);
	evm_address_format(recipient, &send->recipient);
	if (send->creates)
		nulls[1] = 'n';
	else
		parameters[1] = CStringGetTextDatum(recipient);
	parameters[2] = db_word_numeric(&send->value, false);
	parameters[3] = db_hex_datum(send->data.data, send->data.len);
	return db_execute(&find_former, parameters, nulls) > 0;
}

/* The row that has the key already must want the same; of a pool, whatever member it went to. */
static void
adopt_duplicate(struct relay_send *send)
{
	Datum parameters[2];
	struct evm_word value;
	const char *wanted;
	bool negative;
	bool creates;
	Datum recipient;
	char *relayer;
	int64 id;
	bool same;

	parameters[0] = ObjectIdGetDatum(send->owner);
	parameters[1] = CStringGetTextDatum(send->idempotency_key);
	if (db_execute(&find_by_key, parameters, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the transaction with idempotency key \"%s\" has gone meanwhile",
						send->idempotency_key)));
	recipient = db_value(0, 3, &creates);
	wanted = send->pool == NULL ? send->relayer : psprintf("pool:%s", send->pool);
	id = db_int64(0, 1);
	relayer = db_text(0, 6);
	same = creates == send->creates && db_numeric_word(&value, &negative, db_value(0, 4, NULL)) &&
		evm_word_compare(&value, &send->value) == 0 &&
		same_bytes(db_datum_hex(db_value(0, 5, NULL)), send->data) &&
		(creates ||
		 memcmp(db_datum_address(recipient), &send->recipient, sizeof(struct evm_address)) == 0);
	if (strcmp(db_text(0, 2), wanted) != 0 || (!same && !was_replaced(id, send)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("idempotency key \"%s\" already stands for another transaction",
						send->idempotency_key),
				 errdetail("Transaction %lld has another relayer, recipient, value or data.",
						   (long long) id)));
	send->id = id;
	send->relayer = relayer;
	send->duplicate = true;
}

/* Ids were given in ascending order. */
static struct relay_send *
send_with_id(struct relay_send *sends, int count, int64 id)
{
	int low = 0;
	int high = count;

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (sends[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count || sends[low].id != id)
		elog(ERROR, "id %lld was not queued", (long long) id);
	return &sends[low];
}

/* The statement has returned the ids that went in; all others had their key already. */
static void
find_duplicates(struct relay_send *sends, int count)
{
	uint64 added = SPI_processed;
	uint64 row;
	int i;

	for (i = 0; i < count; i++)
		sends[i].duplicate = true;
	for (row = 0; row < added; row++)
		send_with_id(sends, count, db_int64(row, 1))->duplicate = false;
	for (i = 0; i < count; i++)
		if (sends[i].duplicate)
			adopt_duplicate(&sends[i]);
}

void
relay_queue(struct relay_send *sends, int count, TimestampTz now)
{
	TupleDesc descriptor;
	Tuplestorestate *rows;
	bool expires = false;
	Oid sequence;
	int i;

	if (count == 0)
		return;
	descriptor = send_descriptor();
	sequence = id_sequence();
	rows = tuplestore_begin_heap(false, false, work_mem);
	for (i = 0; i < count; i++)
	{
		if (strlen(sends[i].idempotency_key) > RELAY_KEY_MAX_BYTES)
			ereport(ERROR,
					(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
					 errmsg("idempotency key is longer than %d bytes", RELAY_KEY_MAX_BYTES)));
		sends[i].id = nextval_internal(sequence, false);
		sends[i].duplicate = false;
		expires = expires || sends[i].valid_until != 0;
		put_send(rows, descriptor, &sends[i], now);
	}
	db_register("rflow_sends", descriptor, rows);
	if (db_execute(&queue_sends, NULL, NULL) != (uint64) count)
		find_duplicates(sends, count);
	if (expires)
		(void) db_execute(&queue_expiries, NULL, NULL);
	db_unregister("rflow_sends");
	tuplestore_end(rows);
	db_wake_at_commit(WAKE_RELAYERS);
}

void
relay_read_expiry(struct relay_grants *grants, uint64 row, int column)
{
	bool isnull;
	Datum value = db_value(row, column, &isnull);

	grants->expires_in = NULL;
	if (isnull)
		return;
	grants->expires_in = palloc(sizeof(Interval));
	*grants->expires_in = *DatumGetIntervalP(value);
}

struct relay_grants *
relay_read_grants(const char *relayer)
{
	struct relay_grants *grants = palloc0(sizeof(struct relay_grants));
	Datum parameters[1];
	uint64 rows;
	uint64 row;

	parameters[0] = CStringGetTextDatum(relayer);
	rows = db_execute(&find_grants, parameters, NULL);
	grants->exists = rows > 0;
	if (grants->exists)
		relay_read_expiry(grants, 0, 2);
	grants->grantees = palloc(Max(rows, 1) * sizeof(Oid));
	for (row = 0; row < rows; row++)
	{
		bool isnull;
		Datum value = db_value(row, 1, &isnull);

		if (!isnull)
			grants->grantees[grants->count++] = DatumGetObjectId(value);
	}
	return grants;
}

bool
relay_is_ahead(const Interval *interval)
{
	const Interval none = {0};

	return DatumGetBool(
		DirectFunctionCall2(interval_gt, IntervalPGetDatum(interval), IntervalPGetDatum(&none)));
}

TimestampTz
relay_valid_until(const Interval *expires_in, const struct relay_grants *grants)
{
	TimestampTz until;

	if (expires_in == NULL && grants != NULL)
		expires_in = grants->expires_in;
	if (expires_in == NULL)
		return 0;
	until = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
													TimestampTzGetDatum(GetCurrentTimestamp()),
													IntervalPGetDatum(expires_in)));
	return TIMESTAMP_NOT_FINITE(until) ? 0 : until;
}

bool
relay_grants_allow(const struct relay_grants *grants, Oid owner)
{
	int i;

	if (!grants->exists || !SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(owner)))
		return false;
	if (superuser_arg(owner))
		return true;
	for (i = 0; i < grants->count; i++)
		if (SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(grants->grantees[i])) &&
			has_privs_of_role(owner, grants->grantees[i]))
			return true;
	return false;
}

bool
relay_may_use(const char *relayer, Oid owner)
{
	return relay_grants_allow(relay_read_grants(relayer), owner);
}

static enum relay_verdict
verdict_from_name(const char *name)
{
	if (strcmp(name, "reached") == 0)
		return RELAY_REACHED;
	if (strcmp(name, "without_effect") == 0)
		return RELAY_WITHOUT_EFFECT;
	return RELAY_PENDING;
}

static TimestampTz
time_or_zero(int column)
{
	bool isnull;
	Datum value = db_value(0, column, &isnull);

	return isnull ? 0 : DatumGetTimestampTz(value);
}

static bool
hash_or_none(struct evm_hash *out, int column)
{
	bool isnull;
	Datum value = db_value(0, column, &isnull);
	struct evm_bytes bytes;

	if (isnull)
		return false;
	bytes = db_datum_hex(value);
	if (bytes.len != sizeof(out->b))
		return false;
	memcpy(out->b, bytes.data, sizeof(out->b));
	return true;
}

bool
relay_look(int64 id, struct relay_outcome *out)
{
	Datum parameters[1];
	Datum value;
	bool isnull;

	memset(out, 0, sizeof(*out));
	parameters[0] = Int64GetDatum(id);
	if (db_execute(&look_at, parameters, NULL) != 1)
		return false;
	if (DatumGetBool(db_value(0, 13, NULL)))
	{
		if (db_execute(&look_at_replacement, parameters, NULL) == 1)
			parameters[0] = Int64GetDatum(db_int64(0, 1));
		if (db_execute(&look_at, parameters, NULL) != 1)
			return false;
	}
	out->state = db_text(0, 1);
	out->reason = db_text(0, 2);
	out->error = db_text(0, 3);
	out->has_hash = hash_or_none(&out->hash, 4);
	value = db_value(0, 5, &isnull);
	out->has_block = !isnull && hash_or_none(&out->block_hash, 6);
	out->block_number = isnull ? 0 : DatumGetInt64(value);
	value = db_value(0, 7, &isnull);
	out->gas_used = isnull ? 0 : DatumGetInt64(value);
	out->verdict = verdict_from_name(db_text(0, 8));
	out->signed_at = time_or_zero(9);
	out->broadcast_at = time_or_zero(10);
	out->mined_at = time_or_zero(11);
	out->confirmed_at = time_or_zero(12);
	return true;
}
