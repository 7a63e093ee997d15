-- What happens and what has happened, for those who may see it.
--
-- The tables are read with the rights of the views' owner; the rows are those of roles that the caller has the
-- privileges of, or all for members of rflow_viewer, rflow_operator and rflow_admin (rflow_private.may_see()).
-- Functions in a view are called with the rights of the caller: those of rflow_private need EXECUTE for PUBLIC,
-- and are out of reach otherwise, since nobody has USAGE of the schema.

-- Runs and their journal

CREATE VIEW rflow.runs WITH (security_barrier) AS
SELECT r.id, r.workflow, r.version, r.state,
	(SELECT v.definition->'steps'->r.next_step->>'name'
		FROM rflow.workflow_versions v
		WHERE v.workflow = r.workflow AND v.version = r.version) AS step,
	r.network, r.block_number, r.block_hash, r.block_timestamp, r.transaction_hash, r.log_index, r.address,
	r.event, r.input,
	r.error->>'message' AS error_message, r.error, r.after,
	r.owner,
	r.created_at AS started_at, r.finished_at,
	coalesce(r.finished_at, clock_timestamp()) - r.created_at AS duration,
	(SELECT min(t.created_at)
		FROM rflow_private.step_runs s
		JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
		WHERE s.run_id = r.id) - r.created_at AS queued_after,
	r.incarnation, r.detached_at, r.retracted_at
FROM rflow_private.workflow_runs r
WHERE rflow_private.may_see(r.owner);
COMMENT ON VIEW rflow.runs IS 'Runs of workflows: each event that counted, and how far it has got';
COMMENT ON COLUMN rflow.runs.id IS 'Derived from the event: the same event is the same run';
COMMENT ON COLUMN rflow.runs.workflow IS 'Name of the workflow';
COMMENT ON COLUMN rflow.runs.version IS 'The version it began with, and finishes on (rflow.workflow_versions)';
COMMENT ON COLUMN rflow.runs.state IS 'queued (waits for its turn), ready (an executor goes on), waiting (for a transaction), succeeded, failed, cancelled';
COMMENT ON COLUMN rflow.runs.step IS 'The step that is next, waited for, or has failed; NULL after the last one';
COMMENT ON COLUMN rflow.runs.network IS 'Where the event was; NULL where the run was started by hand';
COMMENT ON COLUMN rflow.runs.block_number IS 'Block of the event';
COMMENT ON COLUMN rflow.runs.block_hash IS 'Hash of that block';
COMMENT ON COLUMN rflow.runs.block_timestamp IS 'What that block says the time was';
COMMENT ON COLUMN rflow.runs.transaction_hash IS 'Transaction that emitted the event';
COMMENT ON COLUMN rflow.runs.log_index IS 'Place of the event in its block';
COMMENT ON COLUMN rflow.runs.address IS 'Contract that emitted the event';
COMMENT ON COLUMN rflow.runs.event IS 'Arguments of the event, by name; integers above 48 bits are strings';
COMMENT ON COLUMN rflow.runs.input IS 'What rflow.start() was given';
COMMENT ON COLUMN rflow.runs.error_message IS 'Why it has failed';
COMMENT ON COLUMN rflow.runs.error IS 'The same as sqlstate, message, detail, hint';
COMMENT ON COLUMN rflow.runs.after IS 'A transaction that nobody waited for (wait_for ''none'') has failed after the run went on: which, and why';
COMMENT ON COLUMN rflow.runs.owner IS 'The role whose rights it has';
COMMENT ON COLUMN rflow.runs.started_at IS 'When the watcher held the event, or rflow.start() was called';
COMMENT ON COLUMN rflow.runs.finished_at IS 'When it succeeded, failed or was cancelled';
COMMENT ON COLUMN rflow.runs.duration IS 'From started_at to finished_at, or to now';
COMMENT ON COLUMN rflow.runs.queued_after IS 'From started_at until its first transaction was queued';
COMMENT ON COLUMN rflow.runs.incarnation IS 'Above 1: its event has come back after the run before it was retracted';
COMMENT ON COLUMN rflow.runs.detached_at IS 'Since when its block is not on the chain any more: it is held until its event comes back';
COMMENT ON COLUMN rflow.runs.retracted_at IS 'When it was found that its event did not come back';

CREATE VIEW rflow.steps WITH (security_barrier) AS
SELECT s.run_id, r.workflow, s.position, s.step, s.iteration, s.kind, s.state, s.attempt,
	s.result, s.error->>'message' AS error_message, s.error,
	s.transaction_id, t.state AS transaction_state, t.transaction_hash,
	s.started_at, s.finished_at,
	coalesce(s.finished_at, clock_timestamp()) - s.started_at AS duration
FROM rflow_private.step_runs s
JOIN rflow_private.workflow_runs r ON r.id = s.run_id
LEFT JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
WHERE rflow_private.may_see(r.owner);
COMMENT ON VIEW rflow.steps IS 'The journal of runs: a row for each step that has settled or waits';
COMMENT ON COLUMN rflow.steps.run_id IS 'The run (rflow.runs)';
COMMENT ON COLUMN rflow.steps.workflow IS 'Name of its workflow';
COMMENT ON COLUMN rflow.steps.position IS 'Place of the step in the workflow, from 0';
COMMENT ON COLUMN rflow.steps.step IS 'Name of the step';
COMMENT ON COLUMN rflow.steps.iteration IS 'Which turn of a loop it belongs to; empty outside loops';
COMMENT ON COLUMN rflow.steps.kind IS 'read, send_transaction, sql, stop';
COMMENT ON COLUMN rflow.steps.state IS 'waiting (also for its next try), succeeded, failed, skipped';
COMMENT ON COLUMN rflow.steps.attempt IS 'Which try it is, from 1';
COMMENT ON COLUMN rflow.steps.result IS 'What it gave to the steps after it';
COMMENT ON COLUMN rflow.steps.error_message IS 'Why it has failed, or why its last try did not succeed';
COMMENT ON COLUMN rflow.steps.error IS 'The same as sqlstate, message, detail, hint';
COMMENT ON COLUMN rflow.steps.transaction_id IS 'The transaction that it queued (rflow.transactions)';
COMMENT ON COLUMN rflow.steps.transaction_state IS 'What has become of that transaction; it may go on after the step';
COMMENT ON COLUMN rflow.steps.transaction_hash IS 'Its hash on chain';
COMMENT ON COLUMN rflow.steps.started_at IS 'When it was begun';
COMMENT ON COLUMN rflow.steps.finished_at IS 'When it settled';
COMMENT ON COLUMN rflow.steps.duration IS 'From started_at to finished_at, or to now';

-- A run's own history: what happened when, and how long after its block was seen.
CREATE VIEW rflow.timeline WITH (security_barrier) AS
SELECT r.id AS run_id, r.workflow, e.at, e.what, e.detail,
	(extract(epoch FROM e.at - r.created_at) * 1000)::numeric(18, 3) AS after_ms
FROM rflow_private.workflow_runs r
CROSS JOIN LATERAL (
	SELECT b.seen_at AS at, 'block seen' AS what, format('block %s', b.number) AS detail, 0 AS rank
		FROM rflow_private.blocks b
		WHERE b.network = r.network AND b.number = r.block_number AND b.hash = r.block_hash
	UNION ALL
	SELECT r.created_at, 'claimed',
			CASE WHEN r.block_number IS NULL THEN 'started by hand' ELSE format('log %s of block %s', r.log_index, r.block_number) END, 1
	UNION ALL
	SELECT s.finished_at, 'step ' || s.state, concat_ws(': ', s.step, s.error->>'message'), 8
		FROM rflow_private.step_runs s
		WHERE s.run_id = r.id AND s.finished_at IS NOT NULL
	UNION ALL
	SELECT m.at, m.what, concat_ws(': ', s.step, m.detail), m.rank
		FROM rflow_private.step_runs s
		JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
		LEFT JOIN rflow.workflow_versions v ON v.workflow = r.workflow AND v.version = r.version
		-- The clock after the commit, which no row can hold, while it is remembered.
		LEFT JOIN rflow_private.commit_samples() c ON c.run_id = r.id
		CROSS JOIN LATERAL (VALUES
			(CASE WHEN v.definition->'steps'->s.position->>'simulate' IS DISTINCT FROM 'never' AND t.gas_limit IS NOT NULL THEN t.created_at END,
				'simulated', format('gas limit %s', t.gas_limit), 2),
			(greatest(t.created_at, c.committed_at), 'queued', format('transaction %s', t.id), 3),
			(t.signed_at, 'signed', format('nonce %s', t.nonce), 4),
			(t.broadcast_at, 'broadcast', t.transaction_hash::text, 5),
			(t.mined_at, CASE WHEN t.reverted THEN 'reverted' ELSE 'mined' END, format('block %s', t.block_number), 6),
			(t.confirmed_at, 'confirmed', format('gas used %s', t.gas_used), 7)) AS m(at, what, detail, rank)
		WHERE s.run_id = r.id AND m.at IS NOT NULL
	UNION ALL
	SELECT r.finished_at, 'run ' || r.state, r.error->>'message', 9
		WHERE r.finished_at IS NOT NULL) e
WHERE rflow_private.may_see(r.owner)
ORDER BY r.created_at, r.id, e.at, e.rank;
COMMENT ON VIEW rflow.timeline IS 'What happened to a run, in order: SELECT * FROM rflow.timeline WHERE run_id = …';
COMMENT ON COLUMN rflow.timeline.run_id IS 'The run';
COMMENT ON COLUMN rflow.timeline.workflow IS 'Name of its workflow';
COMMENT ON COLUMN rflow.timeline.at IS 'When it happened';
COMMENT ON COLUMN rflow.timeline.what IS 'block seen, claimed, simulated, queued, signed, broadcast, mined or reverted, confirmed, step …, run …';
COMMENT ON COLUMN rflow.timeline.detail IS 'Of what: block, step, transaction, nonce, hash';
COMMENT ON COLUMN rflow.timeline.after_ms IS 'Milliseconds since the watcher held the event';

CREATE VIEW rflow.workflow_stats WITH (security_barrier) AS
SELECT w.name AS workflow, w.enabled, w.version, w.owner,
	coalesce(r.runs, 0) AS runs, coalesce(r.ready, 0) AS ready, coalesce(r.waiting, 0) AS waiting,
	coalesce(r.succeeded, 0) AS succeeded, coalesce(r.failed, 0) AS failed, coalesce(r.cancelled, 0) AS cancelled,
	r.last_run_at,
	coalesce(d.runs, 0) AS runs_in_day,
	d.queued[1]::numeric(18, 3) AS queued_p50_ms, d.queued[2]::numeric(18, 3) AS queued_p95_ms,
	d.queued[3]::numeric(18, 3) AS queued_p99_ms,
	d.confirmed[1]::numeric(18, 3) AS confirmed_p50_ms, d.confirmed[2]::numeric(18, 3) AS confirmed_p95_ms,
	d.confirmed[3]::numeric(18, 3) AS confirmed_p99_ms,
	(SELECT p.what FROM rflow_private.paused_things p WHERE p.kind = 'workflow' AND p.name = w.name) AS pause
FROM rflow.workflows w
LEFT JOIN (
	SELECT workflow, count(*) AS runs,
		count(*) FILTER (WHERE state IN ('queued', 'ready')) AS ready,
		count(*) FILTER (WHERE state = 'waiting') AS waiting,
		count(*) FILTER (WHERE state = 'succeeded') AS succeeded,
		count(*) FILTER (WHERE state = 'failed') AS failed,
		count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
		max(created_at) AS last_run_at
	FROM rflow_private.workflow_runs
	GROUP BY workflow) r ON r.workflow = w.name
LEFT JOIN (
	SELECT f.workflow, count(*) AS runs,
		percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM f.queued_at - f.created_at)::float8 * 1000) AS queued,
		percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM f.confirmed_at - f.created_at)::float8 * 1000) AS confirmed
	FROM (
		SELECT n.workflow, n.created_at, greatest(t.queued_at, c.committed_at) AS queued_at, t.confirmed_at
		FROM rflow_private.workflow_runs n
		LEFT JOIN (
			SELECT run_id, min(created_at) AS queued_at,
				CASE WHEN bool_and(confirmed_at IS NOT NULL) THEN max(confirmed_at) END AS confirmed_at
			FROM rflow_private.relayer_transactions
			WHERE created_at > now() - interval '1 day' AND run_id IS NOT NULL
			GROUP BY run_id) t ON t.run_id = n.id
		-- The clock after the commit, which no row can hold, while it is remembered.
		LEFT JOIN rflow_private.commit_samples() c ON c.run_id = n.id AND t.run_id IS NOT NULL
		WHERE n.created_at > now() - interval '1 day') f
	GROUP BY f.workflow) d ON d.workflow = w.name
WHERE rflow_private.may_see(w.owner);
COMMENT ON VIEW rflow.workflow_stats IS 'Each workflow: runs by state, and how fast those of the last 24 hours went';
COMMENT ON COLUMN rflow.workflow_stats.workflow IS 'Name of the workflow';
COMMENT ON COLUMN rflow.workflow_stats.enabled IS 'Whether it starts runs';
COMMENT ON COLUMN rflow.workflow_stats.version IS 'Its newest version';
COMMENT ON COLUMN rflow.workflow_stats.owner IS 'The role whose rights it has';
COMMENT ON COLUMN rflow.workflow_stats.runs IS 'All runs that are kept';
COMMENT ON COLUMN rflow.workflow_stats.ready IS 'Runs that an executor has to go on with, or that wait for their turn';
COMMENT ON COLUMN rflow.workflow_stats.waiting IS 'Runs that wait for a transaction';
COMMENT ON COLUMN rflow.workflow_stats.succeeded IS 'Runs that have succeeded';
COMMENT ON COLUMN rflow.workflow_stats.failed IS 'Runs that have failed';
COMMENT ON COLUMN rflow.workflow_stats.cancelled IS 'Runs that were cancelled';
COMMENT ON COLUMN rflow.workflow_stats.last_run_at IS 'When the last run began';
COMMENT ON COLUMN rflow.workflow_stats.runs_in_day IS 'Runs of the last 24 hours, those that the percentiles are of';
COMMENT ON COLUMN rflow.workflow_stats.queued_p50_ms IS 'Milliseconds from holding the event to its first transaction being queued: half of the runs took no longer';
COMMENT ON COLUMN rflow.workflow_stats.queued_p95_ms IS 'The same of 95 %';
COMMENT ON COLUMN rflow.workflow_stats.queued_p99_ms IS 'The same of 99 %';
COMMENT ON COLUMN rflow.workflow_stats.confirmed_p50_ms IS 'Milliseconds from holding the event to all its transactions being confirmed: half of the runs took no longer';
COMMENT ON COLUMN rflow.workflow_stats.confirmed_p95_ms IS 'The same of 95 %';
COMMENT ON COLUMN rflow.workflow_stats.confirmed_p99_ms IS 'The same of 99 %';
COMMENT ON COLUMN rflow.workflow_stats.pause IS 'By whom its sends are paused, and why (rflow.pauses)';

-- Networks

CREATE VIEW rflow.blocks AS
SELECT b.network, b.number, b.hash, b.parent_hash, b.block_timestamp, b.base_fee_per_gas, b.seen_at
FROM rflow_private.blocks b;
COMMENT ON VIEW rflow.blocks IS 'Headers of the last blocks of each network, as rflow knows them';
COMMENT ON COLUMN rflow.blocks.network IS 'The network';
COMMENT ON COLUMN rflow.blocks.number IS 'Height';
COMMENT ON COLUMN rflow.blocks.hash IS 'Hash of the header';
COMMENT ON COLUMN rflow.blocks.parent_hash IS 'Hash of the block before';
COMMENT ON COLUMN rflow.blocks.block_timestamp IS 'What the block says the time was';
COMMENT ON COLUMN rflow.blocks.base_fee_per_gas IS 'In wei; NULL where the chain has no EIP-1559';
COMMENT ON COLUMN rflow.blocks.seen_at IS 'When the watcher had checked it';

-- What a watcher may have read and has not: the ceiling of a cursor is where its triggers want to stop.
CREATE VIEW rflow_private.cursor_lags AS
SELECT c.network, c.id, min(s.workflow) AS workflow,
	greatest(CASE
		WHEN c.ceiling ~ '^[0-9]' THEN h.head_number - c.ceiling::bigint
		WHEN c.ceiling = 'head' THEN h.head_number
		WHEN c.ceiling = 'finalized' THEN h.finalized_number
	END - c.next_block + 1, 0) AS blocks
FROM rflow_private.cursors c
JOIN rflow_private.subscriptions s ON s.cursor_id = c.id
JOIN rflow.workflows w ON w.name = s.workflow AND w.enabled
LEFT JOIN rflow_private.worker_slots() h ON h.kind = 'watcher' AND h.network = c.network
	AND h.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
GROUP BY c.id, h.head_number, h.finalized_number;
COMMENT ON VIEW rflow_private.cursor_lags IS 'How many blocks each cursor in use is behind what it may read';

CREATE VIEW rflow.network_status WITH (security_barrier) AS
SELECT n.name AS network, n.chain_id, n.enabled,
	CASE
		WHEN NOT n.enabled THEN 'disabled'
		WHEN s.kind IS NULL THEN 'not watched: ' || rflow.readiness()
		ELSE concat_ws(': ', nullif(s.state, 'running'), s.status)
	END AS status,
	coalesce(s.head_number, b.number) AS head, coalesce(s.head_at, b.block_timestamp) AS head_at,
	l.blocks AS lag_blocks,
	extract(epoch FROM clock_timestamp() - coalesce(s.head_at, b.block_timestamp))::numeric(18, 3) AS lag_seconds,
	extract(epoch FROM clock_timestamp() - coalesce(s.head_seen_at, b.seen_at))::numeric(18, 3) AS unseen_seconds,
	s.finalized_number AS finalized,
	CASE WHEN rflow_private.may_see(NULL) THEN s.last_error END AS last_error,
	s.last_error_at,
	CASE WHEN rflow_private.may_see(NULL) THEN s.endpoint END AS endpoint,
	nullif(s.rpc_latency_ms, 0)::numeric(18, 3) AS rpc_latency_ms,
	a.rpc_requests, a.rpc_calls, a.rpc_failures, n.max_units_per_second, a.rpc_units, a.limited_ms, a.limited_since, s.blocks,
	(a.rpc_calls / nullif(s.blocks, 0)::numeric)::numeric(18, 2) AS calls_per_block,
	(s.polls / nullif(s.blocks, 0)::numeric)::numeric(18, 2) AS polls_per_block,
	(SELECT p.what
		FROM rflow_private.paused_things p
		WHERE p.kind = 'all' OR (p.kind = 'network' AND p.name = n.name)
		ORDER BY p.kind LIMIT 1) AS pause
FROM rflow.networks n
LEFT JOIN rflow_private.worker_slots() s ON s.kind = 'watcher' AND s.network = n.name
	AND s.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
LEFT JOIN (
	SELECT u.network, sum(u.rpc_requests)::bigint AS rpc_requests, sum(u.rpc_calls)::bigint AS rpc_calls,
		sum(u.rpc_failures)::bigint AS rpc_failures, sum(u.rpc_units)::bigint AS rpc_units,
		sum(u.limited_ms)::bigint AS limited_ms, min(u.limited_since) AS limited_since
	FROM rflow_private.worker_slots() u
	WHERE u.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
	GROUP BY u.network) a ON a.network = n.name
LEFT JOIN LATERAL (
	SELECT h.number, h.block_timestamp, h.seen_at
	FROM rflow_private.blocks h
	WHERE h.network = n.name
	ORDER BY h.number DESC LIMIT 1) b ON true
LEFT JOIN (
	SELECT network, max(blocks) AS blocks
	FROM rflow_private.cursor_lags
	GROUP BY network) l ON l.network = n.name;
COMMENT ON VIEW rflow.network_status IS 'Each network: whether it is followed, how far, and what the node costs and says';
COMMENT ON COLUMN rflow.network_status.network IS 'Name of the network';
COMMENT ON COLUMN rflow.network_status.chain_id IS 'EIP-155 chain id';
COMMENT ON COLUMN rflow.network_status.enabled IS 'Whether it is to be followed';
COMMENT ON COLUMN rflow.network_status.status IS 'What its watcher does, or why it does nothing';
COMMENT ON COLUMN rflow.network_status.head IS 'The newest block seen';
COMMENT ON COLUMN rflow.network_status.head_at IS 'What that block says the time was';
COMMENT ON COLUMN rflow.network_status.lag_blocks IS 'Blocks that the hindmost enabled workflow may read and has not read yet';
COMMENT ON COLUMN rflow.network_status.lag_seconds IS 'Seconds since head_at';
COMMENT ON COLUMN rflow.network_status.unseen_seconds IS 'Seconds since the newest block was first seen';
COMMENT ON COLUMN rflow.network_status.finalized IS 'The newest block that the chain calls final, where a workflow asks for it';
COMMENT ON COLUMN rflow.network_status.last_error IS 'What went wrong last; for members of rflow_viewer, rflow_operator, rflow_admin';
COMMENT ON COLUMN rflow.network_status.last_error_at IS 'When that was';
COMMENT ON COLUMN rflow.network_status.endpoint IS 'Scheme and host of the endpoint in use; for members of rflow_viewer, rflow_operator, rflow_admin';
COMMENT ON COLUMN rflow.network_status.rpc_latency_ms IS 'Time that the node takes to answer the watcher, a moving average';
COMMENT ON COLUMN rflow.network_status.rpc_requests IS 'HTTP requests of the watcher and the relayer since they started';
COMMENT ON COLUMN rflow.network_status.rpc_calls IS 'JSON-RPC calls in them: what most providers charge for';
COMMENT ON COLUMN rflow.network_status.rpc_failures IS 'Requests that gave no answer';
COMMENT ON COLUMN rflow.network_status.max_units_per_second IS 'The limit of compute units, if there is one';
COMMENT ON COLUMN rflow.network_status.rpc_units IS 'Compute units of rpc_calls, where there is a limit';
COMMENT ON COLUMN rflow.network_status.limited_ms IS 'Milliseconds that its workers have waited for the limit';
COMMENT ON COLUMN rflow.network_status.limited_since IS 'Since when one of them waits for it now';
COMMENT ON COLUMN rflow.network_status.blocks IS 'Blocks that came since the watcher started';
COMMENT ON COLUMN rflow.network_status.calls_per_block IS 'rpc_calls for each of blocks';
COMMENT ON COLUMN rflow.network_status.polls_per_block IS 'Questions of the watcher for the head, for each of blocks';
COMMENT ON COLUMN rflow.network_status.pause IS 'What pauses its relayers, by whom and why (rflow.pauses)';

-- What was written down because it could not go on by itself, or was skipped on purpose

CREATE VIEW rflow.incidents WITH (security_barrier) AS
SELECT i.id, i.kind, i.network, i.workflow, i.subject, i.reason, i.what_to_do, i.since, i.resolved_at
FROM rflow_private.incidents i
LEFT JOIN rflow.workflows w ON w.name = i.workflow
WHERE rflow_private.may_see(w.owner);
COMMENT ON VIEW rflow.incidents IS 'What could not go on by itself, was undone, or was skipped on purpose. Those without resolved_at are in rflow.stuck too';
COMMENT ON COLUMN rflow.incidents.id IS 'For rflow.resolve_incident()';
COMMENT ON COLUMN rflow.incidents.kind IS 'What sort of thing it is';
COMMENT ON COLUMN rflow.incidents.network IS 'Where, if on one network';
COMMENT ON COLUMN rflow.incidents.workflow IS 'Whose, if of one workflow';
COMMENT ON COLUMN rflow.incidents.subject IS 'What it is about';
COMMENT ON COLUMN rflow.incidents.reason IS 'What happened';
COMMENT ON COLUMN rflow.incidents.what_to_do IS 'What to do about it';
COMMENT ON COLUMN rflow.incidents.since IS 'Since when';
COMMENT ON COLUMN rflow.incidents.resolved_at IS 'When it was over, or was put aside by rflow.resolve_incident()';
