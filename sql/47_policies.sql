-- Policies: what relayers may sign, as rows.

CREATE TABLE rflow.policies (
	name text PRIMARY KEY
		CONSTRAINT policies_name_check CHECK (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
	enabled boolean NOT NULL DEFAULT true,
	network text,
	relayer text,
	workflow text,
	role regrole,
	allowed_contracts text[]
		CONSTRAINT policies_allowed_contracts_check CHECK (array_ndims(allowed_contracts) IS NOT DISTINCT FROM NULLIF(sign(cardinality(allowed_contracts))::integer, 0)
			AND array_position(allowed_contracts, NULL) IS NULL AND cardinality(allowed_contracts) <= 1000),
	allowed_functions text[]
		CONSTRAINT policies_allowed_functions_check CHECK (array_ndims(allowed_functions) IS NOT DISTINCT FROM NULLIF(sign(cardinality(allowed_functions))::integer, 0)
			AND array_position(allowed_functions, NULL) IS NULL AND cardinality(allowed_functions) <= 1000),
	allow_native_transfers boolean NOT NULL DEFAULT true,
	allow_contract_creation boolean NOT NULL DEFAULT true,
	max_value numeric
		CONSTRAINT policies_max_value_check CHECK (max_value >= 0 AND max_value = trunc(max_value) AND max_value < 2::numeric ^ 256),
	max_value_per_window numeric
		CONSTRAINT policies_max_value_per_window_check CHECK (max_value_per_window >= 0 AND max_value_per_window = trunc(max_value_per_window)
			AND max_value_per_window < 2::numeric ^ 256),
	max_transactions_per_window integer
		CONSTRAINT policies_max_transactions_per_window_check CHECK (max_transactions_per_window > 0),
	window_length interval
		CONSTRAINT policies_window_length_check CHECK (window_length BETWEEN '1 s' AND '366 days'),
	max_gas_limit bigint
		CONSTRAINT policies_max_gas_limit_check CHECK (max_gas_limit >= 21000),
	max_fee_per_gas numeric
		CONSTRAINT policies_max_fee_per_gas_check CHECK (max_fee_per_gas > 0 AND max_fee_per_gas = trunc(max_fee_per_gas) AND max_fee_per_gas < 2::numeric ^ 256),
	max_total_cost numeric
		CONSTRAINT policies_max_total_cost_check CHECK (max_total_cost > 0 AND max_total_cost = trunc(max_total_cost) AND max_total_cost < 2::numeric ^ 256),
	check_expression text,
	owner regrole,
	search_path text,
	CONSTRAINT policies_window_check CHECK ((window_length IS NULL) = (max_value_per_window IS NULL AND max_transactions_per_window IS NULL))
);
COMMENT ON TABLE rflow.policies IS 'What relayers may sign. Every policy that a transaction comes under must allow it, when it is queued and again when it is signed; a transaction under no policy is free within the grants of its relayer';
COMMENT ON COLUMN rflow.policies.name IS 'Name, as reasons and errors give it; cannot be changed';
COMMENT ON COLUMN rflow.policies.enabled IS 'false: the policy counts for nothing';
COMMENT ON COLUMN rflow.policies.network IS 'Transactions on this network come under it; NULL: on all';
COMMENT ON COLUMN rflow.policies.relayer IS 'Transactions of this relayer come under it; NULL: of all';
COMMENT ON COLUMN rflow.policies.workflow IS 'Transactions of runs of this workflow come under it; NULL: all, and those of rflow.submit_transaction()';
COMMENT ON COLUMN rflow.policies.role IS 'Transactions that belong to this role or a member of it come under it; NULL: to anyone';
COMMENT ON COLUMN rflow.policies.allowed_contracts IS 'Recipients that are allowed, by the name of a contract (on its network) or by address; NULL: all';
COMMENT ON COLUMN rflow.policies.allowed_functions IS 'Functions that may be called, by signature or selector: transfer(address,uint256), 0xa9059cbb. receive() stands for a transaction without data. NULL: all';
COMMENT ON COLUMN rflow.policies.allow_native_transfers IS 'false: transactions without data are refused';
COMMENT ON COLUMN rflow.policies.allow_contract_creation IS 'false: transactions without recipient are refused';
COMMENT ON COLUMN rflow.policies.max_value IS 'Most wei that one transaction may send; NULL: any amount';
COMMENT ON COLUMN rflow.policies.max_value_per_window IS 'Most wei that may be signed for in any interval of window_length; what is above it waits';
COMMENT ON COLUMN rflow.policies.max_transactions_per_window IS 'Most transactions that may be signed in any interval of window_length; what is above it waits';
COMMENT ON COLUMN rflow.policies.window_length IS 'Length of the windows, 1 second to 366 days';
COMMENT ON COLUMN rflow.policies.max_gas_limit IS 'Largest gas limit of one transaction';
COMMENT ON COLUMN rflow.policies.max_fee_per_gas IS 'Cap on the fee per gas in wei, of replacements too; a transaction that needs more waits';
COMMENT ON COLUMN rflow.policies.max_total_cost IS 'Cap on value + gas limit × fee per gas in wei, of replacements too; a transaction that needs more waits';
COMMENT ON COLUMN rflow.policies.check_expression IS 'SQL expression over send (send.value, send.recipient, send.contract, send.function, send.args, …): anything but true refuses the transaction. It reads with the rights of owner and writes nothing';
COMMENT ON COLUMN rflow.policies.owner IS 'The role whose rights check_expression has: who wrote it last';
COMMENT ON COLUMN rflow.policies.search_path IS 'The search_path of that change, ending in pg_temp';

-- What was signed under each policy that has windows, in pieces of a window. A piece counts until a whole window after
-- its end, so that no interval of that length, wherever it begins, has more than the limit.
CREATE TABLE rflow_private.policy_windows (
	policy text NOT NULL,
	upto timestamptz NOT NULL,
	value numeric NOT NULL,
	transactions bigint NOT NULL,
	PRIMARY KEY (policy, upto)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE rflow_private.policy_windows IS 'Value and number of what was signed under a policy, written by the commit that signs';
COMMENT ON COLUMN rflow_private.policy_windows.upto IS 'End of the piece of time; -infinity: all since the policy was made. That row is locked while a relayer counts';

CREATE FUNCTION rflow_private.before_policy_change() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'rflow_before_policy_change';
COMMENT ON FUNCTION rflow_private.before_policy_change() IS 'Checks the fields of a policy, and fills in owner and search_path';

CREATE FUNCTION rflow_private.check_policy_references() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	missing text;
BEGIN
	IF rflow.readiness() NOT LIKE 'ready%' THEN
		RETURN new;
	END IF;
	SELECT r.field || format(': there is no %s "%s"', r.field, r.value) INTO missing FROM (
		SELECT 'network' AS field, new.network AS value WHERE NOT EXISTS (SELECT FROM rflow.networks n WHERE n.name = new.network)
		UNION ALL
		SELECT 'relayer', new.relayer WHERE NOT EXISTS (SELECT FROM rflow.relayers r WHERE r.name = new.relayer)
		UNION ALL
		SELECT 'workflow', new.workflow WHERE NOT EXISTS (SELECT FROM rflow.workflows w WHERE w.name = new.workflow)) r
	WHERE r.value IS NOT NULL
	LIMIT 1;
	IF missing IS NULL THEN
		SELECT format('allowed_contracts: there is no contract "%s"', a.item) INTO missing
		FROM unnest(new.allowed_contracts) a(item)
		WHERE a.item !~ '^0x' AND NOT EXISTS (SELECT FROM rflow.contracts c WHERE c.name = a.item)
		LIMIT 1;
	END IF;
	IF missing IS NOT NULL THEN
		RAISE foreign_key_violation USING
			MESSAGE = format('policy "%s": %s', new.name, missing),
			TABLE = tg_table_name, SCHEMA = tg_table_schema;
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION rflow_private.check_policy_references() IS 'What a policy names must exist when it is written; what is gone later matches nothing';

CREATE FUNCTION rflow_private.forget_policy_windows() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM rflow_private.policy_windows w WHERE w.policy = old.name;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION rflow_private.forget_policy_windows() IS 'What was counted goes with the policy';

CREATE FUNCTION rflow_private.end_policy_suspension() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	UPDATE rflow_private.incidents i
		SET resolved_at = clock_timestamp()
		WHERE i.kind = 'policy' AND i.subject = old.name AND i.resolved_at IS NULL;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION rflow_private.end_policy_suspension() IS 'A check that did not end in time is tried again once it is another one';

CREATE TRIGGER before_change BEFORE INSERT OR UPDATE ON rflow.policies
	FOR EACH ROW EXECUTE FUNCTION rflow_private.before_policy_change();
CREATE TRIGGER check_references BEFORE INSERT OR UPDATE ON rflow.policies
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_policy_references();
CREATE TRIGGER definitions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rflow.policies
	FOR EACH STATEMENT EXECUTE FUNCTION rflow_private.after_definitions_change();
CREATE TRIGGER end_suspension AFTER UPDATE OF check_expression ON rflow.policies
	FOR EACH ROW WHEN (old.check_expression IS DISTINCT FROM new.check_expression) EXECUTE FUNCTION rflow_private.end_policy_suspension();
CREATE TRIGGER end_suspension_of_deleted AFTER DELETE ON rflow.policies
	FOR EACH ROW EXECUTE FUNCTION rflow_private.end_policy_suspension();
CREATE TRIGGER forget_windows AFTER DELETE ON rflow.policies
	FOR EACH ROW EXECUTE FUNCTION rflow_private.forget_policy_windows();

GRANT SELECT, INSERT, UPDATE, DELETE ON rflow.policies TO rflow_admin;
GRANT SELECT ON rflow.policies TO rflow_viewer, rflow_operator;
