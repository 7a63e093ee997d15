-- What the relayer does, for those who may see it.

CREATE VIEW rflow.transactions WITH (security_barrier) AS
SELECT t.id, t.relayer, t.network, t.owner, t.idempotency_key, t.run_id, t.step,
	t.state, t.reason, t.state_since AS since, t.intent,
	t.recipient, t.value, t.data,
	t.from_address, t.nonce, t.transaction_hash,
	(SELECT count(*)::integer
		FROM rflow_private.relayer_attempts a
		WHERE a.chain_id = t.chain_id AND a.address = t.from_address AND a.nonce = t.nonce) AS attempts,
	t.block_number, t.reverted, t.gas_used, t.effective_gas_price, t.error,
	t.wait_for, t.confirmations,
	t.created_at, t.signed_at, t.broadcast_at, t.mined_at, t.confirmed_at
FROM rflow_private.relayer_transactions t
WHERE rflow_private.may_see(t.owner);
COMMENT ON VIEW rflow.transactions IS 'Chain transactions: what was wanted, where each is, why, and since when';

CREATE VIEW rflow.attempts WITH (security_barrier) AS
SELECT a.transaction_id, a.chain_id, a.address, a.nonce, a.attempt, a.kind, a.transaction_hash,
	a.gas_limit, a.gas_price, a.max_fee_per_gas, a.max_priority_fee_per_gas,
	a.signed_at, a.broadcast_at, a.answer_class, a.answer, a.answered_at
FROM rflow_private.relayer_attempts a
JOIN rflow_private.relayer_transactions t ON t.id = a.transaction_id
WHERE rflow_private.may_see(t.owner);
COMMENT ON VIEW rflow.attempts IS 'Every payload that was signed for a transaction, and what the node said to it';

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
	s.problem, s.problem_since, s.observed_at
FROM rflow.relayers r
JOIN rflow.networks w ON w.name = r.network
LEFT JOIN rflow_private.relayer_states s ON s.relayer = r.name
LEFT JOIN rflow_private.relayer_keys k ON k.chain_id = w.chain_id AND k.address = s.address
WHERE rflow_private.may_see(NULL)
	OR EXISTS (SELECT
		FROM rflow.relayer_grants g
		WHERE g.relayer = r.name AND pg_has_role(g.grantee, 'USAGE'));
COMMENT ON VIEW rflow.relayer_status IS 'Each relayer: the address to fund, its balance and nonces as last seen on chain, what is under way, and why it waits';

GRANT SELECT ON rflow.transactions, rflow.attempts, rflow.relayer_status TO PUBLIC;
