-- Pauses: switches that hold what relayers sign and send, at every level.

CREATE TABLE rflow_private.pauses (
	kind text NOT NULL
		CONSTRAINT pauses_kind_check CHECK (kind IN ('all', 'network', 'relayer', 'workflow')),
	name text NOT NULL,
	since timestamptz NOT NULL DEFAULT clock_timestamp(),
	paused_by text NOT NULL,
	reason text,
	PRIMARY KEY (kind, name)
);
COMMENT ON TABLE rflow_private.pauses IS 'What is paused, by whom and why. Of a relayer, the switch is its column paused';
COMMENT ON COLUMN rflow_private.pauses.name IS 'Empty for all';

CREATE FUNCTION rflow_private.note_relayer_pause() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF new.paused THEN
		INSERT INTO rflow_private.pauses (kind, name, paused_by) VALUES ('relayer', new.name, session_user)
			ON CONFLICT DO NOTHING;
	ELSE
		DELETE FROM rflow_private.pauses p WHERE p.kind = 'relayer' AND p.name = new.name;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION rflow_private.note_relayer_pause() IS 'Keeps since when and by whom a relayer is paused';

CREATE FUNCTION rflow_private.forget_pause() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM rflow_private.pauses p WHERE p.kind = tg_argv[0] AND p.name = old.name;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION rflow_private.forget_pause() IS 'A pause goes with what is paused';

CREATE TRIGGER note_pause AFTER UPDATE OF paused ON rflow.relayers
	FOR EACH ROW WHEN (old.paused IS DISTINCT FROM new.paused) EXECUTE FUNCTION rflow_private.note_relayer_pause();
CREATE TRIGGER forget_pause AFTER DELETE ON rflow.relayers
	FOR EACH ROW EXECUTE FUNCTION rflow_private.forget_pause('relayer');
CREATE TRIGGER forget_pause AFTER DELETE ON rflow.networks
	FOR EACH ROW EXECUTE FUNCTION rflow_private.forget_pause('network');
CREATE TRIGGER forget_pause AFTER DELETE ON rflow.workflows
	FOR EACH ROW EXECUTE FUNCTION rflow_private.forget_pause('workflow');

CREATE FUNCTION rflow.pause(kind text, name text DEFAULT NULL, reason text DEFAULT NULL) RETURNS boolean
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_pause';
COMMENT ON FUNCTION rflow.pause(text, text, text) IS
	'Holds what is not signed, and what is signed and not sent: of a ''relayer'', of a ''network'', or ''all''; of a ''workflow'', what is not signed. False where it was paused already. For operators, and owners of the workflow';

CREATE FUNCTION rflow.resume(kind text, name text DEFAULT NULL, reason text DEFAULT NULL) RETURNS boolean
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_resume';
COMMENT ON FUNCTION rflow.resume(text, text, text) IS
	'Ends a pause of the same kind and name; other pauses stay. False where there is none';

CREATE VIEW rflow.pauses WITH (security_barrier) AS
SELECT p.kind, nullif(p.name, '') AS name, p.since, p.paused_by, p.reason
FROM rflow_private.pauses p
LEFT JOIN rflow.workflows w ON p.kind = 'workflow' AND w.name = p.name
WHERE p.kind IN ('all', 'network')
	OR (p.kind = 'workflow' AND rflow_private.may_see(w.owner))
	OR (p.kind = 'relayer' AND (rflow_private.may_see(NULL)
		OR EXISTS (SELECT
			FROM rflow.relayer_grants g
			WHERE g.relayer = p.name AND pg_has_role(g.grantee, 'USAGE'))));
COMMENT ON VIEW rflow.pauses IS 'What is paused: rflow.pause(), rflow.resume()';
COMMENT ON COLUMN rflow.pauses.kind IS 'all, network, relayer, workflow';
COMMENT ON COLUMN rflow.pauses.name IS 'Its name; NULL for all';
COMMENT ON COLUMN rflow.pauses.since IS 'Since when';
COMMENT ON COLUMN rflow.pauses.paused_by IS 'The role that did it';
COMMENT ON COLUMN rflow.pauses.reason IS 'Why, as given';
GRANT SELECT ON rflow.pauses TO PUBLIC;

CREATE VIEW rflow_private.paused_things WITH (security_barrier) AS
SELECT p.kind, p.name, p.since,
	format('%s paused by %s%s', CASE p.kind WHEN 'all' THEN 'everything is' ELSE format('%s %s is', p.kind, p.name) END,
		p.paused_by, ': ' || p.reason) AS what,
	CASE p.kind WHEN 'all' THEN 'SELECT rflow.resume(''all'')' ELSE format('SELECT rflow.resume(%L, %L)', p.kind, p.name) END AS resume
FROM rflow_private.pauses p;
COMMENT ON VIEW rflow_private.paused_things IS 'Pauses in words, and how each is ended';
