-- Versions: what makes a new one, who owns it, what cannot be changed or deleted, and from where a workflow counts.
-- Everything is rolled back: other tests find the database as it was.

\set ON_ERROR_ROLLBACK on
CREATE ROLE regress_versions_alice;
CREATE ROLE regress_versions_bob;
CREATE ROLE regress_versions_operator IN ROLE rflow_operator;
BEGIN;
SELECT rflow.arm();
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES
	('local', 31337, '{http://127.0.0.1:1}', false), ('other', 31338, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('token', 'local', '0x5FbDB2315678afecb367f032d93F642f64180aa3',
	 rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
	           'function balanceOf(address owner) view returns (uint256)'));
GRANT SELECT, INSERT, UPDATE, DELETE ON rflow.workflows TO regress_versions_alice, regress_versions_bob;
CREATE VIEW versions AS
	SELECT w.name, w.version, w.owner, w.enabled, w.search_path, count(v.*) AS versions
	FROM rflow.workflows w LEFT JOIN rflow.workflow_versions v ON v.workflow = w.name
	GROUP BY w.name ORDER BY w.name;
CREATE VIEW places AS
	SELECT s.workflow, s.network, c.ceiling, c.next_block, c.next_log, s.cursor_id IS NULL AS adopts
	FROM rflow_private.subscriptions s LEFT JOIN rflow_private.cursors c ON c.id = s.cursor_id
	ORDER BY s.workflow;

-- Where a workflow begins.
SET LOCAL ROLE regress_versions_alice;
INSERT INTO rflow.workflows (name, trigger, steps, start_at) VALUES
	('now', rflow.on_event('token', 'Transfer'), '[]', 'now'),
	('past', rflow.on_event('token', 'Transfer', confirmations => 3), '[]', '100'),
	('all', rflow.on_event('token', 'Transfer', finality => 'finalized'), '[]', 'earliest'),
	('by-hand', rflow.on_start(), rflow.steps(rflow.stop('stop')), 'now');
RESET ROLE;
SELECT * FROM versions;
SELECT * FROM places;

-- What makes a new version, and what does not.
UPDATE rflow.workflows SET filter = 'true' WHERE name = 'now';
UPDATE rflow.workflows SET filter = 'true' WHERE name = 'now';
UPDATE rflow.workflows SET vars = '{"a": 1}' WHERE name = 'now';
UPDATE rflow.workflows SET enabled = false WHERE name = 'all';
SELECT name, version, owner, enabled, versions FROM versions;
SELECT version, definition->'filter' AS filter, definition->'vars' AS vars FROM rflow.workflow_versions WHERE workflow = 'now' ORDER BY 1;
UPDATE rflow.workflows SET filter = 'nonsense' WHERE name = 'now';
SELECT name, version, versions FROM versions WHERE name = 'now';

-- A contract that changes makes new versions of those that name it, and they stay where they are.
UPDATE rflow.contracts SET address = '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512' WHERE name = 'token';
SELECT name, version, versions FROM versions;
SELECT workflow, version, definition->'trigger'->'address' AS address FROM rflow.workflow_versions WHERE workflow IN ('now', 'by-hand') ORDER BY 1, 2;
SELECT * FROM places;
UPDATE rflow.contracts SET abi = abi WHERE name = 'token';
UPDATE rflow.contracts SET abi = rflow.abi('event Other(uint256 a)') WHERE name = 'token';
SELECT name, version FROM versions;

-- A trigger that changes moves the workflow.
UPDATE rflow.workflows SET trigger = rflow.on_event('token', 'Transfer', confirmations => 5) WHERE name = 'past';
UPDATE rflow.workflows SET trigger = rflow.on_start() WHERE name = 'all';
UPDATE rflow.workflows SET start_at = '7' WHERE name = 'now';
SELECT * FROM places;

-- Who owns it: whoever changes it, unless it is a member of the owner.
GRANT regress_versions_alice TO regress_versions_bob;
SET LOCAL ROLE regress_versions_bob;
UPDATE rflow.workflows SET filter = 'event.value > 1' WHERE name = 'past';
RESET ROLE;
SELECT name, owner FROM versions WHERE name = 'past';
SET LOCAL ROLE regress_versions_alice;
INSERT INTO rflow.workflows (name, trigger, steps, owner) VALUES ('for-bob', rflow.on_start(), '[]', 'regress_versions_bob');
\echo :SQLSTATE
SET LOCAL search_path = public, "Odd Name";
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('path', rflow.on_start(), '[]');
SET LOCAL search_path = pg_temp, public, my_pg_temp;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('temp-path', rflow.on_start(), '[]');
SET LOCAL search_path = '';
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('no-path', rflow.on_start(), '[]');
RESET ROLE;
RESET search_path;
SELECT name, search_path FROM versions WHERE name LIKE '%path';

-- Names stay.
UPDATE rflow.workflows SET name = 'later' WHERE name = 'now';
\echo :SQLSTATE
UPDATE rflow.contracts SET name = 'coin' WHERE name = 'token';
UPDATE rflow.networks SET name = 'near' WHERE name = 'local';

-- Enabling says where it goes on.
UPDATE rflow.workflows SET enabled = true WHERE name = 'all';
\echo :SQLSTATE
SELECT rflow.enable('all');
SELECT rflow.enable('all', resume => 'somewhere');
SELECT rflow.enable('nothing', resume => 'cursor');
SELECT rflow.disable('past');
SELECT name, enabled FROM versions WHERE name IN ('all', 'past');
SELECT rflow.enable('past', resume => 'cursor');
SELECT * FROM places WHERE workflow = 'past';
INSERT INTO rflow_private.blocks (network, number, hash, parent_hash, block_timestamp, seen_at) VALUES ('local', 200, '0xaa', '0xbb', now(), now());
SELECT rflow.disable('past');
SELECT rflow.enable('past', resume => 'head');
SELECT * FROM places WHERE workflow = 'past';
SELECT kind, network, workflow, subject, reason, resolved_at IS NOT NULL AS resolved FROM rflow_private.incidents;
-- One that is disabled does not keep a contract from changing, and cannot be enabled when it does not hold any more.
SELECT rflow.disable('now'), rflow.disable('past');
UPDATE rflow.contracts SET abi = rflow.abi('event Other(uint256 a)') WHERE name = 'token';
SELECT rflow.enable('now', resume => 'cursor');
UPDATE rflow.contracts SET abi = rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)') WHERE name = 'token';
SELECT rflow.enable('past', resume => 'cursor');

-- Starting by hand: the same key is the same run.
SELECT rflow.start('now');
SELECT rflow.start('past');
\echo :SQLSTATE
SELECT rflow.start(NULL);
SELECT rflow.start('nothing');
SELECT rflow.start('by-hand', '{"n": 1}', 'one') = rflow.start('by-hand', '{"n": 2}', 'one') AS same,
	rflow.start('by-hand', key => 'one') = rflow.start('by-hand', key => 'two') AS other;
SELECT rflow.start('by-hand', key => repeat('x', 513));
SELECT rflow.start('by-hand') = rflow.start('by-hand') AS without_key;
SELECT state, input, count(*) FROM rflow_private.workflow_runs GROUP BY 1, 2 ORDER BY 2;
SELECT count(*) FROM rflow_private.due WHERE kind = 'run';
SET LOCAL ROLE regress_versions_bob;
SELECT rflow.start('by-hand', key => 'three') IS NOT NULL AS by_member;
RESET ROLE;
SET LOCAL ROLE regress_versions_operator;
SELECT rflow.start('by-hand', key => 'four') IS NOT NULL AS by_operator;
RESET ROLE;
REVOKE regress_versions_alice FROM regress_versions_bob;
SET LOCAL ROLE regress_versions_bob;
SELECT rflow.start('by-hand', key => 'five');
SELECT rflow.disable('by-hand');
\echo :SQLSTATE
RESET ROLE;

-- Deleting waits for the runs.
DELETE FROM rflow.workflows WHERE name = 'by-hand';
\echo :SQLSTATE
UPDATE rflow_private.workflow_runs SET state = 'succeeded';
DELETE FROM rflow.workflows WHERE name IN ('by-hand', 'now');
SELECT * FROM places;
SELECT count(*) FROM rflow.workflow_versions WHERE workflow = 'by-hand';
-- Its versions and keys outlive it.
SET LOCAL ROLE regress_versions_alice;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('by-hand', rflow.on_start(), rflow.steps(rflow.stop('stop')));
RESET ROLE;
SELECT name, version FROM versions WHERE name = 'by-hand';
SELECT rflow.start('by-hand', key => 'one') IS NOT NULL AS known;
SELECT count(*) FROM rflow_private.workflow_runs WHERE state = 'ready';
ROLLBACK;
DROP ROLE regress_versions_alice, regress_versions_bob, regress_versions_operator;
