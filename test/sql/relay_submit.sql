-- rflow.submit_transaction, its idempotency and its rights; rflow.cancel_transaction; what others see of it.
-- The database is disarmed here: everything stays in the queue.
CREATE ROLE relay_alice;
CREATE ROLE relay_bob;
CREATE ROLE relay_carol;
CREATE ROLE relay_team;
GRANT relay_team TO relay_carol;

INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES
	('relay-net', 31337, '{http://127.0.0.1:1}'),
	('relay-off', 31337, '{http://127.0.0.1:1}');
UPDATE rflow.networks SET enabled = false WHERE name = 'relay-off';
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('relay-token', 'relay-net', '0x5fbdb2315678afecb367f032d93f642f64180aa3',
		rflow.abi('function transfer(address to, uint256 value) returns (bool)', 'function deposit() payable',
			'function mint(uint256 amount)', 'function mint(uint256 amount, address to)')),
	('relay-other', 'relay-off', '0x5fbdb2315678afecb367f032d93f642f64180aa3', rflow.abi('function f()'));
INSERT INTO rflow.relayers (name, network, signer) VALUES
	('relay-hot', 'relay-net', 'env:RFLOW_RELAY_HOT'), ('relay-still', 'relay-off', 'env:RFLOW_RELAY_HOT');
INSERT INTO rflow.relayer_grants VALUES ('relay-hot', 'relay_alice'), ('relay-hot', 'relay_team'), ('relay-still', 'relay_alice');

-- By contract and function; the body is what the ABI makes of it.
SET ROLE relay_alice;
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'transfer',
	'["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "100000000000000000001"]', 'one') > 0 AS queued;
SELECT idempotency_key, relayer, network, owner, state, reason, intent, recipient, value, data, nonce, wait_for, attempts
	FROM rflow.transactions;
-- Arguments by name, a value, options.
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'mint(uint256,address)',
	'{"amount": 5, "to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}', 'two', gas_limit => 90000, max_fee_per_gas => 7e9, confirmations => 4) > 0 AS queued;
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'three', value => 1e18) > 0 AS queued;
-- Raw bytes; without a recipient a contract is created (I-15).
SELECT rflow.submit_transaction('relay-hot', recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 1, data => '0x', idempotency_key => 'four') > 0 AS queued;
SELECT rflow.submit_transaction('relay-hot', recipient => NULL, value => 0, data => '0x6001', idempotency_key => 'five') > 0 AS queued;
SELECT idempotency_key, recipient, value, data, confirmations FROM rflow.transactions ORDER BY id;

-- The same key and body is the same transaction; another body is an error (I-29, R13).
SELECT rflow.submit_transaction('relay-hot', recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 1, data => '0x', idempotency_key => 'four')
	= (SELECT id FROM rflow.transactions WHERE idempotency_key = 'four') AS same;
\set SHOW_CONTEXT never
\set VERBOSITY sqlstate
SELECT rflow.submit_transaction('relay-hot', recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 2, data => '0x', idempotency_key => 'four');
SELECT rflow.submit_transaction('relay-hot', recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 1, data => '0x00', idempotency_key => 'four');
SELECT rflow.submit_transaction('relay-hot', recipient => NULL, value => 1, data => '0x00', idempotency_key => 'four');
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'four');
\set VERBOSITY default

-- Together with the caller's transaction or not at all; twice in one transaction is once.
BEGIN;
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'six') > 0 AS queued;
ROLLBACK;
BEGIN;
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'seven') = rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'seven') AS same;
COMMIT;
SELECT count(*) FROM rflow.transactions WHERE idempotency_key IN ('six', 'seven');

-- What is wrong is said where it is written (rrelayer#104).
\set VERBOSITY terse
SELECT rflow.submit_transaction('relay-cold', 'relay-token', 'deposit', '[]', 'k');
SELECT rflow.submit_transaction('relay-still', 'relay-other', 'f', '[]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-nothing', 'deposit', '[]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-other', 'f', '[]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'withdraw', '[]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'mint', '[1]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'transfer', '["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'transfer', '["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", 1.5]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'transfer', '["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", -1]', 'k');
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'transfer', '["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", 1]', 'k', value => 1);
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'k', value => 0.5);
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'k', value => -1);
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'k', value => 2::numeric ^ 256);
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'k', gas_limit => 0);
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', NULL);
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', repeat('k', 513));
SELECT rflow.submit_transaction('relay-hot', recipient => NULL, value => 0, data => '0x', idempotency_key => 'k');

-- Rights: a grant to the role or to one that it is a member of. A search_path of the caller's changes nothing.
SET ROLE relay_bob;
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'one');
SELECT rflow.adopt_account('relay-hot', 1);
SET ROLE relay_carol;
SET search_path = pg_temp;
SELECT rflow.submit_transaction('relay-hot', 'relay-token', 'deposit', '[]', 'one') > 0 AS keys_are_unique_per_owner;
RESET search_path;

-- Who sees what, and who may cancel it.
SELECT idempotency_key, owner FROM rflow.transactions;
SELECT relayer, queued, paused FROM rflow.relayer_status;
RESET ROLE;
SELECT id AS one FROM rflow.transactions WHERE idempotency_key = 'one' AND owner = 'relay_alice'::regrole \gset
SET ROLE relay_bob;
SELECT count(*) FROM rflow.transactions;
SELECT count(*) FROM rflow.attempts;
SELECT count(*) FROM rflow.relayer_status;
\set VERBOSITY sqlstate
SELECT rflow.cancel_transaction(:one) IS NULL AS foreign_one;
SELECT count(*) FROM rflow_private.relayer_transactions;
RESET ROLE;
GRANT rflow_viewer TO relay_bob;
SET ROLE relay_bob;
SELECT count(*) FROM rflow.transactions;
SELECT relayer, queued FROM rflow.relayer_status ORDER BY 1;
SELECT rflow.cancel_transaction(:one) IS NULL AS viewers_cancel_nothing;
SET ROLE relay_alice;
SELECT rflow.cancel_transaction(:one);
SELECT rflow.cancel_transaction(:one);
SELECT state, reason FROM rflow.transactions WHERE id = :one;
RESET ROLE;
SELECT count(*) FROM rflow_private.due WHERE kind = 'send' AND owner = 'relay-hot';

-- What a waiting run is told.
SELECT state, reverted, wait_for, rflow_private.relay_verdict(state, reverted, wait_for)
	FROM unnest('{queued,signed,broadcast,confirmed,failed,cancelled}'::text[]) state, (VALUES (NULL::boolean)) r (reverted), unnest('{none,sent,mined,confirmed}'::text[]) wait_for
UNION ALL
SELECT 'mined', reverted, wait_for, rflow_private.relay_verdict('mined', reverted, wait_for)
	FROM (VALUES (false), (true)) r (reverted), unnest('{sent,mined,confirmed}'::text[]) wait_for
ORDER BY 1, 2, 3;

DELETE FROM rflow_private.relayer_transactions;
DELETE FROM rflow_private.due;
DELETE FROM rflow.relayers WHERE name LIKE 'relay-%';
DELETE FROM rflow.contracts WHERE name LIKE 'relay-%';
DELETE FROM rflow.networks WHERE name LIKE 'relay-%';
DROP ROLE relay_alice, relay_bob, relay_carol, relay_team;
