-- What a reorganisation does to runs and their sends: held, attached again, retracted, come back. Everything is rolled back.
BEGIN;
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES ('reorg', 31337, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.relayers (name, network, signer) VALUES ('reorg-hot', 'reorg', 'env:RFLOW_NOTHING');
INSERT INTO rflow.workflow_versions (workflow, version, definition, owner, search_path)
SELECT w.name, 1, jsonb_build_object('trigger', jsonb_build_object('kind', 'event', 'on_reorg', w.on_reorg)), current_user::regrole, 'pg_temp'
FROM (VALUES ('pay', 'cancel'), ('keep', 'ignore'), ('old', NULL)) AS w (name, on_reorg);
INSERT INTO rflow_private.blocks (network, number, hash, parent_hash, block_timestamp, seen_at)
SELECT 'reorg', n, rflow.keccak256('a' || n), rflow.keccak256('a' || n - 1), '2026-01-01', '2026-01-01' FROM generate_series(90, 105) n;

-- A run in a block, with a send in a state.
CREATE FUNCTION pg_temp.make(number integer, workflow text, run_state text, send_state text, block integer) RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO rflow_private.workflow_runs (id, workflow, version, owner, state, network, block_number, block_hash, block_timestamp,
		transaction_hash, transaction_index, log_index, address, event, created_at)
	VALUES (lpad(number::text, 32, '0')::uuid, workflow, 1, current_user::regrole, run_state, 'reorg', block, rflow.keccak256('a' || block), '2026-01-01',
		rflow.keccak256('t' || number), 0, number, '0x5fbdb2315678afecb367f032d93f642f64180aa3', jsonb_build_object('value', number), '2026-01-01');
	INSERT INTO rflow_private.occurrences (key, network, block_number)
	VALUES (('0x' || rpad(lpad(number::text, 32, '0'), 64, '0'))::rflow.hex, 'reorg', block);
	INSERT INTO rflow_private.relayer_transactions (id, relayer, network, chain_id, owner, idempotency_key, run_id, step, data, wait_for, state,
		state_since, due_at, nonce, created_at)
	SELECT number, 'reorg-hot', 'reorg', 31337, current_user::regrole, 'k' || number, lpad(number::text, 32, '0')::uuid, 'send', '0x', 'confirmed',
		send_state, '2026-01-01', CASE WHEN send_state = 'queued' THEN '-infinity'::timestamptz END, CASE WHEN send_state <> 'queued' THEN number END, '2026-01-01'
	WHERE send_state IS NOT NULL;
	INSERT INTO rflow_private.due (kind, owner, wake_at, id)
	SELECT 'send', 'reorg-hot', '-infinity', lpad(number::text, 19, '0') WHERE send_state = 'queued';
	INSERT INTO rflow_private.step_runs (run_id, step, position, kind, state, transaction_id, started_at)
	SELECT lpad(number::text, 32, '0')::uuid, 'send', 0, 'send_transaction', CASE WHEN run_state = 'waiting' THEN 'waiting' ELSE 'succeeded' END, number, '2026-01-01'
	WHERE send_state IS NOT NULL;
$$;
CREATE VIEW pg_temp.runs AS
SELECT ltrim(replace(coalesce(r.origin, r.id)::text, '-', ''), '0') AS run, r.incarnation AS no, r.workflow, r.state, r.block_number AS block,
	r.detached_at IS NOT NULL AS detached, r.detached_until AS until, r.retracted_at IS NOT NULL AS retracted, r.revision AS rev,
	t.state AS send, t.intent, t.due_at AS due, r.error->>'message' AS error, r.after
FROM rflow_private.workflow_runs r
LEFT JOIN rflow_private.relayer_transactions t ON t.run_id = r.id
ORDER BY 1, 2;
CREATE VIEW pg_temp.due AS SELECT kind, owner, wake_at > '2026-01-01' AS held_or_now, wake_at = 'infinity' AS held, ltrim(id, '0-') AS id FROM rflow_private.due ORDER BY kind, id;

SELECT count(pg_temp.make(number, workflow, run_state, send_state, block)) AS runs FROM (VALUES
	(1, 'pay', 'waiting', 'queued', 101),
	(2, 'pay', 'waiting', 'signed', 102),
	(3, 'pay', 'waiting', 'broadcast', 103),
	(4, 'pay', 'succeeded', 'confirmed', 101),
	(5, 'keep', 'waiting', 'queued', 101),
	(6, 'old', 'ready', NULL, 104),
	(7, 'pay', 'waiting', 'queued', 100),
	(8, 'pay', 'succeeded', NULL, 105)) AS v (number, workflow, run_state, send_state, block);

-- Blocks above 100 go. What asks to be left alone is, and what is in block 100.
SELECT rflow_private.detach_runs('reorg', 100, 105, 106, rflow.keccak256('b106'));
SELECT run, workflow, state, detached, until, rev, send, due FROM pg_temp.runs;
SELECT * FROM pg_temp.due;
SELECT network, depth, fork, from_number, from_hash = rflow.keccak256('a105') AS from_hash, to_number, detached, reattached, retracted, held FROM rflow.reorgs;

-- A second one while they are held: their grace is longer then.
SELECT rflow_private.detach_runs('reorg', 105, 106, 107, rflow.keccak256('c107'));
SELECT DISTINCT until FROM pg_temp.runs WHERE detached;
SELECT rflow_private.detach_runs('reorg', 106, 120, 121, rflow.keccak256('c107'));
SELECT DISTINCT until FROM pg_temp.runs WHERE detached;

-- Found again: block and place change, it goes on, its send may be signed.
SELECT rflow_private.reattach_run('00000000-0000-0000-0000-000000000001', 102, rflow.keccak256('b102'), '2026-01-02', 3, 4);
SELECT rflow_private.reattach_run('00000000-0000-0000-0000-000000000001', 103, rflow.keccak256('b103'), '2026-01-02', 3, 4) AS twice;
SELECT state, block_number, transaction_index, log_index, detached_at IS NOT NULL AS detached, reorg_id IS NOT NULL AS reorg
FROM rflow_private.workflow_runs WHERE log_index = 4 ORDER BY block_number;
SELECT * FROM pg_temp.due;

-- Nowhere: by what its send is, and what is to be mined in its place.
SELECT pg_temp.make(9, 'pay', 'waiting', 'broadcast', 130), pg_temp.make(10, 'pay', 'waiting', 'broadcast', 130);
INSERT INTO rflow_private.relayer_transactions (id, relayer, network, chain_id, owner, idempotency_key, run_id, step, data, state, state_since,
	nonce, created_at, replaces)
SELECT t.id + 10, t.relayer, t.network, t.chain_id, t.owner, 'replace:' || t.id, t.run_id, t.step, t.data,
	CASE t.id WHEN 9 THEN 'queued' ELSE 'broadcast' END, t.state_since, CASE t.id WHEN 10 THEN 10 END, t.created_at, t.id
FROM rflow_private.relayer_transactions t WHERE t.id IN (9, 10);
UPDATE rflow_private.relayer_transactions SET intent = 'replace', replaced_by = id + 10 WHERE id IN (9, 10);
UPDATE rflow_private.workflow_runs SET detached_at = '2026-01-01' WHERE log_index IN (9, 10);
SELECT run, rflow_private.retract_run(lpad(run, 32, '0')::uuid, 'gone')
FROM (SELECT DISTINCT run FROM pg_temp.runs WHERE detached AND run IN ('2', '3', '4', '6', '8', '9', '10')) r ORDER BY run;
SELECT id, state, intent, replaces, replaced_by FROM rflow_private.relayer_transactions WHERE id IN (9, 10, 19, 20) ORDER BY id;
-- A replacement that was mined is an effect of the run: it does not begin anew.
UPDATE rflow_private.relayer_transactions SET state = CASE id WHEN 10 THEN 'replaced' ELSE 'confirmed' END WHERE id IN (10, 20);
SELECT run, state, retracted, send, intent, error, after FROM pg_temp.runs WHERE retracted;
SELECT kind, subject, reason FROM rflow.incidents WHERE kind = 'retracted' ORDER BY subject;
SELECT reattached, retracted, held FROM rflow.reorgs ORDER BY at LIMIT 1;

-- Back: what the retraction had left alone stands …
CREATE FUNCTION pg_temp.back(number integer, value integer DEFAULT NULL) RETURNS boolean LANGUAGE sql AS $$
	SELECT rflow_private.return_run(lpad(number::text, 32, '0')::uuid, 1, 130, rflow.keccak256('d130'), '2026-01-03', rflow.keccak256('t' || number), 0, number,
		'0x5fbdb2315678afecb367f032d93f642f64180aa3', jsonb_build_object('value', coalesce(value, number)), '2026-01-03')
$$;
SELECT pg_temp.back(4), pg_temp.back(8);
SELECT pg_temp.back(10);
SELECT run, no, state, block, retracted, send FROM pg_temp.runs WHERE run IN ('9', '10');
-- … what was ended without a send begins once more, what may still be mined waits.
SELECT pg_temp.back(6), pg_temp.back(2), pg_temp.back(3);
SELECT run, no, state, block, retracted, send, after FROM pg_temp.runs WHERE run IN ('2', '3', '4', '6', '8');
SELECT subject, resolved_at IS NOT NULL AS resolved FROM rflow.incidents WHERE kind = 'retracted' ORDER BY subject;
SELECT rflow_private.settle_reorgs('reorg');
-- A no-op has taken the nonce of one, the other one's payload was first.
UPDATE rflow_private.relayer_transactions SET state = 'cancelled' WHERE id = 2;
UPDATE rflow_private.relayer_transactions SET state = 'confirmed' WHERE id = 3;
SELECT rflow_private.settle_reorgs('reorg');
SELECT run, no, state, block, retracted, send, error FROM pg_temp.runs WHERE run IN ('2', '3');
SELECT state, error FROM rflow_private.step_runs WHERE transaction_id = 3;
SELECT count(DISTINCT id), count(*) FROM rflow_private.due WHERE kind = 'run';

-- once_per: another event comes in the place of a detached one, and then in that of a retracted one whose send stands.
SELECT rflow_private.detach_runs('reorg', 99, 130, 131, rflow.keccak256('e131'));
SELECT run, detached FROM pg_temp.runs WHERE run = '7';
SELECT pg_temp.back(7, 70);
SELECT run, no, state, detached, retracted, send, error FROM pg_temp.runs WHERE run = '7';
SELECT rflow_private.retract_run('00000000-0000-0000-0000-000000000004', 'gone once more');
UPDATE rflow_private.workflow_runs SET undone = true WHERE log_index = 4 AND block_number = 130 AND incarnation = 1;
SELECT pg_temp.back(4, 40);
SELECT run, no, state, retracted, send, error FROM pg_temp.runs WHERE run = '4';
ROLLBACK;
