-- Expressions of a definition: each is checked where it is written, alone and with the types of the ABI.
-- Everything is rolled back: other tests find the database as it was.

\set ON_ERROR_ROLLBACK on
BEGIN;
SELECT rflow.arm();
CREATE SCHEMA regress_expressions;
SET LOCAL search_path = regress_expressions;
CREATE TABLE members (who rflow.address PRIMARY KEY, since date);
CREATE FUNCTION twice(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT $1 * 2';
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES ('local', 31337, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('token', 'local', '0x5FbDB2315678afecb367f032d93F642f64180aa3',
	 rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
	           'event Odd(uint256 tokenId, uint256, string note, bytes32[] indexed tags, uint256 tokenid, (uint8 a, string b) pair)',
	           'function transfer(address to, uint256 value) returns (bool)',
	           'function many(uint8 a, int256[] b, bytes c, bytes32 d, bool e, string f, (uint8 x, bool y) g)',
	           'function reserves() view returns (uint112 a, uint112 b, uint32)',
	           'function balanceOf(address owner) view returns (uint256)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_NOTHING');
PREPARE filter (text) AS INSERT INTO rflow.workflows (name, trigger, filter, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), $1, '[]');
PREPARE odd (text) AS INSERT INTO rflow.workflows (name, trigger, filter, steps) VALUES ('w', rflow.on_event('token', 'Odd'), $1, '[]');
PREPARE args (text) AS INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), rflow.steps(
	rflow.read('pool', 'token', 'balanceOf', 'event.to'),
	rflow.send_transaction('send', relayer => 'hot', contract => 'token', function => 'transfer', args => $1)));
PREPARE many (text) AS INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), rflow.steps(
	rflow.send_transaction('send', relayer => 'hot', contract => 'token', function => 'many', args => $1)));

-- What holds.
SAVEPOINT held;
EXECUTE filter ($$ event.to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' AND event.value >= 100e18 $$);
ROLLBACK TO held;
EXECUTE filter ($$ EXISTS (SELECT FROM members m WHERE m.who = event.to) AND twice(event.value) > (vars->>'least')::numeric $$);
ROLLBACK TO held;
EXECUTE filter ($$ (SELECT count(*) FROM members event WHERE event.since IS NOT NULL) > 0 -- an alias of its own, and a comment $$);
ROLLBACK TO held;
EXECUTE filter ($$ event.arg2 > 0 AND "event"."value" > 0 AND Event.Value > 0 AND log.block_number > 1 AND run.version = 1
	AND log.transaction_hash <> '0xab' AND to_jsonb(event)->>'value' <> '1' $$);
ROLLBACK TO held;
EXECUTE odd ($$ event.arg0 = event.arg4 AND event.arg1 > 0 AND event.note_bytes = '0x00' AND event.tags = '0xab' AND event.pair->>'b' = 'x' $$);
ROLLBACK TO held;
EXECUTE args ($$ event.from, div(event.value, 2) $$);
ROLLBACK TO held;
EXECUTE args ($$ '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', pool.result $$);
ROLLBACK TO held;
EXECUTE args ($$ event.from, (SELECT sum(v) / count(*) FROM (VALUES (1.0), (2)) t(v)) $$);
ROLLBACK TO held;
EXECUTE many ($$ 1, ARRAY[1, 2], '0xff', log.block_hash, true, 'text', '{"x": 1, "y": false}' $$);
ROLLBACK TO held;

-- One expression, and nothing else.
EXECUTE filter ('');
\echo :SQLSTATE
EXECUTE filter ('  ');
EXECUTE filter ('true) OR (true');
\echo :SQLSTATE
EXECUTE filter ('true, true');
EXECUTE filter ('true; DROP TABLE members');
EXECUTE filter ('true FROM members');
EXECUTE filter ('true WHERE false');
EXECUTE filter ('true UNION SELECT false');
EXECUTE filter ('true AS yes');
EXECUTE filter ('event.*');
EXECUTE filter ('*');
EXECUTE filter ('SELECT true');
EXECUTE filter ('DISTINCT true');
EXECUTE filter ('true ORDER BY 1');
EXECUTE filter ('true INTO members');
EXECUTE filter ('/* open');
EXECUTE filter ('event.value >');
EXECUTE filter ('event.value >> ''é'' +');
EXECUTE filter ('$1');

-- Names.
EXECUTE filter ('event.count > 1');
\echo :SQLSTATE
EXECUTE filter ('event.amount > 1');
EXECUTE filter ('event.value > 1 AND log.number > 1');
EXECUTE filter ('amount > 1');
EXECUTE filter ('value > 1');
\echo :SQLSTATE
EXECUTE filter ('ordinal > 1');
EXECUTE filter ('EXISTS (SELECT FROM members WHERE who = "to")');
EXECUTE filter ('pool.result > 1');
EXECUTE filter ('transfer.value > 1');
EXECUTE filter ('event.value > nothing(1)');
EXECUTE filter ('vars.least > 1');
EXECUTE odd ('event.tokenId > 1');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(rflow.stop('s', run_if => 'event.value > 1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), rflow.steps(
	rflow.stop('first', run_if => 'pool.result > 1'), rflow.read('pool', 'token', 'balanceOf', 'event.to')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), rflow.steps(
	rflow.read('pool', 'token', 'balanceOf', 'pool.result')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), rflow.steps(
	rflow.read('pool', 'token', 'reserves'), rflow.stop('s', run_if => 'pool.result > 1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), rflow.steps(
	rflow.stop('first'), rflow.stop('s', run_if => 'first.result > 1')));

-- Kinds of expressions.
EXECUTE filter ('count(*) > 1');
\echo :SQLSTATE
EXECUTE filter ('sum(event.value) > 1');
EXECUTE filter ('sum(event.value) > event.value');
EXECUTE filter ('(SELECT sum(event.value)) > 1');
EXECUTE filter ('row_number() OVER () = 1');
EXECUTE filter ('generate_series(1, 2) > 1');
EXECUTE filter ('(SELECT count(*) FROM members) > 1 AND generate_series(1, 2) > 1');

-- Types.
EXECUTE filter ('event.value');
\echo :SQLSTATE
EXECUTE filter ('1');
EXECUTE filter ($$ 'maybe' $$);
\echo :SQLSTATE
EXECUTE filter ('event.value > event.to');
EXECUTE filter ($$ event.to = '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' $$);
\echo :SQLSTATE
EXECUTE filter ($$ event.value > 1 AND event.to = 'alice' $$);
EXECUTE args ($$ event.from $$);
\echo :SQLSTATE
EXECUTE args ($$ event.from, 1, 2 $$);
EXECUTE args ('');
EXECUTE args (NULL);
EXECUTE args ($$ event.value, event.from $$);
EXECUTE args ($$ event.from, event.value / 2 $$);
EXECUTE args ($$ event.from, twice(event.value) + event.value / 2.5 $$);
EXECUTE args ($$ event.from, 1.5::float8 $$);
EXECUTE args ($$ event.from, 'many' $$);
EXECUTE args ($$ event.from, true $$);
EXECUTE args ($$ '0x70997970C51812dc3A010C7d01b50e0d17dc79c8', 1 $$);
EXECUTE many ($$ 1, 2, '0xff', log.block_hash, true, 'text', '{}' $$);
EXECUTE many ($$ 1, '{}', '0xff', log.block_hash, 1, 'text', '{}' $$);
EXECUTE many ($$ 1, '{}', 'x', log.block_hash, true, 'text', '{}' $$);
EXECUTE many ($$ 1, '{}', '0xff', log.block_hash, true, 'text', ROW(1, false) $$);
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', recipient => '1', value => '1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', recipient => '''0x70997970c51812dc3a010c7d01b50e0d17dc79c8''', value => '1 / 2.0', gas_limit => '21000')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', recipient => '''0x70997970c51812dc3a010c7d01b50e0d17dc79c8''', data => '7')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(rflow.stop('s', run_if => '1')));

-- once_per takes any type that has a text.
INSERT INTO rflow.workflows (name, trigger, once_per, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), 'event.from', '[]');
ROLLBACK TO held;
INSERT INTO rflow.workflows (name, trigger, once_per, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), 'event.from, event.to', '[]');
INSERT INTO rflow.workflows (name, trigger, once_per, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), '(event.from, event.to)', '[]');
ROLLBACK TO held;
INSERT INTO rflow.workflows (name, trigger, once_per, steps) VALUES ('w', rflow.on_event('token', 'Transfer'), 'event.who', '[]');
ROLLBACK;
