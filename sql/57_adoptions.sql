-- Outside transactions that operators say are what sends became (src/relay/adopt.c).

CREATE TABLE rflow_private.adoptions (
	transaction_id bigint PRIMARY KEY,
	network text NOT NULL,
	chain_id bigint NOT NULL,
	transaction_hash rflow.hex NOT NULL,
	who text NOT NULL DEFAULT session_user,
	why text,
	at timestamptz NOT NULL DEFAULT clock_timestamp(),
	CONSTRAINT adoptions_transaction_hash_key UNIQUE (chain_id, transaction_hash)
);
COMMENT ON TABLE rflow_private.adoptions IS 'Wishes of rflow.adopt_transaction() that are not carried out yet; the intent of these transactions is adopt, so nothing is signed or sent for them';

CREATE FUNCTION rflow.adopt_transaction(id bigint, transaction_hash rflow.hex, reason text DEFAULT NULL) RETURNS text
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_adopt_transaction';
COMMENT ON FUNCTION rflow.adopt_transaction(bigint, rflow.hex, text) IS
	'Says that a transaction on the chain, sent with the same key but not by rflow, is what this one became: it is held at once, and takes that one''s nonce and hash when it is found at the depth of confirmations. NULL as the hash takes the wish back. Returns adopting, or the state. For operators';
