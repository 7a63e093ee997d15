-- References among networks, contracts, relayers and grants hold as foreign keys would, once the database is armed.

\set VERBOSITY terse
BEGIN;
SELECT rflow.arm();
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES
	('references-a', 31337, '{http://127.0.0.1:1}'), ('references-b', 31338, '{http://127.0.0.1:1}');
SAVEPOINT s;
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('references-token', 'nowhere', '0x5FbDB2315678afecb367f032d93F642f64180aa3', '[]');
ROLLBACK TO s;
INSERT INTO rflow.relayers (name, network, signer) VALUES ('references-hot', 'nowhere', 'env:RFLOW_NOTHING');
ROLLBACK TO s;
INSERT INTO rflow.relayer_grants VALUES ('nobody', quote_ident(CURRENT_USER)::regrole);
ROLLBACK TO s;

INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('references-token', 'references-a', '0x5FbDB2315678afecb367f032d93F642f64180aa3', '[]');
INSERT INTO rflow.relayers (name, network, signer) VALUES ('references-hot', 'references-a', 'env:RFLOW_NOTHING');
INSERT INTO rflow.relayer_grants VALUES ('references-hot', quote_ident(CURRENT_USER)::regrole);
SAVEPOINT s;
UPDATE rflow.contracts SET network = 'nowhere' WHERE name = 'references-token';
ROLLBACK TO s;
UPDATE rflow.relayer_grants SET relayer = 'nobody' WHERE relayer = 'references-hot';
ROLLBACK TO s;
-- What it has queued and signed is for the chain that it was on.
UPDATE rflow.relayers SET network = 'references-b' WHERE name = 'references-hot';
ROLLBACK TO s;
\set VERBOSITY default
DELETE FROM rflow.networks WHERE name = 'references-a';
ROLLBACK TO s;
\set VERBOSITY terse
DELETE FROM rflow.networks WHERE name = 'references-b';

-- The grants of a relayer go with it, and then the network may.
DELETE FROM rflow.relayers WHERE name = 'references-hot';
SELECT count(*) FROM rflow.relayer_grants WHERE relayer = 'references-hot';
DELETE FROM rflow.contracts WHERE name = 'references-token';
DELETE FROM rflow.networks WHERE name = 'references-a';
ROLLBACK;

-- A disarmed database is being restored: rows come in any order.
BEGIN;
INSERT INTO rflow.relayer_grants VALUES ('references-hot', quote_ident(CURRENT_USER)::regrole);
INSERT INTO rflow.relayers (name, network, signer) VALUES ('references-hot', 'references-a', 'env:RFLOW_NOTHING');
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('references-a', 31337, '{http://127.0.0.1:1}');
DELETE FROM rflow.networks WHERE name = 'references-a';
ROLLBACK;

-- Who may write a table needs no rights on what it refers to.
CREATE ROLE regress_references;
BEGIN;
SELECT rflow.arm();
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('references-a', 31337, '{http://127.0.0.1:1}');
GRANT INSERT ON rflow.contracts TO regress_references;
SET LOCAL ROLE regress_references;
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('references-token', 'references-a', '0x5FbDB2315678afecb367f032d93F642f64180aa3', '[]');
SELECT name, network FROM rflow.contracts;
ROLLBACK;
DROP ROLE regress_references;

-- A relayer stays while transactions of it are under way: its nonces are debts (T22, rrelayer 0.4.1).
BEGIN;
SELECT rflow.arm();
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('references-a', 31337, '{http://127.0.0.1:1}');
INSERT INTO rflow.relayers (name, network, signer) VALUES ('references-hot', 'references-a', 'env:RFLOW_NOTHING');
SELECT rflow.submit_transaction('references-hot', recipient => '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value => 1, data => '0x', idempotency_key => 'references') AS id \gset
\set VERBOSITY default
\set SHOW_CONTEXT never
SAVEPOINT s;
DELETE FROM rflow.relayers WHERE name = 'references-hot';
ROLLBACK TO s;
-- Another signer is another account: what is queued goes to that, but what is signed would have nobody.
UPDATE rflow.relayers SET signer = 'env:RFLOW_OTHER' WHERE name = 'references-hot';
INSERT INTO rflow_private.nonces (chain_id, address, nonce, transaction_id) VALUES (31337, '0x5FbDB2315678afecb367f032d93F642f64180aa3', 0, :id);
SAVEPOINT s;
UPDATE rflow.relayers SET signer = 'env:RFLOW_NOTHING' WHERE name = 'references-hot';
ROLLBACK TO s;
UPDATE rflow.networks SET chain_id = 1 WHERE name = 'references-a';
ROLLBACK TO s;
UPDATE rflow_private.nonces SET settled = true;
UPDATE rflow.networks SET chain_id = 1 WHERE name = 'references-a';
UPDATE rflow.relayers SET signer = 'env:RFLOW_NOTHING' WHERE name = 'references-hot';
SELECT rflow.cancel_transaction(:id);
DELETE FROM rflow.relayers WHERE name = 'references-hot';
ROLLBACK;
