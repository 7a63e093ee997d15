-- Schemas and roles. The types' operators live in pg_catalog (see the control file): no search_path hides them.

\echo Use "CREATE EXTENSION rflow" to load this file. \quit

CREATE SCHEMA rflow;
COMMENT ON SCHEMA rflow IS 'rflow: durable on-chain workflows. What users see and call.';

CREATE SCHEMA rflow_private;
COMMENT ON SCHEMA rflow_private IS 'rflow: state of the workers. Read it through the views of schema rflow.';

GRANT USAGE ON SCHEMA rflow TO PUBLIC;

DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'rflow_viewer') THEN
		CREATE ROLE rflow_viewer NOLOGIN;
		COMMENT ON ROLE rflow_viewer IS 'rflow: may read all runs, transactions and status views';
	END IF;
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'rflow_operator') THEN
		CREATE ROLE rflow_operator NOLOGIN;
		COMMENT ON ROLE rflow_operator IS 'rflow: may call the operating verbs on everything';
	END IF;
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'rflow_admin') THEN
		CREATE ROLE rflow_admin NOLOGIN;
		COMMENT ON ROLE rflow_admin IS 'rflow: may define networks, contracts, relayers and grants';
	END IF;
END
$$;
