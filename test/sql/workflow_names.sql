-- What a definition names: contracts, functions, events, relayers, grants.
-- Everything is rolled back: other tests find the database as it was.

\set ON_ERROR_ROLLBACK on
CREATE ROLE regress_names_alice;
BEGIN;
SELECT rflow.arm();
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES
	('local', 31337, '{http://127.0.0.1:1}', false), ('other', 31338, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('token', 'local', '0x5FbDB2315678afecb367f032d93F642f64180aa3',
	 rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
	           'function transfer(address to, uint256 value) returns (bool)',
	           'function balanceOf(address owner) view returns (uint256)',
	           'function mint(uint256 amount)', 'function mint(address to, uint256 amount)',
	           'function burn(uint256) pure returns (uint256)',
	           'function donate() payable',
	           'function touch() view')),
	('far', 'other', '0x5FbDB2315678afecb367f032d93F642f64180aa3', rflow.abi('function poke()'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_NOTHING');

-- Triggers.
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('coin', 'Transfer'), '[]');
\echo :SQLSTATE
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'Approval'), '[]');
\echo :SQLSTATE
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_event('token', 'transfer'), '[]');
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('by-signature', rflow.on_event('token', 'Transfer(address,address,uint256)'), '[]');

-- Reads.
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(rflow.read('r', 'coin', 'balanceOf')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(rflow.read('r', 'token', 'balance')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(rflow.read('r', 'token', 'touch')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(rflow.read('r', 'token', 'balanceOf(uint256)', '1')));

-- Sends.
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'cold', contract => 'token', function => 'donate')));
\echo :SQLSTATE
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', contract => 'token', function => 'mint', args => '1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('overload', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', contract => 'token', function => 'mint(uint256)', args => '1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', contract => 'token', function => 'balanceOf', args => '1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', contract => 'token', function => 'burn', args => '1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', contract => 'token', function => 'mint(uint256)', args => '1', value => '1')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', contract => 'far', function => 'poke')));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('payable', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', contract => 'token', function => 'donate', value => '1')));

-- Grants.
GRANT INSERT ON rflow.workflows TO regress_names_alice;
SET LOCAL ROLE regress_names_alice;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('w', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', recipient => '''0x5FbDB2315678afecb367f032d93F642f64180aa3''')));
\echo :SQLSTATE
RESET ROLE;
INSERT INTO rflow.relayer_grants VALUES ('hot', 'regress_names_alice');
SET LOCAL ROLE regress_names_alice;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('granted', rflow.on_start(), rflow.steps(
	rflow.send_transaction('s', relayer => 'hot', recipient => '''0x5FbDB2315678afecb367f032d93F642f64180aa3''')));
RESET ROLE;

-- A version is self-contained.
SELECT workflow, jsonb_pretty(definition) FROM rflow.workflow_versions WHERE workflow IN ('by-signature', 'overload', 'granted') ORDER BY 1;
ROLLBACK;
DROP ROLE regress_names_alice;
