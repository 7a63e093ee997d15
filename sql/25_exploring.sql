-- For looking at the chain's formats from psql: what an ABI has, what RLP holds, who has authorized what.

CREATE FUNCTION rflow.abi_items(
		abi jsonb,
		OUT kind text, OUT name text, OUT signature text, OUT id rflow.hex, OUT declaration text)
	RETURNS SETOF record
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 30 AS 'MODULE_PATHNAME', 'rflow_abi_items';
COMMENT ON FUNCTION rflow.abi_items(jsonb) IS 'What an ABI has: kind, name, canonical signature, what the chain knows it by (first topic of an event, selector of a function or error), and its line for rflow.abi()';

CREATE FUNCTION rflow.rlp_decode(data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_rlp_decode';
COMMENT ON FUNCTION rflow.rlp_decode(rflow.hex) IS 'Recursive Length Prefix: bytes as texts, lists as arrays; an error where it is not in the canonical form';
CREATE FUNCTION rflow.rlp_encode(value jsonb) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_rlp_encode';
COMMENT ON FUNCTION rflow.rlp_encode(jsonb) IS 'Recursive Length Prefix of a text of bytes or an array of such values: rflow.rlp_encode(''["0x01", ["0x"]]'')';

CREATE FUNCTION rflow.hash_authorization(chain_id numeric, contract rflow.address, nonce bigint) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hash_authorization';
COMMENT ON FUNCTION rflow.hash_authorization(numeric, rflow.address, bigint) IS 'What an account signs to let a contract''s code act for it (EIP-7702); chain_id 0 means every chain';
CREATE FUNCTION rflow.recover_authorization(chain_id numeric, contract rflow.address, nonce bigint, signature rflow.hex) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_recover_authorization';
COMMENT ON FUNCTION rflow.recover_authorization(numeric, rflow.address, bigint, rflow.hex) IS 'The account that has signed an authorization (EIP-7702)';
