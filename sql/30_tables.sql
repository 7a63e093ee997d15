-- Tables. Those of schema rflow are written by users; those of rflow_private by workers.
--
-- Names are the identity of networks, contracts, relayers and workflows: occurrence keys and journals carry them, so they
-- cannot be changed (a trigger refuses it), only deleted and made again.
-- No hot table has a foreign key to one that users write: a forgotten SELECT … FOR UPDATE would stop the chain. Among the
-- tables that users write triggers keep references, so that dumps restore in any order (see 45_references.sql).

CREATE TABLE rflow.networks (
	name text PRIMARY KEY
		CONSTRAINT networks_name_check CHECK (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
	chain_id bigint NOT NULL
		CONSTRAINT networks_chain_id_check CHECK (chain_id > 0),
	rpc_urls text[] NOT NULL
		CONSTRAINT networks_rpc_urls_check CHECK (cardinality(rpc_urls) BETWEEN 1 AND 16 AND array_position(rpc_urls, NULL) IS NULL),
	enabled boolean NOT NULL DEFAULT true,
	confirmations integer NOT NULL DEFAULT 2
		CONSTRAINT networks_confirmations_check CHECK (confirmations BETWEEN 1 AND 10000),
	poll_min interval NOT NULL DEFAULT '4 ms'
		CONSTRAINT networks_poll_min_check CHECK (poll_min BETWEEN '1 ms' AND '1 hour'),
	poll_max interval NOT NULL DEFAULT '1 s'
		CONSTRAINT networks_poll_max_check CHECK (poll_max BETWEEN '1 ms' AND '1 hour' AND poll_max >= poll_min),
	rpc_timeout interval NOT NULL DEFAULT '30 s'
		CONSTRAINT networks_rpc_timeout_check CHECK (rpc_timeout BETWEEN '10 ms' AND '10 min'),
	log_range integer NOT NULL DEFAULT 1000
		CONSTRAINT networks_log_range_check CHECK (log_range BETWEEN 1 AND 1000000),
	max_units_per_second integer
		CONSTRAINT networks_max_units_per_second_check CHECK (max_units_per_second > 0),
	unit_costs jsonb
		CONSTRAINT networks_unit_costs_check CHECK (jsonb_typeof(unit_costs) = 'object'
			AND NOT jsonb_path_exists(unit_costs, '$.* ? (@.type() != "number" || @ < 0 || @ > 1000000 || @ != @.floor())'))
);
COMMENT ON TABLE rflow.networks IS 'EVM chains to follow: one watcher and one relayer process for each that is enabled';
COMMENT ON COLUMN rflow.networks.name IS 'Name by which contracts and relayers refer to it; cannot be changed';
COMMENT ON COLUMN rflow.networks.chain_id IS 'EIP-155 chain id; an endpoint that reports another one is not used';
COMMENT ON COLUMN rflow.networks.rpc_urls IS 'JSON-RPC endpoints over HTTP(S), in order of preference; ${env:RFLOW_…} is replaced by the server''s environment when a worker connects';
COMMENT ON COLUMN rflow.networks.enabled IS 'false stops its watcher and relayer; nothing is lost, cursors stay';
COMMENT ON COLUMN rflow.networks.confirmations IS 'Depth at which a transaction counts as confirmed, unless the step says otherwise (1: mined)';
COMMENT ON COLUMN rflow.networks.poll_min IS 'First pause between two polls around the time a block is expected; grows by half after each miss';
COMMENT ON COLUMN rflow.networks.poll_max IS 'Longest pause between two polls when a block is overdue';
COMMENT ON COLUMN rflow.networks.rpc_timeout IS 'Time an endpoint has to answer one request';
COMMENT ON COLUMN rflow.networks.log_range IS 'Most blocks asked for in one eth_getLogs';
COMMENT ON COLUMN rflow.networks.max_units_per_second IS 'What all workers together may ask of its nodes, in compute units (see unit_costs); NULL: no limit';
COMMENT ON COLUMN rflow.networks.unit_costs IS 'What calls cost, as whole numbers by method; "*" is every other one. NULL: what hosted nodes usually charge';

CREATE TABLE rflow.contracts (
	name text PRIMARY KEY
		CONSTRAINT contracts_name_check CHECK (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
	network text NOT NULL,
	address rflow.address NOT NULL,
	abi jsonb NOT NULL
		CONSTRAINT contracts_abi_check CHECK (jsonb_typeof(abi) = 'array')
);
COMMENT ON TABLE rflow.contracts IS 'Contracts that workflows name: where they are and what their ABI is';
COMMENT ON COLUMN rflow.contracts.name IS 'Name by which workflows refer to it; cannot be changed';
COMMENT ON COLUMN rflow.contracts.network IS 'The network it is on';
COMMENT ON COLUMN rflow.contracts.address IS 'Its address';
COMMENT ON COLUMN rflow.contracts.abi IS 'JSON ABI; rflow.abi() makes it from human-readable lines. A change makes a new version of each workflow that names the contract';

CREATE TABLE rflow.relayers (
	name text PRIMARY KEY
		CONSTRAINT relayers_name_check CHECK (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
	network text NOT NULL,
	signer text NOT NULL,
	paused boolean NOT NULL DEFAULT false,
	max_in_flight integer NOT NULL DEFAULT 16
		CONSTRAINT relayers_max_in_flight_check CHECK (max_in_flight BETWEEN 1 AND 1000),
	max_fee_per_gas numeric
		CONSTRAINT relayers_max_fee_per_gas_check CHECK (max_fee_per_gas > 0 AND max_fee_per_gas = trunc(max_fee_per_gas) AND max_fee_per_gas < 2::numeric ^ 256),
	max_gas_limit bigint
		CONSTRAINT relayers_max_gas_limit_check CHECK (max_gas_limit >= 21000),
	bump_blocks integer NOT NULL DEFAULT 3
		CONSTRAINT relayers_bump_blocks_check CHECK (bump_blocks BETWEEN 1 AND 1000),
	expires_in interval
		CONSTRAINT relayers_expires_in_check CHECK (expires_in > '0'),
	low_balance numeric
		CONSTRAINT relayers_low_balance_check CHECK (low_balance > 0 AND low_balance = trunc(low_balance) AND low_balance < 2::numeric ^ 256)
);
COMMENT ON TABLE rflow.relayers IS 'Accounts that send transactions. The key is a reference that the relayer process resolves; it is never stored here';
COMMENT ON COLUMN rflow.relayers.name IS 'Name by which workflows refer to it; cannot be changed';
COMMENT ON COLUMN rflow.relayers.network IS 'The network it sends on; cannot be changed';
COMMENT ON COLUMN rflow.relayers.signer IS 'Where the key is, never the key: env:RFLOW_NAME (environment of the server), file:NAME (a file in rflow.key_directory with mode 0600), keystore:NAME (a V3 key file there; its password is in NAME.password, or where keystore:NAME#env:RFLOW_NAME and keystore:NAME#file:NAME say), mnemonic:NAME#m/44''/60''/0''/0/0 (an English phrase in a file, or in a variable that begins with RFLOW_, and the path of the account)';
COMMENT ON COLUMN rflow.relayers.paused IS 'true holds everything not yet signed and every replacement; what is signed is still tracked';
COMMENT ON COLUMN rflow.relayers.max_in_flight IS 'Nonces that may be signed and not yet mined';
COMMENT ON COLUMN rflow.relayers.max_fee_per_gas IS 'Cap on the fee per gas, in wei; NULL: none. A transaction that needs more waits and says so';
COMMENT ON COLUMN rflow.relayers.max_gas_limit IS 'Cap on the gas limit of one transaction; NULL: none';
COMMENT ON COLUMN rflow.relayers.low_balance IS 'A balance below this many wei is low, until it is a quarter above it: an incident, a line in rflow.stuck, and a notification on rflow_incidents; NULL: never';
COMMENT ON COLUMN rflow.relayers.bump_blocks IS 'Blocks after which a transaction that is not mined and pays too little is signed again with higher fees';
COMMENT ON COLUMN rflow.relayers.expires_in IS 'How long a transaction stays worth sending, from when it is queued, unless it says so itself; NULL: for ever. Counts for what is queued from then on';

CREATE TABLE rflow.relayer_grants (
	relayer text NOT NULL,
	grantee regrole NOT NULL,
	PRIMARY KEY (relayer, grantee)
);
COMMENT ON TABLE rflow.relayer_grants IS 'Who may use a relayer: owners of workflows and callers of rflow.submit_transaction() that are the role or a member of it. Superusers need no row';
COMMENT ON COLUMN rflow.relayer_grants.relayer IS 'The relayer';
COMMENT ON COLUMN rflow.relayer_grants.grantee IS 'The role that may use it';

CREATE TABLE rflow.workflows (
	name text PRIMARY KEY
		CONSTRAINT workflows_name_check CHECK (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
	trigger jsonb NOT NULL
		CONSTRAINT workflows_trigger_check CHECK (jsonb_typeof(trigger) = 'object'),
	filter text,
	once_per text,
	steps jsonb NOT NULL
		CONSTRAINT workflows_steps_check CHECK (jsonb_typeof(steps) = 'array'),
	vars jsonb NOT NULL DEFAULT '{}'
		CONSTRAINT workflows_vars_check CHECK (jsonb_typeof(vars) = 'object'),
	start_at text NOT NULL DEFAULT 'now'
		CONSTRAINT workflows_start_at_check CHECK (start_at ~ '^(now|earliest|[0-9]{1,18})$'),
	enabled boolean NOT NULL DEFAULT true,
	owner regrole,
	search_path text,
	version integer
);
COMMENT ON TABLE rflow.workflows IS 'Workflows: what starts a run, which events count, and the steps of the run';
COMMENT ON COLUMN rflow.workflows.name IS 'Name; part of every occurrence key, cannot be changed';
COMMENT ON COLUMN rflow.workflows.trigger IS 'What starts a run: rflow.on_event(), rflow.on_start()';
COMMENT ON COLUMN rflow.workflows.filter IS 'SQL expression over event, log, vars: true starts a run. No filter: every occurrence does';
COMMENT ON COLUMN rflow.workflows.once_per IS 'SQL expression over event, log, vars: occurrences with an equal value are one run';
COMMENT ON COLUMN rflow.workflows.steps IS 'The steps, in order: rflow.steps(rflow.read(), rflow.send_transaction(), …)';
COMMENT ON COLUMN rflow.workflows.vars IS 'Constants for the expressions: vars->>''name''';
COMMENT ON COLUMN rflow.workflows.start_at IS 'From where events count: now (the first block not yet committed when the INSERT commits), a block number, or earliest';
COMMENT ON COLUMN rflow.workflows.enabled IS 'Set by rflow.enable() and rflow.disable(); false: no new runs, runs that began go on';
COMMENT ON COLUMN rflow.workflows.owner IS 'The role whose rights the expressions and sql steps have: who last changed trigger, filter, steps or vars';
COMMENT ON COLUMN rflow.workflows.search_path IS 'The search_path of that change, ending in pg_temp: the expressions are evaluated under it';
COMMENT ON COLUMN rflow.workflows.version IS 'The newest row of rflow.workflow_versions';

CREATE TABLE rflow.workflow_versions (
	workflow text NOT NULL,
	version integer NOT NULL,
	definition jsonb NOT NULL,
	owner regrole NOT NULL,
	search_path text NOT NULL,
	created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (workflow, version)
);
COMMENT ON TABLE rflow.workflow_versions IS 'Every version of every workflow, self-contained: network, chain id, addresses, ABI items. Runs finish on the version they began with';
COMMENT ON COLUMN rflow.workflow_versions.workflow IS 'Name of the workflow';
COMMENT ON COLUMN rflow.workflow_versions.version IS 'Counts from 1';
COMMENT ON COLUMN rflow.workflow_versions.definition IS 'Trigger, filter and steps with everything they name resolved';
COMMENT ON COLUMN rflow.workflow_versions.owner IS 'The role whose rights its expressions have';
COMMENT ON COLUMN rflow.workflow_versions.search_path IS 'The search_path its expressions are evaluated under';
COMMENT ON COLUMN rflow.workflow_versions.created_at IS 'When it was made';

-- The arming record: not part of a dump, so that a restored copy does nothing.
CREATE TABLE rflow_private.identity (
	singleton boolean PRIMARY KEY DEFAULT true
		CONSTRAINT identity_singleton_check CHECK (singleton),
	system_identifier bigint NOT NULL,
	database_oid oid NOT NULL,
	timeline integer NOT NULL,
	instance_id text NOT NULL,
	armed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	armed_by regrole NOT NULL
);
COMMENT ON TABLE rflow_private.identity IS 'Which server and database rflow.arm() was called for';

-- What rflow remembers of a network, written by its watcher.
CREATE TABLE rflow_private.network_states (
	network text PRIMARY KEY,
	chain_id bigint NOT NULL,
	genesis_hash rflow.hex NOT NULL
);
COMMENT ON TABLE rflow_private.network_states IS 'Genesis block of each network: another one is another chain';

CREATE TABLE rflow_private.blocks (
	network text NOT NULL,
	number bigint NOT NULL,
	hash rflow.hex NOT NULL,
	parent_hash rflow.hex NOT NULL,
	block_timestamp timestamptz NOT NULL,
	base_fee_per_gas numeric,
	seen_at timestamptz NOT NULL,
	PRIMARY KEY (network, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE rflow_private.blocks IS 'Headers of the last blocks of each network: the chain that answers are checked against';

-- A cursor is shared by the workflows of one network and ceiling that have caught up; one that is behind has its own.
CREATE TABLE rflow_private.cursors (
	id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	network text NOT NULL,
	ceiling text NOT NULL
		CONSTRAINT cursors_ceiling_check CHECK (ceiling ~ '^(head|safe|finalized|[0-9]{1,5})$'),
	next_block bigint NOT NULL
		CONSTRAINT cursors_next_block_check CHECK (next_block >= 0),
	next_log integer NOT NULL DEFAULT 0
		CONSTRAINT cursors_next_log_check CHECK (next_log >= 0),
	revision bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE rflow_private.cursors IS 'Where each group of triggers continues: the next block, and the next log index in it';

CREATE TABLE rflow_private.subscriptions (
	workflow text PRIMARY KEY,
	network text NOT NULL,
	cursor_id bigint,
	since timestamptz NOT NULL
);
COMMENT ON TABLE rflow_private.subscriptions IS 'The cursor of each workflow that a watcher serves; NULL: to be adopted where the watcher stands, or at the first block after since when it stands nowhere yet';

CREATE TABLE rflow_private.occurrences (
	key rflow.hex PRIMARY KEY,
	network text NOT NULL,
	block_number bigint NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);
COMMENT ON TABLE rflow_private.occurrences IS 'Keys of what has started a run already; they outlive the runs';

CREATE TABLE rflow_private.workflow_runs (
	id uuid PRIMARY KEY,
	workflow text NOT NULL,
	version integer NOT NULL,
	incarnation integer NOT NULL DEFAULT 1,
	owner regrole NOT NULL,
	state text NOT NULL
		CONSTRAINT workflow_runs_state_check CHECK (state IN ('queued', 'ready', 'waiting', 'succeeded', 'failed', 'cancelled')),
	next_step integer NOT NULL DEFAULT 0,
	revision integer NOT NULL DEFAULT 0,
	network text,
	block_number bigint,
	block_hash rflow.hex,
	block_timestamp timestamptz,
	transaction_hash rflow.hex,
	transaction_index integer,
	log_index integer,
	address rflow.address,
	event jsonb,
	input jsonb,
	error jsonb,
	after text,
	created_at timestamptz NOT NULL,
	finished_at timestamptz,
	reorg_id bigint,
	detached_at timestamptz,
	detached_until bigint,
	retracted_at timestamptz,
	undone boolean,
	origin uuid,
	follows uuid
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE rflow_private.workflow_runs IS 'One row per run';
COMMENT ON COLUMN rflow_private.workflow_runs.id IS 'First 16 bytes of the occurrence key';
COMMENT ON COLUMN rflow_private.workflow_runs.revision IS 'Raised by advance and cancel, which check it';
COMMENT ON COLUMN rflow_private.workflow_runs.next_step IS 'Index of the step that is next or waited for';
COMMENT ON COLUMN rflow_private.workflow_runs.error IS 'sqlstate, message, detail, hint, step of a failed run';
COMMENT ON COLUMN rflow_private.workflow_runs.after IS 'What happened to a send with wait_for none after the run had ended, if it failed';
COMMENT ON COLUMN rflow_private.workflow_runs.created_at IS 'When the watcher held the log';
COMMENT ON COLUMN rflow_private.workflow_runs.reorg_id IS 'The reorganisation (rflow_private.reorgs) that replaced its block last';
COMMENT ON COLUMN rflow_private.workflow_runs.detached_at IS 'Since when its block is not on the chain: the run and its unsigned sends are held. NULL: it is where it says';
COMMENT ON COLUMN rflow_private.workflow_runs.detached_until IS 'It is retracted when the new branch has been read past this block';
COMMENT ON COLUMN rflow_private.workflow_runs.retracted_at IS 'When it was found that its event did not come back';
COMMENT ON COLUMN rflow_private.workflow_runs.undone IS 'The retraction has ended the run, or given up sends of it';
COMMENT ON COLUMN rflow_private.workflow_runs.origin IS 'Of incarnation 2 and later: id of the first one';
COMMENT ON COLUMN rflow_private.workflow_runs.follows IS 'The incarnation whose sends have to be decided before this one, queued, may begin';

-- What a reorganisation touches is found by block; a range of blocks costs an insert next to nothing, and the columns of
-- the other indexes change only then.
CREATE INDEX workflow_runs_block_number ON rflow_private.workflow_runs USING brin (block_number) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX workflow_runs_held ON rflow_private.workflow_runs (network) WHERE detached_at IS NOT NULL OR follows IS NOT NULL;
CREATE INDEX workflow_runs_origin ON rflow_private.workflow_runs (origin) WHERE origin IS NOT NULL;

CREATE TABLE rflow_private.reorgs (
	id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	network text NOT NULL,
	at timestamptz NOT NULL,
	fork_number bigint NOT NULL,
	old_head_number bigint NOT NULL,
	old_head_hash rflow.hex,
	new_head_number bigint,
	new_head_hash rflow.hex,
	detached integer NOT NULL DEFAULT 0,
	reattached integer NOT NULL DEFAULT 0,
	retracted integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE rflow_private.reorgs IS 'Reorganisations that were followed, and what became of the runs of the blocks that they replaced';
COMMENT ON COLUMN rflow_private.reorgs.fork_number IS 'The highest block that both branches have';

CREATE TABLE rflow_private.step_runs (
	run_id uuid NOT NULL,
	step text NOT NULL,
	iteration text NOT NULL DEFAULT '',
	position integer NOT NULL,
	kind text NOT NULL,
	state text NOT NULL
		CONSTRAINT step_runs_state_check CHECK (state IN ('waiting', 'succeeded', 'failed', 'skipped')),
	attempt integer NOT NULL DEFAULT 1,
	result jsonb,
	error jsonb,
	transaction_id bigint,
	started_at timestamptz NOT NULL,
	finished_at timestamptz,
	PRIMARY KEY (run_id, step, iteration)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE rflow_private.step_runs IS 'The journal: one row per step of a run that has settled or waits';

CREATE TABLE rflow_private.relayer_transactions (
	id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	relayer text NOT NULL,
	pool text,
	network text NOT NULL,
	chain_id bigint NOT NULL,
	owner regrole NOT NULL,
	idempotency_key text NOT NULL,
	run_id uuid,
	workflow text,
	step text,
	recipient rflow.address,
	value numeric NOT NULL DEFAULT 0,
	data rflow.hex NOT NULL,
	gas_limit bigint,
	max_fee_per_gas numeric,
	wait_for text NOT NULL DEFAULT 'none'
		CONSTRAINT relayer_transactions_wait_for_check CHECK (wait_for IN ('none', 'sent', 'mined', 'confirmed')),
	confirmations integer,
	state text NOT NULL DEFAULT 'queued'
		CONSTRAINT relayer_transactions_state_check CHECK (state IN ('queued', 'signed', 'broadcast', 'mined', 'confirmed', 'failed', 'expired', 'cancelled', 'replaced')),
	intent text NOT NULL DEFAULT 'send'
		CONSTRAINT relayer_transactions_intent_check CHECK (intent IN ('send', 'cancel', 'replace', 'expire', 'adopt')),
	reason text,
	state_since timestamptz NOT NULL,
	from_address rflow.address,
	nonce bigint,
	transaction_hash rflow.hex,
	block_number bigint,
	block_hash rflow.hex,
	reverted boolean,
	gas_used bigint,
	effective_gas_price numeric,
	error jsonb,
	due_at timestamptz,
	created_at timestamptz NOT NULL,
	signed_at timestamptz,
	broadcast_at timestamptz,
	mined_at timestamptz,
	confirmed_at timestamptz,
	valid_until timestamptz,
	wanted_attempt integer,
	replaces bigint,
	replaced_by bigint,
	CONSTRAINT relayer_transactions_idempotency_key UNIQUE (owner, idempotency_key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE rflow_private.relayer_transactions IS 'The outbox of chain transactions: what is wanted, and what chain and node know of it';
COMMENT ON COLUMN rflow_private.relayer_transactions.pool IS 'The pool whose member the relayer is; while the transaction is queued it may be given to another member';
COMMENT ON COLUMN rflow_private.relayer_transactions.workflow IS 'The workflow of the run: policies and pauses name it';
COMMENT ON COLUMN rflow_private.relayer_transactions.recipient IS 'NULL creates a contract';
COMMENT ON COLUMN rflow_private.relayer_transactions.value IS 'In wei';
COMMENT ON COLUMN rflow_private.relayer_transactions.gas_limit IS 'NULL: estimated when it is signed';
COMMENT ON COLUMN rflow_private.relayer_transactions.max_fee_per_gas IS 'Cap of this send, in wei; NULL: that of the relayer';
COMMENT ON COLUMN rflow_private.relayer_transactions.state IS 'What chain and node know: queued, signed, broadcast, mined, confirmed; failed, expired, cancelled, replaced';
COMMENT ON COLUMN rflow_private.relayer_transactions.intent IS 'What is wanted';
COMMENT ON COLUMN rflow_private.relayer_transactions.reason IS 'Why it is in this state';
COMMENT ON COLUMN rflow_private.relayer_transactions.transaction_hash IS 'Of the attempt that was mined, or the newest one';
COMMENT ON COLUMN rflow_private.relayer_transactions.reverted IS 'NULL until it is mined; true: it is in a block and had no effect, final (failed) at the same depth as a success';
COMMENT ON COLUMN rflow_private.relayer_transactions.due_at IS 'wake_at of its row in rflow_private.due while it is queued: with it the whole key of that row is known';
COMMENT ON COLUMN rflow_private.relayer_transactions.error IS 'kind, message and data of a failure; set while a no-op is to take the nonce of a payload that can never run';

COMMENT ON COLUMN rflow_private.relayer_transactions.wanted_attempt IS 'rflow.bump_transaction(): it is signed again until there is an attempt of this number';
COMMENT ON COLUMN rflow_private.relayer_transactions.replaces IS 'The transaction in whose place, at whose nonce, it is to be mined (rflow.replace_transaction())';
COMMENT ON COLUMN rflow_private.relayer_transactions.replaced_by IS 'The transaction that is to be mined in its place; set together with intent replace';
COMMENT ON COLUMN rflow_private.relayer_transactions.valid_until IS 'No payload is signed or offered after it; then there is a row of rflow_private.due, too (kind expire)';

-- A nonce is a debt: one row from the moment it is assigned, live until what mined at it is deep enough.
CREATE TABLE rflow_private.nonces (
	chain_id bigint NOT NULL,
	address rflow.address NOT NULL,
	nonce bigint NOT NULL,
	transaction_id bigint NOT NULL,
	settled boolean NOT NULL DEFAULT false,
	PRIMARY KEY (chain_id, address, nonce)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
CREATE INDEX nonces_live ON rflow_private.nonces (chain_id, address, nonce) WHERE NOT settled;
COMMENT ON TABLE rflow_private.nonces IS 'Every nonce that was assigned, and to what; those that are not settled are what the relayer tracks';

CREATE TABLE rflow_private.relayer_keys (
	chain_id bigint NOT NULL,
	address rflow.address NOT NULL,
	next_nonce bigint NOT NULL,
	adopted_nonce bigint NOT NULL,
	adopted_at timestamptz NOT NULL,
	gaps bigint[] NOT NULL DEFAULT '{}',
	PRIMARY KEY (chain_id, address)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE rflow_private.relayer_keys IS 'Next nonce of each account, counted from the chain''s count when it was adopted';
COMMENT ON COLUMN rflow_private.relayer_keys.gaps IS 'Nonces below the next one that nothing of ours holds, and that are to be filled (rflow.fill_gap())';

-- What a relayer process has last learned, for the views, and for the choice of a pool's member.
CREATE TABLE rflow_private.relayer_states (
	relayer text PRIMARY KEY,
	address rflow.address,
	problem text,
	problem_since timestamptz,
	balance numeric,
	chain_nonce bigint,
	pending_nonce bigint,
	observed_at timestamptz,
	resumed_at timestamptz,
	fee_per_gas numeric,
	low_since timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE rflow_private.relayer_states IS 'Address, balance and nonces of each relayer as last seen on chain, and why it signs nothing';

CREATE TABLE rflow_private.relayer_attempts (
	chain_id bigint NOT NULL,
	address rflow.address NOT NULL,
	nonce bigint NOT NULL,
	attempt integer NOT NULL,
	transaction_id bigint NOT NULL,
	kind text NOT NULL
		CONSTRAINT relayer_attempts_kind_check CHECK (kind IN ('send', 'noop')),
	transaction_hash rflow.hex NOT NULL,
	raw rflow.hex,
	gas_limit bigint NOT NULL,
	gas_price numeric,
	max_fee_per_gas numeric,
	max_priority_fee_per_gas numeric,
	head_number bigint,
	signed_at timestamptz NOT NULL,
	broadcast_at timestamptz,
	answer_class text,
	answer_code bigint,
	answer text,
	refusals integer NOT NULL DEFAULT 0,
	answered_at timestamptz,
	PRIMARY KEY (chain_id, address, nonce, attempt)
) WITH (fillfactor = 60);
COMMENT ON TABLE rflow_private.relayer_attempts IS 'Every payload that was signed, stored before it was broadcast, and what the node said';
COMMENT ON COLUMN rflow_private.relayer_attempts.kind IS 'send: the payload; noop: takes the nonce of one that was cancelled, has expired or can never run';
COMMENT ON COLUMN rflow_private.relayer_attempts.raw IS 'The signed bytes; NULL for one that was found on the chain after a restore and is of a type that the relayer does not sign';
COMMENT ON COLUMN rflow_private.relayer_attempts.head_number IS 'The newest block when it was signed';
COMMENT ON COLUMN rflow_private.relayer_attempts.broadcast_at IS 'When a node first took it';
COMMENT ON COLUMN rflow_private.relayer_attempts.answer IS 'What the node said last, when it did not take it';
COMMENT ON COLUMN rflow_private.relayer_attempts.answer_code IS 'The JSON-RPC code of that';
COMMENT ON COLUMN rflow_private.relayer_attempts.refusals IS 'How often nodes did not take it';
COMMENT ON COLUMN rflow_private.relayer_attempts.answer_class IS 'What that means (src/relay/classify.h)';

-- What is due: rows are inserted and deleted, never updated.
CREATE TABLE rflow_private.due (
	kind text NOT NULL
		CONSTRAINT due_kind_check CHECK (kind IN ('run', 'send', 'expire')),
	owner text NOT NULL,
	wake_at timestamptz NOT NULL,
	id text NOT NULL,
	PRIMARY KEY (kind, owner, wake_at, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
COMMENT ON TABLE rflow_private.due IS 'Work that a worker has to take, and from when: runs for executors; for relayers, queued sends, and those that expire';
COMMENT ON COLUMN rflow_private.due.owner IS 'The relayer for send; the network for expire; the bucket (first hex digit of the run id) for run';
COMMENT ON COLUMN rflow_private.due.wake_at IS '-infinity: at once';
COMMENT ON COLUMN rflow_private.due.id IS 'Run id, or id of the relayer transaction with leading zeros (19 digits), so that the order of the key is that of the ids';

-- What cannot go on by itself, and what was skipped on purpose: a row that says what, why, since when, and what to do.
CREATE TABLE rflow_private.incidents (
	id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	kind text NOT NULL,
	network text,
	workflow text,
	subject text NOT NULL,
	reason text NOT NULL,
	what_to_do text NOT NULL,
	since timestamptz NOT NULL DEFAULT clock_timestamp(),
	resolved_at timestamptz,
	CONSTRAINT incidents_subject_key UNIQUE (kind, subject)
);
COMMENT ON TABLE rflow_private.incidents IS 'Skipped ranges, poison events, refused sends: kept until resolved; shown in rflow.stuck';
