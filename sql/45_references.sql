-- What refers to what: contracts and relayers to networks, grants to relayers.
--
-- These are triggers, not foreign keys: pg_restore -j loads the tables of an extension in any order. While the database
-- is disarmed, as a restored one is, what is referred to may be missing. The row that is referred to is locked, so that
-- it is not deleted before the transaction has ended; DELETE locks the row before its trigger looks for references.

CREATE FUNCTION rflow_private.check_network_exists() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM FROM rflow.networks n WHERE n.name = new.network FOR KEY SHARE;
	IF NOT FOUND AND rflow.readiness() LIKE 'ready%' THEN
		RAISE foreign_key_violation USING
			MESSAGE = format('%s "%s": network "%s" does not exist', tg_argv[0], new.name, new.network),
			TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'network';
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION rflow_private.check_network_exists() IS 'The network that a contract or relayer names must exist';

CREATE FUNCTION rflow_private.check_relayer_exists() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM FROM rflow.relayers r WHERE r.name = new.relayer FOR KEY SHARE;
	IF NOT FOUND AND rflow.readiness() LIKE 'ready%' THEN
		RAISE foreign_key_violation USING
			MESSAGE = format('relayer "%s" does not exist', new.relayer),
			TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'relayer';
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION rflow_private.check_relayer_exists() IS 'The relayer that a grant names must exist';

CREATE FUNCTION rflow_private.check_network_unused() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	used_by text;
BEGIN
	SELECT string_agg(u.what, ', ') INTO used_by FROM (
		SELECT format('contract "%s"', c.name) AS what FROM rflow.contracts c WHERE c.network = old.name
		UNION ALL
		SELECT format('relayer "%s"', r.name) FROM rflow.relayers r WHERE r.network = old.name) u;
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
COMMENT ON FUNCTION rflow_private.check_network_unused() IS 'A network that contracts or relayers name cannot be deleted';

-- A nonce is a debt: without its relayer nobody would raise its price.
CREATE FUNCTION rflow_private.check_relayer_unused() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	queued bigint;
	live bigint;
BEGIN
	IF rflow.readiness() NOT LIKE 'ready%' THEN
		RETURN old;
	END IF;
	SELECT count(*) INTO queued FROM rflow_private.due d WHERE d.kind = 'send' AND d.owner = old.name;
	SELECT count(*) INTO live
	FROM rflow_private.nonces n
	JOIN rflow_private.relayer_transactions t ON t.id = n.transaction_id
	WHERE NOT n.settled AND t.relayer = old.name;
	IF queued + live > 0 THEN
		RAISE object_in_use USING
			MESSAGE = format('relayer "%s" has transactions under way', old.name),
			DETAIL = format('%s are queued, %s are signed and not confirmed.', queued, live),
			HINT = 'Wait for them, or cancel them with rflow.cancel_transaction(); paused = true keeps new ones from being signed.',
			TABLE = tg_table_name, SCHEMA = tg_table_schema;
	END IF;
	RETURN old;
END
$$;
COMMENT ON FUNCTION rflow_private.check_relayer_unused() IS 'A relayer with transactions under way cannot be deleted';

-- Nobody would follow the nonces of an account that no relayer names, and who waits for them would wait for ever.
CREATE FUNCTION rflow_private.check_signer_unused() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	live bigint;
BEGIN
	SELECT count(*) INTO live
	FROM rflow_private.nonces n
	JOIN rflow_private.relayer_transactions t ON t.id = n.transaction_id
	WHERE NOT n.settled AND t.relayer = old.name;
	IF live > 0 THEN
		RAISE object_in_use USING
			MESSAGE = format('relayer "%s" has transactions under way: its signer cannot be changed', old.name),
			DETAIL = format('%s are signed and not confirmed.', live),
			HINT = 'Wait for them; or pause it, insert another relayer with the new signer, and use that one.',
			TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'signer';
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION rflow_private.check_signer_unused() IS 'The signer of a relayer with signed transactions under way cannot be changed';

-- The same of a network that becomes another chain.
CREATE FUNCTION rflow_private.check_chain_unused() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	live bigint;
BEGIN
	SELECT count(*) INTO live
	FROM rflow_private.nonces n
	JOIN rflow_private.relayer_transactions t ON t.id = n.transaction_id
	WHERE NOT n.settled AND n.chain_id = old.chain_id AND t.network = old.name;
	IF live > 0 THEN
		RAISE object_in_use USING
			MESSAGE = format('network "%s" has transactions under way: its chain id cannot be changed', old.name),
			DETAIL = format('%s are signed for chain id %s and not confirmed.', live, old.chain_id),
			HINT = 'Wait for them; or insert another network with the new chain id.',
			TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'chain_id';
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION rflow_private.check_chain_unused() IS 'The chain id of a network with signed transactions under way cannot be changed';

CREATE FUNCTION rflow_private.delete_relayer_grants() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM rflow.relayer_grants g WHERE g.relayer = old.name;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION rflow_private.delete_relayer_grants() IS 'The grants of a relayer go with it';

CREATE TRIGGER check_network BEFORE INSERT OR UPDATE OF network ON rflow.contracts
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_network_exists('contract');
CREATE TRIGGER check_network BEFORE INSERT OR UPDATE OF network ON rflow.relayers
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_network_exists('relayer');
CREATE TRIGGER check_relayer BEFORE INSERT OR UPDATE OF relayer ON rflow.relayer_grants
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_relayer_exists();
CREATE TRIGGER check_unused BEFORE DELETE ON rflow.networks
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_network_unused();
CREATE TRIGGER check_unused BEFORE DELETE ON rflow.relayers
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_relayer_unused();
CREATE TRIGGER check_signer BEFORE UPDATE OF signer ON rflow.relayers
	FOR EACH ROW WHEN (old.signer IS DISTINCT FROM new.signer) EXECUTE FUNCTION rflow_private.check_signer_unused();
CREATE TRIGGER delete_grants AFTER DELETE ON rflow.relayers
	FOR EACH ROW EXECUTE FUNCTION rflow_private.delete_relayer_grants();
CREATE TRIGGER check_chain BEFORE UPDATE OF chain_id ON rflow.networks
	FOR EACH ROW WHEN (old.chain_id IS DISTINCT FROM new.chain_id) EXECUTE FUNCTION rflow_private.check_chain_unused();
