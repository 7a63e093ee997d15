-- Pools of relayers: 'pool:NAME' in place of a relayer's name is one of its members, chosen when a send is queued.
--
-- References are triggers here, too: see 45_references.sql.

CREATE TABLE rflow.relayer_pools (
	name text PRIMARY KEY
		CONSTRAINT relayer_pools_name_check CHECK (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
	network text NOT NULL,
	relayers text[] NOT NULL
		CONSTRAINT relayer_pools_relayers_check CHECK (cardinality(relayers) BETWEEN 1 AND 100 AND array_ndims(relayers) = 1 AND array_position(relayers, NULL) IS NULL)
);
COMMENT ON TABLE rflow.relayer_pools IS 'Relayers of one network of which any may send: the one with the balance and the fewest sends under way is taken';
COMMENT ON COLUMN rflow.relayer_pools.name IS 'Where a relayer is named, pool:NAME stands for the pool; cannot be changed';
COMMENT ON COLUMN rflow.relayer_pools.network IS 'The network that all its relayers send on; cannot be changed';
COMMENT ON COLUMN rflow.relayer_pools.relayers IS 'Its members, in the order in which equal ones are taken. Who queues a send gets one that they are granted';

CREATE FUNCTION rflow_private.check_pool() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	member text;
	its_network text;
BEGIN
	IF tg_op = 'UPDATE' AND (new.name <> old.name OR new.network <> old.network) THEN
		RAISE feature_not_supported USING
			MESSAGE = format('pool "%s": name and network cannot be changed', old.name),
			DETAIL = 'Versions of workflows and queued transactions carry them.',
			HINT = 'Insert another row.';
	END IF;
	IF (SELECT count(DISTINCT r) FROM unnest(new.relayers) r) <> cardinality(new.relayers) THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('pool "%s" names a relayer twice', new.name),
			TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'relayers';
	END IF;
	IF rflow.readiness() NOT LIKE 'ready%' THEN
		RETURN new;
	END IF;
	PERFORM FROM rflow.networks n WHERE n.name = new.network FOR KEY SHARE;
	IF NOT FOUND THEN
		RAISE foreign_key_violation USING
			MESSAGE = format('pool "%s": network "%s" does not exist', new.name, new.network),
			TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'network';
	END IF;
	FOREACH member IN ARRAY coalesce(new.relayers, '{}') LOOP
		SELECT r.network INTO its_network FROM rflow.relayers r WHERE r.name = member FOR SHARE;
		IF NOT FOUND THEN
			RAISE foreign_key_violation USING
				MESSAGE = format('pool "%s": relayer "%s" does not exist', new.name, member),
				TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'relayers';
		ELSIF its_network <> new.network THEN
			RAISE invalid_parameter_value USING
				MESSAGE = format('pool "%s" is on network "%s", relayer "%s" on "%s"', new.name, new.network, member, its_network),
				TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'relayers';
		END IF;
	END LOOP;
	RETURN new;
END
$$;
COMMENT ON FUNCTION rflow_private.check_pool() IS 'The relayers of a pool must exist, and be on its network';

CREATE FUNCTION rflow_private.check_relayer_in_no_pool() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	used_by text;
BEGIN
	IF tg_op = 'UPDATE' AND new.network = old.network THEN
		RETURN new;
	END IF;
	SELECT string_agg(format('"%s"', p.name), ', ' ORDER BY p.name) INTO used_by
		FROM rflow.relayer_pools p WHERE old.name = ANY (p.relayers);
	IF used_by IS NOT NULL THEN
		RAISE foreign_key_violation USING
			MESSAGE = format('relayer "%s" is in use', old.name),
			DETAIL = format('It is a member of pool %s.', used_by),
			HINT = 'Take it out of relayers of rflow.relayer_pools first, or set paused to true.',
			TABLE = tg_table_name, SCHEMA = tg_table_schema;
	END IF;
	RETURN CASE tg_op WHEN 'DELETE' THEN old ELSE new END;
END
$$;
COMMENT ON FUNCTION rflow_private.check_relayer_in_no_pool() IS 'A relayer that is in a pool can neither be deleted nor change its network';

CREATE FUNCTION rflow_private.check_network_has_no_pool() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	used_by text;
BEGIN
	SELECT string_agg(format('pool "%s"', p.name), ', ' ORDER BY p.name) INTO used_by
		FROM rflow.relayer_pools p WHERE p.network = old.name;
	IF used_by IS NOT NULL THEN
		RAISE foreign_key_violation USING
			MESSAGE = format('network "%s" is in use', old.name),
			DETAIL = format('It is named by %s.', used_by),
			HINT = 'Delete these first, or set enabled to false.',
			TABLE = tg_table_name, SCHEMA = tg_table_schema;
	END IF;
	RETURN old;
END
$$;
COMMENT ON FUNCTION rflow_private.check_network_has_no_pool() IS 'A network that pools name cannot be deleted';

CREATE TRIGGER check_pool BEFORE INSERT OR UPDATE ON rflow.relayer_pools
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_pool();
CREATE TRIGGER check_pools BEFORE UPDATE OF network OR DELETE ON rflow.relayers
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_relayer_in_no_pool();
CREATE TRIGGER check_pools BEFORE DELETE ON rflow.networks
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_network_has_no_pool();
CREATE TRIGGER definitions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rflow.relayer_pools
	FOR EACH STATEMENT EXECUTE FUNCTION rflow_private.after_definitions_change();

CREATE FUNCTION rflow_private.relay_move(relayer text) RETURNS integer
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_relay_move';
COMMENT ON FUNCTION rflow_private.relay_move(text) IS 'Gives the queued sends of a relayer that were queued for a pool to other members that can send them, as the relayer process does when it cannot sign; returns how many. Refused while the database is armed';
