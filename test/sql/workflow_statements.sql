-- Statements of sql steps, checked where they are written.
-- Everything is rolled back: other tests find the database as it was.

\set ON_ERROR_ROLLBACK on
BEGIN;
SELECT rflow.arm();
CREATE SCHEMA regress_statements;
SET LOCAL search_path = regress_statements;
CREATE TABLE deposits (who rflow.address, amount numeric, value text);
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES ('local', 31337, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('token', 'local', '0x5FbDB2315678afecb367f032d93F642f64180aa3',
	 rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
	           'function balanceOf(address owner) view returns (uint256)'));
PREPARE step (text) AS INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), rflow.steps(
	rflow.read('pool', 'token', 'balanceOf', 'event.to'), rflow.sql('note', $1), rflow.stop('last', run_if => 'note.row_count > 0 AND note.result->>''a'' = ''1''')));

-- What holds.
SAVEPOINT held;
EXECUTE step ('INSERT INTO deposits VALUES (event.to, event.value, pool.result::text) RETURNING who');
ROLLBACK TO held;
EXECUTE step ('INSERT INTO deposits VALUES (event.to, event.value); UPDATE deposits d SET amount = d.amount + event.value WHERE d.who = event."from"; SELECT vars->>''a'', run.id, log.block_number, input');
ROLLBACK TO held;
EXECUTE step ('SELECT event.amount FROM deposits AS event -- an alias of its own');
ROLLBACK TO held;
EXECUTE step ('DO $$ BEGIN RAISE NOTICE ''x''; END $$');
ROLLBACK TO held;
EXECUTE step ('CREATE TEMP TABLE t AS SELECT event.value AS v');
ROLLBACK TO held;
EXECUTE step ('COPY deposits FROM ''/file''; NOTIFY deposits; SET work_mem = 100');
ROLLBACK TO held;

-- What does not.
EXECUTE step ('');
\echo :SQLSTATE
EXECUTE step ('  -- nothing');
EXECUTE step ('INSERT INTO deposit VALUES (event.to)');
\echo :SQLSTATE
EXECUTE step ('INSERT INTO deposits (whom) VALUES (event.to)');
EXECUTE step ('INSERT INTO deposits VALUES (event.value, event.to)');
EXECUTE step ('INSERT INTO deposits VALUES (event.count)');
\echo :SQLSTATE
EXECUTE step ('INSERT INTO deposits VALUES (last.result)');
EXECUTE step ('INSERT INTO deposits VALUES (note.result)');
EXECUTE step ('SELECT event.nothing FROM deposits AS event');
EXECUTE step ('SELECT vars.a');
EXECUTE step ('SELECT $1');
EXECUTE step ('SELECT 1 +');
EXECUTE step (E'SELECT 1;\n\nSELECT ''é'' || nothing');
EXECUTE step ('COMMIT');
\echo :SQLSTATE
EXECUTE step ('SELECT 1;  ROLLBACK');
EXECUTE step ('SAVEPOINT a');
EXECUTE step ('COPY deposits TO STDOUT');
EXECUTE step ('LISTEN a');
SELECT count(*) FROM rflow.workflows;
ROLLBACK;
