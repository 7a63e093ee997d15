-- rflow.top_ups: what a row must hold, who may write it, and that a target has one transfer under way for each asset.
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES
	('tops-net', 31337, '{http://127.0.0.1:1}'), ('tops-other', 31338, '{http://127.0.0.1:1}');
INSERT INTO rflow.relayers (name, network, signer) VALUES
	('tops-bank', 'tops-net', 'env:RFLOW_TOPS_A'), ('tops-hot', 'tops-net', 'env:RFLOW_TOPS_B'), ('tops-far', 'tops-other', 'env:RFLOW_TOPS_A');

\set VERBOSITY terse
BEGIN;
SELECT rflow.arm();
SAVEPOINT s;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'nobody', 'tops-hot', 1, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'tops-bank', 'nobody', 1, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'tops-bank', 'tops-far', 1, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'tops-bank', 'tops-bank', 1, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, below, up_to) VALUES ('tops-a', 'tops-bank', 1, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, recipient, below, up_to) VALUES ('tops-a', 'tops-bank', 'tops-hot', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 1, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, recipient, below, up_to) VALUES ('tops-a', 'tops-bank', '0x0000000000000000000000000000000000000000', 1, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below) VALUES ('tops-a', 'tops-bank', 'tops-hot', 1);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to, amount) VALUES ('tops-a', 'tops-bank', 'tops-hot', 1, 2, 3);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'tops-bank', 'tops-hot', 3, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, amount) VALUES ('tops-a', 'tops-bank', 'tops-hot', 0.5, 2);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, amount) VALUES ('tops-a', 'tops-bank', 'tops-hot', 1, 2::numeric ^ 256);
ROLLBACK TO s;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'tops-bank', 'tops-hot', 1, 2);
SAVEPOINT s;
UPDATE rflow.top_ups SET name = 'tops-b';
ROLLBACK TO s;
UPDATE rflow.relayers SET network = 'tops-other' WHERE name = 'tops-hot';
ROLLBACK TO s;
\set VERBOSITY default
DELETE FROM rflow.relayers WHERE name = 'tops-bank';
ROLLBACK TO s;
-- Its status, before anybody has looked.
SELECT * FROM rflow.top_up_status;
ROLLBACK;

-- One transfer that is not final for each target and asset of a chain.
INSERT INTO rflow_private.top_up_transfers (top_up, network, chain_id, source, target, asset, amount, created_at)
SELECT t, 'tops-net', c, '0x00000000000000000000000000000000000000aa', '0x00000000000000000000000000000000000000bb', a::rflow.address, 1, now()
	FROM (VALUES ('tops-a', 1, '0x0000000000000000000000000000000000000000'), ('tops-a', 2, '0x0000000000000000000000000000000000000000'),
		('tops-a', 1, '0x00000000000000000000000000000000000000cc'), ('tops-b', 1, '0x0000000000000000000000000000000000000000')) v (t, c, a)
	ON CONFLICT DO NOTHING RETURNING top_up, chain_id, asset;
DELETE FROM rflow_private.top_up_transfers;

-- Only admins write; what is written is read by those who watch over everything.
CREATE ROLE tops_operator IN ROLE rflow_operator;
CREATE ROLE tops_anybody;
\set VERBOSITY terse
SET ROLE tops_operator;
SELECT count(*) FROM rflow.top_ups;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'tops-bank', 'tops-hot', 1, 2);
SET ROLE tops_anybody;
SELECT count(*) FROM rflow.top_ups;
RESET ROLE;
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('tops-a', 'tops-bank', 'tops-hot', 1, 2);
INSERT INTO rflow_private.top_up_states (top_up, problem, problem_since, observed_at) VALUES ('tops-a', 'source "tops-bank" has too little', now(), now());
INSERT INTO rflow_private.relayer_states (relayer, address) VALUES ('tops-bank', '0x00000000000000000000000000000000000000aa');
SELECT subject, reason, what_to_do FROM rflow.stuck WHERE kind = 'top-up';
SET ROLE tops_operator;
SELECT top_up, network, source, relayer, problem FROM rflow.top_up_status;
SET ROLE tops_anybody;
SELECT count(*) FROM rflow.top_up_status;
SELECT count(*) FROM rflow.stuck WHERE kind = 'top-up';
RESET ROLE;
UPDATE rflow.top_ups SET enabled = false;
SELECT count(*) FROM rflow.stuck WHERE kind = 'top-up';
DELETE FROM rflow.top_ups;
SELECT count(*) FROM rflow_private.top_up_states;

-- A relayer that is low: since when, and what to do; deleted, it is over.
UPDATE rflow.relayers SET low_balance = 1000 WHERE name = 'tops-bank';
UPDATE rflow_private.relayer_states SET balance = 999, low_since = '2026-01-01' WHERE relayer = 'tops-bank';
INSERT INTO rflow_private.incidents (kind, network, subject, reason, what_to_do) VALUES ('low-balance', 'tops-net', 'tops-bank', 'r', 'w');
SELECT subject, since = '2026-01-01' AS since, reason, what_to_do FROM rflow.stuck WHERE kind IN ('relayer', 'low-balance');
DELETE FROM rflow.relayers WHERE name = 'tops-bank';
SELECT kind, resolved_at IS NOT NULL AS resolved FROM rflow.incidents WHERE subject = 'tops-bank';
UPDATE rflow.relayers SET low_balance = 0 WHERE name = 'tops-hot';
UPDATE rflow.relayers SET low_balance = 1.5 WHERE name = 'tops-hot';

DELETE FROM rflow_private.incidents WHERE subject = 'tops-bank';
DELETE FROM rflow_private.relayer_states WHERE relayer LIKE 'tops-%';
DELETE FROM rflow.relayers WHERE name LIKE 'tops-%';
DELETE FROM rflow.networks WHERE name LIKE 'tops-%';
DROP ROLE tops_operator, tops_anybody;
