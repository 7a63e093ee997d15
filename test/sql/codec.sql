-- Encoding and decoding: calls, arguments, logs, results and reverts.
SET search_path = '';

-- Every type, from SQL and back by way of jsonb.
SELECT jsonb_pretty(rflow.abi_decode(types, rflow.abi_encode(types, 255, 281474976710655, 2::numeric ^ 256 - 1, -128, -(2::numeric ^ 255),
	'0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', true, 'é "x"', '0x', '0x01020304',
	'0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed01020304', ARRAY[1, 2, 3], ARRAY[]::numeric[], '{t,f}'::boolean[],
	'[[1, 2], []]'::jsonb, '{"a": 1, "b": [{"c": "0xff"}]}'::jsonb, '[1, "x"]'::jsonb)))
FROM (VALUES ('uint8 small, uint48 u48, uint256 large, int8 negative, int256 lowest, address account, bool yes, string text, bytes empty, '
			  'bytes4 selector, function callback, uint256[] numbers, uint64[] none, bool[2] flags, uint8[][] nested, '
			  '(uint256 a, (bytes c)[] b) named, (uint8, string) unnamed')) AS t(types);

-- What SQL types may be given: whatever an assignment to the SQL type of the ABI type would take.
SELECT v.types, rflow.abi_encode_json(v.types, v.json)
FROM (VALUES ('uint8', '[1]'::jsonb), ('uint256', '["115792089237316195423570985008687907853269984665640564039457584007913129639935"]'),
			 ('uint256', '["0x10"]'), ('int8', '["-1"]'), ('int256', '[-1]'), ('bool', '[false]'), ('uint8 a, uint8 b', '{"b": 2, "a": 1}'),
			 ('uint8, uint8', '{"arg1": 2, "arg0": 1}'), ('', '[]'), ('', '{}')) AS v(types, json);
SELECT rflow.abi_encode('uint256', 5::smallint) = rflow.abi_encode('uint256', 5::bigint) AS int,
	   rflow.abi_encode('uint256', '5') = rflow.abi_encode('uint256', 5.000) AS "literal and scale",
	   rflow.abi_encode('bytes', '\x0102'::bytea) = rflow.abi_encode('bytes', '0x0102') AS bytea,
	   rflow.abi_encode('address', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::text)
	   = rflow.abi_encode('address', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'::rflow.address) AS text,
	   rflow.abi_encode('address', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::rflow.hex)
	   = rflow.abi_encode('address', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::char(42)) AS hex,
	   rflow.abi_encode('string', 'x'::varchar) = rflow.abi_encode('string', 'x'::name) AS string,
	   rflow.abi_encode('address[]', ARRAY['0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'])
	   = rflow.abi_encode('address[]', '{0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed}') AS array,
	   rflow.abi_encode('uint8[]', ARRAY[1, 2]::int[]) = rflow.abi_encode('uint8[]', ARRAY[1, 2]::numeric[]) AS int_array,
	   rflow.abi_encode('uint8[][2]', ARRAY[[1, 2], [3, 4]]) = rflow.abi_encode('uint8[][2]', '[[1, 2], [3, 4]]'::jsonb) AS nested,
	   rflow.abi_encode('uint8, uint8', VARIADIC ARRAY[1, 2]) = rflow.abi_encode('uint8, uint8', 1, 2) AS variadic;

-- Calls.
SELECT rflow.encode_call('transfer(address to, uint256 value)', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 100e18) AS call,
	   rflow.encode_call('function pause()') AS without_arguments;
SELECT rflow.encode_call_json('transfer(address to, uint256 value)', '{"value": "100000000000000000000", "to": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}')
	   = rflow.encode_call('transfer(address,uint256)', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 100000000000000000000) AS json;
SELECT rflow.decode_call('transfer(address to, uint256 value)', data) AS function, rflow.decode_call(rflow.abi('function transfer(address to, uint256)', 'function pause()'), data) AS abi,
	   rflow.decode_call(rflow.abi('function pause()'), data) AS other
FROM rflow.encode_call('transfer(address,uint256)', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 5) AS data;
SELECT rflow.decode_result('balanceOf(address) returns (uint256 balance)', rflow.to_hex(7)) AS named,
	   rflow.decode_result('f() returns (bool, uint8)', '0x00000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000007') AS unnamed,
	   rflow.decode_result('f()', '0x') AS nothing;

-- Packed.
SELECT rflow.abi_encode_packed('uint16, string, bool, address, uint8[]', 258, 'hi', true, '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', ARRAY[1, 2]);

-- Logs: ERC-20's and ERC-721's Transfer share their topic; indexed strings are known by their hash.
CREATE TEMP TABLE logs (name text, topics rflow.hex[], data rflow.hex);
INSERT INTO logs VALUES
	('erc20', ARRAY[rflow.event_topic('Transfer(address,address,uint256)'), '0x0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
		'0x0000000000000000000000000000000000000000000000000000000000000000'], rflow.to_hex(1e18)),
	('erc721', ARRAY[rflow.event_topic('Transfer(address,address,uint256)'), '0x0000000000000000000000005aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
		'0x0000000000000000000000000000000000000000000000000000000000000000', rflow.to_hex(7)], '0x'),
	('hashed', ARRAY[rflow.event_topic('Named(string,uint8)'), rflow.keccak256('hello'), rflow.to_hex(200)], '0x'),
	('unknown', ARRAY[rflow.keccak256('x')], '0x'),
	('no topic', '{}', '0x');
SELECT name, rflow.decode_log(rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
	'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)', 'event Named(string indexed name, uint8 indexed size)'), topics, data)
FROM pg_temp.logs;
SELECT rflow.decode_log('Transfer(address indexed from, address indexed to, uint256 value)', topics, data) FROM pg_temp.logs WHERE name = 'erc20';
SELECT rflow.decode_log('event Any(uint256 x) anonymous', '{}', rflow.to_hex(3)) AS anonymous;

-- Names that collide, are missing, or look like those of missing ones.
SELECT rflow.abi_decode('uint8 a, uint8 a, uint8, uint8 arg1', rflow.abi_encode('uint8,uint8,uint8,uint8', 1, 2, 3, 4)) AS collide,
	   rflow.abi_decode('uint8 arg1, uint8', rflow.abi_encode('uint8,uint8', 1, 2)) AS alike,
	   rflow.abi_decode('uint8 arg0, uint8 tokenId', rflow.abi_encode('uint8,uint8', 1, 2)) AS own,
	   rflow.abi_decode('(uint8 a, uint8 a) t', rflow.abi_encode('(uint8,uint8)', '[1, 2]'::jsonb)) AS tuple;

-- Text that cannot be text: bytes that are no UTF-8, and U+0000.
SELECT rflow.abi_decode('string s, string[] a', data) AS decoded,
	   rflow.abi_encode_json('string s, string[] a', rflow.abi_decode('string s, string[] a', data)) = data AS and_back
FROM rflow.abi_encode('bytes, bytes[]', '0xff', ARRAY['0x6100', '0x62']) AS data;

-- Reverts.
SELECT rflow.decode_revert(data) AS plain, rflow.decode_revert(rflow.abi('error InsufficientBalance(uint256 available, uint256 required)'), data) AS with_abi
FROM (VALUES (rflow.encode_call('Error(string)', 'paused')), (rflow.encode_call('Panic(uint256)', 17)), ('0x'), ('0x01'),
			 (rflow.encode_call('InsufficientBalance(uint256,uint256)', 5, 7)), (rflow.encode_call('Error(string)', E'two\nlines'))) AS v(data);

-- The parsed argument is kept between rows only while it stays the same.
SELECT rflow.abi_decode(v.types, rflow.to_hex(1)) FROM (VALUES ('uint8 a'), ('uint8 a'), ('bool b'), ('uint8 a')) AS v(types);
SELECT rflow.function_selector(v.f) FROM (VALUES ('a()'), ('b()'), ('a()')) AS v(f);

SELECT rflow.abi_decode(NULL, '0x') AS "null", rflow.decode_log('E()', NULL, '0x') AS null_topics, rflow.encode_call(NULL) AS null_call;

-- Indexed arguments as topics: a word, or the hash of a dynamic type (as solc emits them).
SELECT rflow.encode_topic('address', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed') AS address, rflow.encode_topic('int8', -1) AS int8,
	   rflow.encode_topic('string', 'abc') = rflow.keccak256('abc'::text) AS string,
	   rflow.encode_topic('uint8[]', ARRAY[1, 2]) = rflow.keccak256(rflow.abi_encode('uint256,uint256', 1, 2)) AS array,
	   rflow.encode_topic('(uint8 a, string b)', '{"a": 1, "b": "x"}'::jsonb) = rflow.keccak256(rflow.abi_encode_packed('uint256, bytes32', 1, '0x78' || repeat('00', 31))) AS tuple;
SELECT rflow.encode_topic('uint8, uint8', 1);
SELECT rflow.encode_topic('uint8', 256);
SELECT rflow.encode_topic('uint8', NULL);

-- Errors with their arguments.
SELECT rflow.decode_error(abi, data) FROM (VALUES
	(rflow.function_selector('InsufficientBalance(uint256,uint256)') || rflow.abi_encode('uint256, uint256', 5, 7)),
	(rflow.function_selector('Error(string)') || rflow.abi_encode('string', 'no')),
	(rflow.function_selector('Panic(uint256)') || rflow.abi_encode('uint256', 17)),
	('0x'), ('0x01020304')) d(data), rflow.abi('error InsufficientBalance(uint256 available, uint256 required)') abi;
