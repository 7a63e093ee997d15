-- Every operator of rflow.address and rflow.hex, found whatever the search_path, and right.
CREATE TEMP TABLE bytes (id int PRIMARY KEY, h rflow.hex, a rflow.address, t text, v varchar, c char(42));
INSERT INTO bytes VALUES
	(1, '0x', '0x0000000000000000000000000000000000000000', '', '', ''),
	(2, '0xab', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0xAB', '0xab', '0xab'),
	(3, '0xab00', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaee', '0xab00', '0Xab00', 'ab00'),
	(4, '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', '0xffffffffffffffffffffffffffffffffffffffff',
		'0x5AAEB6053f3e94c9b9a09f33669435e7ef1beaed', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
		'0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'),
	(5, NULL, NULL, NULL, NULL, NULL);
SET search_path = '';

-- All of them, with what the planner is told.
SELECT o.oprleft::regtype AS left, o.oprname AS name, o.oprright::regtype AS right, o.oprresult::regtype AS result,
	   c.oprname AS commutator, n.oprname AS negator, o.oprcanhash AS hash, o.oprcanmerge AS merge,
	   o.oprrest AS restrict, o.oprjoin AS join
FROM pg_catalog.pg_operator o
LEFT JOIN pg_catalog.pg_operator c ON c.oid = o.oprcom
LEFT JOIN pg_catalog.pg_operator n ON n.oid = o.oprnegate
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'rflow'
ORDER BY o.oprleft::regtype::text COLLATE "C", o.oprname::text COLLATE "C", o.oprright::regtype::text COLLATE "C";

-- Commutator and negator of each are each other's.
SELECT o.oid::regoperator
FROM pg_catalog.pg_operator o
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e'
JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'rflow'
LEFT JOIN pg_catalog.pg_operator c ON c.oid = o.oprcom
LEFT JOIN pg_catalog.pg_operator n ON n.oid = o.oprnegate
WHERE (o.oprcom <> 0 AND (c.oprcom IS DISTINCT FROM o.oid OR c.oprleft <> o.oprright))
   OR (o.oprnegate <> 0 AND n.oprnegate IS DISTINCT FROM o.oid);

-- The operator classes are complete.
SELECT c.opcname, m.amname, c.opcdefault, pg_catalog.amvalidate(c.oid)
FROM pg_catalog.pg_opclass c
JOIN pg_catalog.pg_am m ON m.oid = c.opcmethod
WHERE c.opcintype IN ('rflow.address'::regtype, 'rflow.hex'::regtype)
ORDER BY 1, 2;

-- Within a type: order by bytes, and the shorter first.
SELECT x.id, y.id, x.h = y.h AS eq, x.h <> y.h AS ne, x.h < y.h AS lt, x.h <= y.h AS le, x.h > y.h AS gt, x.h >= y.h AS ge
FROM pg_temp.bytes x, pg_temp.bytes y WHERE x.id <= 4 AND y.id <= 4 ORDER BY 1, 2;
SELECT x.id, y.id, x.a = y.a AS eq, x.a <> y.a AS ne, x.a < y.a AS lt, x.a <= y.a AS le, x.a > y.a AS gt, x.a >= y.a AS ge
FROM pg_temp.bytes x, pg_temp.bytes y WHERE x.id <= 4 AND y.id <= 4 ORDER BY 1, 2;
SELECT h = NULL AS null_eq, h <> h AS null_ne FROM pg_temp.bytes WHERE id = 5;

-- With text: the case of digits means nothing, and what is no hexadecimal text equals nothing.
SELECT x.id, y.t, x.h = y.t AS "h = t", y.t = x.h AS "t = h", x.h <> y.t AS "h <> t", y.t <> x.h AS "t <> h",
	   x.a = y.t AS "a = t", y.t = x.a AS "t = a", x.a <> y.t AS "a <> t", y.t <> x.a AS "t <> a"
FROM pg_temp.bytes x, pg_temp.bytes y WHERE x.id <= 4 AND y.id <= 4 ORDER BY 1, y.id;
SELECT x.id, y.id, x.h = y.v AS "h = v", y.v = x.h AS "v = h", x.h = y.c AS "h = c", x.a = y.c AS "a = c", y.c <> x.a AS "c <> a"
FROM pg_temp.bytes x, pg_temp.bytes y WHERE x.id <= 4 AND y.id <= 4 AND (x.h = y.v OR x.h = y.c OR x.a = y.c) ORDER BY 1, 2;
SELECT id, h = '0xAB' AS literal, '0xAB' = h AS literal_first, h IN ('0xab', '0xab00') AS "in", h <> ALL ('{0xab}') AS "all",
	   h = ANY (ARRAY['0xab', 'nothing']) AS any_text, h IS DISTINCT FROM '0xab' AS distinct, nullif(h, '0xab'),
	   CASE h WHEN '0xAB' THEN 'ab' END AS "case", h BETWEEN '0x' AND '0xab' AS "between"
FROM pg_temp.bytes ORDER BY 1;

-- Between the types, and with bytea.
SELECT x.id, y.id, x.h = y.a AS "h = a", y.a = x.h AS "a = h", x.h <> y.a AS "h <> a", y.a <> x.h AS "a <> h"
FROM pg_temp.bytes x, pg_temp.bytes y WHERE x.id <= 4 AND y.id IN (1, 2) ORDER BY 1, 2;
SELECT id, h = '\xab'::bytea AS bytea, '\xab'::bytea <> h AS bytea_ne, h < '\xac'::bytea AS bytea_lt FROM pg_temp.bytes ORDER BY 1;
SELECT '0xAB'::text OPERATOR(pg_catalog.=#) '0xab' AS same_bytes, 'x'::text OPERATOR(pg_catalog.=#) 'x' AS same_text,
	   '0xab'::text OPERATOR(pg_catalog.=#) 'x' AS neither, 'AB'::text OPERATOR(pg_catalog.=#) 'ab' AS no_hex;

-- Patterns.
SELECT id, h LIKE '0xA%' AS "like", h NOT LIKE '0xA%' AS "not like", h ILIKE '%B%' AS "ilike", h NOT ILIKE '%B%' AS "not ilike",
	   a LIKE '0x5aaEB6%' AS "a like", a NOT LIKE '0x5aaEB6%' AS "a not like", a ILIKE '%BEAED' AS "a ilike",
	   a NOT ILIKE '%BEAED' AS "a not ilike", h LIKE '0x\_%' AS escaped, h LIKE '0x#%' ESCAPE '#' AS escape
FROM pg_temp.bytes ORDER BY 1;

-- What has no meaning has no operator, rather than that of bytea.
\set VERBOSITY terse
SELECT h ~ '^0x' FROM pg_temp.bytes;
SELECT h < t FROM pg_temp.bytes;
SELECT a = id FROM pg_temp.bytes;
SELECT h = 'nothing' FROM pg_temp.bytes;
SELECT a = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD' FROM pg_temp.bytes;
\set VERBOSITY default

-- Sets.
SELECT h FROM pg_temp.bytes UNION SELECT '0xAB' ORDER BY h;
SELECT count(DISTINCT a), count(DISTINCT h) FROM pg_temp.bytes;
SELECT array_agg(h ORDER BY h DESC) AS descending FROM pg_temp.bytes;
SELECT a.h FROM pg_temp.bytes a JOIN pg_temp.bytes b USING (h) ORDER BY h;
