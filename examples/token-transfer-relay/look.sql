-- What has become of the deposits.  Run it at any time.
\set ON_ERROR_STOP on
\pset footer off

\qecho 'The newest run, moment by moment (rflow.timeline)'
\qecho
SELECT what AS moment,
	round(after_ms - lag(after_ms) OVER moments, 1) AS "ms",
	round(after_ms - first_value(after_ms) OVER moments, 1) AS "ms since seen",
	regexp_replace(detail, '(0x[0-9a-f]{16})[0-9a-f]{48}', '\1…') AS detail
FROM rflow.timeline
WHERE run_id = (SELECT id FROM rflow.runs ORDER BY started_at DESC LIMIT 1)
WINDOW moments AS (ROWS UNBOUNDED PRECEDING);

\qecho 'Runs (rflow.runs)'
\qecho
SELECT left(r.id::text, 8) AS id, r.workflow, r.state, r.block_number AS block,
	rflow.format_units((r.event->>'value')::numeric) AS deposit,
	(SELECT round(min(t.after_ms), 1) FROM rflow.timeline t WHERE t.run_id = r.id AND t.what = 'queued') AS "ms to queue",
	(SELECT round(min(t.after_ms), 1) FROM rflow.timeline t WHERE t.run_id = r.id AND t.what = 'confirmed') AS "to confirmed"
FROM rflow.runs r
ORDER BY r.started_at DESC LIMIT 10;

\qecho 'Steps (rflow.steps)'
\qecho
SELECT left(run_id::text, 8) AS run, step, kind, state,
	coalesce(result->>'arg0', result->>'status') AS result, transaction_id AS transaction
FROM rflow.steps
ORDER BY started_at DESC, position DESC LIMIT 10;

\qecho 'Transactions (rflow.transactions)'
\qecho
SELECT id, nonce, state, block_number AS block, gas_used AS gas, transaction_hash
FROM rflow.transactions
ORDER BY id DESC LIMIT 10;

\qecho 'The network (rflow.network_status)'
\qecho
SELECT network, status, head, lag_blocks AS lag, rpc_latency_ms AS "latency, ms",
	polls_per_block AS "polls per block", calls_per_block AS "calls per block"
FROM rflow.network_status;
