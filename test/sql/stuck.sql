-- rflow.stuck: what waits, since when, why, and what to do; to whom it shows.
-- Everything is rolled back: other tests find the database as it was.

CREATE ROLE regress_stuck_owner;
CREATE ROLE regress_stuck_other;
CREATE ROLE regress_stuck_viewer IN ROLE rflow_viewer;

-- A database that is not armed does nothing; that is for all to see.
SET ROLE regress_stuck_other;
SELECT kind, reason, what_to_do FROM rflow.stuck;
RESET ROLE;

BEGIN;
SELECT rflow.arm();
SELECT kind, reason FROM rflow.stuck WHERE kind = 'database';
UPDATE rflow_private.identity SET timeline = timeline + 1;
SELECT kind, reason, what_to_do FROM rflow.stuck WHERE kind = 'database';
UPDATE rflow_private.identity SET system_identifier = 1;
SELECT kind, reason, what_to_do FROM rflow.stuck WHERE kind = 'database';
ROLLBACK;

BEGIN;
SET LOCAL TimeZone = 'UTC';
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES
	('stuck', 31337, '{http://127.0.0.1:1}', true), ('off', 31338, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.relayers (name, network, signer) VALUES
	('hot', 'stuck', 'env:RFLOW_NOTHING'), ('poor', 'stuck', 'env:RFLOW_NOTHING'), ('keyless', 'stuck', 'env:RFLOW_NOTHING');
INSERT INTO rflow.relayers (name, network, signer, paused) VALUES ('paused', 'stuck', 'env:RFLOW_NOTHING', true);
INSERT INTO rflow.relayer_grants VALUES ('poor', 'regress_stuck_owner');
INSERT INTO rflow_private.relayer_states (relayer, address, problem, problem_since) VALUES
	('hot', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', NULL, NULL),
	('poor', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 'insufficient funds: the account has 0 wei', '2026-01-01'),
	('keyless', NULL, 'RFLOW_NOTHING is not in the environment of the server', '2026-01-02');
INSERT INTO rflow.workflows (name, trigger, steps, owner, search_path, version)
VALUES ('mine', rflow.on_start(), rflow.steps(rflow.stop('s')), 'regress_stuck_owner', 'pg_temp', 1);

INSERT INTO rflow_private.relayer_transactions (id, relayer, network, chain_id, owner, idempotency_key, data, state, reason, state_since,
	from_address, nonce, block_number, created_at) VALUES
	(1, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k1', '0x', 'queued', 'fee cap', now() - interval '1 hour', NULL, NULL, NULL, now()),
	(2, 'paused', 'stuck', 31337, 'regress_stuck_owner', 'k2', '0x', 'queued', NULL, now() - interval '1 hour', NULL, NULL, NULL, now()),
	(3, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k3', '0x', 'signed', NULL, now() - interval '1 hour', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 1, NULL, now()),
	(4, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k4', '0x', 'broadcast', NULL, now() - interval '1 hour', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 2, NULL, now()),
	(5, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k5', '0x', 'mined', '2 blocks are missing', now() - interval '1 hour', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 3, 9, now()),
	(6, 'poor', 'stuck', 31337, 'regress_stuck_owner', 'k6', '0x', 'queued', NULL, now() - interval '1 hour', NULL, NULL, NULL, now()),
	(7, 'gone', 'stuck', 31337, 'regress_stuck_owner', 'k7', '0x', 'queued', NULL, now() - interval '1 hour', NULL, NULL, NULL, now()),
	-- These are not stuck: fresh, or final.
	(11, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k11', '0x', 'queued', NULL, now(), NULL, NULL, NULL, now()),
	(12, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k12', '0x', 'broadcast', NULL, now() - interval '15 seconds', NULL, NULL, NULL, now()),
	(13, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k13', '0x', 'confirmed', NULL, now() - interval '1 hour', NULL, NULL, NULL, now()),
	(14, 'hot', 'stuck', 31337, 'regress_stuck_owner', 'k14', '0x', 'failed', NULL, now() - interval '1 hour', NULL, NULL, NULL, now()),
	(15, 'hot', 'off', 31338, 'regress_stuck_owner', 'k15', '0x', 'queued', NULL, now(), NULL, NULL, NULL, now());
INSERT INTO rflow_private.relayer_attempts (chain_id, address, nonce, attempt, transaction_id, kind, transaction_hash, raw, gas_limit, signed_at, answer) VALUES
	(31337, '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 1, 1, 3, 'send', '0x01', '0x', 21000, now(), 'the pool is full'),
	(31337, '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 2, 1, 4, 'send', '0x02', '0x', 21000, now(), NULL),
	(31337, '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 2, 2, 4, 'send', '0x03', '0x', 21000, now(), 'underpriced');

INSERT INTO rflow_private.workflow_runs (id, workflow, version, owner, state, created_at, finished_at, error) VALUES
	('00000000-0000-0000-0000-00000000000a', 'mine', 1, 'regress_stuck_owner', 'waiting', now() - interval '1 hour', NULL, NULL),
	('00000000-0000-0000-0000-00000000000b', 'mine', 1, 'regress_stuck_owner', 'ready', now() - interval '1 hour', NULL, NULL),
	('00000000-0000-0000-0000-00000000000c', 'mine', 1, 'regress_stuck_owner', 'ready', now(), NULL, NULL),
	('00000000-0000-0000-0000-000000000001', 'mine', 1, 'regress_stuck_owner', 'failed', now(), now() - interval '2 hours', '{"sqlstate": "22012", "message": "older"}'),
	('00000000-0000-0000-0000-000000000002', 'mine', 1, 'regress_stuck_owner', 'failed', now(), now() - interval '1 hour', '{"sqlstate": "22012", "message": "newer"}'),
	-- These are not: fresh, waiting for a short time, or failed long ago.
	('00000000-0000-0000-0000-000000000003', 'mine', 1, 'regress_stuck_owner', 'ready', now(), NULL, NULL),
	('00000000-0000-0000-0000-000000000004', 'mine', 1, 'regress_stuck_owner', 'waiting', now(), NULL, NULL),
	('00000000-0000-0000-0000-000000000005', 'mine', 1, 'regress_stuck_owner', 'failed', now(), now() - interval '2 days', '{"sqlstate": "22003"}');
INSERT INTO rflow_private.step_runs (run_id, step, position, kind, state, attempt, error, transaction_id, started_at) VALUES
	('00000000-0000-0000-0000-00000000000a', 's', 0, 'send_transaction', 'waiting', 1, NULL, 4, now() - interval '1 hour'),
	('00000000-0000-0000-0000-00000000000c', 's', 0, 'read', 'waiting', 3, '{"sqlstate": "08006", "message": "no answer in time"}', NULL, now()),
	('00000000-0000-0000-0000-000000000004', 's', 0, 'send_transaction', 'waiting', 1, NULL, 4, now());
INSERT INTO rflow_private.incidents (id, kind, network, workflow, subject, reason, what_to_do, since, resolved_at) VALUES
	(101, 'foreign-nonce', 'stuck', NULL, 'nonce 4', 'somebody else has used it', 'Find out who', '2026-01-03', NULL),
	(102, 'poison', NULL, 'mine', 'mine: the filter', 'it fails', 'Mend it', '2026-01-04', NULL),
	(103, 'skipped', NULL, 'mine', 'blocks 1 to 2', 'on purpose', 'nothing', '2026-01-04', '2026-01-04');

SET LOCAL ROLE regress_stuck_viewer;
SELECT kind, subject, network, workflow, reason, what_to_do, blocking_pid,
	CASE WHEN since > now() - interval '1 day' THEN date_trunc('minutes', now() - since)::text ELSE since::text END AS since
FROM rflow.stuck
WHERE kind NOT IN ('database', 'worker')
ORDER BY kind COLLATE "C", subject COLLATE "C", reason COLLATE "C" \gx

-- The owner sees what is its own, and the relayers that it may use; not the incidents of the network.
SET LOCAL ROLE regress_stuck_owner;
SELECT kind, count(*) FROM rflow.stuck GROUP BY kind ORDER BY kind COLLATE "C";
SELECT subject FROM rflow.stuck WHERE kind = 'relayer';
SELECT id, kind, resolved_at FROM rflow.incidents ORDER BY id;
SET LOCAL ROLE regress_stuck_other;
SELECT kind, count(*) FROM rflow.stuck GROUP BY kind;
SELECT count(*) FROM rflow.incidents;

-- An incident goes when somebody has dealt with it.
RESET ROLE;
GRANT rflow_operator TO regress_stuck_other;
SET LOCAL ROLE regress_stuck_other;
SELECT rflow.resolve_incident(101), rflow.resolve_incident(103), rflow.resolve_incident(999);
SELECT rflow.resolve_incident(101);
SELECT count(*) FROM rflow.stuck WHERE kind = 'foreign-nonce';
SELECT resolved_at IS NOT NULL AS resolved FROM rflow.incidents WHERE id = 101;
ROLLBACK;

-- Who has held locks on our tables for long is named: here, a transaction that was prepared and forgotten.
BEGIN;
SELECT count(*) FROM rflow.workflows;
LOCK TABLE rflow_private.due, rflow_private.workflow_runs IN ROW EXCLUSIVE MODE;
PREPARE TRANSACTION 'regress_stuck';
SELECT pid, gid, tables, since < clock_timestamp() AS since FROM rflow_private.lock_holders('0');
SELECT count(*) FROM rflow_private.lock_holders('1 hour');
ROLLBACK PREPARED 'regress_stuck';
SELECT count(*) FROM rflow_private.lock_holders('0');

DROP ROLE regress_stuck_owner, regress_stuck_other, regress_stuck_viewer;
