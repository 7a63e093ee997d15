-- Code of a workflow's owner that runs while others write definitions: it changes nothing, and takes nothing over.
-- Everything is rolled back.

\set ON_ERROR_ROLLBACK on
\set SHOW_CONTEXT never
CREATE ROLE regress_takeover_mallory IN ROLE rflow_admin;
BEGIN;
SELECT rflow.arm();
GRANT CREATE ON SCHEMA public TO regress_takeover_mallory;
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES ('local', 31337, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('token', 'local', '0x5FbDB2315678afecb367f032d93F642f64180aa3', rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)'));

-- A constant of a composite type is read when the expression is checked, and with it the constraint of a domain.
SET LOCAL ROLE regress_takeover_mallory;
CREATE TABLE tries (outcome text);
CREATE FUNCTION seize(number integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	wanted text := nullif(current_setting('takeover.sql', true), '');
BEGIN
	IF wanted IS NOT NULL THEN
		EXECUTE wanted;
	END IF;
	RETURN true;
END
$$;
CREATE DOMAIN watched AS integer CONSTRAINT watched_check CHECK (seize(value));
CREATE TYPE bait AS (number watched);
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('victim', rflow.on_start(), '[]');
INSERT INTO rflow.workflows (name, trigger, filter, steps) VALUES
	('bait', rflow.on_event('token', 'Transfer'), $$ ('(1)'::bait).number = 1 $$, '[]');
RESET ROLE;

-- A superuser changes what it depends on: the code runs as its owner, and read-only.
SET LOCAL takeover.sql = $$ INSERT INTO tries VALUES (current_user) $$;
UPDATE rflow.contracts SET abi = rflow.abi('event Transfer(address indexed from, address indexed to, uint256 amount)');
\echo :SQLSTATE
SET LOCAL takeover.sql = $$ UPDATE rflow.workflows SET owner = 'postgres' WHERE name = 'victim' $$;
UPDATE rflow.contracts SET abi = rflow.abi('event Transfer(address indexed from, address indexed to, uint256 amount)');
\echo :SQLSTATE
SET LOCAL takeover.sql = $$ DO 'BEGIN SET LOCAL transaction_read_only = off; INSERT INTO tries VALUES (current_user); END' $$;
UPDATE rflow.contracts SET abi = rflow.abi('event Transfer(address indexed from, address indexed to, uint256 amount)');
\echo :SQLSTATE
-- What comes after an error can write again.
SET LOCAL takeover.sql = '';
UPDATE rflow.contracts SET abi = rflow.abi('event Transfer(address indexed from, address indexed to, uint256 amount)');
INSERT INTO tries VALUES ('none');
SELECT * FROM tries;
SELECT name, version, owner FROM rflow.workflows ORDER BY name;

-- The number of a version leads to its owner: nobody goes back to what somebody else has written.
UPDATE rflow.workflows SET steps = rflow.steps(rflow.sql('grab', 'SELECT 1')), owner = current_user::regrole WHERE name = 'victim';
SET LOCAL ROLE regress_takeover_mallory;
UPDATE rflow.workflows SET steps = '[]' WHERE name = 'victim';
UPDATE rflow.workflows SET version = 2 WHERE name = 'victim';
\echo :SQLSTATE
UPDATE rflow.workflows SET version = 2, vars = '{"a": 1}' WHERE name = 'victim';
\echo :SQLSTATE
INSERT INTO rflow.workflows (name, trigger, steps, version) VALUES ('fresh', rflow.on_start(), '[]', 2);
RESET ROLE;
SELECT name, version, owner FROM rflow.workflows ORDER BY name;
ROLLBACK;
DROP ROLE regress_takeover_mallory;
