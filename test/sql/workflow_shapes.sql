-- What is refused of triggers and steps by their fields alone, in builders and in literals, armed or not.
-- Everything is rolled back: other tests find the database as it was.

\set ON_ERROR_ROLLBACK on
BEGIN;

-- Triggers.
SELECT rflow.on_event('token', 'Transfer');
SELECT rflow.on_event('token', 'Transfer', confirmations => 5);
SELECT rflow.on_event('token', 'Transfer', finality => 'safe');
SELECT rflow.on_event('token', 'Transfer', on_reorg => 'ignore');
SELECT rflow.on_start();
SELECT rflow.on_event('token', NULL);
\echo :SQLSTATE
SELECT rflow.on_event('token', 'Transfer', confirmations => -1);
\echo :SQLSTATE
SELECT rflow.on_event('token', 'Transfer', finality => 'soon');
SELECT rflow.on_event('token', 'Transfer', on_reorg => 'pray');
SELECT rflow.on_event('token', 'Transfer', confirmations => 2, finality => 'safe');

-- Steps.
SELECT rflow.read('pool', contract => 'token', function => 'balanceOf', args => 'event.to');
SELECT rflow.send_transaction('send', relayer => 'hot', recipient => 'event.to', value => '1');
SELECT rflow.sql('note', 'SELECT 1', run_if => 'true');
SELECT rflow.stop('done');
SELECT rflow.steps(rflow.stop('a'), rflow.stop('b'));
SELECT rflow.read('pool', contract => NULL, function => 'balanceOf');
SELECT rflow.send_transaction('send', relayer => 'hot');
SELECT rflow.send_transaction('send', relayer => 'hot', contract => 'token');
SELECT rflow.send_transaction('send', relayer => 'hot', function => 'transfer');
SELECT rflow.send_transaction('send', relayer => 'hot', contract => 'token', function => 'transfer', recipient => 'event.to');
SELECT rflow.send_transaction('send', relayer => 'hot', contract => 'token', function => 'transfer', data => '0x');
SELECT rflow.send_transaction('send', relayer => 'hot', recipient => 'event.to', args => '1');
SELECT rflow.send_transaction('send', relayer => 'hot', recipient => 'event.to', wait_for => 'later');
SELECT rflow.send_transaction('send', relayer => 'hot', recipient => 'event.to', simulate => 'maybe');
SELECT rflow.send_transaction('send', relayer => 'hot', recipient => 'event.to', confirmations => 0);
SELECT rflow.sql('note', NULL);

-- Names.
SELECT rflow.stop(NULL);
\echo :SQLSTATE
SELECT rflow.stop('');
SELECT rflow.stop('Upper');
SELECT rflow.stop('9a');
SELECT rflow.stop('a-b');
SELECT rflow.stop('a b');
SELECT rflow.stop('é');
SELECT rflow.stop(repeat('a', 64));
SELECT rflow.stop(repeat('a', 63))->>'name' = repeat('a', 63) AS longest;
SELECT rflow.stop('select');
SELECT rflow.stop('left');
SELECT rflow.stop('value') IS NOT NULL AS not_reserved;
SELECT rflow.stop('event');
SELECT rflow.stop('log');
SELECT rflow.stop('run');
SELECT rflow.stop('vars');
SELECT rflow.stop('input');

-- Literals.
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', '{"kind": "event", "contract": "token", "event": "Transfer"}', '[{"kind": "stop", "name": "done"}]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "event", "contract": "token"}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "event", "contract": "token", "event": "Transfer", "adress": "0x"}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "event", "contract": 7, "event": "Transfer"}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "event", "contract": "token", "event": "Transfer", "confirmations": "2"}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "event", "contract": "token", "event": "Transfer", "confirmations": 2.5}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "moon"}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '[]', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '{}');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '"a"');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', 'null');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', rflow.stop('a'));
INSERT INTO rflow.workflows (name, trigger) VALUES ('w1', '{"kind": "start"}');
INSERT INTO rflow.workflows (name, steps) VALUES ('w1', '[]');
INSERT INTO rflow.workflows (trigger, steps) VALUES ('{"kind": "start"}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps, vars) VALUES ('w1', '{"kind": "start"}', '[]', NULL);
INSERT INTO rflow.workflows (name, trigger, steps, start_at) VALUES ('w1', '{"kind": "start"}', '[]', NULL);
INSERT INTO rflow.networks (name, chain_id) VALUES ('w1', 1);
INSERT INTO rflow.contracts (name, network, address) VALUES ('w1', 'w1', '0x5FbDB2315678afecb367f032d93F642f64180aa3');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '[7]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '[{"kind": "stop"}]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '[{"name": "a"}]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '[{"kind": "jump", "name": "a"}]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '[{"kind": "stop", "name": "a", "when": "true"}]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '[{"kind": "stop", "name": "a", "run_if": true}]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}', '[{"kind": "stop", "name": "a"}, {"kind": "stop", "name": "a"}]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w1', '{"kind": "start"}',
	(SELECT jsonb_agg(rflow.stop('s' || i)) FROM generate_series(1, 65) i));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w64', '{"kind": "start"}',
	(SELECT jsonb_agg(rflow.stop('s' || i)) FROM generate_series(1, 64) i));
INSERT INTO rflow.workflows (name, trigger, steps, vars) VALUES ('w1', '{"kind": "start"}', '[]', '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('No Name', '{"kind": "start"}', '[]');
INSERT INTO rflow.workflows (name, trigger, steps, start_at) VALUES ('w1', '{"kind": "start"}', '[]', 'tomorrow');

-- A disarmed database looks at nothing else: what a definition names may not be there yet.
SELECT name, owner = current_user::regrole AS mine, search_path, version FROM rflow.workflows ORDER BY name;
INSERT INTO rflow.workflows (name, trigger, filter, steps, owner, search_path, version)
VALUES ('restored', rflow.on_event('nothing', 'Nothing'), 'no expression at all', '[]', 'rflow_viewer', 'a, pg_temp', 7);
SELECT name, owner, search_path, version FROM rflow.workflows WHERE name = 'restored';
SELECT count(*) FROM rflow.workflow_versions;
SELECT rflow.start('w');
\echo :SQLSTATE
SELECT rflow.enable('w', resume => 'cursor');

-- Arming it looks at everything: what does not hold is disabled.
SELECT * FROM rflow.arm();
SELECT name, enabled, version FROM rflow.workflows ORDER BY name;
SELECT workflow, version FROM rflow.workflow_versions ORDER BY workflow;
ROLLBACK;
