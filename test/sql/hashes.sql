-- Keccak-256, names, and the addresses of contracts and signers.

-- A literal is text; bytes must be said to be bytes.
SELECT rflow.keccak256('') AS nothing, rflow.keccak256('hello') AS text;
SELECT rflow.keccak256('0xab') = rflow.keccak256('0xab'::text) AS literal_is_text,
	   rflow.keccak256('0xab'::rflow.hex) = rflow.keccak256('\xab'::bytea) AS bytes,
	   rflow.keccak256('0xab'::rflow.hex) = rflow.keccak256('0xab'::text) AS same,
	   rflow.keccak256('hello'::varchar) = rflow.keccak256('\x68656c6c6f'::bytea) AS varchar;
SELECT rflow.keccak256(repeat('a', n)) FROM (VALUES (135), (136), (137), (1000000)) AS v(n);

SELECT rflow.namehash('') AS root, rflow.namehash('eth') AS eth, rflow.namehash('Foo.eth') = rflow.namehash('foo.eth') AS folded;
SELECT rflow.namehash('foo..eth');
SELECT rflow.namehash(convert_from('\x66c3b66f2e657468', 'UTF8'));

-- CREATE, and the examples of EIP-1014.
SELECT nonce, rflow.create_address('0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0', nonce) FROM (VALUES (0), (1), (2), (128), (9223372036854775807)) AS v(nonce);
SELECT rflow.create2_address(deployer, salt, rflow.keccak256(code))
FROM (VALUES ('0x0000000000000000000000000000000000000000'::rflow.address, rflow.to_hex(0), '0x00'::rflow.hex),
			 ('0xdeadbeef00000000000000000000000000000000', rflow.to_hex(0), '0x00'),
			 ('0x00000000000000000000000000000000deadbeef', rflow.to_hex(3405691582), '0xdeadbeef'),
			 ('0x0000000000000000000000000000000000000000', rflow.to_hex(0), '0x')) AS v(deployer, salt, code);
SELECT rflow.create_address('0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0', -1);
SELECT rflow.create2_address('0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0', '0x00', rflow.to_hex(0));

-- Signers: of a hash, and of a message (EIP-191).
SELECT rflow.recover_message('Some data', signature) AS message,
	   rflow.recover_message('\x536f6d652064617461'::bytea, signature) AS bytes,
	   rflow.recover_address('0x1da44b586eb0729ff70a73c326926f6ed5a25f5b056e7f47fbc6e58d86871655', signature) AS hash,
	   rflow.recover_message('Other data', signature) = rflow.recover_message('Some data', signature) AS other
FROM (VALUES ('0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c'::rflow.hex)) AS v(signature);
SELECT rflow.hash_message('Some data') AS text, rflow.hash_message('\x536f6d652064617461'::bytea) = rflow.hash_message('Some data') AS bytes;
SELECT rflow.recover_message('x', '0x00');
SELECT rflow.recover_address('0x00', '0x00');
SELECT rflow.recover_message('x', (rflow.to_hex(1) || rflow.to_hex(0) || '0x1b'::rflow.hex));

-- Typed data (EIP-712): the example of the standard, and what is refused rather than guessed.
CREATE TEMP TABLE mail (data json);
INSERT INTO mail VALUES ('{"types": {"EIP712Domain": [{"name": "name", "type": "string"}, {"name": "version", "type": "string"},
	{"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}],
	"Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
	"Mail": [{"name": "from", "type": "Person"}, {"name": "to", "type": "Person"}, {"name": "contents", "type": "string"}]},
	"primaryType": "Mail", "domain": {"name": "Ether Mail", "version": "1", "chainId": 1, "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"},
	"message": {"from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
	"to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"}, "contents": "Hello, Bob!"}}');
SELECT rflow.hash_typed_data(data) AS digest, rflow.hash_typed_data(data::jsonb::json) = rflow.hash_typed_data(data) AS by_jsonb,
	   rflow.recover_typed_data(data, '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c') AS signer
FROM mail;
SELECT rflow.hash_typed_data(replace(data::text, '"Hello, Bob!"', 'null')::json) FROM mail;
SELECT rflow.hash_typed_data(replace(data::text, 'Person"}', 'Nobody"}')::json) FROM mail;
SELECT rflow.hash_typed_data('[]');

-- Transactions: the example of EIP-155.
SELECT jsonb_pretty(rflow.decode_transaction('0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83'));
SELECT rflow.decode_transaction('0x');
SELECT rflow.decode_transaction('0x02c0');
SELECT rflow.decode_transaction('0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d8300');

\set VERBOSITY sqlstate
SELECT rflow.hash_typed_data('[]');
SELECT rflow.decode_transaction('0x');
SELECT rflow.namehash('foo..eth');
SELECT rflow.recover_message('x', '0x00');
SELECT rflow.recover_address('0x00', '0x00');

\set VERBOSITY default
-- EIP-191 for a validating contract: keccak256(0x19 ‖ 0x00 ‖ validator ‖ data).
SELECT rflow.hash_validator_message('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '\xdeadbeef') =
	rflow.keccak256('\x1900'::bytea || '\x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::bytea || '\xdeadbeef'::bytea) AS validator;

-- Normal forms of names.
SELECT rflow.ens_normalize('ViTaLiK.Eth'), rflow.namehash('ViTaLiK.Eth') = rflow.namehash('vitalik.eth') AS same;
SELECT rflow.ens_normalize('a..eth');
SELECT rflow.ens_normalize('bücher.eth');
SELECT rflow.namehash('bücher.eth');
SELECT rflow.namehash('bücher.eth', true), rflow.namehash('Vitalik.eth', true);
SELECT rflow.namehash('bücher.eth', true);

-- The parts of a hash of typed data (the example of EIP-712).
SELECT jsonb_pretty(rflow.describe_typed_data('{"types": {"EIP712Domain": [{"name": "name", "type": "string"}, {"name": "version", "type": "string"}, {"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}],
	"Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
	"Mail": [{"name": "from", "type": "Person"}, {"name": "to", "type": "Person"}, {"name": "contents", "type": "string"}]},
	"primaryType": "Mail", "domain": {"name": "Ether Mail", "version": "1", "chainId": 1, "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"},
	"message": {"from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"}, "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"}, "contents": "Hello, Bob!"}}'));
SELECT jsonb_pretty(rflow.describe_typed_data('{"types": {"A": [{"name": "a", "type": "uint8"}]}, "primaryType": "A", "domain": {}, "message": {"a": 1}}'));
