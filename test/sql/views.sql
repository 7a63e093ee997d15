-- What the views show of runs, steps and networks, and to whom.
-- Everything is rolled back: other tests find the database as it was.

CREATE ROLE regress_views_owner;
CREATE ROLE regress_views_member IN ROLE regress_views_owner;
CREATE ROLE regress_views_other;
CREATE ROLE regress_views_viewer IN ROLE rflow_viewer;

BEGIN;
INSERT INTO rflow.networks (name, chain_id, rpc_urls)
VALUES ('views', 31337, '{https://user:secret@node.invalid/v2/secret}');
INSERT INTO rflow.workflows (name, trigger, steps, owner, search_path, version) VALUES
	('mine', rflow.on_start(), rflow.steps(rflow.stop('first'), rflow.stop('second')), 'regress_views_owner', 'pg_temp', 1),
	('theirs', rflow.on_start(), rflow.steps(rflow.stop('alone')), 'regress_views_other', 'pg_temp', 1);
INSERT INTO rflow.workflow_versions (workflow, version, definition, owner, search_path)
SELECT name, version, jsonb_build_object('steps', steps), owner, search_path FROM rflow.workflows;

-- One that has succeeded and sent, one that has failed at its second step, one that waits; and one of somebody else.
INSERT INTO rflow_private.workflow_runs (id, workflow, version, owner, state, next_step, network, block_number, block_hash,
	transaction_hash, log_index, event, error, created_at, finished_at) VALUES
	('00000000-0000-0000-0000-00000000000a', 'mine', 1, 'regress_views_owner', 'succeeded', 2, 'views', 100, '0xaa', '0xbb', 3,
		'{"value": "100"}', NULL, '2026-01-01 12:00:00.010Z', '2026-01-01 12:00:04Z'),
	('00000000-0000-0000-0000-00000000000b', 'mine', 1, 'regress_views_owner', 'failed', 1, 'views', 101, '0xab', '0xbc', 0,
		'{"value": "1"}', '{"sqlstate": "22012", "message": "division by zero"}', '2026-01-01 12:00:02Z', '2026-01-01 12:00:02.5Z'),
	('00000000-0000-0000-0000-00000000000c', 'mine', 1, 'regress_views_owner', 'waiting', 0, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL, '2026-01-01 12:00:03Z', NULL),
	('00000000-0000-0000-0000-00000000000d', 'theirs', 1, 'regress_views_other', 'ready', 0, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL, '2026-01-01 12:00:04Z', NULL);
INSERT INTO rflow_private.relayer_transactions (id, relayer, network, chain_id, owner, idempotency_key, run_id, step, data, state,
	state_since, nonce, transaction_hash, block_number, reverted, gas_used, created_at, signed_at, broadcast_at, mined_at, confirmed_at)
VALUES (1000007, 'hot', 'views', 31337, 'regress_views_owner', 'k', '00000000-0000-0000-0000-00000000000a', 'second', '0x', 'confirmed',
	'2026-01-01 12:00:03Z', 5, '0xcc', 101, false, 21000, '2026-01-01 12:00:00.012Z', '2026-01-01 12:00:00.02Z',
	'2026-01-01 12:00:00.025Z', '2026-01-01 12:00:01Z', '2026-01-01 12:00:03Z');
INSERT INTO rflow_private.step_runs (run_id, step, position, kind, state, attempt, result, error, transaction_id, started_at, finished_at) VALUES
	('00000000-0000-0000-0000-00000000000a', 'first', 0, 'read', 'succeeded', 1, '{"result": "1"}', NULL, NULL,
		'2026-01-01 12:00:00.010Z', '2026-01-01 12:00:00.011Z'),
	('00000000-0000-0000-0000-00000000000a', 'second', 1, 'send_transaction', 'succeeded', 1, '{}', NULL, 1000007,
		'2026-01-01 12:00:00.011Z', '2026-01-01 12:00:03.5Z'),
	('00000000-0000-0000-0000-00000000000b', 'second', 1, 'send_transaction', 'failed', 2, NULL,
		'{"sqlstate": "22012", "message": "division by zero"}', NULL, '2026-01-01 12:00:02Z', '2026-01-01 12:00:02.5Z');
INSERT INTO rflow_private.blocks (network, number, hash, parent_hash, block_timestamp, base_fee_per_gas, seen_at)
VALUES ('views', 100, '0xaa', '0xa9', '2026-01-01 12:00:00Z', 7, '2026-01-01 12:00:00.005Z');

-- A member sees what is its owner's.
SET LOCAL TimeZone = 'UTC';
SET LOCAL ROLE regress_views_member;
SELECT id, workflow, version, state, step, network, block_number, block_hash, transaction_hash, log_index, event, error_message, owner
FROM rflow.runs ORDER BY id;
SELECT id, started_at, finished_at, CASE WHEN finished_at IS NOT NULL THEN duration END AS duration, queued_after
FROM rflow.runs ORDER BY id;
SELECT workflow, position, step, kind, state, attempt, result, error_message, transaction_id, transaction_state, transaction_hash, duration
FROM rflow.steps ORDER BY run_id, position;
SELECT at, what, detail, after_ms FROM rflow.timeline WHERE run_id = '00000000-0000-0000-0000-00000000000a';
SELECT what, detail, after_ms FROM rflow.timeline WHERE run_id = '00000000-0000-0000-0000-00000000000b';
SELECT number, hash, parent_hash, block_timestamp, base_fee_per_gas, seen_at FROM rflow.blocks WHERE network = 'views';
SELECT workflow, owner, runs, ready, waiting, succeeded, failed, cancelled, last_run_at, runs_in_day, queued_p50_ms
FROM rflow.workflow_stats;
SELECT network, chain_id, enabled, status, head, head_at, lag_blocks, lag_seconds > 0 AS lags, unseen_seconds > 0 AS unseen,
	finalized, last_error, endpoint, rpc_requests, calls_per_block, polls_per_block
FROM rflow.network_status WHERE network = 'views' \gx
RESET ROLE;

-- Percentiles are of the last 24 hours, in milliseconds: 101 runs that queue after 0 to 100 ms and confirm after 1 to 2 s.
SAVEPOINT fresh;
INSERT INTO rflow_private.workflow_runs (id, workflow, version, owner, state, created_at)
SELECT md5(i::text)::uuid, 'mine', 1, 'regress_views_owner', 'succeeded', now() - interval '1 hour' FROM generate_series(0, 100) i;
INSERT INTO rflow_private.relayer_transactions (relayer, network, chain_id, owner, idempotency_key, run_id, data, state, state_since, created_at, confirmed_at)
SELECT 'hot', 'views', 31337, 'regress_views_owner', 'p' || i, md5(i::text)::uuid, '0x', 'confirmed', now(),
	now() - interval '1 hour' + i * interval '1 ms', now() - interval '1 hour' + interval '1 s' + i * interval '10 ms'
FROM generate_series(0, 100) i;
-- A second transaction that is not confirmed: the run is not yet, either.
INSERT INTO rflow_private.relayer_transactions (relayer, network, chain_id, owner, idempotency_key, run_id, data, state, state_since, created_at)
VALUES ('hot', 'views', 31337, 'regress_views_owner', 'second', md5('100')::uuid, '0x', 'broadcast', now(), now());
SELECT runs, runs_in_day, queued_p50_ms, queued_p95_ms, queued_p99_ms, confirmed_p50_ms, confirmed_p95_ms, confirmed_p99_ms
FROM rflow.workflow_stats WHERE workflow = 'mine';
ROLLBACK TO fresh;

-- Others see theirs, viewers see all, and who has nothing sees nothing.
SET LOCAL ROLE regress_views_other;
SELECT id FROM rflow.runs;
SELECT count(*) FROM rflow.steps;
SELECT DISTINCT run_id FROM rflow.timeline;
SELECT workflow FROM rflow.workflow_stats;
SET LOCAL ROLE regress_views_viewer;
SELECT count(*) FROM rflow.runs;
SELECT count(*) FROM rflow.steps;
SELECT count(DISTINCT run_id) FROM rflow.timeline;
SELECT workflow FROM rflow.workflow_stats ORDER BY 1;

-- A condition of the caller is not evaluated on rows that it may not see.
SET LOCAL ROLE regress_views_other;
CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
BEGIN
	RAISE NOTICE 'seen: %', $1;
	RETURN true;
END
$$;
SELECT workflow FROM rflow.runs WHERE pg_temp.leak(workflow);
SELECT workflow FROM rflow.steps WHERE pg_temp.leak(workflow);
SELECT count(*) FROM rflow.transactions WHERE pg_temp.leak(id::text);
SELECT name FROM rflow.workflows WHERE pg_temp.leak(name);
SELECT count(*) FROM rflow.workflow_versions WHERE pg_temp.leak(workflow);
SELECT count(*) FROM rflow.stuck WHERE workflow IS NOT NULL AND pg_temp.leak(workflow);
RESET ROLE;

-- An owner that is gone keeps nothing from viewers.
SAVEPOINT gone;
UPDATE rflow_private.workflow_runs SET owner = 4294967295::oid::regrole WHERE workflow = 'theirs';
SET LOCAL ROLE regress_views_viewer;
SELECT owner FROM rflow.runs WHERE workflow = 'theirs';
SET LOCAL ROLE regress_views_other;
SELECT owner FROM rflow.runs WHERE workflow = 'theirs';
ROLLBACK TO gone;

-- URLs are in no view.
SELECT count(*) FROM rflow.network_status s WHERE s::text LIKE '%secret%';
ROLLBACK;

DROP ROLE regress_views_owner, regress_views_member, regress_views_other, regress_views_viewer;
