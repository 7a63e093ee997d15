-- Who may do what: the privileges as they are, then the attempts that they must stop.
-- The README's table says the same in words.

SELECT n.nspname AS schema, coalesce(a.grantee::regrole::text, '-') AS grantee, a.privilege_type AS privilege
FROM pg_namespace n, aclexplode(n.nspacl) a
WHERE n.nspname IN ('rflow', 'rflow_private') AND a.grantee <> n.nspowner
ORDER BY 1, 2, 3;

-- Tables and views by grantee, with columns where not all are meant; "-" is everyone.
SELECT relation, grantee, string_agg(privilege || coalesce(' (' || columns || ')', ''), ', ' ORDER BY columns IS NOT NULL, privilege) AS may
FROM (
	SELECT c.oid::regclass AS relation, a.grantee::regrole::text AS grantee, a.privilege_type AS privilege, NULL AS columns
	FROM pg_class c, aclexplode(c.relacl) a
	WHERE c.relnamespace IN ('rflow'::regnamespace, 'rflow_private'::regnamespace)
	  AND a.grantee <> c.relowner
	UNION ALL
	SELECT c.oid::regclass, a.grantee::regrole::text, a.privilege_type, string_agg(t.attname, ', ' ORDER BY t.attnum)
	FROM pg_class c
	JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
	WHERE c.relnamespace IN ('rflow'::regnamespace, 'rflow_private'::regnamespace)
	  AND a.grantee <> c.relowner
	GROUP BY 1, 2, 3) p
GROUP BY relation, grantee
ORDER BY relation::text COLLATE "C", grantee COLLATE "C";

-- Functions that not everyone may call.
SELECT p.oid::regprocedure AS function, coalesce(string_agg(a.grantee::regrole::text, ', ' ORDER BY a.grantee::regrole::text) FILTER (WHERE a.grantee <> p.proowner), '') AS grantees
FROM pg_proc p, aclexplode(p.proacl) a
WHERE p.pronamespace IN ('rflow'::regnamespace, 'rflow_private'::regnamespace)
GROUP BY p.oid
HAVING NOT bool_or(a.grantee = 0)
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- Functions that act and that everyone may call: they check the caller themselves.
SELECT p.oid::regprocedure AS function
FROM pg_proc p
WHERE p.pronamespace = 'rflow'::regnamespace
  AND p.provolatile = 'v'
  AND has_function_privilege('pg_monitor', p.oid, 'EXECUTE')
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- Row security
SELECT p.polrelid::regclass AS relation, p.polname AS policy, p.polcmd AS command,
	pg_get_expr(p.polqual, p.polrelid) AS "using", pg_get_expr(p.polwithcheck, p.polrelid) AS "check"
FROM pg_policy p
JOIN pg_class c ON c.oid = p.polrelid AND c.relrowsecurity
WHERE c.relnamespace = 'rflow'::regnamespace
ORDER BY 1, 2;

CREATE ROLE regress_grants_admin IN ROLE rflow_admin;
CREATE ROLE regress_grants_operator IN ROLE rflow_operator;
CREATE ROLE regress_grants_viewer IN ROLE rflow_viewer;
CREATE ROLE regress_grants_author;
CREATE ROLE regress_grants_colleague IN ROLE regress_grants_author;
CREATE ROLE regress_grants_distant NOINHERIT IN ROLE regress_grants_author;
CREATE ROLE regress_grants_other;
GRANT INSERT, UPDATE, DELETE ON rflow.workflows TO regress_grants_author, regress_grants_distant, regress_grants_other;
\set VERBOSITY terse

-- The admin defines networks, contracts and relayers, and says who may use them.
SET ROLE regress_grants_admin;
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('grants', 31337, '{https://node.invalid/secret}');
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('grants-token', 'grants', '0x5FbDB2315678afecb367f032d93F642f64180aa3', rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('grants-hot', 'grants', 'env:RFLOW_NOTHING');
INSERT INTO rflow.relayer_grants VALUES ('grants-hot', 'regress_grants_author');
SELECT rpc_urls FROM rflow.networks WHERE name = 'grants';
SELECT count(*) FROM rflow_private.workflow_runs;
TRUNCATE rflow.workflows;

-- Authors make workflows as themselves, with the builders.
SET ROLE regress_grants_author;
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('grants-mine', rflow.on_event('grants-token', 'Transfer'), 'true', rflow.steps(rflow.stop('done', run_if => 'true')))
RETURNING owner;
INSERT INTO rflow.workflows (name, trigger, steps, owner)
VALUES ('grants-theirs', rflow.on_start(), '[]', 'regress_grants_other');
\set VERBOSITY sqlstate
INSERT INTO rflow.workflows (name, trigger, steps, owner) SELECT 'grants-theirs', rflow.on_start(), '[]', oid::regrole FROM pg_roles WHERE oid = 10;
\set VERBOSITY terse
UPDATE rflow.workflows SET owner = 'regress_grants_other' WHERE name = 'grants-mine';
SET ROLE regress_grants_viewer;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('grants-viewer', rflow.on_start(), '[]');
SELECT count(*) FROM rflow.workflows WHERE name = 'grants-mine';

-- Others do not see them, and change nothing.
SET ROLE regress_grants_other;
SELECT count(*) FROM rflow.workflows;
UPDATE rflow.workflows SET filter = 'false' WHERE name = 'grants-mine';
DELETE FROM rflow.workflows WHERE name = 'grants-mine';
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('grants-mine', rflow.on_start(), '[]') ON CONFLICT (name) DO UPDATE SET filter = 'false';
SELECT rflow.start('grants-mine');
SELECT rflow.disable('grants-mine');

-- Members do, and the owner stays; a member that does not inherit has to SET ROLE first.
SET ROLE regress_grants_colleague;
UPDATE rflow.workflows SET filter = 'event.value > 0' WHERE name = 'grants-mine' RETURNING owner;
SET ROLE regress_grants_distant;
UPDATE rflow.workflows SET filter = 'event.value > 1' WHERE name = 'grants-mine' RETURNING owner;
INSERT INTO rflow.workflows (name, trigger, steps, owner) VALUES ('grants-distant', rflow.on_start(), '[]', 'regress_grants_author');

-- An admin may change every workflow, but takes it over; switching it off leaves the owner.
SET ROLE regress_grants_admin;
UPDATE rflow.workflows SET enabled = false WHERE name = 'grants-mine' RETURNING owner;
UPDATE rflow.workflows SET filter = 'event.value > 2' WHERE name = 'grants-mine' RETURNING owner;
SET ROLE regress_grants_author;
SELECT count(*) FROM rflow.workflows;
SET ROLE regress_grants_admin;
DELETE FROM rflow.workflows WHERE name = 'grants-mine';

-- URLs and signers are for admins alone; the other columns of networks are for all.
SET ROLE regress_grants_operator;
SELECT * FROM rflow.networks;
SELECT rpc_urls FROM rflow.networks;
COPY rflow.networks TO stdout;
SELECT n::text FROM rflow.networks n;
SELECT signer FROM rflow.relayers;
SELECT name, network, paused FROM rflow.relayers WHERE name = 'grants-hot';
SET ROLE regress_grants_other;
SELECT rpc_urls FROM rflow.networks;
SELECT name, chain_id, enabled FROM rflow.networks WHERE name = 'grants';
SELECT name, address FROM rflow.contracts WHERE name = 'grants-token';
SELECT name FROM rflow.relayers;
SELECT * FROM rflow.relayer_grants;
SELECT * FROM rflow.workers;

-- Operators have the switches, and nothing else of the definitions.
SET ROLE regress_grants_operator;
UPDATE rflow.networks SET enabled = false WHERE name = 'grants';
UPDATE rflow.relayers SET paused = true WHERE name = 'grants-hot';
UPDATE rflow.networks SET rpc_urls = '{http://elsewhere.invalid}' WHERE name = 'grants';
UPDATE rflow.relayers SET signer = 'env:RFLOW_OTHER' WHERE name = 'grants-hot';
INSERT INTO rflow.relayer_grants VALUES ('grants-hot', 'regress_grants_operator');
DELETE FROM rflow.networks;

-- A role whose name needs quotes is a role like others.
RESET ROLE;
CREATE ROLE "Regress Grants" IN ROLE rflow_admin;
BEGIN;
SET LOCAL SESSION AUTHORIZATION "Regress Grants";
SELECT * FROM rflow.arm();
SELECT rflow.readiness();
ROLLBACK;
DROP ROLE "Regress Grants";

-- Nobody reaches rflow_private, neither its tables nor the functions that everyone may EXECUTE.
SET ROLE regress_grants_operator;
SELECT count(*) FROM rflow_private.workflow_runs;
SELECT * FROM rflow_private.worker_slots();
SELECT * FROM rflow_private.lock_holders('0');
SET ROLE regress_grants_viewer;
SELECT rflow.resolve_incident(1);
SELECT rflow.adopt_account('grants-hot');
SET ROLE regress_grants_other;
SELECT rflow.resolve_incident(1);
SELECT rflow_private.may_see(10);
CREATE TRIGGER t AFTER INSERT ON rflow.workflows EXECUTE FUNCTION rflow_private.after_definitions_change();
CREATE POLICY p ON rflow.workflows USING (true);
RESET ROLE;

\set VERBOSITY default
DELETE FROM rflow.relayers WHERE name = 'grants-hot';
DELETE FROM rflow.contracts WHERE name = 'grants-token';
DELETE FROM rflow.networks WHERE name = 'grants';
REVOKE ALL ON rflow.workflows FROM regress_grants_author, regress_grants_distant, regress_grants_other;
DROP ROLE regress_grants_admin, regress_grants_operator, regress_grants_viewer, regress_grants_colleague, regress_grants_distant, regress_grants_author, regress_grants_other;
