-- Every function of rflow is called with what nobody should call it with: NULL in each place, empty, odd and huge
-- values.  What comes is a value or an error of the caller's; not an internal one, and the server lives.
-- Everything is rolled back.

BEGIN;
CREATE FUNCTION pg_temp.values_of(type regtype) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
SELECT CASE type::text
	WHEN 'text' THEN ARRAY['NULL::text', '''''::text', '''(''::text', 'repeat(''('', 10000)', 'repeat(''uint8,'', 3000) || ''uint8''',
		'''uint8[4294967295][4294967295]''::text', '''0x''::text', 'repeat(''é'', 10000)', '''f(uint8[],(string,bytes)[2])''::text',
		'repeat(''['', 10000)']
	WHEN 'integer' THEN ARRAY['NULL::integer', '0', '-1', '2147483647', '(-2147483648)']
	WHEN 'bigint' THEN ARRAY['NULL::bigint', '0::bigint', '9223372036854775807', '(-9223372036854775808)']
	WHEN 'numeric' THEN ARRAY['NULL::numeric', '0::numeric', '-1::numeric', '0.5', '1e20000::numeric', '1e-10000::numeric', '''NaN''::numeric',
		'''-Infinity''::numeric', '2::numeric ^ 256']
	WHEN 'boolean' THEN ARRAY['NULL::boolean', 'true']
	WHEN 'rflow.hex' THEN ARRAY['NULL::rflow.hex', '''0x''::rflow.hex', '(''0x'' || repeat(''ff'', 32))::rflow.hex',
		'(''0x'' || repeat(''c1'', 10000))::rflow.hex', '(''0x'' || repeat(''00'', 31) || repeat(''20'', 65))::rflow.hex']
	WHEN 'rflow.address' THEN ARRAY['NULL::rflow.address', '''0x0000000000000000000000000000000000000000''::rflow.address']
	WHEN 'bytea' THEN ARRAY['NULL::bytea', '''''::bytea', 'decode(repeat(''ff'', 10000), ''hex'')']
	WHEN 'text[]' THEN ARRAY['NULL::text[]', '''{}''::text[]', '''{NULL}''::text[]', 'ARRAY[[''a'', ''b''], [''c'', NULL]]']
	WHEN 'jsonb[]' THEN ARRAY['NULL::jsonb[]', '''{}''::jsonb[]', '''{NULL}''::jsonb[]', 'ARRAY[''[[]]'', ''{}'']::jsonb[]']
	WHEN 'rflow.hex[]' THEN ARRAY['NULL::rflow.hex[]', '''{}''::rflow.hex[]', '''{NULL,0x}''::rflow.hex[]',
		'array_fill(rflow.event_topic(''Transfer(address,address,uint256)''), ARRAY[2, 2])']
	WHEN '"any"' THEN ARRAY['NULL', '''x''', '1', 'ARRAY[1, NULL]', 'ARRAY[[1, 2], [3, 4]]', '''{}''::int[]', '''[5:6]={1,2}''::int[]',
		'ROW(1, NULL)', '''NaN''::float8', '''{"a": [1]}''::jsonb', '''x''::cstring', 'repeat(''z'', 10000)', 'VARIADIC ARRAY[1, 2]',
		'VARIADIC NULL::int[]', 'VARIADIC ARRAY[[1], [2]]']
	WHEN 'cstring' THEN ARRAY['NULL::cstring', '''''::cstring', '''0x0''::cstring', 'textout(repeat(''0x'', 10000))']
	WHEN 'json' THEN ARRAY['NULL::json', '''null''::json', '''[]''::json', '''{"types": {"A": [{"name": "a", "type": "A"}]}, "primaryType": "A", "domain": {}, "message": {"a": {}}}''::json',
		'(repeat(''['', 5000) || repeat('']'', 5000))::json']
	WHEN 'jsonb' THEN ARRAY['NULL::jsonb', '''null''::jsonb', '''[]''::jsonb', '''{}''::jsonb', '''[null, [[]], {"a": 1e999}]''::jsonb', '''"x"''::jsonb',
		'(repeat(''['', 5000) || repeat('']'', 5000))::jsonb', '''{"kind": null, "name": 1}''::jsonb', '''[{"type": "event", "inputs": [null]}]''::jsonb']
	ELSE ARRAY[format('NULL::%s', type)]
END $$;

-- The functions that users call, and their own that SQL cannot call are left out.
CREATE TEMP VIEW callees AS
	SELECT p.oid, format('%s.%I', p.pronamespace::regnamespace, p.proname) AS name,
		p.proargtypes::oid[]::regtype[] AS types, p.provariadic <> 0 AND p.provariadic <> '"any"'::regtype AS is_array
	FROM pg_proc p
	WHERE p.pronamespace = 'rflow'::regnamespace AND p.prokind = 'f' AND NOT 'internal'::regtype = ANY (p.proargtypes);

-- Each place takes each of its values while the other places hold one that varies, and NULL.
CREATE FUNCTION pg_temp.calls(name text, types regtype[], is_array boolean) RETURNS SETOF text LANGUAGE sql AS $$
SELECT format('%s(%s)', name, string_agg(
		CASE WHEN is_array AND u.place = cardinality(types) THEN 'VARIADIC ' ELSE '' END || c.chosen[1 + (
			CASE WHEN u.place = moving.place THEN moving.choice WHEN rest.choice = 0 THEN 0 ELSE moving.choice + rest.choice * u.place END
			% cardinality(c.chosen))::int], ', ' ORDER BY u.place))
FROM unnest(types) WITH ORDINALITY AS u(type, place)
CROSS JOIN LATERAL (SELECT pg_temp.values_of(u.type) AS chosen) c
CROSS JOIN LATERAL (
	SELECT m.place, g.choice
	FROM unnest(types) WITH ORDINALITY AS m(type, place), generate_series(0, cardinality(pg_temp.values_of(m.type)) - 1) AS g(choice)) AS moving
CROSS JOIN generate_series(0, 1) AS rest(choice)
GROUP BY moving.place, moving.choice, rest.choice
$$;

-- Errors of class XX are ours.
CREATE FUNCTION pg_temp.outcome(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT left((' || call || ')::text, 100)';
	RETURN 'value';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN sqlstate LIKE 'XX%' THEN left(call, 300) || ': ' || sqlerrm ELSE 'error' END;
END
$$;

CREATE TEMP TABLE outcomes AS
	SELECT f.oid AS function, pg_temp.outcome(c.call) AS outcome
	FROM callees f, LATERAL pg_temp.calls(f.name, f.types, f.is_array) AS c(call);
SELECT outcome FROM outcomes WHERE outcome NOT IN ('value', 'error') ORDER BY 1;
-- Both kinds of outcomes came, and no function was left out.
SELECT count(DISTINCT outcome) AS kinds, count(*) > 1000 AS many_calls,
	count(DISTINCT function) = (SELECT count(*) FROM callees WHERE cardinality(types) > 0) AS all_called
FROM outcomes;

-- NULL where it cannot be: the functions that take values of any type are not strict.
\set SHOW_CONTEXT never
\set ON_ERROR_ROLLBACK on
SELECT rflow.abi_encode(NULL, 1);
\echo :SQLSTATE
SELECT rflow.encode_call(NULL::text, VARIADIC ARRAY[[1], [2]]);
\echo :SQLSTATE

-- Functions of triggers, called otherwise.
SELECT rflow_private.before_workflow_change();
\echo :SQLSTATE
CREATE TEMP TABLE other (name text);
CREATE TRIGGER before_change BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION rflow_private.before_workflow_change();
INSERT INTO other VALUES ('a');
\echo :SQLSTATE
ROLLBACK;
