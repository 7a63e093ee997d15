-- What accounts spend, and which have too little.

-- The last 200 nonces of an account stand for its day; with fewer of them the time since it was adopted counts, an hour at
-- least. By the key of nonces, whose order is that of time.
CREATE VIEW rflow_private.relayer_burns AS
SELECT r.name AS relayer, round(b.spent / extract(epoch FROM CASE
		WHEN b.mined = 200 THEN greatest(clock_timestamp() - b.first_at, interval '1 minute')
		ELSE greatest(least(clock_timestamp() - k.adopted_at, interval '1 day'), interval '1 hour')
	END) * 3600) AS per_hour
FROM rflow.relayers r
JOIN rflow.networks n ON n.name = r.network
JOIN rflow_private.relayer_states s ON s.relayer = r.name
JOIN rflow_private.relayer_keys k ON k.chain_id = n.chain_id AND k.address = s.address
CROSS JOIN LATERAL (
	SELECT count(*) AS mined, coalesce(sum(m.cost), 0) AS spent, min(m.mined_at) AS first_at
	FROM (
		SELECT t.mined_at, CASE WHEN t.reverted THEN 0 ELSE t.value END + t.gas_used * coalesce(t.effective_gas_price, 0) AS cost
		FROM (
			SELECT v.transaction_id
			FROM rflow_private.nonces v
			WHERE v.chain_id = n.chain_id AND v.address = s.address
			ORDER BY v.nonce DESC LIMIT 200) v
		JOIN rflow_private.relayer_transactions t ON t.id = v.transaction_id) m
	WHERE m.mined_at > clock_timestamp() - interval '1 day') b;
COMMENT ON VIEW rflow_private.relayer_burns IS 'What each relayer''s account spends in an hour, in wei: value and gas of what was mined in the last day';

CREATE VIEW rflow_private.low_relayers WITH (security_barrier) AS
SELECT 'relayer'::text AS kind, r.name AS subject, r.network, NULL::text AS workflow,
	s.low_since AS since,
	format('it has %s wei, less than the %s of low_balance%s', s.balance, r.low_balance,
		', and spends ' || nullif(b.per_hour, 0) || ' in an hour: enough for ' || round(s.balance / nullif(b.per_hour, 0), 1) || ' hours') AS reason,
	format('Send funds to %s: it is over at %s wei', s.address, r.low_balance + div(r.low_balance, 4)) AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow.relayers r
JOIN rflow_private.relayer_states s ON s.relayer = r.name
LEFT JOIN rflow_private.relayer_burns b ON b.relayer = r.name
WHERE s.low_since IS NOT NULL AND r.low_balance IS NOT NULL
	AND (rflow_private.may_see(NULL)
		OR EXISTS (SELECT
			FROM rflow.relayer_grants g
			WHERE g.relayer = r.name AND pg_has_role(g.grantee, 'USAGE')));
COMMENT ON VIEW rflow_private.low_relayers IS 'Relayers whose balance is below low_balance, or has been and is not a quarter above it yet';

-- Top-ups

CREATE VIEW rflow.top_up_status WITH (security_barrier) AS
SELECT u.name AS top_up, r.network, u.source, u.relayer, coalesce(u.recipient, s.target) AS recipient, u.token,
	s.balance, u.below, s.block_number, u.enabled, s.problem, s.problem_since, o.transaction_id,
	coalesce(d.sent, 0) AS sent_in_day, d.last_at AS last_sent_at, s.observed_at
FROM rflow.top_ups u
LEFT JOIN rflow.relayers r ON r.name = u.source
LEFT JOIN rflow_private.top_up_states s ON s.top_up = u.name
LEFT JOIN LATERAL (
	SELECT p.transaction_id
	FROM rflow_private.top_up_transfers p
	WHERE p.top_up = u.name AND p.outstanding AND p.created_at > clock_timestamp() - interval '30 days'
	ORDER BY p.created_at DESC LIMIT 1) o ON true
LEFT JOIN LATERAL (
	SELECT sum(p.amount) AS sent, max(p.created_at) AS last_at
	FROM rflow_private.top_up_transfers p
	JOIN rflow_private.relayer_transactions t ON t.id = p.transaction_id
	WHERE p.top_up = u.name AND p.created_at > clock_timestamp() - interval '1 day'
		AND t.state NOT IN ('failed', 'expired', 'cancelled', 'replaced')) d ON true
WHERE rflow_private.may_see(NULL);
COMMENT ON VIEW rflow.top_up_status IS 'Each top-up: the balance it looks after, what is under way, and why nothing is transferred';
COMMENT ON COLUMN rflow.top_up_status.top_up IS 'Its name (rflow.top_ups)';
COMMENT ON COLUMN rflow.top_up_status.network IS 'The network';
COMMENT ON COLUMN rflow.top_up_status.source IS 'The relayer that pays';
COMMENT ON COLUMN rflow.top_up_status.relayer IS 'The relayer that is topped up; NULL: an address is';
COMMENT ON COLUMN rflow.top_up_status.recipient IS 'The account that is topped up';
COMMENT ON COLUMN rflow.top_up_status.token IS 'The token; NULL: the native coin';
COMMENT ON COLUMN rflow.top_up_status.balance IS 'Its balance, as last seen';
COMMENT ON COLUMN rflow.top_up_status.below IS 'Below this it is topped up';
COMMENT ON COLUMN rflow.top_up_status.block_number IS 'The block that had that balance';
COMMENT ON COLUMN rflow.top_up_status.enabled IS 'Whether transfers are made';
COMMENT ON COLUMN rflow.top_up_status.problem IS 'Why it has too little and gets nothing';
COMMENT ON COLUMN rflow.top_up_status.problem_since IS 'Since when';
COMMENT ON COLUMN rflow.top_up_status.transaction_id IS 'The transfer that is under way (rflow.transactions)';
COMMENT ON COLUMN rflow.top_up_status.sent_in_day IS 'What was transferred in the last 24 hours';
COMMENT ON COLUMN rflow.top_up_status.last_sent_at IS 'When it was last topped up, in the last 24 hours';
COMMENT ON COLUMN rflow.top_up_status.observed_at IS 'When balance or problem last changed';

CREATE VIEW rflow_private.stuck_top_ups WITH (security_barrier) AS
SELECT 'top-up'::text AS kind, u.name AS subject, r.network, NULL::text AS workflow,
	s.problem_since AS since, s.problem AS reason,
	CASE
		WHEN s.problem LIKE '%has too little%' THEN format('Send funds to %s, the account of relayer %s', e.address, u.source)
		WHEN s.problem LIKE '%is paused%' THEN format('UPDATE rflow.relayers SET paused = false WHERE name = %L', u.source)
		WHEN s.problem LIKE '%max_per_day%' THEN 'It goes on when a day has passed, or raise max_per_day of rflow.top_ups'
		WHEN s.problem LIKE '%relayer%' THEN 'See rflow.relayer_status'
		ELSE 'It goes on by itself when this is over; otherwise change or delete the row of rflow.top_ups'
	END AS what_to_do,
	NULL::integer AS blocking_pid
FROM rflow.top_ups u
JOIN rflow_private.top_up_states s ON s.top_up = u.name
LEFT JOIN rflow.relayers r ON r.name = u.source
LEFT JOIN rflow_private.relayer_states e ON e.relayer = u.source
WHERE u.enabled AND s.problem IS NOT NULL AND rflow_private.may_see(NULL);
COMMENT ON VIEW rflow_private.stuck_top_ups IS 'Top-ups that should transfer something and do not';

GRANT SELECT ON rflow.top_up_status TO PUBLIC;
