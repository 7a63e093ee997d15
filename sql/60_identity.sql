-- Arming, and views over what workers keep in shared memory.

CREATE FUNCTION rflow_private.current_identity(
	OUT system_identifier bigint, OUT database_oid oid, OUT timeline integer, OUT instance_id text)
	LANGUAGE c VOLATILE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'rflow_current_identity';
COMMENT ON FUNCTION rflow_private.current_identity() IS 'What rflow.arm() records of this server and database';

CREATE FUNCTION rflow_private.definitions_changed() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'rflow_definitions_changed';
COMMENT ON FUNCTION rflow_private.definitions_changed() IS 'At commit, all workers of this database look at the definitions again';
REVOKE ALL ON FUNCTION rflow_private.definitions_changed() FROM PUBLIC;

CREATE FUNCTION rflow_private.readiness() RETURNS text
	LANGUAGE c VOLATILE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'rflow_readiness';
COMMENT ON FUNCTION rflow_private.readiness() IS 'rflow.readiness(), but for networks that are being reconciled';

CREATE FUNCTION rflow.readiness() RETURNS text
	LANGUAGE sql VOLATILE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
SELECT CASE WHEN p.status = 'ready' AND r.networks IS NOT NULL
	THEN 'ready, but signing is held until accounts are reconciled with the chain: network ' || r.networks
	ELSE p.status END
FROM (SELECT rflow_private.readiness() AS status) p
CROSS JOIN (
	SELECT string_agg(r.network, ', ' ORDER BY r.network) AS networks
	FROM rflow_private.reconciliations r
	JOIN rflow.networks n ON n.name = r.network AND n.enabled
	WHERE r.finished_at IS NULL) r
$$;
COMMENT ON FUNCTION rflow.readiness() IS 'ready when workers act in this database, else why they do not';

CREATE FUNCTION rflow.arm() RETURNS TABLE (workflow text, problem text)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT EXISTS (
		SELECT
		FROM rflow_private.identity i
		JOIN rflow_private.current_identity() c USING (system_identifier, database_oid, timeline, instance_id))
	THEN
		PERFORM rflow_private.begin_reconciliation('rflow.arm() was called for a server or database that was not armed', true);
	END IF;
	INSERT INTO rflow_private.identity AS i
		(system_identifier, database_oid, timeline, instance_id, armed_by)
	SELECT c.system_identifier, c.database_oid, c.timeline, c.instance_id, quote_ident(session_user)::regrole
	FROM rflow_private.current_identity() c
	ON CONFLICT (singleton) DO UPDATE SET
		system_identifier = excluded.system_identifier,
		database_oid = excluded.database_oid,
		timeline = excluded.timeline,
		instance_id = excluded.instance_id,
		armed_at = clock_timestamp(),
		armed_by = excluded.armed_by;
	PERFORM rflow_private.definitions_changed();
	RETURN QUERY SELECT p.workflow, p.problem FROM rflow_private.check_workflows() p;
END
$$;
COMMENT ON FUNCTION rflow.arm() IS 'Lets the workers of this server act in this database; a copy of either has to be armed anew. Where the database has been in contact with a chain, its accounts are reconciled before anything is signed. Checks every workflow, and returns and disables those that fail';
REVOKE ALL ON FUNCTION rflow.arm() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rflow.arm() TO rflow_admin;

CREATE FUNCTION rflow.disarm() RETURNS void
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	DELETE FROM rflow_private.identity;
	PERFORM rflow_private.definitions_changed();
END
$$;
COMMENT ON FUNCTION rflow.disarm() IS 'Stops the workers of this database after what they have in hand, until rflow.arm()';
REVOKE ALL ON FUNCTION rflow.disarm() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rflow.disarm() TO rflow_admin;

CREATE FUNCTION rflow_private.worker_slots(
	OUT kind text, OUT database oid, OUT network text, OUT index integer, OUT pid integer,
	OUT state text, OUT status text, OUT started_at timestamptz, OUT restarts bigint,
	OUT restart_at timestamptz, OUT last_error text, OUT last_error_at timestamptz,
	OUT endpoint text, OUT head_number bigint, OUT head_at timestamptz, OUT head_seen_at timestamptz,
	OUT finalized_number bigint, OUT rpc_latency_ms double precision, OUT rpc_requests bigint,
	OUT rpc_calls bigint, OUT rpc_failures bigint, OUT polls bigint, OUT blocks bigint,
	OUT rounds bigint, OUT rpc_units bigint, OUT limited_ms double precision, OUT limited_since timestamptz)
	RETURNS SETOF record
	LANGUAGE c VOLATILE PARALLEL SAFE ROWS 20
	AS 'MODULE_PATHNAME', 'rflow_worker_slots';
COMMENT ON FUNCTION rflow_private.worker_slots() IS 'All workers of the server, in all databases';
REVOKE ALL ON FUNCTION rflow_private.worker_slots() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rflow_private.worker_slots() TO rflow_viewer, rflow_operator, rflow_admin;

CREATE FUNCTION rflow_private.commit_samples(OUT run_id uuid, OUT committed_at timestamptz)
	RETURNS SETOF record
	LANGUAGE c VOLATILE PARALLEL SAFE ROWS 1000
	AS 'MODULE_PATHNAME', 'rflow_commit_samples';
COMMENT ON FUNCTION rflow_private.commit_samples() IS 'The last claims of this database: the clock after their commit had returned. Kept in memory, lost with a restart';
REVOKE ALL ON FUNCTION rflow_private.commit_samples() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rflow_private.commit_samples() TO rflow_viewer, rflow_operator, rflow_admin;

CREATE VIEW rflow.workers AS
SELECT s.kind, s.network, s.index, s.pid, s.state, s.status, s.started_at, s.restarts, s.restart_at,
	s.last_error, s.last_error_at
FROM rflow_private.worker_slots() s
WHERE s.database IS NULL
	OR s.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
ORDER BY s.kind, s.network, s.index;
COMMENT ON VIEW rflow.workers IS 'The worker processes of this database, and the launcher of the server';
COMMENT ON COLUMN rflow.workers.kind IS 'launcher, coordinator, watcher, relayer, executor';
COMMENT ON COLUMN rflow.workers.network IS 'The network that it serves, of watchers and relayers';
COMMENT ON COLUMN rflow.workers.index IS 'Number of the executor, from 0';
COMMENT ON COLUMN rflow.workers.pid IS 'Its process; NULL while it is not running';
COMMENT ON COLUMN rflow.workers.state IS 'running; starting; waiting (for a process, or until restart_at)';
COMMENT ON COLUMN rflow.workers.status IS 'What it does, or why it does nothing';
COMMENT ON COLUMN rflow.workers.started_at IS 'When it was last started';
COMMENT ON COLUMN rflow.workers.restarts IS 'How often it has ended';
COMMENT ON COLUMN rflow.workers.restart_at IS 'When it is started again, if it is waiting: later after each error, at most 5 minutes';
COMMENT ON COLUMN rflow.workers.last_error IS 'The last error that ended it, or that it reported';
COMMENT ON COLUMN rflow.workers.last_error_at IS 'When that was';
GRANT SELECT ON rflow.workers TO rflow_viewer, rflow_operator, rflow_admin;

-- The launcher does not know of the extension in this database yet.
SELECT rflow_private.definitions_changed();
