-- Indexes and joins of rflow.address and rflow.hex, and of both with text.

-- The parts of a plan that matter here, in words that all versions of PostgreSQL share.
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ '(Index.* Scan|Join|Index Cond|Hash Cond|Merge Cond)' THEN
			RETURN NEXT regexp_replace(line, '^[ ->]*', '');
		ELSIF line ~ 'hashed' THEN
			RETURN NEXT 'hashed subplan';
		END IF;
	END LOOP;
END
$$;

CREATE TEMP TABLE logs (id int, h rflow.hex, a rflow.address);
INSERT INTO logs SELECT i, rflow.keccak256(i::text), substr(rflow.keccak256(i::text), 1, 20)::rflow.address FROM generate_series(1, 2000) i;
CREATE TEMP TABLE users (id int, wallet text, hash text);
INSERT INTO users
SELECT id, CASE id % 3 WHEN 0 THEN a::text WHEN 1 THEN lower(a::text) ELSE '0x' || upper(substr(a::text, 3)) END, upper(h::text)
FROM logs WHERE id % 10 = 0;
INSERT INTO users VALUES (0, 'none', 'none'), (-1, NULL, NULL);
ANALYZE logs;
ANALYZE users;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET search_path = '';

CREATE INDEX logs_h ON pg_temp.logs (h);
CREATE INDEX logs_a ON pg_temp.logs (a DESC);
SELECT pg_temp.plan($$SELECT id FROM pg_temp.logs WHERE h = '0xad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5'$$);
SELECT id FROM pg_temp.logs WHERE h = '0xAD7C5BEF027816A800DA1736444FB58A807EF4C9603B7848673F7E3A68EB14A5';
SELECT pg_temp.plan($$SELECT id FROM pg_temp.logs WHERE a IN ('0xad7c5bef027816a800da1736444fb58a807ef4c9', '0x2a80e1ef1d7842f27f2e6be0972bb708b9a135c3')$$);
SELECT id FROM pg_temp.logs WHERE a IN ('0xad7c5bef027816a800da1736444fb58a807ef4c9', '0x2a80e1ef1d7842f27f2e6be0972bb708b9a135c3') ORDER BY id;
SELECT pg_temp.plan($$SELECT h FROM pg_temp.logs WHERE h > '0xff' ORDER BY h LIMIT 2$$);
SELECT count(*) FROM pg_temp.logs WHERE h > '0xff';
SELECT pg_temp.plan($$SELECT max(h), min(a) FROM pg_temp.logs$$);
DROP INDEX pg_temp.logs_h, pg_temp.logs_a;

CREATE INDEX logs_h ON pg_temp.logs USING hash (h);
CREATE INDEX logs_a ON pg_temp.logs USING hash (a);
SELECT pg_temp.plan($$SELECT id FROM pg_temp.logs WHERE h = '0xad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5'$$);
SELECT id FROM pg_temp.logs WHERE h = '0xad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5';
SELECT id FROM pg_temp.logs WHERE a = '0xad7c5bef027816a800da1736444fb58a807ef4c9';
DROP INDEX pg_temp.logs_h, pg_temp.logs_a;

CREATE UNIQUE INDEX logs_h ON pg_temp.logs (h);
\set VERBOSITY terse
INSERT INTO pg_temp.logs VALUES (0, '0xad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5');
\set VERBOSITY default
INSERT INTO pg_temp.logs VALUES (0, '0xad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5') ON CONFLICT (h) DO UPDATE SET id = 1 RETURNING id;
DROP INDEX pg_temp.logs_h;
RESET enable_seqscan;

-- Joins of one type: hash and merge.
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT pg_temp.plan($$SELECT count(*) FROM pg_temp.logs x JOIN pg_temp.logs y ON x.h = y.h$$);
SELECT count(*) FROM pg_temp.logs x JOIN pg_temp.logs y ON x.h = y.h;
SET enable_mergejoin = on;
SET enable_hashjoin = off;
SELECT pg_temp.plan($$SELECT count(*) FROM pg_temp.logs x JOIN pg_temp.logs y ON x.a = y.a$$);
SELECT count(*) FROM pg_temp.logs x JOIN pg_temp.logs y ON x.a = y.a;
SET enable_hashjoin = on;

-- Joins with text are hash joins too, and find the same rows as a nested loop.
SELECT pg_temp.plan($$SELECT count(*) FROM pg_temp.logs l JOIN pg_temp.users u ON l.a = u.wallet$$);
SELECT count(*) FROM pg_temp.logs l JOIN pg_temp.users u ON l.a = u.wallet;
SELECT count(*) FROM pg_temp.logs l JOIN pg_temp.users u ON u.hash = l.h;
SELECT count(*) FROM pg_temp.logs l LEFT JOIN pg_temp.users u ON u.hash = l.h WHERE u.id IS NULL;
SELECT count(*) FROM pg_temp.logs l JOIN pg_temp.logs m ON l.a = m.a::rflow.hex;
RESET enable_nestloop;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT count(*) FROM pg_temp.logs l JOIN pg_temp.users u ON l.a = u.wallet;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- Sub-selects of text columns: semi-join, and a hashed one with its NULL.
SELECT pg_temp.plan($$SELECT count(*) FROM pg_temp.logs WHERE a IN (SELECT wallet FROM pg_temp.users)$$);
SELECT count(*) FROM pg_temp.logs WHERE a IN (SELECT wallet FROM pg_temp.users);
SELECT pg_temp.plan($$SELECT count(*) FROM pg_temp.logs WHERE h NOT IN (SELECT hash FROM pg_temp.users WHERE hash IS NOT NULL)$$);
SELECT count(*) FROM pg_temp.logs WHERE h NOT IN (SELECT hash FROM pg_temp.users WHERE hash IS NOT NULL);
SELECT count(*) FROM pg_temp.logs WHERE h NOT IN (SELECT hash FROM pg_temp.users);

-- Grouping by hash and by sort.
SET enable_hashagg = off;
SELECT count(*) FROM (SELECT a FROM pg_temp.logs GROUP BY a) g;
SET enable_hashagg = on;
SET enable_sort = off;
SELECT count(*) FROM (SELECT a FROM pg_temp.logs GROUP BY a) g;
RESET enable_sort;

-- Partitions by hash use the extended hash functions.
RESET search_path;
CREATE TABLE parted (h rflow.hex, a rflow.address) PARTITION BY HASH (h, a);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT h, a FROM logs;
SELECT count(*) > 800 AS spread FROM parted GROUP BY tableoid;
SELECT count(*) FROM parted p JOIN logs l ON l.h = p.h WHERE p.a = l.a;
DROP TABLE parted;

-- Arrays have GIN indexes.
CREATE TEMP TABLE topics (id int, topics rflow.hex[]);
INSERT INTO topics SELECT id, ARRAY[h, '0xab'] FROM logs;
CREATE INDEX ON topics USING gin (topics);
SET enable_seqscan = off;
SET enable_bitmapscan = on;
SELECT pg_temp.plan($$SELECT id FROM topics WHERE topics @> '{0xad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5}'$$);
SELECT id FROM topics WHERE topics @> '{0xad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5}';
