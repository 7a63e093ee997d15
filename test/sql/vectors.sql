-- The conformance vectors of test/data through the SQL functions: each line counts the rows of a file, and those that
-- came out as the file says. (The pure code runs over all files and fields, see test/unit.)
-- Rows with U+0000, which json can hold and jsonb cannot, are left out.
CREATE TEMP TABLE vector (file text, row text);
CREATE TEMP VIEW vectors AS SELECT file, row::json AS v, row::json->>'id' AS id, row LIKE '%\u0000%' AS nul FROM vector;
-- By an error of ours, or with NULL.
CREATE FUNCTION pg_temp.refused(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE query INTO result;
	RETURN result IS NULL;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR datatype_mismatch THEN
	RETURN true;
END
$$;
-- ["uint8", "bytes"] as the list that abi_encode takes.
CREATE FUNCTION pg_temp.types(json) RETURNS text LANGUAGE sql AS $$ SELECT coalesce(string_agg(t, ','), '') FROM json_array_elements_text($1) t $$;
-- Parameters of a JSON ABI as such a list, with names; a hashed one is its hash.
CREATE FUNCTION pg_temp.parameters(inputs json, hashed json) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(
		CASE WHEN hashed->>(i::int - 1) = 'true' THEN 'bytes32'
			 WHEN p->>'type' LIKE 'tuple%' THEN '(' || pg_temp.parameters(p->'components', NULL) || ')' || substr(p->>'type', 6)
			 ELSE p->>'type' END || ' ' || (p->>'name'), ',' ORDER BY i), '')
	FROM json_array_elements(inputs) WITH ORDINALITY AS t(p, i)
$$;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/abi_roundtrip.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'abi_roundtrip' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/abi_hostile.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'abi_hostile' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/abi_hostile_policy.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'abi_hostile_policy', row = replace(row, '\u0000', '') WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/abi_bomb.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'abi_bomb' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/abi_signature.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'abi_signature' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/human_abi.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'human_abi' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/human_abi_reject.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'human_abi_reject' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/calldata.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'calldata' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/event_logs.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'event_logs' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/event_logs_reject.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'event_logs_reject' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/errors.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'errors' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/errors_policy.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'errors_policy' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/packed.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'packed' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/checksum.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'checksum' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/create.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'create' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/keccak.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'keccak' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/namehash.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'namehash' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/personal_sign.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'personal_sign' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/typed_data.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'typed_data' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/units.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'units' WHERE file IS NULL;
\copy vector (row) FROM PROGRAM 'gzip -dc test/data/tx_sign.jsonl.gz' WITH (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
UPDATE vector SET file = 'tx_sign' WHERE file IS NULL;

-- What is decoded encodes to the same bytes; so do the values, where jsonb can hold them (it has no U+0000).
SELECT file, count(*) AS rows, count(*) FILTER (WHERE rflow.abi_encode_json(types, rflow.abi_decode(types, enc)) = enc) AS decoded,
	   count(*) FILTER (WHERE NOT nul) AS values, count(*) FILTER (WHERE NOT nul AND rflow.abi_encode_json(types, (v->'values')::jsonb) = enc) AS encoded
FROM vectors, LATERAL (SELECT pg_temp.types(v->'types') AS types, (v->>'enc')::rflow.hex AS enc) e WHERE file = 'abi_roundtrip' GROUP BY file;
SELECT file, v->>'expect' AS expect, count(*) AS rows, count(*) FILTER (WHERE CASE v->>'expect'
	WHEN 'reject' THEN pg_temp.refused(format('SELECT rflow.abi_decode(%L, %L)', types, enc))
	ELSE rflow.abi_encode_json(types, rflow.abi_decode(types, enc)) = rflow.abi_encode_json(types, (v->'values')::jsonb) END) AS as_expected
FROM vectors, LATERAL (SELECT pg_temp.types(v->'types') AS types, (v->>'enc')::rflow.hex AS enc) e WHERE file = 'abi_hostile' AND NOT nul GROUP BY file, 2 ORDER BY 2;
-- Where libraries disagree: dirty numbers are refused, whatever stands behind bytes is not looked at.
SELECT file, count(*) AS rows, count(*) FILTER (WHERE refused) AS refused, count(*) FILTER (WHERE NOT refused AND reencoded) AS decoded
FROM vectors, LATERAL (SELECT pg_temp.types(v->'types') AS types, v->>'enc' AS enc) e,
	 LATERAL (SELECT pg_temp.refused(format('SELECT rflow.abi_decode(%L, %L)', types, enc)) AS refused OFFSET 0) r,
	 LATERAL (SELECT CASE WHEN NOT refused THEN rflow.abi_decode(types, rflow.abi_encode_json(types, rflow.abi_decode(types, enc::rflow.hex))) = rflow.abi_decode(types, enc::rflow.hex) END AS reencoded OFFSET 0) d
WHERE file = 'abi_hostile_policy' GROUP BY file;
SELECT file, v->>'leaves' AS leaves, pg_temp.refused(format('SELECT rflow.abi_decode(%L, %L)', pg_temp.types(v->'types'), v->>'enc')) AS refused
FROM vectors WHERE file = 'abi_bomb' ORDER BY 2;

-- ABI items.
SELECT file, count(*) AS rows,
	   count(*) FILTER (WHERE rflow.abi((json_build_array(v->'abi'))::text)->0->'inputs' IS NOT NULL OR v->'abi'->>'type' IN ('fallback', 'receive')) AS parsed,
	   count(*) FILTER (WHERE CASE WHEN v->>'topic0' IS NOT NULL THEN rflow.event_topic(v->>'signature') = v->>'topic0'
								   WHEN v->>'selector' IS NOT NULL THEN rflow.function_selector(v->>'signature') = v->>'selector' ELSE true END) AS hashed
FROM vectors WHERE file = 'abi_signature' GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE rflow.abi(v->>'text') = rflow.abi((json_build_array(v->'abi'))::text)) AS same_abi,
	   count(*) FILTER (WHERE CASE WHEN v->'abi'->>'anonymous' = 'true' THEN true
								   WHEN v->>'topic0' IS NOT NULL THEN rflow.event_topic(v->>'text') = v->>'topic0'
								   WHEN v->>'selector' IS NOT NULL THEN rflow.function_selector(v->>'text') = v->>'selector' ELSE true END) AS hashed
FROM vectors WHERE file = 'human_abi' GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE pg_temp.refused(format('SELECT rflow.abi(%L)', v->>'text'))) AS refused
FROM vectors WHERE file = 'human_abi_reject' GROUP BY file;

-- Calls and logs.
SELECT file, count(*) AS rows,
	   count(*) FILTER (WHERE rflow.encode_call_json(v->>'signature', (v->'args')::jsonb) = v->>'calldata') AS encoded,
	   count(*) FILTER (WHERE rflow.encode_call_json(v->>'signature', rflow.decode_call(v->>'signature', (v->>'calldata')::rflow.hex)) = v->>'calldata') AS decoded,
	   count(*) FILTER (WHERE rflow.decode_call(rflow.abi(json_build_array(v->'abi')::text), (v->>'calldata')::rflow.hex)->>'signature' = v->>'signature') AS by_abi
FROM vectors WHERE file = 'calldata' AND NOT nul GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE
	rflow.abi_encode_json(parameters, (SELECT coalesce(jsonb_object_agg(key, coalesce(value->'hash', value)), '{}') FROM jsonb_each(decoded->'args')))
	= rflow.abi_encode_json(parameters, (v->'args')::jsonb)) AS decoded, count(*) FILTER (WHERE decoded->>'signature' = v->>'sig') AS signature
FROM vectors,
	 LATERAL (SELECT pg_temp.parameters(v->'event'->'inputs', v->'hashed') AS parameters,
					 rflow.decode_log(rflow.abi(json_build_array(v->'event')::text),
									  ARRAY(SELECT t::rflow.hex FROM json_array_elements_text(v->'topics') t), (v->>'data')::rflow.hex) AS decoded OFFSET 0) e
WHERE file = 'event_logs' AND NOT nul GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE pg_temp.refused(format('SELECT rflow.decode_log(%L::jsonb, %L, %L)',
	rflow.abi(json_build_array(v->'event')::text), ARRAY(SELECT json_array_elements_text(v->'topics')), v->>'data'))) AS refused
FROM vectors WHERE file = 'event_logs_reject' GROUP BY file;

-- Reverts: each kind in words.
SELECT file, v->>'kind' AS kind, count(*) AS rows, count(*) FILTER (WHERE CASE v->>'kind'
	WHEN 'custom' THEN said LIKE (v->>'name') || '(%)'
	WHEN 'panic' THEN said LIKE 'panic 0x%'
	WHEN 'empty' THEN said = 'reverted without a reason'
	WHEN 'error' THEN said = v->'args'->>0 OR v->'args'->>0 ~ '[^ -~]' OR length(v->'args'->>0) > 500
	ELSE said LIKE '0x%' END) AS as_expected
FROM vectors, LATERAL (SELECT rflow.decode_revert(rflow.abi(coalesce(v->>'abi', '[]')), (v->>'data')::rflow.hex) AS said OFFSET 0) r
WHERE file = 'errors' AND NOT nul GROUP BY file, 2 ORDER BY 2;

-- A reason that is no UTF-8 is escaped in words, and kept as bytes.
SELECT v->>'id' AS id, rflow.decode_revert((v->>'data')::rflow.hex) AS said, rflow.decode_error('[]', (v->>'data')::rflow.hex)->'args' AS args
FROM vectors WHERE file = 'errors_policy' ORDER BY 1;

-- Packed encoding, hashes, addresses, names, amounts.
SELECT file, count(*) AS rows, count(*) FILTER (WHERE packed = v->>'packed') AS packed, count(*) FILTER (WHERE rflow.keccak256(packed) = v->>'keccak256') AS hashed
FROM vectors, LATERAL (SELECT rflow.abi_encode_packed_json(pg_temp.types(v->'types'), (v->'values')::jsonb) AS packed OFFSET 0) p WHERE file = 'packed' AND NOT nul GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE rflow.keccak256((v->>'data')::rflow.hex) = v->>'keccak256') AS hashed FROM vectors WHERE file = 'keccak' GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE CASE (v->>'valid')::boolean WHEN true THEN rflow.try_address(v->>'input')::text = v->>'checksum' ELSE rflow.try_address(v->>'input') IS NULL END) AS as_expected
FROM vectors WHERE file = 'checksum' GROUP BY file;
SELECT file, v->>'op' AS op, count(*) AS rows, count(*) FILTER (WHERE v->>'address' = CASE v->>'op'
	WHEN 'create' THEN rflow.create_address((v->>'sender')::rflow.address, (v->>'nonce')::bigint)
	ELSE rflow.create2_address((v->>'sender')::rflow.address, (v->>'salt')::rflow.hex, (v->>'init_code_hash')::rflow.hex) END) AS same
FROM vectors WHERE file = 'create' GROUP BY file, 2 ORDER BY 2;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE rflow.namehash(v->>'normalized', true) = v->>'namehash') AS hashed,
	   count(*) FILTER (WHERE CASE (v->>'ascii')::boolean WHEN true THEN rflow.namehash(v->>'name') = v->>'namehash' AND rflow.ens_normalize(v->>'name') = v->>'normalized'
		   ELSE pg_temp.refused(format('SELECT rflow.namehash(%L)', v->>'name')) END) AS normalized
FROM vectors WHERE file = 'namehash' GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE rflow.format_units((v->>'wei')::numeric, (v->>'decimals')::int) = v->>'text') AS formatted,
	   count(*) FILTER (WHERE rflow.parse_units(v->>'text', (v->>'decimals')::int) = (v->>'wei')::numeric) AS parsed
FROM vectors WHERE file = 'units' GROUP BY file;

-- Signers, and transactions.
SELECT file, count(*) AS rows, count(*) FILTER (WHERE rflow.hash_message((v->>'message')::rflow.hex) = v->>'hash') AS hashed,
	   count(*) FILTER (WHERE rflow.recover_message((v->>'message')::rflow.hex, (v->>'signature')::rflow.hex) = v->>'address') AS recovered
FROM vectors WHERE file = 'personal_sign' AND NOT nul GROUP BY file;
SELECT file, count(*) AS rows, count(*) FILTER (WHERE rflow.hash_typed_data(v->'data') = v->>'digest') AS hashed,
	   count(*) FILTER (WHERE v->>'signature' IS NOT NULL) AS signed,
	   count(*) FILTER (WHERE rflow.recover_typed_data(v->'data', (v->>'signature')::rflow.hex) = rflow.recover_address((v->>'digest')::rflow.hex, (v->>'signature')::rflow.hex)) AS recovered
FROM vectors WHERE file = 'typed_data' GROUP BY file;
SELECT file, v->'tx'->>'type' AS type, count(*) AS rows, count(*) FILTER (WHERE decoded->>'hash' = v->>'hash') AS hash, count(*) FILTER (WHERE lower(decoded->>'from') = v->>'from') AS signer,
	   count(*) FILTER (WHERE decoded->>'nonce' = v->'tx'->>'nonce' AND decoded->>'value' = v->'tx'->>'value' AND decoded->>'data' = v->'tx'->>'data'
		   AND decoded->>'gas_limit' = v->'tx'->>'gas' AND lower(decoded->>'to') IS NOT DISTINCT FROM v->'tx'->>'to'
		   AND coalesce(decoded->>'gas_price', decoded->>'max_fee_per_gas') = coalesce(v->'tx'->>'gasPrice', v->'tx'->>'maxFeePerGas')
		   AND jsonb_array_length(coalesce(decoded->'access_list', '[]')) = json_array_length(coalesce(v->'tx'->'accessList', '[]'))
		   AND jsonb_array_length(coalesce(decoded->'authorizations', '[]')) = json_array_length(coalesce(v->'tx'->'authorizationList', '[]'))) AS fields
FROM vectors, LATERAL (SELECT rflow.decode_transaction((v->>'raw')::rflow.hex) AS decoded OFFSET 0) d WHERE file = 'tx_sign' GROUP BY file, 2 ORDER BY 2;
