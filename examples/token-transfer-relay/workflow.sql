-- Who deposits at least :minimum tokens at :pool makes the treasury send half of it to :beneficiary, if it has that much.
--
--   psql -v rpc_url=http://127.0.0.1:8545 -v token=0x… -v pool=0x… -v treasury=0x… -v beneficiary=0x… -v minimum=100 \
--        -f workflow.sql
--
-- In a database with rflow created and armed, on a server whose environment has the treasury's key as RFLOW_DEMO_KEY.
\set ON_ERROR_STOP on

BEGIN;

-- The chain to follow: 31337 is what anvil and hardhat call themselves.
INSERT INTO rflow.networks (name, chain_id, rpc_urls)
VALUES ('local', 31337, ARRAY[:'rpc_url']);

-- The token, with those parts of its ABI that are used.
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('token', 'local', :'token',
	rflow.abi(
		'event Transfer(address indexed from, address indexed to, uint256 value)',
		'function balanceOf(address owner) view returns (uint256)',
		'function transfer(address to, uint256 value) returns (bool)'));

-- The account that sends. This is where the key is, not the key.
INSERT INTO rflow.relayers (name, network, signer)
VALUES ('treasury', 'local', 'env:RFLOW_DEMO_KEY');

INSERT INTO rflow.workflows (name, vars, trigger, filter, steps)
VALUES ('forward-deposits',
	jsonb_build_object(
		'pool', :'pool',
		'treasury', :'treasury',
		'beneficiary', :'beneficiary',
		'minimum', rflow.parse_units(:'minimum', 18)),

	-- Each Transfer of the token is looked at; those to the pool that are large enough start a run.
	rflow.on_event('token', 'Transfer'),
	$$ event.to = vars->>'pool' AND event.value >= (vars->>'minimum')::numeric $$,

	rflow.steps(
		-- What the treasury has, asked of the chain.
		rflow.read('reserve',
			contract => 'token', function => 'balanceOf',
			args => $$ vars->>'treasury' $$),

		-- Skipped where that is not enough; else simulated, queued, signed, sent, and waited for until it is confirmed.
		rflow.send_transaction('forward',
			relayer => 'treasury',
			contract => 'token', function => 'transfer',
			args => $$ vars->>'beneficiary', div(event.value, 2) $$,
			run_if => $$ reserve.result >= div(event.value, 2) $$,
			wait_for => 'confirmed')));

COMMIT;
