-- rflow.arm() and rflow.disarm(): what they record, who may call them, when they take effect.
-- Everything is rolled back: other tests find the database as it was.

BEGIN;
SELECT rflow.disarm();
SELECT rflow.readiness();
SELECT count(*) FROM rflow_private.identity;

SELECT * FROM rflow.arm();
SELECT rflow.readiness();
SELECT i.system_identifier = c.system_identifier AS same_server,
	i.database_oid = (SELECT oid FROM pg_database WHERE datname = current_database()) AS same_database,
	i.timeline = c.timeline AS same_timeline,
	i.instance_id,
	i.armed_by::text = session_user AS by_me
FROM rflow_private.identity i, pg_control_system() s, rflow_private.current_identity() c
WHERE s.system_identifier = i.system_identifier;

-- Again: one record, of the last time.
SELECT * FROM rflow.arm();
SELECT count(*) FROM rflow_private.identity;

-- A copy has another server, database or instance; another timeline only holds signing.
SAVEPOINT armed;
UPDATE rflow_private.identity SET system_identifier = system_identifier + 1;
SELECT rflow.readiness();
ROLLBACK TO armed;
UPDATE rflow_private.identity SET database_oid = 1;
SELECT rflow.readiness();
ROLLBACK TO armed;
UPDATE rflow_private.identity SET instance_id = 'other';
SELECT rflow.readiness();
ROLLBACK TO armed;
UPDATE rflow_private.identity SET timeline = timeline + 1;
SELECT rflow.readiness();
ROLLBACK TO armed;
SELECT rflow.readiness();

-- There is one record at most.
\set VERBOSITY terse
INSERT INTO rflow_private.identity SELECT false, system_identifier, database_oid, timeline, instance_id, armed_at, armed_by FROM rflow_private.identity;
\set VERBOSITY default
ROLLBACK;

-- Such a transaction cannot be prepared.
BEGIN;
SELECT rflow.disarm();
PREPARE TRANSACTION 'rflow_arming';
SELECT count(*) FROM pg_prepared_xacts WHERE gid = 'rflow_arming';

-- Only members of rflow_admin, and superusers.
CREATE ROLE regress_arming_admin IN ROLE rflow_admin;
CREATE ROLE regress_arming_other IN ROLE rflow_operator;
BEGIN;
SET LOCAL ROLE regress_arming_admin;
SELECT * FROM rflow.arm();
SELECT rflow.disarm();
SELECT rflow.readiness();
ROLLBACK;
\set VERBOSITY sqlstate
SET ROLE regress_arming_other;
SELECT * FROM rflow.arm();
SELECT rflow.disarm();
SELECT rflow_private.definitions_changed();
SELECT * FROM rflow_private.worker_slots();
\set VERBOSITY default
SELECT count(*) FROM rflow.workers WHERE kind = 'launcher';
RESET ROLE;
CREATE ROLE regress_arming_stranger;
SET ROLE regress_arming_stranger;
\set VERBOSITY sqlstate
SELECT count(*) FROM rflow.workers;
SELECT count(*) FROM rflow_private.commit_samples();
RESET ROLE;
\set VERBOSITY default
DROP ROLE regress_arming_admin, regress_arming_other, regress_arming_stranger;

-- Settings that tell servers apart cannot be changed in a session.
SET rflow.instance_id = 'mine';
SET rflow.max_workers = 1;
