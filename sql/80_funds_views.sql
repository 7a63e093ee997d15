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
		FROM rflow_private.nonces v
		JOIN rflow_private.relayer_transactions t ON t.id = v.transaction_id
		WHERE v.chain_id = n.chain_id AND v.address = s.address
		ORDER BY v.nonce DESC LIMIT 200) m
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
