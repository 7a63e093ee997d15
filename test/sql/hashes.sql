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
SELECT rflow.recover_message('x', '0x00');
SELECT rflow.recover_address('0x00', '0x00');
SELECT rflow.recover_message('x', (rflow.to_hex(1) || rflow.to_hex(0) || '0x1b'::rflow.hex));
\set VERBOSITY sqlstate
SELECT rflow.namehash('foo..eth');
SELECT rflow.recover_message('x', '0x00');
SELECT rflow.recover_address('0x00', '0x00');
