-- rflow.hex: what is read, what is written, and what is refused with which SQLSTATE.
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

\pset format unaligned
SELECT v.input, pg_temp.outcome(format('%L::rflow.hex', v.input))
FROM (VALUES ('0x'), ('0xab'), ('0xAB'), ('0XaB'), ('0x00ff00'), (''), ('ab'), ('0xa'), ('0xabc'), ('0xag'), ('0xga'),
			 ('0x ab'), ('0xab '), ('\xab'), (E'0xab\ncd'), ('0x' || repeat('ab', 60) || 'z')) AS v(input);
\pset format aligned
SELECT rflow.try_hex('0xAB') AS valid, rflow.try_hex('0xA') AS odd, rflow.try_hex('') AS empty, rflow.try_hex(NULL) AS nothing;

-- bytea and rflow.hex are the same bytes; only the way to bytea is taken without being asked for.
CREATE TEMP TABLE holder (h rflow.hex);
INSERT INTO holder SELECT '\xab'::bytea;
INSERT INTO holder SELECT '0xAB'::text;
INSERT INTO holder SELECT '0xAB'::varchar;
INSERT INTO holder SELECT '0xAB'::char(4);
INSERT INTO holder SELECT '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.address;
SELECT h, count(*) FROM holder GROUP BY h ORDER BY h;
SELECT sha256('0x'::rflow.hex), length('0xabcd'::rflow.hex), encode('0xabcd'::rflow.hex, 'base64'), get_byte('0xabcd'::rflow.hex, 1);
\pset format unaligned
SELECT e AS expression, pg_temp.outcome(e)
FROM unnest(ARRAY[$$lower('0xab'::rflow.hex)$$, $$'0xab'::rflow.hex = 171$$, $$'0xab'::rflow.hex < '0xac'::text$$,
				  $$'\xab'::bytea::rflow.hex$$, $$'0xab'::rflow.hex::bytea$$,
				  $$to_jsonb('0xab'::rflow.hex)$$]) AS e;
\pset format aligned

-- Pieces: what is compared with a literal keeps its type.
SELECT substring('0xa9059cbb0102'::rflow.hex, 1, 4) = '0xa9059cbb' AS selector,
	   substring('0xa9059cbb0102'::rflow.hex FROM 5) AS rest,
	   substr('0xa9059cbb0102'::rflow.hex, 5) = '0x0102' AS rest_again,
	   substr('0xa9059cbb0102'::rflow.hex, 5, 1) AS one,
	   position('0x9cbb' IN '0xa9059cbb0102'::rflow.hex) AS found,
	   position('0xff' IN '0xa9059cbb0102'::rflow.hex) AS not_found;

-- Concatenation.
SELECT '0xab'::rflow.hex || '0xcd'::rflow.hex AS bytes, pg_typeof('0xab'::rflow.hex || '0xcd'::rflow.hex),
	   '0xab'::rflow.hex || '\xcd'::bytea AS bytes_too, '\xcd'::bytea || '0xab'::rflow.hex AS bytea;
SELECT 'tx ' || '0xab'::rflow.hex AS text, '0xab'::rflow.hex || ' mined' AS text_too,
	   'tx '::text || '0xAB'::rflow.hex || ' mined'::varchar AS three,
	   'to ' || '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.address AS address;

-- Integers.
SELECT rflow.to_numeric('0x') AS nothing, rflow.to_numeric('0x0100') AS small, rflow.to_numeric(('0x' || repeat('ff', 32))::rflow.hex) AS largest;
SELECT rflow.to_hex(0) AS zero, rflow.to_hex(256, 2) AS two_bytes, rflow.to_hex(2::numeric ^ 256 - 1) AS largest;
\pset format unaligned
SELECT e AS expression, pg_temp.outcome(e)
FROM unnest(ARRAY['rflow.to_hex(256, 1)', 'rflow.to_hex(-1)', 'rflow.to_hex(1.5)', 'rflow.to_hex(2::numeric ^ 256)', $$rflow.to_hex('NaN')$$,
				  $$rflow.to_hex('Infinity')$$, 'rflow.to_hex(1, 0)', 'rflow.to_hex(1, 33)',
				  $$rflow.to_numeric(('0x' || repeat('00', 33))::rflow.hex)$$]) AS e;
\pset format aligned
SELECT count(*) AS integers, count(*) FILTER (WHERE rflow.to_numeric(rflow.to_hex(n)) = n) AS same
FROM (SELECT 2::numeric ^ b + d FROM generate_series(0, 255) b, generate_series(-1, 1) d
	  UNION ALL SELECT 10000::numeric ^ e + d FROM generate_series(0, 19) e, generate_series(-1, 1) d) AS t(n);

-- Large values are compressed and moved out of line; comparing them needs all of them.
CREATE TEMP TABLE large (id int, h rflow.hex);
INSERT INTO large SELECT 1, ('0x' || repeat('ab', 100000))::rflow.hex;
INSERT INTO large SELECT 2, ('0x' || string_agg(md5(i::text), ''))::rflow.hex FROM generate_series(1, 1000) i;
INSERT INTO large SELECT 3, h || '0x00'::rflow.hex FROM large WHERE id = 2;
SELECT id, length(h), pg_column_size(h) < length(h) AS compressed, md5(h::text), md5(h::bytea) FROM large ORDER BY h;
SELECT a.id, b.id, a.h = b.h AS eq, a.h < b.h AS lt FROM large a, large b WHERE a.id <= b.id ORDER BY 1, 2;

SELECT max(h), min(h) FROM (VALUES ('0xab'::rflow.hex), ('0x'), ('0xab00')) AS v(h);
SELECT '{0xab,0x,NULL}'::rflow.hex[] AS array, ARRAY['0xAB', NULL]::rflow.hex[] AS array_too;
