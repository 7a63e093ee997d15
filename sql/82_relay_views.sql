-- What the relayer does, for those who may see it.

CREATE VIEW rflow.transactions WITH (security_barrier) AS
SELECT t.id, t.relayer, t.pool, t.network, t.owner, t.idempotency_key, t.run_id, t.step,
	t.state, t.reason, t.state_since AS since, t.intent,
	t.recipient, t.value, t.data,
	t.from_address, t.nonce, t.transaction_hash,
	(SELECT count(*)::integer
		FROM rflow_private.relayer_attempts a
		WHERE a.chain_id = t.chain_id AND a.address = t.from_address AND a.nonce = t.nonce) AS attempts,
	t.block_number, t.reverted, t.gas_used, t.effective_gas_price, t.error,
	t.wait_for, t.confirmations,
	t.created_at, t.signed_at, t.broadcast_at, t.mined_at, t.confirmed_at,
	t.valid_until, t.replaces, t.replaced_by
FROM rflow_private.relayer_transactions t
WHERE rflow_private.may_see(t.owner);
COMMENT ON VIEW rflow.transactions IS 'Chain transactions: what was wanted, where each is, why, and since when';
COMMENT ON COLUMN rflow.transactions.id IS 'For rflow.cancel_transaction() and the other verbs';
COMMENT ON COLUMN rflow.transactions.relayer IS 'The relayer that sends it';
COMMENT ON COLUMN rflow.transactions.pool IS 'The pool (rflow.relayer_pools) that it was queued for; NULL: the relayer was named';
COMMENT ON COLUMN rflow.transactions.network IS 'The network it is sent on';
COMMENT ON COLUMN rflow.transactions.owner IS 'The role that queued it, or owns the run that did';
COMMENT ON COLUMN rflow.transactions.idempotency_key IS 'One transaction for each key of an owner';
COMMENT ON COLUMN rflow.transactions.run_id IS 'The run that queued it (rflow.runs); NULL: rflow.submit_transaction()';
COMMENT ON COLUMN rflow.transactions.step IS 'The step of the run';
COMMENT ON COLUMN rflow.transactions.state IS 'queued, signed, broadcast (a node has it), mined, confirmed; or final without effect: failed, expired, cancelled, replaced';
COMMENT ON COLUMN rflow.transactions.reason IS 'Why it is in this state, or why it waits';
COMMENT ON COLUMN rflow.transactions.since IS 'When it came into this state';
COMMENT ON COLUMN rflow.transactions.intent IS 'What is wanted: send, cancel, replace, expire; adopt: an outside transaction is what it became, and it is held until that is found';
COMMENT ON COLUMN rflow.transactions.recipient IS 'Where it goes; NULL creates a contract';
COMMENT ON COLUMN rflow.transactions.value IS 'In wei';
COMMENT ON COLUMN rflow.transactions.data IS 'Call data, or the code of a contract';
COMMENT ON COLUMN rflow.transactions.from_address IS 'The account that signed it; NULL until then';
COMMENT ON COLUMN rflow.transactions.nonce IS 'The nonce it was given when it was signed';
COMMENT ON COLUMN rflow.transactions.transaction_hash IS 'Of the payload that was mined, or the newest one';
COMMENT ON COLUMN rflow.transactions.attempts IS 'How many payloads were signed for its nonce (rflow.attempts)';
COMMENT ON COLUMN rflow.transactions.block_number IS 'The block it is in';
COMMENT ON COLUMN rflow.transactions.reverted IS 'NULL until it is mined; true: it is in a block and had no effect';
COMMENT ON COLUMN rflow.transactions.gas_used IS 'What its execution took';
COMMENT ON COLUMN rflow.transactions.effective_gas_price IS 'What each unit of gas has cost, in wei';
COMMENT ON COLUMN rflow.transactions.error IS 'kind, message and data of a failure';
COMMENT ON COLUMN rflow.transactions.wait_for IS 'What the run waits for: none, sent, mined, confirmed';
COMMENT ON COLUMN rflow.transactions.confirmations IS 'Depth at which it counts as confirmed; NULL: that of the network';
COMMENT ON COLUMN rflow.transactions.created_at IS 'When it was queued';
COMMENT ON COLUMN rflow.transactions.signed_at IS 'When it was first signed';
COMMENT ON COLUMN rflow.transactions.broadcast_at IS 'When a node first had it';
COMMENT ON COLUMN rflow.transactions.mined_at IS 'When its receipt was first seen';
COMMENT ON COLUMN rflow.transactions.confirmed_at IS 'When it was deep enough';
COMMENT ON COLUMN rflow.transactions.valid_until IS 'When it expires: no payload of it is signed or offered after that; NULL: never';
COMMENT ON COLUMN rflow.transactions.replaces IS 'The transaction whose nonce it is to take, with another payload (rflow.replace_transaction())';
COMMENT ON COLUMN rflow.transactions.replaced_by IS 'The transaction that is to take its nonce; what is mined there decides';

CREATE VIEW rflow.attempts WITH (security_barrier) AS
SELECT a.transaction_id, a.chain_id, a.address, a.nonce, a.attempt, a.kind, a.transaction_hash,
	a.gas_limit, a.gas_price, a.max_fee_per_gas, a.max_priority_fee_per_gas,
	a.signed_at, a.broadcast_at, a.answer_class, a.answer_code, a.answer, a.answered_at, a.refusals
FROM rflow_private.relayer_attempts a
JOIN rflow_private.relayer_transactions t ON t.id = a.transaction_id
WHERE rflow_private.may_see(t.owner);
COMMENT ON VIEW rflow.attempts IS 'Every payload that was signed for a transaction, and what the node said to it';
COMMENT ON COLUMN rflow.attempts.transaction_id IS 'The transaction it is for (rflow.transactions)';
COMMENT ON COLUMN rflow.attempts.chain_id IS 'Chain id that it is signed for';
COMMENT ON COLUMN rflow.attempts.address IS 'The account that signed it';
COMMENT ON COLUMN rflow.attempts.nonce IS 'Its nonce';
COMMENT ON COLUMN rflow.attempts.attempt IS 'Counts the payloads of one nonce, from 1';
COMMENT ON COLUMN rflow.attempts.kind IS 'send: the payload; noop: takes the nonce of one that is given up';
COMMENT ON COLUMN rflow.attempts.transaction_hash IS 'Its hash';
COMMENT ON COLUMN rflow.attempts.gas_limit IS 'Its gas limit';
COMMENT ON COLUMN rflow.attempts.gas_price IS 'In wei; where the chain has no EIP-1559';
COMMENT ON COLUMN rflow.attempts.max_fee_per_gas IS 'In wei; with EIP-1559';
COMMENT ON COLUMN rflow.attempts.max_priority_fee_per_gas IS 'In wei; with EIP-1559';
COMMENT ON COLUMN rflow.attempts.signed_at IS 'When it was signed and stored';
COMMENT ON COLUMN rflow.attempts.broadcast_at IS 'When a node first took it';
COMMENT ON COLUMN rflow.attempts.answer_class IS 'What the last refusal of a node means';
COMMENT ON COLUMN rflow.attempts.answer IS 'What the node said then';
COMMENT ON COLUMN rflow.attempts.answer_code IS 'The JSON-RPC error code that came with it';
COMMENT ON COLUMN rflow.attempts.answered_at IS 'When that was';
COMMENT ON COLUMN rflow.attempts.refusals IS 'How often nodes did not take it';

CREATE VIEW rflow.relayer_status WITH (security_barrier) AS
SELECT r.name AS relayer, r.network, s.address, s.balance,
	s.chain_nonce, s.pending_nonce, k.next_nonce,
	(SELECT count(*)::integer
		FROM rflow_private.nonces n
		WHERE n.chain_id = w.chain_id AND n.address = s.address AND NOT n.settled) AS in_flight,
	(SELECT count(*)
		FROM rflow_private.due d
		WHERE d.kind = 'send' AND d.owner = r.name) AS queued,
	r.paused,
	s.problem, s.problem_since, s.observed_at,
	r.low_balance, s.low_since, b.per_hour AS burn_per_hour, round(s.balance / nullif(b.per_hour, 0), 1) AS hours_left,
	(SELECT p.what
		FROM rflow_private.paused_things p
		WHERE p.kind = 'all' OR (p.kind = 'network' AND p.name = r.network) OR (p.kind = 'relayer' AND p.name = r.name)
		ORDER BY p.kind LIMIT 1) AS pause
FROM rflow.relayers r
JOIN rflow.networks w ON w.name = r.network
LEFT JOIN rflow_private.relayer_states s ON s.relayer = r.name
LEFT JOIN rflow_private.relayer_keys k ON k.chain_id = w.chain_id AND k.address = s.address
LEFT JOIN rflow_private.relayer_burns b ON b.relayer = r.name
WHERE rflow_private.may_see(NULL)
	OR EXISTS (SELECT
		FROM rflow.relayer_grants g
		WHERE g.relayer = r.name AND pg_has_role(g.grantee, 'USAGE'));
COMMENT ON VIEW rflow.relayer_status IS 'Each relayer: the address to fund, its balance and nonces as last seen on chain, what is under way, and why it waits';
COMMENT ON COLUMN rflow.relayer_status.relayer IS 'Name of the relayer';
COMMENT ON COLUMN rflow.relayer_status.network IS 'The network it sends on';
COMMENT ON COLUMN rflow.relayer_status.address IS 'The account to fund';
COMMENT ON COLUMN rflow.relayer_status.balance IS 'Its balance in wei, as last seen';
COMMENT ON COLUMN rflow.relayer_status.chain_nonce IS 'Transactions of the account in blocks, as last seen';
COMMENT ON COLUMN rflow.relayer_status.pending_nonce IS 'The same with those in the node''s pool';
COMMENT ON COLUMN rflow.relayer_status.next_nonce IS 'The nonce that is assigned next; NULL until the account is adopted';
COMMENT ON COLUMN rflow.relayer_status.in_flight IS 'Nonces that are assigned and not final';
COMMENT ON COLUMN rflow.relayer_status.queued IS 'Transactions that wait to be signed';
COMMENT ON COLUMN rflow.relayer_status.paused IS 'Whether it is paused itself (rflow.pause(''relayer'', …))';
COMMENT ON COLUMN rflow.relayer_status.problem IS 'Why it signs nothing, or not everything';
COMMENT ON COLUMN rflow.relayer_status.problem_since IS 'Since when';
COMMENT ON COLUMN rflow.relayer_status.observed_at IS 'When the chain was last asked';
COMMENT ON COLUMN rflow.relayer_status.low_balance IS 'Below this its balance is low (rflow.relayers)';
COMMENT ON COLUMN rflow.relayer_status.low_since IS 'Since when it is; NULL: it is not, or is a quarter above it again';
COMMENT ON COLUMN rflow.relayer_status.burn_per_hour IS 'What the account has spent in an hour, in wei: value and gas of what was mined in the last day';
COMMENT ON COLUMN rflow.relayer_status.hours_left IS 'How long the balance lasts at that pace';
COMMENT ON COLUMN rflow.relayer_status.pause IS 'What pauses it (itself, its network, everything), by whom and why (rflow.pauses)';

GRANT SELECT ON rflow.transactions, rflow.attempts, rflow.relayer_status TO PUBLIC;
