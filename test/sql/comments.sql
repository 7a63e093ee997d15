-- Everything that the extension makes says what it is for.
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d
JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
WHERE e.extname = 'rflow'
  AND d.deptype = 'e'
  AND obj_description(d.objid, d.classid::regclass::text::name) IS NULL
  AND shobj_description(d.objid, d.classid::regclass::text::name) IS NULL
  -- Row types and array types are their tables' and elements'; a sequence is its column's.
  AND NOT (d.classid = 'pg_class'::regclass AND (SELECT relkind FROM pg_class WHERE oid = d.objid) = 'S')
  AND NOT (d.classid = 'pg_type'::regclass AND (SELECT typtype = 'c' OR typelem <> 0 AND typlen = -1 FROM pg_type WHERE oid = d.objid))
ORDER BY 1;

-- So do the columns that users see.
SELECT a.attrelid::regclass AS relation, a.attname AS column_without_comment
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'rflow'::regnamespace
  AND c.relkind IN ('r', 'v', 'm', 'p')
  AND a.attnum > 0
  AND NOT a.attisdropped
  AND col_description(a.attrelid, a.attnum) IS NULL
ORDER BY c.relname COLLATE "C", a.attnum;

-- Functions that users call run in parallel queries and say what they promise.
SELECT p.oid::regprocedure AS unsafe
FROM pg_proc p
WHERE p.pronamespace = 'rflow'::regnamespace
  AND p.provolatile = 'i'
  AND p.proparallel <> 's'
ORDER BY 1;

-- Functions that run with the rights of their owner pin the search_path.
SELECT p.oid::regprocedure AS unpinned
FROM pg_proc p
WHERE p.pronamespace IN ('rflow'::regnamespace, 'rflow_private'::regnamespace)
  AND p.prosecdef
  AND NOT coalesce(p.proconfig, '{}') && ARRAY['search_path=pg_catalog, pg_temp']
ORDER BY 1;

-- What users read is filtered before their conditions are evaluated; these views show nobody's own.
SELECT c.oid::regclass AS view_without_barrier
FROM pg_class c
WHERE c.relnamespace IN ('rflow'::regnamespace, 'rflow_private'::regnamespace)
  AND c.relkind = 'v'
  AND NOT coalesce(c.reloptions, '{}') && ARRAY['security_barrier=true']
ORDER BY c.relname COLLATE "C";

-- Policies say what they are for.
SELECT p.polname AS policy_without_comment, p.polrelid::regclass AS relation
FROM pg_policy p
JOIN pg_class c ON c.oid = p.polrelid
WHERE c.relnamespace = 'rflow'::regnamespace
  AND obj_description(p.oid, 'pg_policy') IS NULL
ORDER BY 1, 2;
