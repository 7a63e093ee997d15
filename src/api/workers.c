/*
 * workers.c
 *	  SQL functions over what workers keep in shared memory: see sql/60_identity.sql.
 */
#include "postgres.h"

#include "db/compat.h"
#include "db/shmem.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

enum slot_column
{
	COLUMN_KIND,
	COLUMN_DATABASE,
	COLUMN_NETWORK,
	COLUMN_INDEX,
	COLUMN_PID,
	COLUMN_STATE,
	COLUMN_STATUS,
	COLUMN_STARTED_AT,
	COLUMN_RESTARTS,
	COLUMN_RESTART_AT,
	COLUMN_LAST_ERROR,
	COLUMN_LAST_ERROR_AT,
	COLUMN_ENDPOINT,
	COLUMN_HEAD_NUMBER,
	COLUMN_HEAD_AT,
	COLUMN_HEAD_SEEN_AT,
	COLUMN_FINALIZED_NUMBER,
	COLUMN_RPC_LATENCY_MS,
	COLUMN_RPC_REQUESTS,
	COLUMN_RPC_CALLS,
	COLUMN_RPC_FAILURES,
	COLUMN_POLLS,
	COLUMN_BLOCKS,
	COLUMN_ROUNDS,
	COLUMN_RPC_UNITS,
	COLUMN_LIMITED_MS,
	COLUMN_LIMITED_SINCE,
	SLOT_COLUMNS
};

enum sample_column
{
	COLUMN_RUN_ID,
	COLUMN_COMMITTED_AT,
	SAMPLE_COLUMNS
};

/* A row under construction. */
struct row
{
	Datum values[SLOT_COLUMNS];
	bool nulls[SLOT_COLUMNS];
};

PG_FUNCTION_INFO_V1(rflow_worker_slots);
PG_FUNCTION_INFO_V1(rflow_commit_samples);

static const char *
state_name(enum slot_state state)
{
	switch (state)
	{
		case SLOT_FREE:
			return "free";
		case SLOT_WAITING:
			return "waiting";
		case SLOT_STARTING:
			return "starting";
		case SLOT_RUNNING:
			return "running";
	}
	return "unknown";
}

static void
set_text(struct row *row, enum slot_column column, const char *text)
{
	row->nulls[column] = text[0] == '\0';
	if (text[0] != '\0')
		row->values[column] = CStringGetTextDatum(text);
}

static void
set_time(struct row *row, enum slot_column column, TimestampTz time)
{
	row->nulls[column] = time == 0;
	row->values[column] = TimestampTzGetDatum(time);
}

/* What is not known yet is -1 in the report. */
static void
set_block(struct row *row, enum slot_column column, int64 number)
{
	row->nulls[column] = number < 0;
	row->values[column] = Int64GetDatum(number);
}

static void
set_process(struct row *row, const struct worker_slot *slot)
{
	set_text(row, COLUMN_KIND, db_worker_kind_name(slot->kind));
	row->values[COLUMN_DATABASE] = ObjectIdGetDatum(slot->database);
	row->nulls[COLUMN_DATABASE] = !OidIsValid(slot->database);
	set_text(row, COLUMN_NETWORK, slot->network);
	row->values[COLUMN_INDEX] = Int32GetDatum(slot->index);
	row->values[COLUMN_PID] = Int32GetDatum((int32) slot->pid);
	row->nulls[COLUMN_PID] = slot->pid == 0;
	set_text(row, COLUMN_STATE, state_name(slot->state));
	set_time(row, COLUMN_STARTED_AT, slot->started_at);
	row->values[COLUMN_RESTARTS] = Int64GetDatum(slot->restarts);
	set_time(row, COLUMN_RESTART_AT, slot->state == SLOT_WAITING ? slot->restart_at : 0);
	row->values[COLUMN_LIMITED_MS] = Float8GetDatum(slot->limited_ms);
	set_time(row, COLUMN_LIMITED_SINCE, slot->limited_since);
}

static void
set_report(struct row *row, const struct worker_report *report)
{
	set_text(row, COLUMN_STATUS, report->status);
	set_text(row, COLUMN_LAST_ERROR, report->last_error);
	set_time(row, COLUMN_LAST_ERROR_AT, report->last_error_at);
	set_text(row, COLUMN_ENDPOINT, report->endpoint);
	set_block(row, COLUMN_HEAD_NUMBER, report->head_number);
	set_time(row, COLUMN_HEAD_AT, report->head_at);
	set_time(row, COLUMN_HEAD_SEEN_AT, report->head_seen_at);
	set_block(row, COLUMN_FINALIZED_NUMBER, report->finalized_number);
	row->values[COLUMN_RPC_LATENCY_MS] = Float8GetDatum(report->rpc_latency_ms);
	row->values[COLUMN_RPC_REQUESTS] = Int64GetDatum(report->rpc_requests);
	row->values[COLUMN_RPC_CALLS] = Int64GetDatum(report->rpc_calls);
	row->values[COLUMN_RPC_FAILURES] = Int64GetDatum(report->rpc_failures);
	row->values[COLUMN_POLLS] = Int64GetDatum(report->polls);
	row->values[COLUMN_BLOCKS] = Int64GetDatum(report->blocks);
	row->values[COLUMN_ROUNDS] = Int64GetDatum(report->rounds);
	row->values[COLUMN_RPC_UNITS] = Int64GetDatum(report->rpc_units);
}

/* rflow_private.worker_slots(): all workers of the server. */
Datum
rflow_worker_slots(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < db_shared->slot_count; i++)
	{
		struct worker_slot slot;
		struct row row = {0};

		LWLockAcquire(db_shared->lock, LW_SHARED);
		slot = db_shared->slots[i];
		LWLockRelease(db_shared->lock);
		if (slot.state == SLOT_FREE)
			continue;
		set_process(&row, &slot);
		set_report(&row, &slot.report);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	return (Datum) 0;
}

/* rflow_private.commit_samples(): when the last claims of this database were committed. */
Datum
rflow_commit_samples(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	struct commit_sample *samples;
	int count;

	InitMaterializedSRF(fcinfo, 0);
	samples = palloc(sizeof(*samples) * COMMIT_SAMPLE_RING);
	count = db_commit_samples(samples);
	for (int i = 0; i < count; i++)
	{
		Datum values[SAMPLE_COLUMNS];
		bool nulls[SAMPLE_COLUMNS] = {false};

		values[COLUMN_RUN_ID] = UUIDPGetDatum((pg_uuid_t *) samples[i].run_id);
		values[COLUMN_COMMITTED_AT] = TimestampTzGetDatum(samples[i].committed_at);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
