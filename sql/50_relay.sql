-- The relayer: what a run may be told, who may see what, submitting and cancelling transactions, adopting an account.

-- One place says what a run that waits for a transaction is told.
CREATE FUNCTION rflow_private.relay_verdict(state text, reverted boolean, wait_for text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE
	WHEN state IN ('failed', 'expired', 'cancelled', 'replaced') THEN 'without_effect'
	WHEN state = 'confirmed' OR wait_for = 'none' THEN 'reached'
	WHEN wait_for = 'sent' AND state IN ('broadcast', 'mined') THEN 'reached'
	WHEN wait_for = 'mined' AND state = 'mined' AND NOT reverted THEN 'reached'
	ELSE 'pending'
END
$$;
COMMENT ON FUNCTION rflow_private.relay_verdict IS 'Has a transaction got where wait_for wants it: pending, reached or without_effect';
