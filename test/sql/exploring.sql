-- What an ABI has, RLP as jsonb, and EIP-7702 authorizations.

-- Nested structs, overloads, items without a name.
SELECT kind, name, signature, id, declaration
FROM rflow.abi_items(rflow.abi(
	'struct Point { uint256 x; int24 y; }',
	'event Moved(address indexed who, Point[] path, bytes data)',
	'event Hidden(uint256 secret) anonymous',
	'function move(Point to) payable returns (bool done)',
	'function move(address to, Point[2] way) view returns (uint256, string)',
	'error TooFar(uint256 distance, Point limit)',
	'constructor(address owner)',
	'receive() external payable'));
-- Its lines make the same ABI again.
SELECT rflow.abi(VARIADIC array_agg(declaration)) = abi AS same
FROM (SELECT rflow.abi('function a(uint256 x, (bool b, bytes32[] c)[] y) pure returns (int8)', 'event E(bytes indexed d)', 'error F()') AS abi) s,
	rflow.abi_items(abi)
GROUP BY abi;
SELECT * FROM rflow.abi_items('[]');
SELECT * FROM rflow.abi_items('{"a": 1}');

-- The examples of the Yellow Paper and others; both ways.
SELECT value, rflow.rlp_encode(value) AS encoded, rflow.rlp_decode(rflow.rlp_encode(value)) = value AS same
FROM (VALUES
	('"0x"'::jsonb), ('"0x00"'), ('"0x7f"'), ('"0x80"'), ('"0x646f67"'), ('[]'), ('["0x636174", "0x646f67"]'),
	('[[], [[]], [[], [[]]]]'), ('["0x", ["0x01", ["0x0400"]], "0xff"]')) v(value);
SELECT length(rflow.rlp_encode(to_jsonb(repeat('ab', 60)::text))) ;
SELECT rflow.rlp_encode(to_jsonb('0x' || repeat('ab', 56))) AS long_string;
SELECT rflow.rlp_decode(rflow.rlp_encode(to_jsonb(array_fill('0xabcdef'::text, ARRAY[300])))) = to_jsonb(array_fill('0xabcdef'::text, ARRAY[300])) AS long_list;

-- Not the canonical form, or no RLP.
SELECT rflow.rlp_decode('0x');
SELECT rflow.rlp_decode('0x8100');
SELECT rflow.rlp_decode('0xb800');
SELECT rflow.rlp_decode('0x0101');
SELECT rflow.rlp_decode('0xc3646f');
SELECT rflow.rlp_decode('0xbfffffffffffffffff00');
SELECT rflow.rlp_decode(rflow.rlp_encode((repeat('[', 32) || repeat(']', 32))::jsonb)) = (repeat('[', 32) || repeat(']', 32))::jsonb AS deep;
SELECT rflow.rlp_decode(rflow.rlp_encode((repeat('[', 40) || repeat(']', 40))::jsonb));
SELECT rflow.rlp_encode('1');
SELECT rflow.rlp_encode('{"a": "0x"}');
SELECT rflow.rlp_encode('["0x1"]');
SELECT rflow.rlp_encode('[null]');

-- Authorizations: vectors made with another library.
SELECT rflow.hash_authorization(31337, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 189401) AS hash,
	rflow.recover_authorization(31337, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 189401,
		'0x59b0eb7719649bbcc5b6809153227a4489a43401d709539d5ec5a89374e949c774312c99487cae798400d36d2b42de57920552f12cd61d2b0cfce0bc4c8314fa1b') AS authority;
SELECT rflow.recover_authorization(31337, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 189401, '0x00');
SELECT rflow.recover_authorization(31337, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 189401, ('0x' || repeat('00', 64) || '1b')::rflow.hex);
SELECT rflow.hash_authorization(-1, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 0);
SELECT rflow.hash_authorization(1.5, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 0);
SELECT rflow.hash_authorization(1, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', -1);
SELECT rflow.hash_authorization(0, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 0) <> rflow.hash_authorization(1, '0xc4d58c64b1e0dd84444573cdd6cac723f493724b', 0) AS differs;
