-- rflow.address: what is read, what is written, and what is refused with which SQLSTATE.
SET search_path = '';
CREATE FUNCTION pg_temp.outcome(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT (' || expression || ')::text' INTO value;
	RETURN coalesce(value, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END
$$;

-- The examples of EIP-55, in lower case, in upper case, and as they are.
SELECT a AS checksummed,
	   lower(a)::rflow.address::text = a AS from_lower,
	   ('0x' || upper(substr(a, 3)))::rflow.address::text = a AS from_upper,
	   a::rflow.address::text = a AS from_itself
FROM unnest(ARRAY['0x52908400098527886E0F7030069857D2E4169EE7', '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
				  '0xde709f2102306220921060314715629080e2fb77', '0x27b1fdb04752bbc536007a920d24acb045561c26',
				  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
				  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB', '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb']) AS a;

-- Refused input.
\pset format unaligned
SELECT v.input, pg_temp.outcome(format('%L::rflow.address', v.input))
FROM (VALUES (''), ('0x'), ('5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'),
			 ('0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'),
			 (' 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'),
			 ('0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae'),
			 ('0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed00'),
			 ('0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg'),
			 ('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'),
			 (repeat('0', 150))) AS v(input);
\pset format aligned
SELECT rflow.try_address('0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed') AS valid,
	   rflow.try_address('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD') AS wrong_checksum,
	   rflow.try_address('vitalik.eth') AS name,
	   rflow.try_address(NULL) AS nothing;

-- Casts: by assignment where they cannot surprise, never by themselves.
CREATE TEMP TABLE holder (a rflow.address);
INSERT INTO holder SELECT '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::text;
INSERT INTO holder SELECT '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::varchar(42);
INSERT INTO holder SELECT '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::char(42);
INSERT INTO holder SELECT '\x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::bytea;
INSERT INTO holder SELECT '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.hex;
SELECT a, count(*) FROM holder GROUP BY a;
SELECT '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'::rflow.address::rflow.hex AS as_hex,
	   '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'::rflow.address::bytea AS as_bytea,
	   to_jsonb('0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.address) AS as_jsonb;
\pset format unaligned
SELECT e AS expression, pg_temp.outcome(e)
FROM unnest(ARRAY[$$'0x00'::rflow.hex::rflow.address$$,
				  $$'\x'::bytea::rflow.address$$,
				  $$'0x0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.hex::rflow.address$$,
				  $$substring('0x0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.hex, 13, 20)::rflow.address$$,
				  $$length('0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.address)$$]) AS e;
\pset format aligned

-- Stored in 20 bytes.
SELECT typlen, typalign, typstorage, typbyval FROM pg_catalog.pg_type WHERE oid = 'rflow.address'::regtype;
SELECT pg_column_size('0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.address);

-- Arrays.
SELECT '{0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed,0x52908400098527886E0F7030069857D2E4169EE7}'::rflow.address[] AS addresses,
	   ('{0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed,0x52908400098527886E0F7030069857D2E4169EE7}'::rflow.address[])[2] AS second,
	   '0x52908400098527886e0f7030069857d2e4169ee7' = ANY ('{0x52908400098527886E0F7030069857D2E4169EE7}'::rflow.address[]) AS found;
SELECT max(a), min(a), count(DISTINCT a)
FROM unnest('{0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed,0x52908400098527886E0F7030069857D2E4169EE7}'::rflow.address[]) AS a;
