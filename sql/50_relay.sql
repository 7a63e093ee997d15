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

CREATE FUNCTION rflow_private.relay_failure(kind text, message text, data text) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT CASE WHEN kind IS NOT NULL THEN pg_catalog.jsonb_strip_nulls(
	pg_catalog.jsonb_build_object('kind', kind, 'message', message, 'data', data)) END
$$;
COMMENT ON FUNCTION rflow_private.relay_failure IS 'The column error of a transaction; NULL when there is no failure';

-- Who sees what belongs to a role: those that have its privileges, and those who watch over everything.
CREATE FUNCTION rflow_private.may_see(owner oid) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE AS $$
SELECT pg_catalog.pg_has_role(owner, 'USAGE')
	OR pg_catalog.pg_has_role('rflow_viewer', 'USAGE')
	OR pg_catalog.pg_has_role('rflow_operator', 'USAGE')
	OR pg_catalog.pg_has_role('rflow_admin', 'USAGE')
$$;
COMMENT ON FUNCTION rflow_private.may_see IS 'May the current user see what belongs to owner? Views filter by it';

CREATE FUNCTION rflow.submit_transaction(
		relayer text,
		contract text,
		function text,
		args jsonb,
		idempotency_key text,
		value numeric DEFAULT 0,
		gas_limit bigint DEFAULT NULL,
		max_fee_per_gas numeric DEFAULT NULL,
		confirmations integer DEFAULT NULL,
		expires_in interval DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_submit_call';
COMMENT ON FUNCTION rflow.submit_transaction(text, text, text, jsonb, text, numeric, bigint, numeric, integer, interval) IS
	'Queues a call of a contract''s function, inside the current transaction; args are a JSON array, or an object by name. The same idempotency_key and body again returns the same id, another body is an error';

-- In this order untyped literals are unambiguous: they are a call of a contract by name.
CREATE FUNCTION rflow.submit_transaction(
		relayer text,
		recipient rflow.address,
		value numeric,
		data rflow.hex,
		idempotency_key text,
		gas_limit bigint DEFAULT NULL,
		max_fee_per_gas numeric DEFAULT NULL,
		confirmations integer DEFAULT NULL,
		expires_in interval DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_submit_raw';
COMMENT ON FUNCTION rflow.submit_transaction(text, rflow.address, numeric, rflow.hex, text, bigint, numeric, integer, interval) IS
	'Queues a transaction with these bytes, inside the current transaction; recipient NULL creates a contract. The same idempotency_key and body again returns the same id, another body is an error';

CREATE FUNCTION rflow.cancel_transaction(id bigint, reason text DEFAULT NULL) RETURNS text
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_cancel_transaction';
COMMENT ON FUNCTION rflow.cancel_transaction(bigint, text) IS
	'Cancels a transaction and returns its state: cancelled when it was not signed; cancelling when a no-op has to take its nonce first (what mines there decides); its state when it is too late';

CREATE FUNCTION rflow.expire_transaction(id bigint, reason text DEFAULT NULL) RETURNS text
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_expire_transaction';
COMMENT ON FUNCTION rflow.expire_transaction(bigint, text) IS
	'Lets a transaction expire now, as its time would, and returns its state: expired when it was not signed; expiring when a no-op has to take its nonce first; its state when it is too late';

CREATE FUNCTION rflow.bump_transaction(id bigint, max_fee_per_gas numeric DEFAULT NULL, reason text DEFAULT NULL) RETURNS text
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_bump_transaction';
COMMENT ON FUNCTION rflow.bump_transaction(bigint, numeric, text) IS
	'Has a transaction signed once more for a higher price as soon as its caps allow it; max_fee_per_gas is its own cap from now on. Returns bumping, or its state: one that is queued is looked at again at once';

CREATE FUNCTION rflow.replace_transaction(
		id bigint,
		contract text,
		function text,
		args jsonb,
		value numeric DEFAULT 0,
		gas_limit bigint DEFAULT NULL,
		max_fee_per_gas numeric DEFAULT NULL,
		reason text DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_replace_call';
COMMENT ON FUNCTION rflow.replace_transaction(bigint, text, text, jsonb, numeric, bigint, numeric, text) IS
	'Another payload instead of that of a transaction: before it is signed it is changed; afterwards a transaction of its own competes for the nonce, and what mines decides. Returns the id of the one that has the payload';

CREATE FUNCTION rflow.replace_transaction(
		id bigint,
		recipient rflow.address,
		value numeric,
		data rflow.hex,
		gas_limit bigint DEFAULT NULL,
		max_fee_per_gas numeric DEFAULT NULL,
		reason text DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_replace_raw';
COMMENT ON FUNCTION rflow.replace_transaction(bigint, rflow.address, numeric, rflow.hex, bigint, numeric, text) IS
	'The same with these bytes';

CREATE FUNCTION rflow.retry_transaction(id bigint, reason text DEFAULT NULL) RETURNS boolean
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_retry_transaction';
COMMENT ON FUNCTION rflow.retry_transaction(bigint, text) IS
	'Has a queued transaction that waits for a time looked at again at once; false when it does not wait for one. For operators';

CREATE FUNCTION rflow.retry_relayer(relayer text, reason text DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_retry_relayer';
COMMENT ON FUNCTION rflow.retry_relayer(text, text) IS
	'Has a relayer look again at once at all that it holds or waits for; returns how many transactions waited for a time. For operators';

CREATE FUNCTION rflow.fill_gap(relayer text, nonce bigint, reason text DEFAULT NULL) RETURNS text
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_fill_gap';
COMMENT ON FUNCTION rflow.fill_gap(text, bigint, text) IS
	'Has a no-op take a nonce that the chain waits for and nothing of rflow''s holds. For operators; the relayer does so by itself when what has later nonces has waited for three blocks';

CREATE FUNCTION rflow.adopt_account(relayer text, next_nonce bigint DEFAULT NULL, reason text DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_adopt_account';
COMMENT ON FUNCTION rflow.adopt_account(text, bigint, text) IS
	'Takes the nonces of a relayer''s account over from whoever else has used it: the next one is next_nonce, or what the chain counts with its pool. For operators';

-- The relayer's own transactions, for isolation tests. Schema rflow_private is closed to all but superusers.
CREATE FUNCTION rflow_private.relay_sign(relayer text, account rflow.address, first_nonce bigint) RETURNS integer
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_relay_sign';
COMMENT ON FUNCTION rflow_private.relay_sign IS 'Assigns nonces to all that is queued, as the relayer process does, but signs nothing. Refused while the database is armed';

CREATE FUNCTION rflow_private.relay_sign_replacement(id bigint) RETURNS integer
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_relay_sign_replacement';
COMMENT ON FUNCTION rflow_private.relay_sign_replacement IS 'Signs nothing, but gives the nonce of a transaction that is to be replaced to its replacement, as the relayer process does. Refused while the database is armed';

CREATE FUNCTION rflow_private.relay_record_accepted(id bigint) RETURNS boolean
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_relay_record_accepted';
COMMENT ON FUNCTION rflow_private.relay_record_accepted IS 'signed → broadcast, as the relayer process records it';

CREATE FUNCTION rflow_private.relay_record_mined(
		id bigint, transaction_hash rflow.hex, block_number bigint, block_hash rflow.hex, reverted boolean) RETURNS boolean
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_relay_record_mined';
COMMENT ON FUNCTION rflow_private.relay_record_mined IS 'signed, broadcast, mined → mined, as the relayer process records it';

CREATE FUNCTION rflow_private.relay_record_unmined(id bigint, reason text) RETURNS boolean
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_relay_record_unmined';
COMMENT ON FUNCTION rflow_private.relay_record_unmined IS 'mined, confirmed → broadcast, as the relayer process records it';

CREATE FUNCTION rflow_private.relay_record_deep(id bigint) RETURNS boolean
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_relay_record_deep';
COMMENT ON FUNCTION rflow_private.relay_record_deep IS 'mined → confirmed or failed, and its nonce settled, as the relayer process records it';
