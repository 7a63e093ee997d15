-- Builders of triggers and steps, and the triggers that check definitions when they are written.
--
-- The bodies of the builders are parsed when they are created (RETURN …): who calls them needs no USAGE of rflow_private.

CREATE FUNCTION rflow_private.check_step(jsonb) RETURNS jsonb
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_check_step';
COMMENT ON FUNCTION rflow_private.check_step(jsonb) IS 'Returns the step when its fields are those of its kind, with the right types; an error that names the field otherwise';

CREATE FUNCTION rflow_private.check_trigger(jsonb) RETURNS jsonb
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_check_trigger';
COMMENT ON FUNCTION rflow_private.check_trigger(jsonb) IS 'Returns the trigger when its fields are those of its kind; an error that names the field otherwise';

CREATE FUNCTION rflow.on_event(
		contract text,
		event text,
		confirmations integer DEFAULT NULL,
		finality text DEFAULT NULL,
		on_reorg text DEFAULT NULL) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN rflow_private.check_trigger(jsonb_strip_nulls(jsonb_build_object(
		'kind', 'event', 'contract', contract, 'event', event,
		'confirmations', confirmations, 'finality', finality, 'on_reorg', on_reorg)));
COMMENT ON FUNCTION rflow.on_event IS 'Trigger: each log of an event of a contract. confirmations: blocks to wait first (0); finality: ''safe'' or ''finalized'' instead; on_reorg: what becomes of a run whose event a reorganisation takes away, ''cancel'' (unless given) or ''ignore''';

CREATE FUNCTION rflow.on_start() RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN rflow_private.check_trigger(jsonb_build_object('kind', 'start'));
COMMENT ON FUNCTION rflow.on_start() IS 'Trigger: rflow.start(workflow, input, key), inside the caller''s transaction';

CREATE FUNCTION rflow.steps(VARIADIC steps jsonb[]) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN to_jsonb(steps);
COMMENT ON FUNCTION rflow.steps(jsonb[]) IS 'The steps of a workflow, in order';

CREATE FUNCTION rflow.read(
		name text,
		contract text,
		function text,
		args text DEFAULT '',
		run_if text DEFAULT NULL) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN rflow_private.check_step(jsonb_strip_nulls(jsonb_build_object(
		'kind', 'read', 'name', name, 'contract', contract, 'function', function, 'args', args, 'run_if', run_if)));
COMMENT ON FUNCTION rflow.read IS 'Step: calls a function of a contract (eth_call at the newest block). Its outputs are columns of the step''s name; a single one is also NAME.result';

CREATE FUNCTION rflow.send_transaction(
		name text,
		relayer text,
		contract text DEFAULT NULL,
		function text DEFAULT NULL,
		args text DEFAULT NULL,
		recipient text DEFAULT NULL,
		data text DEFAULT NULL,
		value text DEFAULT NULL,
		run_if text DEFAULT NULL,
		wait_for text DEFAULT 'confirmed',
		confirmations integer DEFAULT NULL,
		simulate text DEFAULT 'auto',
		gas_limit text DEFAULT NULL,
		max_fee_per_gas text DEFAULT NULL,
		expires_in interval DEFAULT NULL) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN rflow_private.check_step(jsonb_strip_nulls(jsonb_build_object(
		'kind', 'send_transaction', 'name', name, 'relayer', relayer,
		'contract', contract, 'function', function, 'args', args,
		'recipient', recipient, 'data', data, 'value', value, 'run_if', run_if,
		'wait_for', wait_for, 'confirmations', confirmations, 'simulate', simulate,
		'gas_limit', gas_limit, 'max_fee_per_gas', max_fee_per_gas,
		'expires_in', expires_in::text)));
COMMENT ON FUNCTION rflow.send_transaction IS 'Step: simulates a transaction and queues it with the relayer: a contract''s function with args, or recipient with data and value. wait_for: none, sent, mined, confirmed';

CREATE FUNCTION rflow.sql(
		name text,
		statement text,
		run_if text DEFAULT NULL) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN rflow_private.check_step(jsonb_strip_nulls(jsonb_build_object(
		'kind', 'sql', 'name', name, 'statement', statement, 'run_if', run_if)));
COMMENT ON FUNCTION rflow.sql IS 'Step: runs a statement as the workflow''s owner, in the transaction that journals the step. event, log, earlier steps, … may be used like columns of tables';

CREATE FUNCTION rflow.stop(
		name text,
		run_if text DEFAULT NULL) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN rflow_private.check_step(jsonb_strip_nulls(jsonb_build_object(
		'kind', 'stop', 'name', name, 'run_if', run_if)));
COMMENT ON FUNCTION rflow.stop IS 'Step: ends the run as succeeded, where run_if is true';

CREATE FUNCTION rflow_private.before_definition_change() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'rflow_before_definition_change';
COMMENT ON FUNCTION rflow_private.before_definition_change() IS 'Keeps names as they are, refuses what is in use';

CREATE FUNCTION rflow_private.before_workflow_change() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'rflow_before_workflow_change';
COMMENT ON FUNCTION rflow_private.before_workflow_change() IS 'Checks every expression of a workflow, and fills in owner, search_path and version';

CREATE FUNCTION rflow_private.after_workflow_change() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'rflow_after_workflow_change';
COMMENT ON FUNCTION rflow_private.after_workflow_change() IS 'Stores the new version and subscribes it';

CREATE FUNCTION rflow_private.after_contract_change() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'rflow_after_contract_change';
COMMENT ON FUNCTION rflow_private.after_contract_change() IS 'Makes new versions of the workflows that name the contract';

CREATE FUNCTION rflow_private.after_definitions_change() RETURNS trigger
	LANGUAGE c AS 'MODULE_PATHNAME', 'rflow_after_definitions_change';
COMMENT ON FUNCTION rflow_private.after_definitions_change() IS 'Tells the workers at commit that definitions have changed';

-- No constraint: the error of one shows the row, and whoever gets this wrong may have written a key there.
CREATE FUNCTION rflow_private.check_signer_form() RETURNS trigger
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF new.signer !~ ('^(env:RFLOW_[A-Z0-9_]+|file:[A-Za-z0-9][A-Za-z0-9._-]*'
		|| '|keystore:[A-Za-z0-9][A-Za-z0-9._-]*(#(env:RFLOW_[A-Z0-9_]+|file:[A-Za-z0-9][A-Za-z0-9._-]*))?'
		|| '|mnemonic:[A-Za-z0-9][A-Za-z0-9._-]*(#m(/[0-9]{1,10}[''hH]?)+)?)$') THEN
		RAISE check_violation USING
			MESSAGE = format('relayer "%s": signer is none of env:RFLOW_NAME, file:NAME, keystore:NAME, mnemonic:NAME', new.name),
			HINT = 'It says where the key is. If you have written a key there, use it no more: the server''s log may have the statement.',
			TABLE = tg_table_name, SCHEMA = tg_table_schema, COLUMN = 'signer';
	END IF;
	RETURN new;
END
$$;
COMMENT ON FUNCTION rflow_private.check_signer_form() IS 'The signer of a relayer must be a reference; what else it is is not shown';

CREATE TRIGGER before_change BEFORE INSERT OR UPDATE ON rflow.networks
	FOR EACH ROW EXECUTE FUNCTION rflow_private.before_definition_change();
CREATE TRIGGER before_change BEFORE INSERT OR UPDATE ON rflow.contracts
	FOR EACH ROW EXECUTE FUNCTION rflow_private.before_definition_change();
CREATE TRIGGER before_change BEFORE INSERT OR UPDATE ON rflow.relayers
	FOR EACH ROW EXECUTE FUNCTION rflow_private.before_definition_change();
CREATE TRIGGER check_signer_form BEFORE INSERT OR UPDATE OF signer ON rflow.relayers
	FOR EACH ROW EXECUTE FUNCTION rflow_private.check_signer_form();
CREATE TRIGGER before_change BEFORE INSERT OR UPDATE OR DELETE ON rflow.workflows
	FOR EACH ROW EXECUTE FUNCTION rflow_private.before_workflow_change();
CREATE TRIGGER after_change AFTER INSERT OR UPDATE OR DELETE ON rflow.workflows
	FOR EACH ROW EXECUTE FUNCTION rflow_private.after_workflow_change();
CREATE TRIGGER after_change AFTER UPDATE ON rflow.contracts
	FOR EACH ROW EXECUTE FUNCTION rflow_private.after_contract_change();

CREATE TRIGGER definitions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rflow.networks
	FOR EACH STATEMENT EXECUTE FUNCTION rflow_private.after_definitions_change();
CREATE TRIGGER definitions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rflow.contracts
	FOR EACH STATEMENT EXECUTE FUNCTION rflow_private.after_definitions_change();
CREATE TRIGGER definitions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rflow.relayers
	FOR EACH STATEMENT EXECUTE FUNCTION rflow_private.after_definitions_change();
CREATE TRIGGER definitions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rflow.relayer_grants
	FOR EACH STATEMENT EXECUTE FUNCTION rflow_private.after_definitions_change();
CREATE TRIGGER definitions_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON rflow.workflows
	FOR EACH STATEMENT EXECUTE FUNCTION rflow_private.after_definitions_change();

CREATE FUNCTION rflow_private.check_workflow(name text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'rflow_check_workflow';
COMMENT ON FUNCTION rflow_private.check_workflow(text) IS 'Checks a stored workflow as its owner; an error where it does not hold';

CREATE FUNCTION rflow_private.check_workflows() RETURNS TABLE (workflow text, problem text)
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	candidate record;
BEGIN
	FOR candidate IN SELECT w.name FROM rflow.workflows w WHERE w.enabled ORDER BY w.name
	LOOP
		BEGIN
			PERFORM rflow_private.check_workflow(candidate.name);
		EXCEPTION WHEN others THEN
			workflow := candidate.name;
			problem := sqlerrm;
			UPDATE rflow.workflows w SET enabled = false WHERE w.name = candidate.name;
			RETURN NEXT;
		END;
	END LOOP;
END
$$;
COMMENT ON FUNCTION rflow_private.check_workflows() IS 'Checks every enabled workflow as its owner; disables those that do not hold and returns why';

CREATE FUNCTION rflow.enable(workflow text, resume text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'rflow_enable_workflow';
COMMENT ON FUNCTION rflow.enable(text, text) IS 'Lets a workflow start runs again. resume: ''cursor'' goes on where it stopped; ''head'' skips what has happened since, and records what was skipped';

CREATE FUNCTION rflow.disable(workflow text) RETURNS void
	LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'rflow_disable_workflow';
COMMENT ON FUNCTION rflow.disable(text) IS 'Stops a workflow from starting runs; runs that began go on, its place on the chain is kept';

CREATE FUNCTION rflow.start(workflow text, input jsonb DEFAULT '{}', key text DEFAULT NULL) RETURNS uuid
	LANGUAGE c AS 'MODULE_PATHNAME', 'rflow_start';
COMMENT ON FUNCTION rflow.start(text, jsonb, text) IS 'Starts a run of a workflow with trigger rflow.on_start() in this transaction; the same key is the same run. Returns the run''s id';
