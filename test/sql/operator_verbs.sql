-- The operators' verbs, where no relayer process is needed: who may use them on what, what they return, and the journal
-- that says who has done what and why, in the transaction of the verb.
CREATE ROLE verbs_alice;
CREATE ROLE verbs_bob;
CREATE ROLE verbs_operator IN ROLE rflow_operator;
CREATE ROLE verbs_viewer IN ROLE rflow_viewer;

INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('verbs-net', 31337, '{http://127.0.0.1:1}');
INSERT INTO rflow.relayers (name, network, signer) VALUES ('verbs-hot', 'verbs-net', 'env:RFLOW_VERBS');
INSERT INTO rflow.relayer_grants VALUES ('verbs-hot', 'verbs_alice');
INSERT INTO rflow_private.relayer_states (relayer, address, chain_nonce, pending_nonce)
	VALUES ('verbs-hot', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 3, 100);

CREATE FUNCTION pg_temp.send(key text, value numeric) RETURNS bigint LANGUAGE sql AS $$
SELECT rflow.submit_transaction('verbs-hot', recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => value,
	data => '0x', idempotency_key => key)
$$;
-- Ids differ from run to run: transactions are named by their keys.
CREATE FUNCTION pg_temp.id(key text) RETURNS bigint LANGUAGE sql AS $$
SELECT id FROM rflow.transactions WHERE idempotency_key = key
$$;
CREATE FUNCTION pg_temp.named(subject text) RETURNS text LANGUAGE sql AS $$
SELECT coalesce((SELECT 'transaction ' || idempotency_key FROM rflow.transactions WHERE subject = 'transaction ' || id), subject)
$$;
\set journal 'SELECT who = session_user AS logged_in, acting_as, verb, pg_temp.named(subject) AS subject, reason, outcome FROM rflow.operator_log'

SET ROLE verbs_alice;
SELECT count(pg_temp.send('send ' || n, n)) FROM generate_series(1, 9) n;
SELECT rflow.cancel_transaction(pg_temp.id('send 1'));
SELECT rflow.cancel_transaction(pg_temp.id('send 2'), 'not wanted any more');
SELECT rflow.cancel_transaction(pg_temp.id('send 2'), reason => 'once more');
SELECT rflow.expire_transaction(pg_temp.id('send 3'), 'too late');
SELECT rflow.cancel_transaction(NULL) IS NULL AS nothing, rflow.expire_transaction(NULL, 'why') IS NULL AS nothing_too;
SELECT idempotency_key, state, reason FROM rflow.transactions WHERE state <> 'queued' ORDER BY id;
-- A verb that is rolled back has left nothing.
BEGIN;
SELECT rflow.expire_transaction(pg_temp.id('send 4'), 'a mistake');
ROLLBACK;
:journal;
-- What is signed needs a no-op first; what was wanted first stays wanted.
RESET ROLE;
SELECT rflow_private.relay_sign('verbs-hot', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 4);
SET ROLE verbs_alice;
SELECT rflow.expire_transaction(pg_temp.id('send 4')), rflow.cancel_transaction(pg_temp.id('send 4'));
SELECT rflow.cancel_transaction(pg_temp.id('send 5')), rflow.expire_transaction(pg_temp.id('send 5'));
SELECT idempotency_key, state, intent, reason FROM rflow.transactions WHERE intent <> 'send' ORDER BY id;

-- Others have no verbs here, and see nothing of them; operators have all, viewers see all.
RESET ROLE;
SELECT pg_temp.id('send 6') AS six \gset
\set VERBOSITY sqlstate
SET ROLE verbs_bob;
SELECT rflow.cancel_transaction(:six);
SELECT rflow.expire_transaction(:six);
SELECT rflow.adopt_account('verbs-hot', reason => 'mine now');
SELECT rflow.resolve_incident(1, 'done');
SELECT count(*) FROM rflow.operator_log;
SET ROLE verbs_viewer;
SELECT rflow.cancel_transaction(:six);
\set VERBOSITY default
SELECT count(*) > 0 AS sees_all FROM rflow.operator_log;
SET ROLE verbs_operator;
SELECT rflow.cancel_transaction(:six, 'asked for by alice');
SELECT rflow.adopt_account('verbs-hot', 101, 'a slip of the finger');
SELECT rflow.adopt_account('verbs-hot', 100, 'the old service is gone');
:journal WHERE acting_as = current_user;
-- The owner sees what others have done to what is hers, but not what concerns the account.
SET ROLE verbs_alice;
:journal WHERE acting_as <> current_user;
\set VERBOSITY sqlstate
DELETE FROM rflow.operator_log;
INSERT INTO rflow.operator_log (verb) VALUES ('forged');
\set VERBOSITY default

-- Replacing: what is not signed is changed, what is signed gets a competitor; the payload must be the caller's to send.
RESET ROLE;
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('verbs-token', 'verbs-net', '0x5fbdb2315678afecb367f032d93f642f64180aa3',
	rflow.abi('function transfer(address to, uint256 value) returns (bool)', 'function deposit() payable'));
SET ROLE verbs_alice;
SELECT pg_temp.send('replace 1', 21) > 0 AS queued;
SELECT rflow.replace_transaction(pg_temp.id('replace 1'), 'verbs-token', 'transfer',
	'["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", 5]', max_fee_per_gas => 7e9, reason => 'a token') = pg_temp.id('replace 1') AS itself;
SELECT recipient, value, data FROM rflow.transactions WHERE idempotency_key = 'replace 1';
SELECT rflow.replace_transaction(pg_temp.id('replace 1'), recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 22, data => '0x') = pg_temp.id('replace 1') AS itself;
-- The key stands for every payload that it had, and for no other.
SELECT pg_temp.send('replace 1', 21) = pg_temp.id('replace 1') AS first, pg_temp.send('replace 1', 22) = pg_temp.id('replace 1') AS last;
\set VERBOSITY sqlstate
SELECT pg_temp.send('replace 1', 23);
\set VERBOSITY default
SELECT jsonb_pretty(detail) FROM rflow.operator_log WHERE verb = 'replace_transaction' AND reason = 'a token';
\set VERBOSITY terse
SELECT rflow.replace_transaction(pg_temp.id('replace 1'), 'verbs-token', 'transfer', '["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", 5]', value => 1);
SELECT rflow.replace_transaction(pg_temp.id('replace 1'), 'verbs-token', 'mint', '[]');
SELECT rflow.replace_transaction(pg_temp.id('replace 1'), recipient => NULL, value => 1, data => '0x');
SELECT rflow.replace_transaction(pg_temp.id('replace 1'), recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => -1, data => '0x');
SELECT rflow.bump_transaction(pg_temp.id('replace 1'), 0.5);
-- An operator has no grant: to give up is not to spend.
SET ROLE verbs_operator;
SELECT rflow.replace_transaction(pg_temp.id('replace 1'), recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 99, data => '0x');
SELECT rflow.bump_transaction(pg_temp.id('replace 1'), 8e9, 'urgent');
SELECT rflow.retry_transaction(pg_temp.id('replace 1'), 'look again') AS waits_for_no_time, rflow.retry_transaction(NULL) IS NULL AS nothing;
RESET ROLE;
UPDATE rflow_private.due SET wake_at = '2100-01-01' WHERE id::bigint = pg_temp.id('replace 1');
UPDATE rflow_private.relayer_transactions SET due_at = '2100-01-01', reason = 'held at the cap' WHERE idempotency_key = 'replace 1';
SET ROLE verbs_operator;
SELECT rflow.retry_transaction(pg_temp.id('replace 1'), 'look again');
RESET ROLE;
SELECT d.wake_at, t.due_at, t.reason FROM rflow_private.due d JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint WHERE t.idempotency_key = 'replace 1';
UPDATE rflow_private.due SET wake_at = '2100-01-01' WHERE id::bigint = pg_temp.id('replace 1');
UPDATE rflow_private.relayer_transactions SET due_at = '2100-01-01', reason = 'held at the cap' WHERE idempotency_key = 'replace 1';
SET ROLE verbs_operator;
SELECT rflow.retry_relayer('verbs-hot', 'the node is back'), rflow.retry_relayer('verbs-hot');
SELECT rflow.retry_relayer('verbs-cold');
UPDATE rflow.relayers SET paused = true WHERE name = 'verbs-hot';
SELECT rflow.retry_relayer('verbs-hot');
UPDATE rflow.relayers SET paused = false WHERE name = 'verbs-hot';
SET ROLE verbs_bob;
SELECT rflow.retry_relayer('verbs-hot');
SELECT rflow.retry_transaction(1);
\set VERBOSITY sqlstate
SELECT rflow.bump_transaction(:six);
SELECT rflow.replace_transaction(:six, recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 99, data => '0x');
\set VERBOSITY terse
RESET ROLE;
SELECT d.wake_at, t.due_at, t.reason FROM rflow_private.due d JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint WHERE t.idempotency_key = 'replace 1';
\set VERBOSITY default

-- Failures, and who has dealt with them.
RESET ROLE;
UPDATE rflow_private.relayer_transactions SET state = 'failed', reason = 'reverted', error = '{"kind": "reverted"}', state_since = now()
	WHERE idempotency_key IN ('send 7', 'send 8', 'send 9');
INSERT INTO rflow_private.workflow_runs (id, workflow, version, owner, state, created_at, finished_at, error) VALUES
	('00000000-0000-0000-0000-0000000000a1', 'verbs-flow', 1, 'verbs_alice', 'failed', now(), now(), '{"sqlstate": "22012", "message": "one"}'),
	('00000000-0000-0000-0000-0000000000a2', 'verbs-flow', 1, 'verbs_alice', 'failed', now(), now(), '{"sqlstate": "22012", "message": "two"}'),
	('00000000-0000-0000-0000-0000000000a3', 'verbs-flow', 1, 'verbs_operator', 'failed', now(), now(), '{"sqlstate": "22012", "message": "three"}');
INSERT INTO rflow_private.incidents (kind, network, subject, reason, what_to_do) VALUES ('verbs-incident', 'verbs-net', 'it', 'broke', 'Mend it.');
SET ROLE verbs_alice;
SELECT kind, subject, regexp_replace(reason, ', \d+:', ', N:') AS reason, what_to_do FROM rflow.stuck WHERE kind LIKE 'failed %' ORDER BY kind, reason;
SELECT rflow.mark_dealt_with('transaction', pg_temp.id('send 7')::text, 'paid by hand');
SELECT rflow.mark_dealt_with('transaction', pg_temp.id('send 7')::text, 'paid by hand');
SELECT rflow.mark_dealt_with('run', '00000000-0000-0000-0000-0000000000a1', 'done by hand'),
	rflow.mark_dealt_with('run', '00000000-0000-0000-0000-0000000000a3', 'not mine');
SELECT kind, subject, regexp_replace(reason, ', \d+:', ', N:') AS reason FROM rflow.stuck WHERE kind LIKE 'failed %' ORDER BY kind, reason;
SELECT rflow.mark_dealt_with('failed transactions', 'verbs-hot'), rflow.mark_dealt_with('failed runs', 'verbs-flow'),
	rflow.mark_dealt_with('verbs-incident', 'it');
SELECT count(*) FROM rflow.stuck WHERE kind LIKE 'failed %';
-- Not of what is under way, not of what does not exist; an odd id is none.
SELECT rflow.mark_dealt_with('transaction', pg_temp.id('send 4')::text), rflow.mark_dealt_with('transaction', '0'),
	rflow.mark_dealt_with('transaction', '1; DROP'), rflow.mark_dealt_with('run', 'x'), rflow.mark_dealt_with('nothing', 'x');
SET ROLE verbs_operator;
SELECT kind, subject, reason FROM rflow.stuck WHERE kind LIKE 'failed %' OR kind = 'verbs-incident' ORDER BY kind;
SELECT rflow.mark_dealt_with('failed runs', 'verbs-flow', 'restarted'), rflow.mark_dealt_with('verbs-incident', 'it', 'mended');
SELECT count(*) FROM rflow.stuck WHERE kind LIKE 'failed %' OR kind = 'verbs-incident';
SELECT rflow.mark_dealt_with(NULL, 'x');
:journal WHERE verb = 'mark_dealt_with' AND reason IS NOT NULL;
-- What fails afterwards shows again.
RESET ROLE;
UPDATE rflow_private.workflow_runs SET id = '00000000-0000-0000-0000-0000000000a4' WHERE id = '00000000-0000-0000-0000-0000000000a3';
SET ROLE verbs_operator;
SELECT kind, subject, reason FROM rflow.stuck WHERE kind LIKE 'failed %';

-- Adopting: a wish holds a send until it is carried out or taken back; one wish for a send, one send for a hash.
SET ROLE verbs_alice;
SELECT pg_temp.send('adopt 8', 31) > 0 AND pg_temp.send('adopt 9', 32) > 0 AS queued;
SELECT pg_temp.id('adopt 8') AS eight, pg_temp.id('adopt 9') AS nine, pg_temp.id('send 2') AS two \gset
\set VERBOSITY sqlstate
SELECT rflow.adopt_transaction(:eight, '0x1111111111111111111111111111111111111111111111111111111111111111');
SET ROLE verbs_operator;
SELECT rflow.adopt_transaction(0, '0x1111111111111111111111111111111111111111111111111111111111111111');
SELECT rflow.adopt_transaction(:two, '0x1111111111111111111111111111111111111111111111111111111111111111');
SELECT rflow.adopt_transaction(:eight, '0x11');
SELECT rflow.adopt_transaction(:eight, NULL);
\set VERBOSITY default
SELECT state FROM rflow.transactions WHERE id IN (:eight, :nine) ORDER BY id;
RESET ROLE;
UPDATE rflow_private.relayer_transactions SET valid_until = '2100-01-01' WHERE id = :eight;
SET ROLE verbs_operator;
SELECT rflow.adopt_transaction(NULL, '0x11') IS NULL AS nothing;
SELECT rflow.adopt_transaction(:eight, '0x1111111111111111111111111111111111111111111111111111111111111111', 'paid by hand');
SELECT rflow.adopt_transaction(:eight, '0x1111111111111111111111111111111111111111111111111111111111111111');
\set VERBOSITY sqlstate
SELECT rflow.adopt_transaction(:eight, '0x2222222222222222222222222222222222222222222222222222222222222222');
SELECT rflow.adopt_transaction(:nine, '0x1111111111111111111111111111111111111111111111111111111111111111');
SET ROLE verbs_alice;
SELECT rflow.replace_transaction(:eight, recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 22, data => '0x');
\set VERBOSITY default
SELECT rflow.cancel_transaction(:eight), rflow.expire_transaction(:eight), rflow.bump_transaction(:eight);
RESET ROLE;
SELECT rflow_private.relay_sign('verbs-hot', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 100) > 0 AS others_are_signed;
SELECT state, intent, reason, due_at FROM rflow_private.relayer_transactions WHERE id = :eight;
SELECT wake_at FROM rflow_private.due WHERE kind = 'send' AND id::bigint = :eight;
SET ROLE verbs_operator;
SELECT rflow.adopt_transaction(:eight, NULL, 'a mistake');
RESET ROLE;
SELECT state, intent, reason, due_at FROM rflow_private.relayer_transactions WHERE id = :eight;
SELECT kind, wake_at FROM rflow_private.due WHERE id::bigint = :eight ORDER BY kind;
SELECT count(*) FROM rflow_private.adoptions;
:journal WHERE verb = 'adopt_transaction';

RESET ROLE;
DELETE FROM rflow_private.operator_log;
DELETE FROM rflow_private.dealt_with;
DELETE FROM rflow_private.incidents WHERE kind = 'verbs-incident';
DELETE FROM rflow_private.workflow_runs WHERE workflow = 'verbs-flow';
DELETE FROM rflow_private.relayer_transactions;
DELETE FROM rflow_private.relayer_attempts;
DELETE FROM rflow_private.nonces;
DELETE FROM rflow_private.relayer_keys;
DELETE FROM rflow_private.relayer_states WHERE relayer = 'verbs-hot';
DELETE FROM rflow_private.due;
DELETE FROM rflow.contracts WHERE name = 'verbs-token';
DELETE FROM rflow.relayers WHERE name = 'verbs-hot';
DELETE FROM rflow.networks WHERE name = 'verbs-net';
DROP ROLE verbs_alice, verbs_bob, verbs_operator, verbs_viewer;
