-- Who may do what. The README has the same as a table, test/sql/grants.sql shows what really holds.
--
-- Nobody has USAGE of rflow_private: its tables are read through the views of rflow and written by our own functions.
-- Everyone may call the functions of rflow that have no REVOKE: those that act check the caller themselves.

-- Networks: the URLs may hold tokens. Contracts are public. The signer of a relayer names a secret.
GRANT SELECT, INSERT, UPDATE, DELETE ON rflow.networks, rflow.contracts, rflow.relayers, rflow.relayer_grants TO rflow_admin;
GRANT SELECT (name, chain_id, enabled, confirmations, poll_min, poll_max, rpc_timeout, log_range, max_units_per_second, unit_costs) ON rflow.networks TO PUBLIC;
GRANT SELECT ON rflow.contracts TO PUBLIC;
GRANT SELECT (name, network, paused, max_in_flight, max_fee_per_gas, max_gas_limit, bump_blocks, expires_in, low_balance) ON rflow.relayers TO rflow_viewer, rflow_operator;
GRANT SELECT ON rflow.relayer_grants, rflow.relayer_pools, rflow.top_ups TO rflow_viewer, rflow_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON rflow.relayer_pools, rflow.top_ups TO rflow_admin;

-- Operators have the switches.
GRANT UPDATE (enabled) ON rflow.networks TO rflow_operator;
GRANT UPDATE (paused) ON rflow.relayers TO rflow_operator;

-- Workflows: everyone sees their own; who is granted INSERT, UPDATE and DELETE changes their own. A workflow acts with
-- the rights of its owner, and the trigger keeps anyone from making another role the owner.
GRANT SELECT ON rflow.workflows, rflow.workflow_versions TO PUBLIC;
GRANT INSERT, UPDATE, DELETE ON rflow.workflows TO rflow_admin;

ALTER TABLE rflow.workflows ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON rflow.workflows FOR SELECT USING (rflow_private.may_see(owner));
COMMENT ON POLICY see ON rflow.workflows IS 'Members of the owner, and of rflow_viewer, rflow_operator, rflow_admin';
CREATE POLICY add ON rflow.workflows FOR INSERT
	WITH CHECK (pg_has_role(owner, 'USAGE'));
COMMENT ON POLICY add ON rflow.workflows IS 'As oneself or a role that one has the privileges of';
CREATE POLICY change ON rflow.workflows FOR UPDATE
	USING (pg_has_role(owner, 'USAGE') OR pg_has_role('rflow_admin', 'USAGE'));
COMMENT ON POLICY change ON rflow.workflows IS 'Members of the owner, and of rflow_admin';
CREATE POLICY remove ON rflow.workflows FOR DELETE
	USING (pg_has_role(owner, 'USAGE') OR pg_has_role('rflow_admin', 'USAGE'));
COMMENT ON POLICY remove ON rflow.workflows IS 'Members of the owner, and of rflow_admin';

ALTER TABLE rflow.workflow_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON rflow.workflow_versions FOR SELECT USING (rflow_private.may_see(owner));
COMMENT ON POLICY see ON rflow.workflow_versions IS 'Members of the owner, and of rflow_viewer, rflow_operator, rflow_admin';

-- The views filter by themselves.
GRANT SELECT ON rflow.runs, rflow.steps, rflow.timeline, rflow.workflow_stats, rflow.blocks, rflow.network_status,
	rflow.incidents, rflow.stuck TO PUBLIC;

-- Functions that those views call as the caller.
GRANT EXECUTE ON FUNCTION rflow_private.worker_slots(), rflow_private.commit_samples() TO PUBLIC;

-- Verbs without a check of their own.
REVOKE ALL ON FUNCTION rflow.resolve_incident(bigint, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rflow.resolve_incident(bigint, text) TO rflow_operator, rflow_admin;
