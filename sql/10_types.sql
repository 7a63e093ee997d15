-- rflow.address and rflow.hex: the types, their casts, operators and operator classes.
--
-- Functions are in rflow; operators, casts' targets and operator classes in pg_catalog, where every search_path finds
-- them. rflow.hex converts to bytea by itself, so an operator that is missing for it would be found for bytea and read
-- the other operand as bytea: hence the operators with text, and substring and position.

CREATE TYPE rflow.address;

CREATE FUNCTION rflow.address_in(cstring) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_in';
CREATE FUNCTION rflow.address_out(rflow.address) RETURNS cstring
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_out';
CREATE FUNCTION rflow.address_recv(internal) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_recv';
CREATE FUNCTION rflow.address_send(rflow.address) RETURNS bytea
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_send';

CREATE TYPE rflow.address (
	INPUT = rflow.address_in,
	OUTPUT = rflow.address_out,
	RECEIVE = rflow.address_recv,
	SEND = rflow.address_send,
	INTERNALLENGTH = 20,
	ALIGNMENT = char,
	STORAGE = plain
);
COMMENT ON TYPE rflow.address IS 'An account or contract: 20 bytes, written with the checksum of EIP-55';

CREATE TYPE rflow.hex;

CREATE FUNCTION rflow.hex_in(cstring) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_in';
CREATE FUNCTION rflow.hex_out(rflow.hex) RETURNS cstring
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_out';
CREATE FUNCTION rflow.hex_recv(internal) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_recv';
CREATE FUNCTION rflow.hex_send(rflow.hex) RETURNS bytea
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_send';

CREATE TYPE rflow.hex (
	INPUT = rflow.hex_in,
	OUTPUT = rflow.hex_out,
	RECEIVE = rflow.hex_recv,
	SEND = rflow.hex_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = extended
);
COMMENT ON TYPE rflow.hex IS 'Bytes, written as 0x and lower-case digits: hashes, topics, call data';

-- Casts. rflow.hex and bytea are the same bytes; only the way from rflow.hex to bytea is taken without being asked for.
-- Each cast with a function has one of exactly its types: one that relied on another cast could be restored before it
-- by pg_upgrade, and fail.

CREATE FUNCTION rflow.address(bytea) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_from_bytes';
COMMENT ON FUNCTION rflow.address(bytea) IS 'The address of 20 bytes';
CREATE FUNCTION rflow.address(rflow.hex) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_from_bytes';
COMMENT ON FUNCTION rflow.address(rflow.hex) IS 'The address of 20 bytes';
CREATE FUNCTION rflow.hex(rflow.address) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_to_hex';
COMMENT ON FUNCTION rflow.hex(rflow.address) IS 'The 20 bytes of an address';
CREATE FUNCTION rflow.address_bytea(rflow.address) RETURNS bytea
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_to_hex';
COMMENT ON FUNCTION rflow.address_bytea(rflow.address) IS 'The 20 bytes of an address';

CREATE CAST (rflow.hex AS bytea) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bytea AS rflow.hex) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (bytea AS rflow.address) WITH FUNCTION rflow.address(bytea) AS ASSIGNMENT;
CREATE CAST (rflow.hex AS rflow.address) WITH FUNCTION rflow.address(rflow.hex) AS ASSIGNMENT;
CREATE CAST (rflow.address AS rflow.hex) WITH FUNCTION rflow.hex(rflow.address) AS ASSIGNMENT;
CREATE CAST (rflow.address AS bytea) WITH FUNCTION rflow.address_bytea(rflow.address) AS ASSIGNMENT;
COMMENT ON CAST (rflow.hex AS bytea) IS 'the same bytes';
COMMENT ON CAST (bytea AS rflow.hex) IS 'the same bytes';
COMMENT ON CAST (bytea AS rflow.address) IS 'of exactly 20 bytes';
COMMENT ON CAST (rflow.hex AS rflow.address) IS 'of exactly 20 bytes';
COMMENT ON CAST (rflow.address AS rflow.hex) IS 'its 20 bytes';
COMMENT ON CAST (rflow.address AS bytea) IS 'its 20 bytes';

-- Text columns of users' tables may be assigned; the way to text needs no cast of ours.
CREATE CAST (text AS rflow.address) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS rflow.address) IS 'as rflow.address is written';
CREATE CAST (varchar AS rflow.address) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS rflow.address) IS 'as rflow.address is written';
CREATE CAST (bpchar AS rflow.address) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (bpchar AS rflow.address) IS 'as rflow.address is written';
CREATE CAST (text AS rflow.hex) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (text AS rflow.hex) IS 'as rflow.hex is written';
CREATE CAST (varchar AS rflow.hex) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (varchar AS rflow.hex) IS 'as rflow.hex is written';
CREATE CAST (bpchar AS rflow.hex) WITH INOUT AS ASSIGNMENT;
COMMENT ON CAST (bpchar AS rflow.hex) IS 'as rflow.hex is written';

-- Comparison of rflow.address: by bytes, without collation.

CREATE FUNCTION rflow.address_eq(rflow.address, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_eq';
CREATE FUNCTION rflow.address_ne(rflow.address, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_ne';
CREATE FUNCTION rflow.address_lt(rflow.address, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_lt';
CREATE FUNCTION rflow.address_le(rflow.address, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_le';
CREATE FUNCTION rflow.address_gt(rflow.address, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_gt';
CREATE FUNCTION rflow.address_ge(rflow.address, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_ge';
CREATE FUNCTION rflow.address_cmp(rflow.address, rflow.address) RETURNS integer
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_cmp';
CREATE FUNCTION rflow.address_hash(rflow.address) RETURNS integer
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_hash';
CREATE FUNCTION rflow.address_hash_extended(rflow.address, bigint) RETURNS bigint
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_hash_extended';
CREATE FUNCTION rflow.address_larger(rflow.address, rflow.address) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_larger';
CREATE FUNCTION rflow.address_smaller(rflow.address, rflow.address) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_smaller';
COMMENT ON FUNCTION rflow.address_cmp(rflow.address, rflow.address) IS 'less-equal-greater';
COMMENT ON FUNCTION rflow.address_hash(rflow.address) IS 'hash';
COMMENT ON FUNCTION rflow.address_hash_extended(rflow.address, bigint) IS 'hash with a seed';
COMMENT ON FUNCTION rflow.address_larger(rflow.address, rflow.address) IS 'larger of two';
COMMENT ON FUNCTION rflow.address_smaller(rflow.address, rflow.address) IS 'smaller of two';

CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.address_eq, LEFTARG = rflow.address, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel,
	HASHES, MERGES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.address_ne, LEFTARG = rflow.address, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.< (
	FUNCTION = rflow.address_lt, LEFTARG = rflow.address, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
CREATE OPERATOR pg_catalog.<= (
	FUNCTION = rflow.address_le, LEFTARG = rflow.address, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
CREATE OPERATOR pg_catalog.> (
	FUNCTION = rflow.address_gt, LEFTARG = rflow.address, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
CREATE OPERATOR pg_catalog.>= (
	FUNCTION = rflow.address_ge, LEFTARG = rflow.address, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);

CREATE OPERATOR CLASS pg_catalog.address_ops DEFAULT FOR TYPE rflow.address USING btree AS
	OPERATOR 1 pg_catalog.<,
	OPERATOR 2 pg_catalog.<=,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=,
	OPERATOR 5 pg_catalog.>,
	FUNCTION 1 rflow.address_cmp(rflow.address, rflow.address),
	FUNCTION 4 pg_catalog.btequalimage(oid);
COMMENT ON OPERATOR CLASS pg_catalog.address_ops USING btree IS 'by bytes';
COMMENT ON OPERATOR FAMILY pg_catalog.address_ops USING btree IS 'by bytes';

CREATE AGGREGATE pg_catalog.max(rflow.address) (
	SFUNC = rflow.address_larger, STYPE = rflow.address, COMBINEFUNC = rflow.address_larger,
	SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.max(rflow.address) IS 'maximum value of all rflow.address input values';
CREATE AGGREGATE pg_catalog.min(rflow.address) (
	SFUNC = rflow.address_smaller, STYPE = rflow.address, COMBINEFUNC = rflow.address_smaller,
	SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.min(rflow.address) IS 'minimum value of all rflow.address input values';

-- Comparison of rflow.hex: by bytes, without collation.

CREATE FUNCTION rflow.hex_eq(rflow.hex, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_eq';
CREATE FUNCTION rflow.hex_ne(rflow.hex, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_ne';
CREATE FUNCTION rflow.hex_lt(rflow.hex, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_lt';
CREATE FUNCTION rflow.hex_le(rflow.hex, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_le';
CREATE FUNCTION rflow.hex_gt(rflow.hex, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_gt';
CREATE FUNCTION rflow.hex_ge(rflow.hex, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_ge';
CREATE FUNCTION rflow.hex_cmp(rflow.hex, rflow.hex) RETURNS integer
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_cmp';
CREATE FUNCTION rflow.hex_hash(rflow.hex) RETURNS integer
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_hash';
CREATE FUNCTION rflow.hex_hash_extended(rflow.hex, bigint) RETURNS bigint
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_hash_extended';
CREATE FUNCTION rflow.hex_larger(rflow.hex, rflow.hex) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_larger';
CREATE FUNCTION rflow.hex_smaller(rflow.hex, rflow.hex) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_smaller';
COMMENT ON FUNCTION rflow.hex_cmp(rflow.hex, rflow.hex) IS 'less-equal-greater';
COMMENT ON FUNCTION rflow.hex_hash(rflow.hex) IS 'hash';
COMMENT ON FUNCTION rflow.hex_hash_extended(rflow.hex, bigint) IS 'hash with a seed';
COMMENT ON FUNCTION rflow.hex_larger(rflow.hex, rflow.hex) IS 'larger of two';
COMMENT ON FUNCTION rflow.hex_smaller(rflow.hex, rflow.hex) IS 'smaller of two';

CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.hex_eq, LEFTARG = rflow.hex, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel,
	HASHES, MERGES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.hex_ne, LEFTARG = rflow.hex, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.< (
	FUNCTION = rflow.hex_lt, LEFTARG = rflow.hex, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=),
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
CREATE OPERATOR pg_catalog.<= (
	FUNCTION = rflow.hex_le, LEFTARG = rflow.hex, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>),
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
CREATE OPERATOR pg_catalog.> (
	FUNCTION = rflow.hex_gt, LEFTARG = rflow.hex, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=),
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
CREATE OPERATOR pg_catalog.>= (
	FUNCTION = rflow.hex_ge, LEFTARG = rflow.hex, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<),
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);

CREATE OPERATOR CLASS pg_catalog.hex_ops DEFAULT FOR TYPE rflow.hex USING btree AS
	OPERATOR 1 pg_catalog.<,
	OPERATOR 2 pg_catalog.<=,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=,
	OPERATOR 5 pg_catalog.>,
	FUNCTION 1 rflow.hex_cmp(rflow.hex, rflow.hex),
	FUNCTION 4 pg_catalog.btequalimage(oid);
COMMENT ON OPERATOR CLASS pg_catalog.hex_ops USING btree IS 'by bytes';
COMMENT ON OPERATOR FAMILY pg_catalog.hex_ops USING btree IS 'by bytes';

CREATE AGGREGATE pg_catalog.max(rflow.hex) (
	SFUNC = rflow.hex_larger, STYPE = rflow.hex, COMBINEFUNC = rflow.hex_larger,
	SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.max(rflow.hex) IS 'maximum value of all rflow.hex input values';
CREATE AGGREGATE pg_catalog.min(rflow.hex) (
	SFUNC = rflow.hex_smaller, STYPE = rflow.hex, COMBINEFUNC = rflow.hex_smaller,
	SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE
);
COMMENT ON AGGREGATE pg_catalog.min(rflow.hex) IS 'minimum value of all rflow.hex input values';

-- Equality with text, which is written as "0x" and digits in any case or is equal to nothing; and between the two types.
-- One hash operator family has them all, so that joins with text columns can be hash joins; it needs =# for that.

CREATE FUNCTION rflow.hex_eq_text(rflow.hex, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_eq_text';
CREATE FUNCTION rflow.hex_ne_text(rflow.hex, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_ne_text';
CREATE FUNCTION rflow.text_eq_hex(text, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_eq_hex';
CREATE FUNCTION rflow.text_ne_hex(text, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_ne_hex';
CREATE FUNCTION rflow.address_eq_text(rflow.address, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_eq_text';
CREATE FUNCTION rflow.address_ne_text(rflow.address, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_ne_text';
CREATE FUNCTION rflow.text_eq_address(text, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_eq_address';
CREATE FUNCTION rflow.text_ne_address(text, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_ne_address';
CREATE FUNCTION rflow.address_eq_hex(rflow.address, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_eq_hex';
CREATE FUNCTION rflow.address_ne_hex(rflow.address, rflow.hex) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_ne_hex';
CREATE FUNCTION rflow.hex_eq_address(rflow.hex, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_eq_address';
CREATE FUNCTION rflow.hex_ne_address(rflow.hex, rflow.address) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_ne_address';
CREATE FUNCTION rflow.text_eq_as_hex(text, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_eq_as_hex';
CREATE FUNCTION rflow.text_hash_as_hex(text) RETURNS integer
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_hash_as_hex';
CREATE FUNCTION rflow.text_hash_as_hex_extended(text, bigint) RETURNS bigint
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_hash_as_hex_extended';
COMMENT ON FUNCTION rflow.text_hash_as_hex(text) IS 'hash of the bytes that a text writes';
COMMENT ON FUNCTION rflow.text_hash_as_hex_extended(text, bigint) IS 'hash of the bytes that a text writes, with a seed';

CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.hex_eq_text, LEFTARG = rflow.hex, RIGHTARG = text,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.hex_ne_text, LEFTARG = rflow.hex, RIGHTARG = text,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.text_eq_hex, LEFTARG = text, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.text_ne_hex, LEFTARG = text, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.address_eq_text, LEFTARG = rflow.address, RIGHTARG = text,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.address_ne_text, LEFTARG = rflow.address, RIGHTARG = text,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.text_eq_address, LEFTARG = text, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.text_ne_address, LEFTARG = text, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.address_eq_hex, LEFTARG = rflow.address, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.address_ne_hex, LEFTARG = rflow.address, RIGHTARG = rflow.hex,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.= (
	FUNCTION = rflow.hex_eq_address, LEFTARG = rflow.hex, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>),
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);
CREATE OPERATOR pg_catalog.<> (
	FUNCTION = rflow.hex_ne_address, LEFTARG = rflow.hex, RIGHTARG = rflow.address,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=),
	RESTRICT = neqsel, JOIN = neqjoinsel
);
CREATE OPERATOR pg_catalog.=# (
	FUNCTION = rflow.text_eq_as_hex, LEFTARG = text, RIGHTARG = text,
	COMMUTATOR = OPERATOR(pg_catalog.=#), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES
);
COMMENT ON OPERATOR pg_catalog.=# (text, text) IS 'write the same bytes as 0x and digits, or are the same text';

CREATE OPERATOR FAMILY pg_catalog.rflow_bytes_ops USING hash;
COMMENT ON OPERATOR FAMILY pg_catalog.rflow_bytes_ops USING hash IS 'rflow.address, rflow.hex, and text that writes such';
CREATE OPERATOR CLASS pg_catalog.address_ops DEFAULT FOR TYPE rflow.address USING hash
	FAMILY pg_catalog.rflow_bytes_ops AS
	OPERATOR 1 pg_catalog.=,
	FUNCTION 1 rflow.address_hash(rflow.address),
	FUNCTION 2 rflow.address_hash_extended(rflow.address, bigint);
COMMENT ON OPERATOR CLASS pg_catalog.address_ops USING hash IS 'by bytes';
CREATE OPERATOR CLASS pg_catalog.hex_ops DEFAULT FOR TYPE rflow.hex USING hash
	FAMILY pg_catalog.rflow_bytes_ops AS
	OPERATOR 1 pg_catalog.=,
	FUNCTION 1 rflow.hex_hash(rflow.hex),
	FUNCTION 2 rflow.hex_hash_extended(rflow.hex, bigint);
COMMENT ON OPERATOR CLASS pg_catalog.hex_ops USING hash IS 'by bytes';
ALTER OPERATOR FAMILY pg_catalog.rflow_bytes_ops USING hash ADD
	OPERATOR 1 pg_catalog.= (rflow.hex, text),
	OPERATOR 1 pg_catalog.= (text, rflow.hex),
	OPERATOR 1 pg_catalog.= (rflow.address, text),
	OPERATOR 1 pg_catalog.= (text, rflow.address),
	OPERATOR 1 pg_catalog.= (rflow.address, rflow.hex),
	OPERATOR 1 pg_catalog.= (rflow.hex, rflow.address),
	OPERATOR 1 pg_catalog.=# (text, text),
	FUNCTION 1 (text, text) rflow.text_hash_as_hex(text),
	FUNCTION 2 (text, text) rflow.text_hash_as_hex_extended(text, bigint);

-- LIKE: the case of digits means nothing, so LIKE and ILIKE are the same.

CREATE FUNCTION rflow.hex_like(rflow.hex, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_like';
CREATE FUNCTION rflow.hex_not_like(rflow.hex, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_not_like';
CREATE FUNCTION rflow.address_like(rflow.address, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_like';
CREATE FUNCTION rflow.address_not_like(rflow.address, text) RETURNS boolean
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_address_not_like';
CREATE OPERATOR pg_catalog.~~ (
	FUNCTION = rflow.hex_like, LEFTARG = rflow.hex, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.!~~), RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR pg_catalog.!~~ (
	FUNCTION = rflow.hex_not_like, LEFTARG = rflow.hex, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.~~), RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR pg_catalog.~~* (
	FUNCTION = rflow.hex_like, LEFTARG = rflow.hex, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.!~~*), RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR pg_catalog.!~~* (
	FUNCTION = rflow.hex_not_like, LEFTARG = rflow.hex, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.~~*), RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR pg_catalog.~~ (
	FUNCTION = rflow.address_like, LEFTARG = rflow.address, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.!~~), RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR pg_catalog.!~~ (
	FUNCTION = rflow.address_not_like, LEFTARG = rflow.address, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.~~), RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR pg_catalog.~~* (
	FUNCTION = rflow.address_like, LEFTARG = rflow.address, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.!~~*), RESTRICT = matchingsel, JOIN = matchingjoinsel
);
CREATE OPERATOR pg_catalog.!~~* (
	FUNCTION = rflow.address_not_like, LEFTARG = rflow.address, RIGHTARG = text,
	NEGATOR = OPERATOR(pg_catalog.~~*), RESTRICT = matchingsel, JOIN = matchingjoinsel
);

-- Concatenation: of bytes when both are bytes, of text when one side is text or a literal without a type ('tx ' || hash).

CREATE FUNCTION rflow.hex_concat(rflow.hex, bytea) RETURNS rflow.hex
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteacat';
CREATE FUNCTION rflow.hex_concat_text(rflow.hex, text) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_concat_text';
CREATE FUNCTION rflow.text_concat_hex(text, rflow.hex) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_text_concat_hex';
CREATE OPERATOR pg_catalog.|| (FUNCTION = rflow.hex_concat, LEFTARG = rflow.hex, RIGHTARG = bytea);
CREATE OPERATOR pg_catalog.|| (FUNCTION = rflow.hex_concat_text, LEFTARG = rflow.hex, RIGHTARG = text);
CREATE OPERATOR pg_catalog.|| (FUNCTION = rflow.text_concat_hex, LEFTARG = text, RIGHTARG = rflow.hex);

-- Those functions of bytea whose result would be compared with a literal, or that take one.

CREATE FUNCTION pg_catalog.substring(rflow.hex, integer, integer) RETURNS rflow.hex
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'bytea_substr';
CREATE FUNCTION pg_catalog.substring(rflow.hex, integer) RETURNS rflow.hex
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'bytea_substr_no_len';
CREATE FUNCTION pg_catalog.substr(rflow.hex, integer, integer) RETURNS rflow.hex
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'bytea_substr';
CREATE FUNCTION pg_catalog.substr(rflow.hex, integer) RETURNS rflow.hex
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'bytea_substr_no_len';
CREATE FUNCTION pg_catalog.position(rflow.hex, rflow.hex) RETURNS integer
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteapos';
COMMENT ON FUNCTION pg_catalog.substring(rflow.hex, integer, integer) IS 'bytes from a position (from 1), so many';
COMMENT ON FUNCTION pg_catalog.substring(rflow.hex, integer) IS 'bytes from a position (from 1) to the end';
COMMENT ON FUNCTION pg_catalog.substr(rflow.hex, integer, integer) IS 'bytes from a position (from 1), so many';
COMMENT ON FUNCTION pg_catalog.substr(rflow.hex, integer) IS 'bytes from a position (from 1) to the end';
COMMENT ON FUNCTION pg_catalog.position(rflow.hex, rflow.hex) IS 'position (from 1) of the second in the first; 0: nowhere';

-- What operators and types are made of says so itself.

DO $$
DECLARE
	named record;
BEGIN
	FOR named IN
		SELECT o.oid::pg_catalog.regoperator AS operator, o.oprname AS name, o.oprcode::pg_catalog.oid AS code
		FROM pg_catalog.pg_operator o
		WHERE 'rflow.hex'::pg_catalog.regtype IN (o.oprleft, o.oprright)
		   OR 'rflow.address'::pg_catalog.regtype IN (o.oprleft, o.oprright)
		   OR o.oid = 'pg_catalog.=#(text,text)'::pg_catalog.regoperator
	LOOP
		IF pg_catalog.obj_description(named.operator, 'pg_operator') IS NULL THEN
			EXECUTE pg_catalog.format('COMMENT ON OPERATOR %s IS %L',
				pg_catalog.format('pg_catalog.%s', pg_catalog.replace(named.operator::text, 'pg_catalog.', '')),
				CASE named.name
					WHEN '=' THEN 'equal'
					WHEN '<>' THEN 'not equal'
					WHEN '<' THEN 'less than'
					WHEN '<=' THEN 'less than or equal'
					WHEN '>' THEN 'greater than'
					WHEN '>=' THEN 'greater than or equal'
					WHEN '||' THEN 'concatenate'
					WHEN '~~' THEN 'matches LIKE expression, in any case'
					WHEN '!~~' THEN 'does not match LIKE expression, in any case'
					WHEN '~~*' THEN 'matches LIKE expression, in any case'
					WHEN '!~~*' THEN 'does not match LIKE expression, in any case'
				END);
		END IF;
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', named.code::pg_catalog.regprocedure,
			'implementation of ' || named.name || ' operator');
	END LOOP;
	FOR named IN
		SELECT p.oid::pg_catalog.regprocedure AS procedure
		FROM pg_catalog.pg_type t
		JOIN pg_catalog.pg_proc p ON p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend)
		WHERE t.oid IN ('rflow.hex'::pg_catalog.regtype, 'rflow.address'::pg_catalog.regtype)
	LOOP
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', named.procedure, 'I/O');
	END LOOP;
END
$$;
