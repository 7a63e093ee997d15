-- Reconciling after a promotion or a restore: what the accounts have sent that this database does not know of.
--
-- While an account is reconciled nothing is signed for it. src/relay/README.md tells how; the relayer process does it.

CREATE TABLE rflow_private.reconciliations (
	network text PRIMARY KEY,
	from_block bigint NOT NULL,
	reason text NOT NULL,
	since timestamptz NOT NULL DEFAULT clock_timestamp(),
	finished_at timestamptz
);
COMMENT ON TABLE rflow_private.reconciliations IS 'The last time that each network''s accounts had to be compared with the chain';
COMMENT ON COLUMN rflow_private.reconciliations.from_block IS 'The newest block that the restored database knew; -1: none';

CREATE TABLE rflow_private.account_reconciliations (
	network text NOT NULL,
	address rflow.address NOT NULL,
	chain_id bigint NOT NULL,
	restored_nonce bigint,
	first_nonce bigint,
	scanned_from bigint NOT NULL,
	scanned_to bigint NOT NULL,
	status text,
	since timestamptz NOT NULL DEFAULT clock_timestamp(),
	finished_at timestamptz,
	PRIMARY KEY (network, address)
);
COMMENT ON TABLE rflow_private.account_reconciliations IS 'How far that is with each account; without a row it has not begun';
COMMENT ON COLUMN rflow_private.account_reconciliations.restored_nonce IS 'Its next nonce in the restored database; NULL: it was not adopted';
COMMENT ON COLUMN rflow_private.account_reconciliations.first_nonce IS 'The chain''s nonces from here on are unknown unless they are found; NULL: the node could not say';
COMMENT ON COLUMN rflow_private.account_reconciliations.scanned_from IS 'Blocks after this one are read: the newest one of the restored database, or an older one when something is not found after it';
COMMENT ON COLUMN rflow_private.account_reconciliations.scanned_to IS 'Blocks up to here have been read';

CREATE TABLE rflow_private.outside_transactions (
	chain_id bigint NOT NULL,
	address rflow.address NOT NULL,
	nonce bigint NOT NULL,
	network text NOT NULL,
	transaction_hash rflow.hex NOT NULL,
	block_number bigint NOT NULL,
	recipient rflow.address,
	value numeric NOT NULL,
	data rflow.hex NOT NULL,
	raw rflow.hex,
	gas_limit bigint NOT NULL,
	gas_price numeric,
	max_fee_per_gas numeric,
	max_priority_fee_per_gas numeric,
	verdict text NOT NULL DEFAULT 'unmatched'
		CONSTRAINT outside_transactions_verdict_check CHECK (verdict IN ('unmatched', 'matched', 'noop', 'dismissed')),
	transaction_id bigint,
	found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	decided_at timestamptz,
	decided_by text,
	note text,
	PRIMARY KEY (chain_id, address, nonce)
);
CREATE INDEX outside_transactions_unmatched ON rflow_private.outside_transactions (chain_id, address, nonce) WHERE verdict = 'unmatched';
COMMENT ON TABLE rflow_private.outside_transactions IS 'Transactions of our accounts on the chain that this database did not know of, and what has become clear of them';
COMMENT ON COLUMN rflow_private.outside_transactions.raw IS 'The signed bytes, made again from what the node said and checked by their hash; NULL for types that the relayer does not sign';
COMMENT ON COLUMN rflow_private.outside_transactions.verdict IS 'unmatched; matched: it is transaction_id; noop: it has taken a nonce and nothing else; dismissed: an operator has dealt with it';

-- The accounts of these networks are held until they are reconciled. One that was under way goes back to its own beginning.
CREATE FUNCTION rflow_private.begin_reconciliation(why text, contacted_only boolean) RETURNS void
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	INSERT INTO rflow_private.reconciliations AS r (network, from_block, reason)
	SELECT n.name,
		coalesce(
			(SELECT max(b.number) FROM rflow_private.blocks b WHERE b.network = n.name),
			(SELECT max(a.head_number) FROM rflow_private.relayer_attempts a WHERE a.chain_id = n.chain_id),
			-1),
		why
	FROM rflow.networks n
	WHERE NOT contacted_only
		OR EXISTS (SELECT FROM rflow_private.network_states s WHERE s.network = n.name)
		OR EXISTS (SELECT FROM rflow_private.relayer_keys k WHERE k.chain_id = n.chain_id)
	ON CONFLICT (network) DO UPDATE SET
		from_block = CASE WHEN r.finished_at IS NULL THEN least(r.from_block, excluded.from_block) ELSE excluded.from_block END,
		reason = excluded.reason,
		since = excluded.since,
		finished_at = NULL;
	DELETE FROM rflow_private.account_reconciliations a
	USING rflow_private.reconciliations r
	WHERE r.network = a.network AND r.finished_at IS NULL;
END
$$;
COMMENT ON FUNCTION rflow_private.begin_reconciliation(text, boolean) IS 'Holds signing until the accounts are reconciled: of all networks, or of those that the database has been in contact with';

-- Called by the coordinator before any other worker of the database runs, so that no block has been read since.
CREATE FUNCTION rflow_private.accept_timeline() RETURNS void
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	before integer;
	now integer;
BEGIN
	SELECT i.timeline, c.timeline INTO before, now
	FROM rflow_private.identity i, rflow_private.current_identity() c
	FOR UPDATE OF i;
	IF before IS DISTINCT FROM now THEN
		PERFORM rflow_private.begin_reconciliation(
			format('the server continues on timeline %s, after timeline %s: it was promoted or restored', now, before), false);
		UPDATE rflow_private.identity SET timeline = now;
		PERFORM rflow_private.definitions_changed();
	END IF;
END
$$;
COMMENT ON FUNCTION rflow_private.accept_timeline() IS 'Records a new timeline together with the hold that it brings';

CREATE VIEW rflow.reconciliations WITH (security_barrier) AS
SELECT r.network, a.address, r.reason, r.since, r.from_block, a.scanned_to,
	coalesce(o.found, 0) AS found, coalesce(o.matched, 0) AS matched, coalesce(o.unmatched, 0) AS unmatched,
	CASE WHEN a.finished_at IS NOT NULL OR r.finished_at IS NOT NULL THEN 'finished' ELSE coalesce(a.status, 'not begun') END AS status,
	CASE WHEN a.address IS NULL THEN r.finished_at ELSE a.finished_at END AS finished_at
FROM rflow_private.reconciliations r
LEFT JOIN rflow_private.account_reconciliations a ON a.network = r.network
LEFT JOIN LATERAL (
	SELECT count(*) AS found, count(*) FILTER (WHERE t.verdict = 'matched') AS matched,
		count(*) FILTER (WHERE t.verdict = 'unmatched') AS unmatched
	FROM rflow_private.outside_transactions t
	WHERE t.chain_id = a.chain_id AND t.address = a.address) o ON true
WHERE rflow_private.may_see(NULL);
COMMENT ON VIEW rflow.reconciliations IS 'After a promotion or a restore: how far each account is compared with the chain. Nothing is signed for it until that is finished';
COMMENT ON COLUMN rflow.reconciliations.network IS 'The network';
COMMENT ON COLUMN rflow.reconciliations.address IS 'The account; NULL while none has begun';
COMMENT ON COLUMN rflow.reconciliations.reason IS 'Why it is reconciled';
COMMENT ON COLUMN rflow.reconciliations.since IS 'Since when';
COMMENT ON COLUMN rflow.reconciliations.from_block IS 'The newest block that the restored database knew';
COMMENT ON COLUMN rflow.reconciliations.scanned_to IS 'Blocks up to here have been read';
COMMENT ON COLUMN rflow.reconciliations.found IS 'Transactions of the account that the database did not know of, in all reconciliations';
COMMENT ON COLUMN rflow.reconciliations.matched IS 'Those that turned out to be sends of this database';
COMMENT ON COLUMN rflow.reconciliations.unmatched IS 'Those that nothing explains yet';
COMMENT ON COLUMN rflow.reconciliations.status IS 'What it does or waits for; finished';
COMMENT ON COLUMN rflow.reconciliations.finished_at IS 'When signing went on';

CREATE VIEW rflow.unmatched_transactions WITH (security_barrier) AS
SELECT o.network, o.address, o.nonce, o.transaction_hash, o.block_number, o.recipient, o.value, o.data, o.found_at
FROM rflow_private.outside_transactions o
WHERE o.verdict = 'unmatched' AND rflow_private.may_see(NULL);
COMMENT ON VIEW rflow.unmatched_transactions IS 'Transactions of relayers'' accounts on the chain that no send of this database explains: they hold signing until rflow.dismiss_unmatched()';
COMMENT ON COLUMN rflow.unmatched_transactions.network IS 'The network';
COMMENT ON COLUMN rflow.unmatched_transactions.address IS 'The account that sent it';
COMMENT ON COLUMN rflow.unmatched_transactions.nonce IS 'Its nonce';
COMMENT ON COLUMN rflow.unmatched_transactions.transaction_hash IS 'Its hash';
COMMENT ON COLUMN rflow.unmatched_transactions.block_number IS 'The block it is in';
COMMENT ON COLUMN rflow.unmatched_transactions.recipient IS 'To whom; NULL: it created a contract';
COMMENT ON COLUMN rflow.unmatched_transactions.value IS 'In wei';
COMMENT ON COLUMN rflow.unmatched_transactions.data IS 'Call data';
COMMENT ON COLUMN rflow.unmatched_transactions.found_at IS 'When it was found';
GRANT SELECT ON rflow.reconciliations, rflow.unmatched_transactions TO PUBLIC;

CREATE FUNCTION rflow.dismiss_unmatched(transaction_hash rflow.hex, reason text) RETURNS void
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF coalesce(btrim(dismiss_unmatched.reason), '') = '' THEN
		RAISE EXCEPTION 'reason must not be empty'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'It is kept beside your name: say what the transaction was.';
	END IF;
	UPDATE rflow_private.outside_transactions o
	SET verdict = 'dismissed', decided_at = clock_timestamp(), decided_by = session_user, note = dismiss_unmatched.reason
	WHERE o.transaction_hash = dismiss_unmatched.transaction_hash AND o.verdict = 'unmatched';
	IF NOT FOUND THEN
		RAISE EXCEPTION 'there is no unmatched transaction %', dismiss_unmatched.transaction_hash
			USING ERRCODE = 'undefined_object', HINT = 'SELECT * FROM rflow.unmatched_transactions';
	END IF;
	INSERT INTO rflow_private.operator_log (who, acting_as, verb, subject, reason, outcome)
	VALUES (session_user, coalesce(nullif(current_setting('role'), 'none'), session_user), 'dismiss_unmatched',
		'outside transaction ' || dismiss_unmatched.transaction_hash, dismiss_unmatched.reason, 'dismissed');
	PERFORM rflow_private.definitions_changed();
END
$$;
COMMENT ON FUNCTION rflow.dismiss_unmatched(rflow.hex, text) IS 'Says that an unmatched transaction is dealt with: no send of this database stands for it. Who said so, and why, is kept';
REVOKE ALL ON FUNCTION rflow.dismiss_unmatched(rflow.hex, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rflow.dismiss_unmatched(rflow.hex, text) TO rflow_operator, rflow_admin;
