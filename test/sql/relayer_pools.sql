-- Pools of relayers (rrelayer#28, research row 24): what a pool may hold, which member a send goes to, the same key again,
-- and sends that change their member.  The database is disarmed but for the checks of references: nothing is signed.
CREATE ROLE pools_alice;
CREATE ROLE pools_bob;
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES
	('pools-net', 31337, '{http://127.0.0.1:1}'), ('pools-other', 31338, '{http://127.0.0.1:1}');
INSERT INTO rflow.relayers (name, network, signer) VALUES
	('pools-a', 'pools-net', 'env:RFLOW_POOLS_A'), ('pools-b', 'pools-net', 'env:RFLOW_POOLS_B'),
	('pools-c', 'pools-net', 'env:RFLOW_POOLS_C'), ('pools-inner', 'pools-net', 'env:RFLOW_POOLS_D'),
	('pools-far', 'pools-other', 'env:RFLOW_POOLS_A');
INSERT INTO rflow.relayer_grants SELECT r, 'pools_alice' FROM unnest('{pools-a,pools-b,pools-c}'::text[]) r;

-- All members exist, are on the pool's network, and each is one.
\set VERBOSITY terse
BEGIN;
SELECT rflow.arm();
SAVEPOINT s;
INSERT INTO rflow.relayer_pools VALUES ('pools-p', 'nowhere', '{pools-a}');
ROLLBACK TO s;
INSERT INTO rflow.relayer_pools VALUES ('pools-p', 'pools-net', '{pools-a,pools-z}');
ROLLBACK TO s;
INSERT INTO rflow.relayer_pools VALUES ('pools-p', 'pools-net', '{pools-a,pools-far}');
ROLLBACK TO s;
INSERT INTO rflow.relayer_pools VALUES ('pools-p', 'pools-net', '{pools-a,pools-a}');
ROLLBACK TO s;
INSERT INTO rflow.relayer_pools VALUES ('pools-p', 'pools-net', '{}');
ROLLBACK TO s;
INSERT INTO rflow.relayer_pools VALUES ('pool:p', 'pools-net', '{pools-a}');
ROLLBACK TO s;
INSERT INTO rflow.relayer_pools VALUES ('pools-p', 'pools-net', '{pools-a,pools-b}');
SAVEPOINT s;
UPDATE rflow.relayer_pools SET relayers = relayers || '{pools-far}'::text[];
ROLLBACK TO s;
UPDATE rflow.relayer_pools SET network = 'pools-other';
ROLLBACK TO s;
UPDATE rflow.relayers SET network = 'pools-other' WHERE name = 'pools-a';
ROLLBACK TO s;
\set VERBOSITY default
DELETE FROM rflow.relayers WHERE name = 'pools-a';
ROLLBACK TO s;
\set VERBOSITY terse
DELETE FROM rflow.networks WHERE name = 'pools-net';
ROLLBACK;

INSERT INTO rflow.relayer_pools VALUES
	('pools-p', 'pools-net', '{pools-a,pools-b,pools-c,pools-inner}'), ('pools-q', 'pools-net', '{pools-inner}'),
	('pools-far', 'pools-other', '{pools-far}');

-- A workflow's owner needs a grant for each member, and contract and pool are on one network.
BEGIN;
SELECT rflow.arm();
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('pools-token', 'pools-net', '0x5fbdb2315678afecb367f032d93f642f64180aa3', rflow.abi('function deposit() payable'));
CREATE FUNCTION pg_temp.steps(relayer text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT rflow.steps(rflow.send_transaction('pay', relayer, 'pools-token', 'deposit')) $$;
SAVEPOINT s;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pools-w', rflow.on_start(), pg_temp.steps('pool:pools-nothing'));
ROLLBACK TO s;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pools-w', rflow.on_start(), pg_temp.steps('pool:pools-far'));
ROLLBACK TO s;
GRANT INSERT ON rflow.workflows TO pools_alice;
SET LOCAL ROLE pools_alice;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pools-w', rflow.on_start(),
	rflow.steps(rflow.send_transaction('pay', 'pool:pools-p', 'pools-token', 'deposit')));
ROLLBACK TO s;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pools-w', rflow.on_start(), pg_temp.steps('pool:pools-p'));
SELECT definition->'steps'->0->>'relayer', definition->'steps'->0->>'relayer_network', definition->'steps'->0->>'relayer_chain_id'
	FROM rflow.workflow_versions WHERE workflow = 'pools-w';
ROLLBACK;

-- What the relayer process would have seen on chain: 1 ether each, a tenth of it in c.
CREATE FUNCTION pg_temp.sees(relayer text, account rflow.address, balance numeric, fee numeric) RETURNS void LANGUAGE sql AS $$
	INSERT INTO rflow_private.relayer_states (relayer, address, balance, fee_per_gas, observed_at) VALUES (relayer, account, balance, fee, now())
		ON CONFLICT (relayer) DO UPDATE SET balance = EXCLUDED.balance, address = EXCLUDED.address, fee_per_gas = EXCLUDED.fee_per_gas $$;
SELECT pg_temp.sees('pools-a', '0x00000000000000000000000000000000000000aa', 1e18, 1e9);
SELECT pg_temp.sees('pools-b', '0x00000000000000000000000000000000000000bb', 1e18, 1e9);
SELECT pg_temp.sees('pools-c', '0x00000000000000000000000000000000000000cc', 1e17, 1e9);
SELECT pg_temp.sees('pools-inner', '0x00000000000000000000000000000000000000dd', 1e30, 1e9);
CREATE FUNCTION pg_temp.pay(key text, value numeric, pool text DEFAULT 'pool:pools-p') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	its_id bigint := rflow.submit_transaction(pool, recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => value, data => '0x', idempotency_key => key);
BEGIN
	RETURN (SELECT t.relayer || coalesce(': ' || t.reason, '') FROM rflow.transactions t WHERE t.id = its_id);
END $$;

-- The fewest in flight and queued; the first in the pool where that is equal.  Who has no grant for a member never gets it,
-- however rich (the source of top-ups is such a one).
SET ROLE pools_alice;
SELECT pg_temp.pay('1', 1), pg_temp.pay('2', 1), pg_temp.pay('3', 1), pg_temp.pay('4', 1);
-- The balance beside what is queued: a and b cannot pay 0.6 ether twice, c not once.
SELECT pg_temp.pay('5', 6e17), pg_temp.pay('6', 6e17);
-- None can: it is queued for the one with most room, and says so.
SELECT pg_temp.pay('7', 6e17);
SELECT relayer, pool, state, reason FROM rflow.transactions WHERE idempotency_key = '7';
-- The same key again is the same transaction, whatever member it would go to now; a named relayer is another body.
SELECT rflow.submit_transaction('pool:pools-p', recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 1, data => '0x', idempotency_key => '2')
	= (SELECT id FROM rflow.transactions WHERE idempotency_key = '2') AS same;
SELECT pg_temp.pay('1', 1), pg_temp.pay('7', 6e17), count(*) FROM rflow.transactions;
SELECT pg_temp.pay('1', 1, 'pools-a');
SELECT pg_temp.pay('8', 1, 'pools-a');
SELECT pg_temp.pay('8', 1, 'pool:pools-p');
-- What is wrong.
SELECT pg_temp.pay('9', 1, 'pool:pools-nothing');
SELECT pg_temp.pay('9', 1, 'pool:');
SELECT pg_temp.pay('9', 1, 'pool:pools-q');
RESET ROLE;
SET ROLE pools_bob;
SELECT pg_temp.pay('9', 1);
RESET ROLE;

-- Who queues 100 at once spreads them.
DELETE FROM rflow_private.due; DELETE FROM rflow_private.relayer_transactions;
SET ROLE pools_alice;
SELECT count(pg_temp.pay('many ' || n, 1)) FROM generate_series(1, 99) n;
RESET ROLE;
SELECT relayer, count(*) FROM rflow.transactions GROUP BY 1 ORDER BY 1;
DELETE FROM rflow_private.due; DELETE FROM rflow_private.relayer_transactions;

-- Paused, without an account, without a balance: not while another one can.
UPDATE rflow.relayers SET paused = true WHERE name = 'pools-a';
UPDATE rflow_private.relayer_states SET address = NULL, balance = NULL WHERE relayer = 'pools-b';
SET ROLE pools_alice;
SELECT pg_temp.pay('c', 1), pg_temp.pay('c again', 1);
SELECT pg_temp.pay('too much', 1e18);
RESET ROLE;
UPDATE rflow.relayers SET paused = false WHERE name = 'pools-a';
SELECT pg_temp.sees('pools-b', '0x00000000000000000000000000000000000000bb', 1e18, 1e9);
DELETE FROM rflow_private.due; DELETE FROM rflow_private.relayer_transactions;

-- Two rows that share an account share its balance and its load.  Amounts beyond 2^128 are amounts (rrelayer#56, row 20).
SELECT pg_temp.sees('pools-b', '0x00000000000000000000000000000000000000aa', 1e18, 1e9);
SELECT pg_temp.sees('pools-c', '0x00000000000000000000000000000000000000cc', 2::numeric ^ 200, 1e9);
SET ROLE pools_alice;
SELECT pg_temp.pay('a', 6e17), pg_temp.pay('not b', 6e17), pg_temp.pay('c', 2::numeric ^ 199);
SELECT pg_temp.pay('none', 2::numeric ^ 199);
RESET ROLE;
DELETE FROM rflow_private.due; DELETE FROM rflow_private.relayer_transactions;

-- What is signed and not mined counts with the most that it may cost; mined it does not.
SELECT pg_temp.sees('pools-b', '0x00000000000000000000000000000000000000bb', 1e18, 1e9);
SELECT pg_temp.sees('pools-c', '0x00000000000000000000000000000000000000cc', 0, 1e9);
SET ROLE pools_alice;
SELECT pg_temp.pay('a', 9e17);
RESET ROLE;
SELECT rflow_private.relay_sign('pools-a', '0x00000000000000000000000000000000000000aa', 0);
SET ROLE pools_alice;
SELECT pg_temp.pay('b', 9e17), pg_temp.pay('neither', 9e17);
RESET ROLE;
SELECT rflow.cancel_transaction(id) FROM rflow.transactions WHERE idempotency_key = 'neither';
SET ROLE pools_alice;
SELECT pg_temp.pay('still neither', 9e17) ~ 'no relayer' AS waits;
RESET ROLE;
SELECT rflow.cancel_transaction(id) FROM rflow.transactions WHERE idempotency_key = 'still neither';
SELECT rflow_private.relay_record_mined(id, transaction_hash, 1, transaction_hash, false) FROM rflow.transactions WHERE idempotency_key = 'a';
SET ROLE pools_alice;
SELECT pg_temp.pay('a again', 9e17);
RESET ROLE;
DELETE FROM rflow_private.due; DELETE FROM rflow_private.relayer_transactions;
DELETE FROM rflow_private.nonces; DELETE FROM rflow_private.relayer_attempts; DELETE FROM rflow_private.relayer_keys;

-- Queued sends of one that cannot sign go to another that can; what was queued for the relayer itself, signed, or given up, stays.
SELECT pg_temp.sees('pools-c', '0x00000000000000000000000000000000000000cc', 1e18, 1e9);
SET ROLE pools_alice;
SELECT pg_temp.pay('signed', 1), pg_temp.pay('b', 1), pg_temp.pay('c', 1);
RESET ROLE;
SELECT rflow_private.relay_sign('pools-a', '0x00000000000000000000000000000000000000aa', 0);
SET ROLE pools_alice;
SELECT pg_temp.pay('named', 1, 'pools-a'), pg_temp.pay('b2', 1), pg_temp.pay('c2', 1), pg_temp.pay('a1', 1), pg_temp.pay('b3', 1), pg_temp.pay('c3', 1);
SELECT pg_temp.pay('too much', 9e17, 'pools-a') IS NOT NULL AS queued;
SELECT pg_temp.pay('held', 1, 'pools-a') IS NOT NULL AS queued;
RESET ROLE;
UPDATE rflow_private.due d SET wake_at = 'infinity' FROM rflow.transactions t WHERE t.id = d.id::bigint AND t.idempotency_key = 'held';
UPDATE rflow_private.relayer_transactions SET pool = 'pools-p', due_at = 'infinity', reason = 'held' WHERE idempotency_key = 'held';
UPDATE rflow_private.relayer_transactions SET pool = 'pools-p' WHERE idempotency_key = 'too much';
UPDATE rflow_private.relayer_states SET balance = 1e17 WHERE relayer IN ('pools-b', 'pools-c');
SELECT rflow_private.relay_move('pools-a');
SELECT idempotency_key, relayer, state, reason FROM rflow.transactions WHERE idempotency_key IN ('signed', 'named', 'a1', 'too much', 'held') ORDER BY id;
SELECT rflow_private.relay_move('pools-a');
SELECT t.idempotency_key, d.owner = t.relayer AS in_its_queue FROM rflow.transactions t
	LEFT JOIN rflow_private.due d ON d.kind = 'send' AND d.id::bigint = t.id ORDER BY t.id;
-- It is one of its new relayer's now: cancelled, held and signed like any.
SELECT rflow.cancel_transaction(id) FROM rflow.transactions WHERE idempotency_key = 'a1';
SELECT count(*) FROM rflow_private.due d JOIN rflow.transactions t ON t.id = d.id::bigint WHERE t.idempotency_key = 'a1';

-- A grant that is taken away: what was queued for a pool goes to a member that is still granted, what was not fails.
DELETE FROM rflow_private.due; DELETE FROM rflow_private.relayer_transactions;
DELETE FROM rflow_private.nonces; DELETE FROM rflow_private.relayer_attempts; DELETE FROM rflow_private.relayer_keys;
SELECT pg_temp.sees(r, a::rflow.address, 1e18, 1e9) FROM (VALUES ('pools-a', '0x00000000000000000000000000000000000000aa'),
	('pools-b', '0x00000000000000000000000000000000000000bb'), ('pools-c', '0x00000000000000000000000000000000000000cc')) v (r, a);
SET ROLE pools_alice;
SELECT pg_temp.pay('pooled', 1), pg_temp.pay('alone', 1, 'pools-a');
RESET ROLE;
DELETE FROM rflow.relayer_grants WHERE relayer = 'pools-a';
SELECT rflow_private.relay_sign('pools-a', '0x00000000000000000000000000000000000000aa', 0);
SELECT idempotency_key, relayer, state, reason FROM rflow.transactions ORDER BY id;
DELETE FROM rflow.relayer_grants WHERE relayer <> 'pools-a';
SELECT rflow_private.relay_sign('pools-b', '0x00000000000000000000000000000000000000bb', 0);
SELECT idempotency_key, relayer, state, reason FROM rflow.transactions ORDER BY id;

-- Who may see and change pools.
SET ROLE pools_alice;
SELECT * FROM rflow.relayer_pools;
RESET ROLE;
GRANT rflow_viewer TO pools_bob;
SET ROLE pools_bob;
SELECT name, relayers FROM rflow.relayer_pools ORDER BY 1;
DELETE FROM rflow.relayer_pools;
RESET ROLE;

DELETE FROM rflow_private.due; DELETE FROM rflow_private.relayer_transactions;
DELETE FROM rflow_private.nonces; DELETE FROM rflow_private.relayer_attempts; DELETE FROM rflow_private.relayer_keys;
DELETE FROM rflow_private.relayer_states WHERE relayer LIKE 'pools-%';
DELETE FROM rflow.relayer_pools WHERE name LIKE 'pools-%';
DELETE FROM rflow.relayers WHERE name LIKE 'pools-%';
DELETE FROM rflow.networks WHERE name LIKE 'pools-%';
DROP ROLE pools_alice, pools_bob;
