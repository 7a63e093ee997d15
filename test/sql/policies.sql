-- Policies: what a row must hold, and what rflow.submit_transaction says of what a policy does not allow.
-- The database is disarmed here: what is allowed stays in the queue.
CREATE ROLE policy_admin;
CREATE ROLE policy_other;
CREATE ROLE policy_alice;
CREATE ROLE policy_bob;
GRANT rflow_admin TO policy_admin, policy_other;
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('pol-net', 31337, '{http://127.0.0.1:1}');
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('pol-token', 'pol-net', '0x5fbdb2315678afecb367f032d93f642f64180aa3',
		rflow.abi('function transfer(address to, uint256 value) returns (bool)', 'function deposit() payable', 'function mint(uint256 amount)')),
	('pol-other', 'pol-net', '0xe7f1725e7734ce288f8367e1bb143e90bb3f0512', rflow.abi('function f()'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('pol-hot', 'pol-net', 'env:RFLOW_POL'), ('pol-free', 'pol-net', 'env:RFLOW_POL');
INSERT INTO rflow.relayer_grants VALUES ('pol-hot', 'policy_alice'), ('pol-hot', 'policy_bob'), ('pol-free', 'policy_alice');
\set SHOW_CONTEXT never
\set VERBOSITY terse

-- Each field is checked, and the error names it.
INSERT INTO rflow.policies (name) VALUES ('No name');
INSERT INTO rflow.policies (name, max_value) VALUES ('p', -1);
INSERT INTO rflow.policies (name, max_value) VALUES ('p', 1.5);
INSERT INTO rflow.policies (name, max_value) VALUES ('p', 2::numeric ^ 256);
INSERT INTO rflow.policies (name, max_value_per_window) VALUES ('p', 1);
INSERT INTO rflow.policies (name, window_length) VALUES ('p', '1 hour');
INSERT INTO rflow.policies (name, max_transactions_per_window, window_length) VALUES ('p', 0, '1 hour');
INSERT INTO rflow.policies (name, max_transactions_per_window, window_length) VALUES ('p', 1, '0.5 s');
INSERT INTO rflow.policies (name, max_gas_limit) VALUES ('p', 20999);
INSERT INTO rflow.policies (name, max_fee_per_gas) VALUES ('p', 0);
INSERT INTO rflow.policies (name, max_total_cost) VALUES ('p', 0.5);
INSERT INTO rflow.policies (name, allowed_contracts) VALUES ('p', ARRAY[NULL]);
INSERT INTO rflow.policies (name, allowed_contracts) VALUES ('p', '{{a},{b}}');
INSERT INTO rflow.policies (name, allowed_contracts) VALUES ('p', '{pol-token,0x5fbdb2315678afecb367f032d93f642f64180a}');
INSERT INTO rflow.policies (name, allowed_contracts) VALUES ('p', '{0x5FBDB2315678afecb367f032d93F642f64180aa3}');
INSERT INTO rflow.policies (name, allowed_functions) VALUES ('p', '{transfer}');
INSERT INTO rflow.policies (name, allowed_functions) VALUES ('p', '{"transfer(address,uint257)"}');
INSERT INTO rflow.policies (name, allowed_functions) VALUES ('p', '{0xa9059c}');
INSERT INTO rflow.policies (name, allowed_functions) VALUES ('p', '{"event Transfer(address)"}');
INSERT INTO rflow.policies (name, check_expression) VALUES ('p', 'true) OR (true');
INSERT INTO rflow.policies (name, check_expression) VALUES ('p', 'true, true');
INSERT INTO rflow.policies (name, check_expression) VALUES ('p', 'true AS a');
INSERT INTO rflow.policies (name, check_expression) VALUES ('p', 'true FROM rflow.policies');
INSERT INTO rflow.policies (name, check_expression) VALUES ('p', 'true; SELECT true');
SELECT count(*) FROM rflow.policies;

-- Whoever writes the check is its owner, and nobody else can be made it.
SET ROLE policy_admin;
INSERT INTO rflow.policies (name, relayer, check_expression, owner) VALUES ('rights', 'pol-hot', 'true', 'policy_other');
INSERT INTO rflow.policies (name, relayer, check_expression) VALUES ('rights', 'pol-hot', 'true --');
SELECT owner, search_path FROM rflow.policies;
SET ROLE policy_other;
SET search_path = pg_temp, public;
UPDATE rflow.policies SET max_value = 1000 WHERE name = 'rights';
SELECT owner, search_path FROM rflow.policies;
UPDATE rflow.policies SET check_expression = 'current_user = ''policy_other''' WHERE name = 'rights';
SELECT owner, search_path FROM rflow.policies;
UPDATE rflow.policies SET owner = 'policy_admin' WHERE name = 'rights';
UPDATE rflow.policies SET name = 'lefts';
RESET search_path;
SET ROLE policy_alice;
SELECT count(*) FROM rflow.policies;
INSERT INTO rflow.policies (name) VALUES ('mine');
RESET ROLE;

-- What a policy does not allow is not queued.
CREATE FUNCTION pol_try(relayer text, recipient rflow.address, value numeric, data rflow.hex, gas_limit bigint DEFAULT NULL) RETURNS text
	LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rflow.submit_transaction(relayer, recipient => recipient, value => value, data => data, idempotency_key => md5(random()::text), gas_limit => gas_limit);
	RETURN 'queued';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END
$$;
GRANT EXECUTE ON FUNCTION pol_try TO PUBLIC;
CREATE FUNCTION pol_set(set_to text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM rflow.policies;
	EXECUTE format('INSERT INTO rflow.policies (name, relayer, %s) SELECT ''p'', ''pol-hot'', %s', split_part(set_to, '=', 1), substr(set_to, strpos(set_to, '=') + 1));
END
$$;
\set token '''0x5FbDB2315678afecb367f032d93F642f64180aa3'''
\set other '''0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512'''
\set transfer 'rflow.encode_call(''transfer(address,uint256)'', ''0x70997970C51812dc3A010C7d01b50e0d17dc79C8'', 5)'
SELECT pol_set('allowed_contracts=''{pol-token}''');
SELECT pol_try('pol-hot', :token, 0, :transfer), pol_try('pol-hot', :other, 0, '0x26121ff0'), pol_try('pol-hot', NULL, 0, '0x6001'), pol_try('pol-free', :other, 0, '0x26121ff0');
SELECT pol_set('allowed_contracts=''{0xe7f1725e7734ce288f8367e1bb143e90bb3f0512}''');
SELECT pol_try('pol-hot', :token, 0, :transfer), pol_try('pol-hot', :other, 0, '0x26121ff0');
SELECT pol_set('allowed_contracts=''{pol-gone}''');
SELECT pol_try('pol-hot', :token, 0, :transfer);
SELECT pol_set('allowed_functions=''{"transfer(address,uint256)"}''');
SELECT pol_try('pol-hot', :token, 0, :transfer), pol_try('pol-hot', :token, 0, '0xd0e30db0'), pol_try('pol-hot', :token, 1, '0x'), pol_try('pol-hot', :token, 0, '0xa905'), pol_try('pol-hot', NULL, 0, '0xa9059cbb');
SELECT pol_set('allowed_functions=''{0xd0e30db0, receive()}''');
SELECT pol_try('pol-hot', :token, 0, :transfer), pol_try('pol-hot', :token, 0, '0xd0e30db0'), pol_try('pol-hot', :token, 1, '0x');
SELECT pol_set('allow_native_transfers=false');
SELECT pol_try('pol-hot', :token, 1, '0x'), pol_try('pol-hot', :token, 1, '0xd0e30db0');
SELECT pol_set('allow_contract_creation=false');
SELECT pol_try('pol-hot', NULL, 0, '0x6001'), pol_try('pol-hot', :token, 1, '0x');
SELECT pol_set('max_value=100');
SELECT pol_try('pol-hot', :token, 100, '0x'), pol_try('pol-hot', :token, 101, '0x');
SELECT pol_set('max_value_per_window, window_length=100, ''1 hour''');
SELECT pol_try('pol-hot', :token, 100, '0x'), pol_try('pol-hot', :token, 100, '0x'), pol_try('pol-hot', :token, 101, '0x');
SELECT pol_set('max_gas_limit=50000');
SELECT pol_try('pol-hot', :token, 1, '0x', 50000), pol_try('pol-hot', :token, 1, '0x', 50001), pol_try('pol-hot', :token, 1, '0x');
SELECT pol_set('max_total_cost=100000');
SELECT pol_try('pol-hot', :token, 79000, '0x'), pol_try('pol-hot', :token, 79001, '0x'), pol_try('pol-hot', :token, 1, '0x', 100000);
-- A policy that is disabled, or meant for others, counts for nothing; all that are meant must allow it.
SELECT pol_set('max_value, enabled=1, false');
SELECT pol_try('pol-hot', :token, 2, '0x');
SELECT pol_set('max_value, network=1, ''elsewhere''');
SELECT pol_try('pol-hot', :token, 2, '0x');
SELECT pol_set('max_value, workflow=1, ''w''');
SELECT pol_try('pol-hot', :token, 2, '0x');
SELECT pol_set('max_value, role=1, ''policy_alice''');
SELECT pol_try('pol-hot', :token, 2, '0x') AS superuser;
SET ROLE policy_alice;
SELECT pol_try('pol-hot', :token, 2, '0x') AS alice;
SET ROLE policy_bob;
SELECT pol_try('pol-hot', :token, 2, '0x') AS bob;
RESET ROLE;
GRANT policy_alice TO policy_bob;
SET ROLE policy_bob;
SELECT pol_try('pol-hot', :token, 2, '0x') AS member;
RESET ROLE;
SELECT pol_set('max_value=10');
INSERT INTO rflow.policies (name, max_value) VALUES ('everywhere', 5);
SELECT pol_try('pol-hot', :token, 7, '0x'), pol_try('pol-hot', :token, 11, '0x'), pol_try('pol-free', :token, 7, '0x'), pol_try('pol-hot', :token, 5, '0x');

-- The check: over decoded arguments, as its owner; anything but true refuses.
CREATE TABLE pol_payees (payee rflow.address PRIMARY KEY);
INSERT INTO pol_payees VALUES ('0x70997970C51812dc3A010C7d01b50e0d17dc79C8');
GRANT SELECT ON pol_payees TO policy_admin;
CREATE FUNCTION pol_check(expression text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM rflow.policies;
	INSERT INTO rflow.policies (name, relayer, check_expression) VALUES ('p', 'pol-hot', expression);
END
$$;
GRANT EXECUTE ON FUNCTION pol_check TO PUBLIC;
SET ROLE policy_admin;
SELECT pol_check($$ EXISTS (SELECT FROM pol_payees WHERE payee = (send.args->>'to')::rflow.address) $$);
SET ROLE policy_alice;
SELECT pol_try('pol-hot', :token, 0, :transfer);
SELECT pol_try('pol-hot', :token, 0, rflow.encode_call('transfer(address,uint256)', :other, 5));
SELECT pol_try('pol-hot', :token, 0, '0xd0e30db0'), pol_try('pol-hot', :other, 0, '0x');
SELECT count(*) FROM pol_payees;
RESET ROLE;
SELECT pol_check($$ concat_ws(' ', send.relayer, send.network, send.workflow, send.owner, send.recipient, send.value, send.data, send.gas_limit, send.contract, send.function, send.signature, send.args) = '?' OR (concat_ws(' ', send.relayer, send.network, send.workflow, send.owner, send.recipient, send.value, send.data, send.gas_limit, send.contract, send.function, send.signature, send.args)::integer > 0) $$);
SET ROLE policy_alice;
SELECT pol_try('pol-hot', :token, 7, :transfer, 60000);
SELECT pol_try('pol-hot', :other, 7, '0x');
SELECT pol_try('pol-hot', NULL, 0, '0x6001');
RESET ROLE;
SELECT pol_check('NULL::boolean');
SELECT pol_try('pol-hot', :token, 1, '0x');
SELECT pol_check('1 / (send.value - 1) > 0');
SELECT pol_try('pol-hot', :token, 1, '0x'), pol_try('pol-hot', :token, 2, '0x');
SELECT pol_check('count(send.value) > 0');
SELECT pol_try('pol-hot', :token, 1, '0x');
SELECT pol_check('send.value');
SELECT pol_try('pol-hot', :token, 1, '0x');
SELECT pol_check('send.nothing > 1');
SELECT pol_try('pol-hot', :token, 1, '0x');
-- It reads and does not write, and is over when it is over: the caller's session keeps its own.
CREATE TABLE pol_witness (a text);
SELECT pol_check('set_config(''pol.mark'', ''set'', false) = ''set'' AND current_user = ''policy_admin'' AND NOT EXISTS (SELECT FROM pol_witness)');
UPDATE rflow.policies SET owner = 'policy_admin';
GRANT SELECT ON pol_witness TO policy_admin;
PREPARE pol_kept AS SELECT 1 AS kept;
SET ROLE policy_alice;
SELECT pol_try('pol-hot', :token, 1, '0x'), coalesce(current_setting('pol.mark', true), '') AS mark, current_user;
EXECUTE pol_kept;
RESET ROLE;
CREATE FUNCTION pol_write() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO pol_witness VALUES ('written'); RETURN true; END $$;
SELECT pol_check('pol_write()');
SELECT pol_try('pol-hot', :token, 1, '0x');
SELECT count(*) FROM pol_witness;
BEGIN;
SELECT pol_try('pol-free', :token, 1, '0x');
INSERT INTO pol_witness VALUES ('still writable');
ROLLBACK;
-- An owner that has gone allows nothing.
CREATE ROLE policy_leaver;
SELECT pol_check('true');
UPDATE rflow.policies SET owner = 'policy_leaver';
DROP ROLE policy_leaver;
SELECT pol_try('pol-hot', :token, 1, '0x');
-- Who asks again for what was queued gets its id, whatever the policies say meanwhile; another body is an error as ever.
DELETE FROM rflow.policies;
SELECT rflow.submit_transaction('pol-hot', recipient => :token, value => 3, data => '0x', idempotency_key => 'again') AS first \gset
SELECT pol_set('max_value=1');
SELECT rflow.submit_transaction('pol-hot', recipient => :token, value => 3, data => '0x', idempotency_key => 'again') = :first AS same;
SELECT rflow.submit_transaction('pol-hot', recipient => :token, value => 4, data => '0x', idempotency_key => 'again');
-- In the transaction that writes it, a policy counts at once.
BEGIN;
DELETE FROM rflow.policies;
SELECT pol_try('pol-hot', :token, 1, '0x');
INSERT INTO rflow.policies (name, max_value) VALUES ('new', 0);
SELECT pol_try('pol-hot', :token, 1, '0x');
ROLLBACK;

DELETE FROM rflow.policies;
DELETE FROM rflow_private.relayer_transactions;
DELETE FROM rflow_private.due;
DELETE FROM rflow.relayers WHERE name LIKE 'pol-%';
DELETE FROM rflow.contracts WHERE name LIKE 'pol-%';
DELETE FROM rflow.networks WHERE name LIKE 'pol-%';
DROP TABLE pol_payees, pol_witness;
DROP FUNCTION pol_try, pol_set, pol_check, pol_write;
DROP ROLE policy_admin, policy_other, policy_alice, policy_bob;
