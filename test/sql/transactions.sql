-- Transactions as jsonb: what is signed, with whose signature, and the raw bytes again.

-- Every type decodes to what encodes to the same bytes, and is signed as it was.
CREATE TEMP TABLE raw (row text);
\copy raw FROM PROGRAM 'gzip -dc test/data/tx_sign.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
SELECT v->'tx'->>'type' AS type, count(*) AS rows,
	   count(*) FILTER (WHERE rflow.encode_transaction(decoded) = v->>'raw') AS encoded,
	   count(*) FILTER (WHERE rflow.hash_transaction(decoded) = v->>'sighash') AS hashed,
	   count(*) FILTER (WHERE rflow.recover_address((v->>'sighash')::rflow.hex, signature) = v->>'from') AS recovered,
	   count(*) FILTER (WHERE rflow.encode_transaction(decoded - 'y_parity' - 'r' - 's' - 'hash' - 'from', signature) = v->>'raw') AS signed
FROM (SELECT row::json AS v FROM raw) r,
	 LATERAL (SELECT rflow.decode_transaction((v->>'raw')::rflow.hex) AS decoded OFFSET 0) d,
	 LATERAL (SELECT ((decoded->>'r') || substr(decoded->>'s', 3) || to_hex(27 + (decoded->>'y_parity')::int))::rflow.hex AS signature OFFSET 0) s
GROUP BY 1 ORDER BY 1;

-- By hand: integers as numbers, texts or hex; the type follows from the members.
CREATE FUNCTION pg_temp.tx(changes jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_strip_nulls('{"chain_id": 1, "nonce": 7, "max_fee_per_gas": "30000000000", "max_priority_fee_per_gas": "0x3b9aca00",
		"gas_limit": 21000, "value": 1000000000000000000000000}' || changes)
		|| CASE WHEN changes ? 'to' THEN jsonb_build_object('to', changes->'to') ELSE '{"to": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}' END
$$;
SELECT rflow.hash_transaction(pg_temp.tx('{}')) = rflow.hash_transaction(pg_temp.tx('{"type": 2, "data": "0x", "access_list": []}')) AS same;
SELECT rflow.hash_transaction(pg_temp.tx('{"to": null, "data": "0x6001"}')) <> rflow.hash_transaction(pg_temp.tx('{"data": "0x6001"}')) AS creates;
-- EIP-155's own example.
SELECT rflow.hash_transaction('{"chain_id": 1, "nonce": 9, "gas_price": 20000000000, "gas_limit": 21000, "to": "0x3535353535353535353535353535353535353535", "value": 1000000000000000000}');
SELECT rflow.encode_transaction('{"chain_id": 1, "nonce": 9, "gas_price": 20000000000, "gas_limit": 21000, "to": "0x3535353535353535353535353535353535353535", "value": 1000000000000000000}',
	'0x28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa63627667cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d831b');

-- What is not right is refused, and named.
\set VERBOSITY default
CREATE FUNCTION pg_temp.try(transaction jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN rflow.hash_transaction(transaction);
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END
$$;
SELECT pg_temp.try(pg_temp.tx(changes)) FROM (VALUES
	('{"gas": 21000}'::jsonb), ('{"gas_price": 1}'), ('{"type": 0}'), ('{"type": 5}'), ('{"type": "x"}'), ('{"blob_hashes": []}'),
	('{"nonce": null}'), ('{"nonce": -1}'), ('{"nonce": "1e3"}'), ('{"nonce": 1.5}'), ('{"nonce": "0x10000000000000000"}'), ('{"nonce": "18446744073709551615"}'),
	('{"value": "0x1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}'),
	('{"max_priority_fee_per_gas": "30000000001"}'), ('{"to": "0x70997970C51812dc3A010C7d01b50e0d17dc79c8"}'), ('{"to": 1}'),
	('{"data": "6001"}'), ('{"data": "0x600"}'), ('{"data": 1}'), ('{"access_list": {}}'), ('{"access_list": [1]}'), ('{"access_list": [{"storage_keys": []}]}'),
	('{"access_list": [{"address": "0x3535353535353535353535353535353535353535", "storage_keys": ["0x01"]}]}'),
	('{"access_list": [{"address": "0x3535353535353535353535353535353535353535", "keys": []}]}'),
	('{"authorizations": []}'), ('{"authorizations": [{"chain_id": 1, "address": "0x3535353535353535353535353535353535353535", "nonce": 0, "y_parity": 256, "r": 1, "s": 1}]}'),
	('{"r": 1}')) c(changes);
SELECT pg_temp.try(pg_temp.tx('{}') - 'to'), pg_temp.try('[]'), pg_temp.try('1');
SELECT rflow.encode_transaction(pg_temp.tx('{}'));
SELECT rflow.encode_transaction(pg_temp.tx('{}'), '0x00');
SELECT rflow.encode_transaction(pg_temp.tx('{"y_parity": 2, "r": 1, "s": 1}'));
