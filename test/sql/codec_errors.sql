-- What encoders and decoders refuse, where in the arguments it is, and with which SQLSTATE.
CREATE FUNCTION pg_temp.outcome(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
	hint text;
BEGIN
	EXECUTE 'SELECT (' || expression || ')::text' INTO value;
	RETURN coalesce(value, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(E'\n    ', SQLSTATE || ' ' || SQLERRM, nullif(hint, ''));
END
$$;
\pset format unaligned
\pset fieldsep '\n    '

-- From SQL values: nothing is rounded, cut or guessed.
SELECT e, pg_temp.outcome(e) FROM unnest(ARRAY[
	$$rflow.abi_encode('uint8', 256)$$,
	$$rflow.abi_encode('uint8', -1)$$,
	$$rflow.abi_encode('int8', 128)$$,
	$$rflow.abi_encode('int256', 2::numeric ^ 255)$$,
	$$rflow.abi_encode('int256', -(2::numeric ^ 255) - 1)$$,
	$$rflow.abi_encode('uint256', 2::numeric ^ 256)$$,
	$$rflow.abi_encode('uint256', 1e100)$$,
	$$rflow.abi_encode('uint256 amount', 1.5)$$,
	$$rflow.abi_encode('uint256', 0.1)$$,
	$$rflow.abi_encode('uint256', 'NaN'::numeric)$$,
	$$rflow.abi_encode('uint256', '-Infinity'::numeric)$$,
	$$rflow.abi_encode('uint256', 1e18::float8)$$,
	$$rflow.abi_encode('uint256[]', ARRAY[1.0::float4])$$,
	$$rflow.abi_encode('uint256[][]', ARRAY[[1.0::float8]])$$,
	$$rflow.abi_encode('uint256', true)$$,
	$$rflow.abi_encode('uint256', '12'::text)$$,
	$$rflow.abi_encode('uint256', 'twelve')$$,
	$$rflow.abi_encode('uint256', NULL)$$,
	$$rflow.abi_encode('uint256[]', ARRAY[1, NULL])$$,
	$$rflow.abi_encode('uint256[2] pair', ARRAY[1, 2, 3])$$,
	$$rflow.abi_encode('uint8[]', ARRAY[1, 256])$$,
	$$rflow.abi_encode('uint8[]', ARRAY[[1, 2], [3, 4]])$$,
	$$rflow.abi_encode('uint8[]', 5)$$,
	$$rflow.abi_encode('bool', 1)$$,
	$$rflow.abi_encode('bool', 'maybe')$$,
	$$rflow.abi_encode('bytes4 selector', '0x010203')$$,
	$$rflow.abi_encode('bytes4', '0x0102030405')$$,
	$$rflow.abi_encode('function', '0x01')$$,
	$$rflow.abi_encode('bytes', 'no hex')$$,
	$$rflow.abi_encode('address', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD')$$,
	$$rflow.abi_encode('address', '0x01'::rflow.hex)$$,
	$$rflow.abi_encode('address', 1)$$,
	$$rflow.abi_encode('address, uint256', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed')$$,
	$$rflow.abi_encode('uint8', 1, 2)$$,
	$$rflow.abi_encode('uint8', VARIADIC NULL::int[])$$,
	$$rflow.encode_call('transfer(address,uint256)', 1)$$,
	$$rflow.encode_call('transfer(address,uint256)')$$,
	$$rflow.encode_call('constructor(uint256)', 1)$$,
	$$rflow.abi_encode_packed('(uint8 a)', '{"a": 1}'::jsonb)$$]) AS e;

-- From jsonb.
SELECT e, pg_temp.outcome(e) FROM unnest(ARRAY[
	$$rflow.abi_encode_json('uint8', '[256]')$$,
	$$rflow.abi_encode_json('uint8', '[1.5]')$$,
	$$rflow.abi_encode_json('uint8', '["1.5"]')$$,
	$$rflow.abi_encode_json('uint8', '["0x100"]')$$,
	$$rflow.abi_encode_json('uint8', '["-0x1"]')$$,
	$$rflow.abi_encode_json('uint8', '[""]')$$,
	$$rflow.abi_encode_json('uint8', '[true]')$$,
	$$rflow.abi_encode_json('uint8', '[null]')$$,
	$$rflow.abi_encode_json('bool', '["true"]')$$,
	$$rflow.abi_encode_json('bool', '[1]')$$,
	$$rflow.abi_encode_json('string', '[1]')$$,
	$$rflow.abi_encode_json('string', '[{"bytes": 1}]')$$,
	$$rflow.abi_encode_json('bytes', '["0xa"]')$$,
	$$rflow.abi_encode_json('bytes2', '["0xab"]')$$,
	$$rflow.abi_encode_json('bytes', '[{"hash": "0x00"}]')$$,
	$$rflow.abi_encode_json('address to', '["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"]')$$,
	$$rflow.abi_encode_json('address', '[5]')$$,
	$$rflow.abi_encode_json('uint8[2]', '[[1]]')$$,
	$$rflow.abi_encode_json('uint8[]', '[{"0": 1}]')$$,
	$$rflow.abi_encode_json('uint8', '5')$$,
	$$rflow.abi_encode_json('uint8', '[]')$$,
	$$rflow.abi_encode_json('uint8 a', '{}')$$,
	$$rflow.abi_encode_json('uint8 a', '{"a": 1, "b": 2}')$$,
	$$rflow.abi_encode_json('(uint8 a, uint8 b) t', '[{"a": 1, "B": 2}]')$$,
	$$rflow.abi_encode_json('(uint8 a, uint8) t', '[{"a": 1, "arg1": 2}]')$$,
	$$rflow.abi_encode_json('(uint8 a, uint8 b) t', '[[1]]')$$,
	$$rflow.abi_encode_json('(uint8[] c) t', '{"t": {"c": [1, 2, 300]}}')$$,
	$$rflow.encode_call_json('f((uint8 a)[] list)', '[[{"a": 1}, {"a": -1}]]')$$]) AS e;

-- Data that does not decode: every offset and length is checked on all of its bits.
SELECT e, pg_temp.outcome(e) FROM unnest(ARRAY[
	$$rflow.abi_decode('uint256', '0x')$$,
	$$rflow.abi_decode('uint8', rflow.to_hex(256))$$,
	$$rflow.abi_decode('bool', rflow.to_hex(2))$$,
	$$rflow.abi_decode('address', rflow.to_hex(2::numeric ^ 160))$$,
	$$rflow.abi_decode('int8', rflow.to_hex(128))$$,
	$$rflow.abi_decode('bytes', rflow.to_hex(2::numeric ^ 256 - 32))$$,
	$$rflow.abi_decode('bytes', rflow.to_hex(32) || rflow.to_hex(2::numeric ^ 64 + 1))$$,
	$$rflow.abi_decode('uint8[]', rflow.to_hex(32) || rflow.to_hex(2::numeric ^ 251))$$,
	$$rflow.abi_decode('uint8[1000000000]', '0x')$$,
	$$rflow.abi_decode('uint8[10][10][10][10][10][10][10][10]', '0x')$$,
	$$rflow.abi_decode('adress', '0x')$$,
	$$rflow.decode_log('Transfer(address indexed from, address indexed to, uint256 value)', ARRAY[rflow.keccak256('x')], '0x')$$,
	$$rflow.decode_log('Transfer(address indexed from, address indexed to, uint256 value)', ARRAY[rflow.event_topic('Transfer(address,address,uint256)')], '0x')$$,
	$$rflow.decode_log('E(uint256 x)', ARRAY[rflow.event_topic('E(uint256)')], '0x')$$,
	$$rflow.decode_log('E()', '{0x01}', '0x')$$,
	$$rflow.decode_log('E()', '{NULL}', '0x')$$,
	$$rflow.decode_log('E()', array_fill(rflow.keccak256(''), ARRAY[5]), '0x')$$,
	$$rflow.decode_call('transfer(address,uint256)', '0xdeadbeef')$$,
	$$rflow.decode_call('transfer(address,uint256)', '0xa9')$$,
	$$rflow.decode_call('transfer(address,uint256)', '0xa9059cbb')$$,
	$$rflow.decode_call(rflow.abi('function transfer(address,uint256)'), '0xa9059cbb00')$$,
	$$rflow.decode_result('f() returns (uint8)', '0x00')$$,
	$$rflow.decode_revert('5'::jsonb, '0x')$$]) AS e;

-- A bomb of offsets (twenty levels of two elements that are the same: a million leaves in two kilobytes) is refused.
SELECT rflow.abi_decode('uint8' || repeat('[]', 20),
	(SELECT rflow.to_hex(32) || decode(string_agg(encode(rflow.to_hex(2) || rflow.to_hex(64) || rflow.to_hex(64), 'hex'), ''), 'hex') FROM generate_series(1, 19))
	|| rflow.to_hex(2) || rflow.to_hex(1) || rflow.to_hex(1));
