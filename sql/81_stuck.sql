-- rflow.stuck: what waits, since when, why, and what to do. One view for each sort of thing, and one over all.
--
-- A thing is stuck when it has waited for longer than it should: 10 seconds for work that a process should have
-- taken, a minute for what a node or the chain should have done, five minutes for a run.
--
-- Each view is a security barrier: a condition of the caller passes through the barrier of a UNION ALL.

-- This server's processes in this database.
CREATE VIEW rflow_private.own_workers AS
SELECT s.*
FROM rflow_private.worker_slots() s
WHERE s.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
COMMENT ON VIEW rflow_private.own_workers IS 'Workers of this database';

CREATE VIEW rflow_private.stuck_database WITH (security_barrier) AS
SELECT 'database'::text AS kind, current_database()::text AS subject, NULL::text AS network, NULL::text AS workflow,
	NULL::timestamptz AS since, d.reason,
	CASE
		WHEN d.reason LIKE 'ready,%' THEN 'It goes on by itself unless rflow.unmatched_transactions has rows or a relayer has no key; rflow.reconciliations shows what it waits for'
		WHEN d.reason LIKE 'disarmed%' THEN 'SELECT * FROM rflow.arm()'
		WHEN d.reason LIKE 'a copy%' THEN 'SELECT * FROM rflow.arm(), once nothing acts in the other one'
		WHEN d.reason LIKE 'rflow.enabled%' THEN 'Set rflow.enabled = on in the configuration and reload it'
		ELSE 'Nothing runs until then'
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM (
	SELECT nullif(rflow.readiness(), 'ready') AS reason
	UNION ALL
	SELECT 'rflow.enabled is off' WHERE NOT current_setting('rflow.enabled')::boolean) d
WHERE d.reason IS NOT NULL;
COMMENT ON VIEW rflow_private.stuck_database IS 'Why no worker acts in this database';

CREATE VIEW rflow_private.stuck_unmatched WITH (security_barrier) AS
SELECT 'unmatched transaction'::text AS kind, u.transaction_hash::text AS subject, u.network, NULL::text AS workflow,
	u.found_at AS since,
	format('account %s has sent it with nonce %s, in block %s, and no send of this database explains it: signing is held',
		u.address, u.nonce, u.block_number) AS reason,
	format('Find out what it was: runs under way may still come to it; then SELECT rflow.dismiss_unmatched(%L, ''why''), or rflow.adopt_transaction(id, %1$L) where it is what a transaction of rflow''s became', u.transaction_hash) AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow.unmatched_transactions u;
COMMENT ON VIEW rflow_private.stuck_unmatched IS 'What was found on the chain after a restore and holds signing';

CREATE VIEW rflow_private.stuck_workers WITH (security_barrier) AS
SELECT 'worker'::text AS kind, concat_ws(' ', s.kind, coalesce(s.network, CASE WHEN s.kind = 'executor' THEN s.index::text END)) AS subject,
	s.network, NULL::text AS workflow, s.last_error_at AS since,
	CASE
		WHEN s.state = 'waiting' AND s.restart_at > clock_timestamp() AND s.last_error IS NOT NULL
			THEN 'it has ended: ' || s.last_error
		ELSE s.status
	END AS reason,
	CASE
		WHEN s.status LIKE '%rflow.max_workers%' THEN 'Raise rflow.max_workers and restart the server'
		WHEN s.status LIKE '%max_worker_processes%' THEN 'Raise max_worker_processes and restart the server'
		WHEN s.restart_at > clock_timestamp() THEN format('It is started again at %s; the server''s log has more', s.restart_at)
		WHEN s.status LIKE 'waits: another worker%' THEN 'Disable the network in the other database, or leave it: this one takes over when that one ends'
		ELSE 'The server''s log has more'
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow_private.own_workers s
WHERE rflow_private.may_see(NULL)
	AND (s.state = 'waiting' AND (s.last_error IS NOT NULL OR s.status <> 'starts')
		OR s.status LIKE 'waits:%' OR s.status LIKE '%waits for a%');
COMMENT ON VIEW rflow_private.stuck_workers IS 'Workers that have no process, have ended with an error, or wait for another one';

-- A block is overdue after ten times the usual time; a minute at least, since a development chain has no pace.
CREATE VIEW rflow_private.stuck_networks WITH (security_barrier) AS
SELECT 'network'::text AS kind, n.name AS subject, n.name AS network, NULL::text AS workflow,
	CASE WHEN s.status NOT LIKE 'halted:%' THEN coalesce(s.head_seen_at, s.started_at) END AS since,
	CASE
		WHEN s.status LIKE 'halted:%' THEN s.status
		WHEN s.head_number IS NULL THEN concat_ws(': ', 'no block has been seen yet', e.last_error)
		WHEN s.last_error_at > s.head_seen_at THEN concat_ws(': ', format('no block after %s: the node gives no answers', s.head_number), e.last_error)
		ELSE format('no block after %s; they usually come every %s s', s.head_number, round(extract(epoch FROM p.pace), 1))
	END AS reason,
	CASE
		WHEN s.status LIKE 'halted: no block%' THEN format('Check rpc_urls of rflow.networks. Where the chain has really reorganised that deep: SELECT rflow.accept_branch(%L, from_block), with the first block that was replaced', n.name)
		WHEN s.status LIKE 'halted:%' THEN 'Check rpc_urls and chain_id of rflow.networks. Where the chain itself has begun anew, it is another network: give it a new name'
		WHEN s.last_error_at > s.head_seen_at OR s.head_number IS NULL THEN 'Check the node and rpc_urls of rflow.networks'
		ELSE 'Check whether the chain makes blocks, and whether the node follows it'
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow.networks n
JOIN rflow_private.own_workers s ON s.kind = 'watcher' AND s.network = n.name AND s.state = 'running'
CROSS JOIN LATERAL (
	SELECT CASE WHEN rflow_private.may_see(NULL) THEN s.last_error END AS last_error) e
CROSS JOIN LATERAL (
	SELECT (max(b.seen_at) - min(b.seen_at)) / nullif(count(*) - 1, 0) AS pace
	FROM rflow_private.blocks b
	WHERE b.network = n.name) p
WHERE n.enabled
	AND (s.status LIKE 'halted:%'
		OR coalesce(s.head_seen_at, s.started_at) < clock_timestamp() - greatest(p.pace * 10, interval '1 minute'));
COMMENT ON VIEW rflow_private.stuck_networks IS 'Networks that are halted, or have given no block for long';

CREATE VIEW rflow_private.limited_networks WITH (security_barrier) AS
SELECT 'network'::text AS kind, n.name AS subject, n.name AS network, NULL::text AS workflow,
	min(s.limited_since) AS since,
	format('its %s waits: the limit of %s compute units per second is used up', string_agg(DISTINCT s.kind, ' and its ' ORDER BY s.kind), n.max_units_per_second) AS reason,
	'Raise max_units_per_second of rflow.networks if the provider allows it, or ask for less: a longer poll_max, fewer workflows' AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow.networks n
JOIN rflow_private.own_workers s ON s.network = n.name AND s.state = 'running'
WHERE n.max_units_per_second IS NOT NULL
	AND s.limited_since < clock_timestamp() - interval '10 seconds'
GROUP BY n.name;
COMMENT ON VIEW rflow_private.limited_networks IS 'Networks whose workers have waited long for their limit of compute units';

CREATE VIEW rflow_private.disabled_networks WITH (security_barrier) AS
SELECT 'network'::text AS kind, n.name AS subject, n.name AS network, NULL::text AS workflow,
	min(t.created_at) AS since,
	format('it is disabled, and %s transactions are not final', count(*)) AS reason,
	format('UPDATE rflow.networks SET enabled = true WHERE name = %L', n.name) AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow.networks n
JOIN rflow_private.relayer_transactions t ON t.network = n.name
WHERE NOT n.enabled
	AND t.state IN ('queued', 'signed', 'broadcast', 'mined')
	AND rflow_private.may_see(t.owner)
GROUP BY n.name;
COMMENT ON VIEW rflow_private.disabled_networks IS 'Networks that are disabled while transactions are under way';

CREATE VIEW rflow_private.stuck_relayers WITH (security_barrier) AS
SELECT 'relayer'::text AS kind, r.name AS subject, r.network, NULL::text AS workflow,
	s.problem_since AS since, s.problem AS reason,
	CASE
		WHEN s.problem LIKE 'insufficient funds%' THEN format('Send funds to %s', s.address)
		WHEN s.problem LIKE '%rflow.adopt_account%' OR s.problem LIKE '%rflow.fill_gap%' THEN 'See the reason'
		WHEN s.problem LIKE 'the key is one that everybody knows%' THEN 'Let signer of rflow.relayers name a key of your own'
		WHEN s.problem LIKE 'the environment of the server has no %' THEN 'Put it into the environment of the server and restart it, or let signer of rflow.relayers name what is there'
		WHEN s.problem LIKE 'signing is held:%' THEN 'See rflow.reconciliations: it goes on by itself when this is over'
		WHEN s.address IS NULL THEN 'Make the key readable for the server: signer of rflow.relayers, rflow.key_directory, the environment of the server'
		ELSE format('It goes on by itself when this is over; rflow.retry_relayer(%L) has it look at once', r.name)
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow.relayers r
JOIN rflow_private.relayer_states s ON s.relayer = r.name
WHERE s.problem IS NOT NULL
	AND (rflow_private.may_see(NULL)
		OR EXISTS (SELECT
			FROM rflow.relayer_grants g
			WHERE g.relayer = r.name AND pg_has_role(g.grantee, 'USAGE')));
COMMENT ON VIEW rflow_private.stuck_relayers IS 'Relayers that sign nothing, or not everything';

CREATE VIEW rflow_private.pauses_in_force WITH (security_barrier) AS
SELECT 'pause'::text AS kind, concat_ws(' ', p.kind, p.name) AS subject,
	CASE WHEN p.kind = 'network' THEN p.name END AS network, CASE WHEN p.kind = 'workflow' THEN p.name END AS workflow,
	p.since, t.what AS reason, t.resume AS what_to_do, NULL::integer AS blocking_pid
FROM rflow.pauses p
JOIN rflow_private.paused_things t ON t.kind = p.kind AND t.name = coalesce(p.name, '');
COMMENT ON VIEW rflow_private.pauses_in_force IS 'What somebody has paused';

CREATE VIEW rflow_private.stuck_transactions WITH (security_barrier) AS
SELECT 'transaction'::text AS kind, t.id::text AS subject, t.network, r.workflow,
	t.state_since AS since,
	CASE t.state
		WHEN 'queued' THEN 'not signed: ' || coalesce(p.what, t.reason,
			CASE WHEN l.paused THEN format('relayer %s is paused', t.relayer) END,
			CASE WHEN l.name IS NULL THEN format('there is no relayer %s', t.relayer) END,
			s.problem, 'its turn has not come')
		WHEN 'signed' THEN 'no node has taken it: ' || coalesce(p.what, t.reason, a.answer,
			CASE WHEN l.paused THEN format('relayer %s is paused', t.relayer) END, 'it was not offered yet')
		WHEN 'broadcast' THEN concat_ws(': ', format('not in a block, after %s payloads', a.attempt), coalesce(t.reason, a.answer))
		ELSE concat_ws(': ', format('in block %s, not confirmed', t.block_number), t.reason)
	END AS reason,
	CASE
		WHEN t.intent = 'adopt' AND t.state <> 'mined' THEN format('It takes the nonce of the outside transaction when that is on the chain, and is not paid before; rflow.adopt_transaction(%s, NULL) takes the wish back', t.id)
		WHEN p.resume IS NOT NULL AND t.state IN ('queued', 'signed') THEN p.resume
		WHEN l.paused AND t.state IN ('queued', 'signed') THEN format('UPDATE rflow.relayers SET paused = false WHERE name = %L', t.relayer)
		WHEN t.reason LIKE 'held at %' THEN format('It waits for a lower price; rflow.bump_transaction(%s, max_fee_per_gas => …) raises its own cap, rflow.cancel_transaction(%1$s) gives it up', t.id)
		WHEN t.state = 'queued' AND t.replaces IS NOT NULL THEN format('rflow.cancel_transaction(%s) lets transaction %s go on as it was', t.id, t.replaces)
		WHEN t.state = 'queued' AND t.reason LIKE 'policy %' THEN format('It is signed when the policy (rflow.policies) allows it; rflow.cancel_transaction(%s) gives it up', t.id)
		WHEN t.state = 'queued' AND isfinite(t.due_at) AND t.due_at > clock_timestamp() THEN format('It is tried again at %s; rflow.retry_transaction(%s) tries it now, rflow.cancel_transaction(%2$s) gives it up', t.due_at, t.id)
		WHEN t.state = 'queued' THEN format('See rflow.relayer_status; rflow.cancel_transaction(%s) gives it up', t.id)
		WHEN t.state = 'mined' THEN 'It is confirmed when enough blocks have come after it'
		WHEN t.intent = 'replace' THEN format('See transaction %s, which is to replace it', t.replaced_by)
		ELSE format('It is offered again, at a higher price within the caps of the relayer; rflow.bump_transaction(%s) does that at once, rflow.cancel_transaction(%1$s) takes its nonce with a no-op', t.id)
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow_private.relayer_transactions t
LEFT JOIN rflow_private.workflow_runs r ON r.id = t.run_id
LEFT JOIN rflow.relayers l ON l.name = t.relayer
LEFT JOIN rflow_private.relayer_states s ON s.relayer = t.relayer
LEFT JOIN LATERAL (
	SELECT p.attempt, p.answer
	FROM rflow_private.relayer_attempts p
	WHERE p.chain_id = t.chain_id AND p.address = t.from_address AND p.nonce = t.nonce
	ORDER BY p.attempt DESC LIMIT 1) a ON true
LEFT JOIN LATERAL (
	SELECT n.what, n.resume
	FROM rflow_private.paused_things n
	WHERE n.kind = 'all'
		OR (n.kind = 'network' AND n.name = t.network)
		OR (n.kind = 'relayer' AND n.name = t.relayer)
		OR (n.kind = 'workflow' AND n.name = t.workflow AND t.state = 'queued')
	ORDER BY n.kind LIMIT 1) p ON true
WHERE t.state IN ('queued', 'signed', 'broadcast', 'mined')
	AND t.state_since < clock_timestamp() - CASE WHEN t.state IN ('queued', 'signed') THEN interval '10 seconds' ELSE interval '1 minute' END
	AND rflow_private.may_see(t.owner);
COMMENT ON VIEW rflow_private.stuck_transactions IS 'Transactions that stay in a state for longer than they should';

-- A run that is ready has a row in rflow_private.due; -infinity there means at once.
CREATE VIEW rflow_private.stuck_runs WITH (security_barrier) AS
SELECT 'run'::text AS kind, r.id::text AS subject, r.network, r.workflow,
	coalesce(s.started_at, d.finished_at, r.created_at) AS since,
	CASE
		WHEN r.state = 'waiting' THEN format('step %s waits for transaction %s, which is %s', s.step, s.transaction_id, t.state)
		WHEN s.error IS NOT NULL THEN format('step %s, try %s: %s', s.step, s.attempt, s.error->>'message')
		ELSE 'no executor has gone on with it'
	END AS reason,
	CASE
		WHEN r.state = 'waiting' THEN format('SELECT * FROM rflow.stuck WHERE kind = ''transaction'' AND subject = %L', s.transaction_id)
		WHEN s.error IS NOT NULL THEN 'It is tried again by itself'
		ELSE 'See rflow.workers: are executors running?'
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow_private.workflow_runs r
LEFT JOIN rflow_private.step_runs s ON s.run_id = r.id AND s.state = 'waiting'
LEFT JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
CROSS JOIN LATERAL (
	SELECT max(e.finished_at) AS finished_at
	FROM rflow_private.step_runs e
	WHERE e.run_id = r.id) d
WHERE r.state IN ('queued', 'ready', 'waiting')
	AND r.detached_at IS NULL AND (r.follows IS NULL OR r.state <> 'queued')
	AND CASE
		WHEN r.state = 'waiting' THEN s.started_at < clock_timestamp() - interval '5 minutes'
		WHEN s.error IS NOT NULL THEN true
		ELSE coalesce(d.finished_at, r.created_at) < clock_timestamp() - interval '10 seconds'
	END
	AND rflow_private.may_see(r.owner);
COMMENT ON VIEW rflow_private.stuck_runs IS 'Runs that wait for long, that nobody goes on with, or whose step is tried again';

-- Its event may be in the next block, so a minute is usual.
CREATE VIEW rflow_private.held_runs WITH (security_barrier) AS
SELECT 'run'::text AS kind, r.id::text AS subject, r.network, r.workflow,
	coalesce(r.detached_at, r.created_at) AS since,
	CASE
		WHEN r.detached_at IS NOT NULL
			THEN format('block %s was replaced, and its event is not in the new blocks: held until block %s has been read', r.block_number, r.detached_until)
		ELSE format('its event has come back after run %s was retracted, whose transactions are not final: %s', r.follows,
			(SELECT string_agg(format('%s is %s', t.id, t.state), ', ' ORDER BY t.id)
				FROM rflow_private.step_runs s
				JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
				WHERE s.run_id = r.follows AND t.state IN ('queued', 'signed', 'broadcast', 'mined')))
	END AS reason,
	CASE
		WHEN r.detached_at IS NULL THEN 'It begins when nothing of the run before it can be mined any more; see these transactions'
		WHEN w.name IS NULL THEN 'Nothing: the node is asked for the event then'
		WHEN NOT w.enabled THEN 'Nothing: its workflow is disabled, so the node is asked for the event then'
		ELSE 'Nothing: it goes on when its event is found, and is retracted otherwise. Where blocks do not come, see the network'
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow_private.workflow_runs r
LEFT JOIN rflow.workflows w ON w.name = r.workflow
WHERE (r.detached_at IS NOT NULL OR r.follows IS NOT NULL)
	AND (r.detached_at IS NOT NULL OR r.state = 'queued')
	AND coalesce(r.detached_at, r.created_at) < clock_timestamp() - interval '1 minute'
	AND rflow_private.may_see(r.owner);
COMMENT ON VIEW rflow_private.held_runs IS 'Runs that a reorganisation holds';

CREATE VIEW rflow_private.failed_runs WITH (security_barrier) AS
SELECT 'failed runs'::text AS kind, r.workflow AS subject, min(r.network) AS network, r.workflow,
	min(r.finished_at) AS since,
	format('%s runs have failed in a day with SQLSTATE %s, the last one: %s', count(*), r.error->>'sqlstate',
		(array_agg(r.error->>'message' ORDER BY r.finished_at DESC))[1]) AS reason,
	format('SELECT * FROM rflow.runs WHERE workflow = %L AND state = ''failed''; then SELECT rflow.mark_dealt_with(''failed runs'', %1$L)',
		r.workflow) AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow_private.workflow_runs r
WHERE r.state = 'failed'
	AND r.finished_at > clock_timestamp() - interval '1 day'
	AND NOT EXISTS (SELECT FROM rflow_private.dealt_with d WHERE d.kind = 'run' AND d.subject = r.id::text)
	AND rflow_private.may_see(r.owner)
GROUP BY r.workflow, r.error->>'sqlstate';
COMMENT ON VIEW rflow_private.failed_runs IS 'Runs that have failed in the last day, by workflow and SQLSTATE';

-- Where a run has waited for it, the run's failure says the same.
CREATE VIEW rflow_private.failed_transactions WITH (security_barrier) AS
SELECT 'failed transactions'::text AS kind, t.relayer AS subject, t.network, NULL::text AS workflow,
	min(t.state_since) AS since,
	format('%s have %s in a day%s, the last one, %s: %s', count(*), t.state, ' (' || (t.error->>'kind') || ')',
		max(t.id), (array_agg(t.reason ORDER BY t.id DESC))[1]) AS reason,
	format('SELECT * FROM rflow.transactions WHERE relayer = %L AND state = %L; then SELECT rflow.mark_dealt_with(''failed transactions'', %1$L)',
		t.relayer, t.state) AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow_private.relayer_transactions t
WHERE t.state IN ('failed', 'expired')
	AND (t.run_id IS NULL OR t.wait_for = 'none')
	AND t.state_since > clock_timestamp() - interval '1 day'
	AND NOT EXISTS (SELECT FROM rflow_private.dealt_with d WHERE d.kind = 'transaction' AND d.subject = t.id::text)
	AND rflow_private.may_see(t.owner)
GROUP BY t.relayer, t.network, t.state, t.error->>'kind';
COMMENT ON VIEW rflow_private.failed_transactions IS 'Transactions that have failed or expired in the last day while nobody waited for them';

CREATE VIEW rflow_private.open_incidents WITH (security_barrier) AS
SELECT i.kind, i.subject, i.network, i.workflow, i.since, i.reason,
	rtrim(i.what_to_do, '.') || format('. Then: SELECT rflow.resolve_incident(%s)', i.id) AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow_private.incidents i
LEFT JOIN rflow.workflows w ON w.name = i.workflow
WHERE i.resolved_at IS NULL AND rflow_private.may_see(w.owner)
	-- It is over by itself: rflow_private.low_relayers has the balance of now.
	AND i.kind <> 'low-balance';
COMMENT ON VIEW rflow_private.open_incidents IS 'Incidents that nobody has resolved';

-- Workers pass over rows that others have locked, so a lock shows in what does not happen, not in a wait. Reading
-- pg_stat_activity and pg_locks in full takes the rights of this function's owner.
CREATE FUNCTION rflow_private.lock_holders(IN longer_than interval, OUT pid integer, OUT gid text, OUT since timestamptz, OUT tables text)
	RETURNS SETOF record
	LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT l.pid, p.gid, coalesce(min(a.xact_start), min(p.prepared)),
		string_agg(DISTINCT l.relation::regclass::text, ', ')
	FROM pg_locks l
	JOIN pg_class c ON c.oid = l.relation
	JOIN pg_namespace n ON n.oid = c.relnamespace
	LEFT JOIN pg_stat_activity a ON a.pid = l.pid
	LEFT JOIN pg_locks x ON l.pid IS NULL AND x.pid IS NULL
		AND x.locktype = 'transactionid' AND x.virtualtransaction = l.virtualtransaction
	LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
	WHERE l.locktype = 'relation'
		AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
		AND n.nspname IN ('rflow', 'rflow_private')
		AND c.relkind = 'r'
		AND l.mode <> 'AccessShareLock'
		AND l.granted
		AND l.pid IS DISTINCT FROM pg_backend_pid()
		AND NOT EXISTS (SELECT FROM rflow_private.worker_slots() s WHERE s.pid = l.pid)
		AND coalesce(a.xact_start, p.prepared) < clock_timestamp() - longer_than
	GROUP BY l.pid, p.gid;
END;
COMMENT ON FUNCTION rflow_private.lock_holders(interval) IS 'Sessions and prepared transactions that have held locks on our tables for long; workers are none of them';

CREATE VIEW rflow_private.lock_holding_sessions WITH (security_barrier) AS
SELECT 'session'::text AS kind, coalesce('process ' || h.pid, 'prepared transaction ' || h.gid) AS subject,
	NULL::text AS network, NULL::text AS workflow, h.since,
	format('its transaction has locks on %s: workers pass over the rows that it has locked', h.tables) AS reason,
	CASE
		WHEN h.pid IS NULL THEN format('COMMIT PREPARED %L or ROLLBACK PREPARED %1$L', h.gid)
		ELSE format('Let it end, or SELECT pg_terminate_backend(%s)', h.pid)
	END AS what_to_do,
	h.pid AS blocking_pid
FROM rflow_private.lock_holders('10 seconds') h
WHERE rflow_private.may_see(NULL);
COMMENT ON VIEW rflow_private.lock_holding_sessions IS 'Who has held locks on our tables for long';

CREATE VIEW rflow_private.blocked_workers WITH (security_barrier) AS
SELECT 'worker'::text AS kind, concat_ws(' ', s.kind, s.network) AS subject, s.network, NULL::text AS workflow,
	NULL::timestamptz AS since, format('waits for a lock of process %s', b.pid) AS reason,
	format('Let it end, or SELECT pg_terminate_backend(%s)', b.pid) AS what_to_do,
	b.pid AS blocking_pid
FROM rflow_private.own_workers s
CROSS JOIN LATERAL unnest(pg_blocking_pids(s.pid)) AS b(pid)
WHERE rflow_private.may_see(NULL);
COMMENT ON VIEW rflow_private.blocked_workers IS 'Workers that wait for a lock at this moment';

CREATE VIEW rflow.stuck WITH (security_barrier) AS
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_database
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_unmatched
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_workers
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.blocked_workers
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.lock_holding_sessions
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_networks
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.disabled_networks
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.limited_networks
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_relayers
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.low_relayers
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_top_ups
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.pauses_in_force
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_transactions
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.stuck_runs
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.held_runs
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.failed_runs
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.failed_transactions
UNION ALL
SELECT kind, subject, network, workflow, since, reason, what_to_do, blocking_pid FROM rflow_private.open_incidents;
COMMENT ON VIEW rflow.stuck IS 'What waits, since when, why, and what to do. Empty when all goes well';
COMMENT ON COLUMN rflow.stuck.kind IS 'database, worker, session, network, relayer, top-up, pause, transaction, run, failed runs, failed transactions, or the kind of an incident';
COMMENT ON COLUMN rflow.stuck.subject IS 'Its name or id';
COMMENT ON COLUMN rflow.stuck.network IS 'The network, if it is of one';
COMMENT ON COLUMN rflow.stuck.workflow IS 'The workflow, if it is of one';
COMMENT ON COLUMN rflow.stuck.since IS 'Since when; NULL where that is not known';
COMMENT ON COLUMN rflow.stuck.reason IS 'Why';
COMMENT ON COLUMN rflow.stuck.what_to_do IS 'What to do about it';
COMMENT ON COLUMN rflow.stuck.blocking_pid IS 'The process whose lock is in the way, if that is why';
