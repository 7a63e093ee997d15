-- Functions over the formats of the chain: ABI, hashes, amounts, addresses. All are immutable and need no network.

CREATE FUNCTION rflow.try_address(text) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_try_address';
COMMENT ON FUNCTION rflow.try_address(text) IS 'The address that a text writes; NULL where it writes none or its checksum is wrong';
CREATE FUNCTION rflow.try_hex(text) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_try_hex';
COMMENT ON FUNCTION rflow.try_hex(text) IS 'The bytes that a text writes as 0x and digits; NULL where it writes none';

CREATE FUNCTION rflow.to_numeric(value rflow.hex) RETURNS numeric
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_to_numeric';
COMMENT ON FUNCTION rflow.to_numeric(rflow.hex) IS 'Bytes as an unsigned integer, the first byte highest; at most 32 bytes';
CREATE FUNCTION rflow.to_hex(value numeric, length integer DEFAULT 32) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hex_from_numeric';
COMMENT ON FUNCTION rflow.to_hex(numeric, integer) IS 'An unsigned integer as that many bytes, the first byte highest';

-- ABI

CREATE FUNCTION rflow.abi(VARIADIC fragments text[]) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_abi';
COMMENT ON FUNCTION rflow.abi(text[]) IS 'The JSON ABI of human-readable fragments (''event Transfer(address indexed from, …)'', ''function …'', ''error …'', ''struct …''); a text that begins with [ or { is JSON ABI or a compiler''s artifact';

CREATE FUNCTION rflow.event_topic(event text) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_event_topic';
COMMENT ON FUNCTION rflow.event_topic(text) IS 'First topic of an event''s logs: rflow.event_topic(''Transfer(address,address,uint256)'')';
CREATE FUNCTION rflow.function_selector(function text) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_function_selector';
COMMENT ON FUNCTION rflow.function_selector(text) IS 'First four bytes of a function''s calls or an error''s data: rflow.function_selector(''transfer(address,uint256)'')';

CREATE FUNCTION rflow.abi_encode(types text, VARIADIC arguments "any") RETURNS rflow.hex
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_abi_encode';
COMMENT ON FUNCTION rflow.abi_encode(text, "any") IS 'ABI encoding: rflow.abi_encode(''address, uint256[]'', ''0x…'', ARRAY[1, 2]). Tuples and nested arrays are jsonb';
CREATE FUNCTION rflow.abi_encode_json(types text, arguments jsonb) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_abi_encode_json';
COMMENT ON FUNCTION rflow.abi_encode_json(text, jsonb) IS 'ABI encoding of an array of values, or of an object by name';
CREATE FUNCTION rflow.abi_encode_packed(types text, VARIADIC arguments "any") RETURNS rflow.hex
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_abi_encode_packed';
COMMENT ON FUNCTION rflow.abi_encode_packed(text, "any") IS 'Packed encoding, as Solidity''s abi.encodePacked';
CREATE FUNCTION rflow.abi_encode_packed_json(types text, arguments jsonb) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_abi_encode_packed_json';
COMMENT ON FUNCTION rflow.abi_encode_packed_json(text, jsonb) IS 'Packed encoding of an array of values, or of an object by name';
CREATE FUNCTION rflow.abi_decode(types text, data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_abi_decode';
COMMENT ON FUNCTION rflow.abi_decode(text, rflow.hex) IS 'Decoded values as an object by name, arg0, arg1, … where unnamed: rflow.abi_decode(''address owner, uint256 value'', data)';

CREATE FUNCTION rflow.encode_topic(type text, value "any") RETURNS rflow.hex
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_encode_topic';
COMMENT ON FUNCTION rflow.encode_topic(text, "any") IS 'An indexed argument as a topic: rflow.encode_topic(''address'', ''0x…''). Of a dynamic type it is a hash';

CREATE FUNCTION rflow.encode_call(function text, VARIADIC arguments "any") RETURNS rflow.hex
	LANGUAGE C IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_encode_call';
COMMENT ON FUNCTION rflow.encode_call(text, "any") IS 'Data of a call: rflow.encode_call(''transfer(address,uint256)'', ''0x…'', 100). Tuples and nested arrays are jsonb';
CREATE FUNCTION rflow.encode_call(function text) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_encode_call';
COMMENT ON FUNCTION rflow.encode_call(text) IS 'Data of a call without arguments: rflow.encode_call(''pause()'')';
CREATE FUNCTION rflow.encode_call_json(function text, arguments jsonb) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_encode_call_json';
COMMENT ON FUNCTION rflow.encode_call_json(text, jsonb) IS 'Data of a call whose arguments are a JSON array, or an object by name';

CREATE FUNCTION rflow.decode_log(event text, topics rflow.hex[], data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_log';
COMMENT ON FUNCTION rflow.decode_log(text, rflow.hex[], rflow.hex) IS 'Arguments of a log of this event, by name; an error where the log is of another one';
CREATE FUNCTION rflow.decode_log(abi jsonb, topics rflow.hex[], data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_log_of_abi';
COMMENT ON FUNCTION rflow.decode_log(jsonb, rflow.hex[], rflow.hex) IS 'Name, signature and arguments of a log of one of the ABI''s events; NULL where it is of none';
CREATE FUNCTION rflow.decode_call(function text, data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_call';
COMMENT ON FUNCTION rflow.decode_call(text, rflow.hex) IS 'Arguments of a call of this function, by name; an error where the data calls another one';
CREATE FUNCTION rflow.decode_call(abi jsonb, data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_call_of_abi';
COMMENT ON FUNCTION rflow.decode_call(jsonb, rflow.hex) IS 'Name, signature and arguments of a call of one of the ABI''s functions; NULL where it is of none';
CREATE FUNCTION rflow.decode_result(function text, data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_result';
COMMENT ON FUNCTION rflow.decode_result(text, rflow.hex) IS 'What a function returned, by name: rflow.decode_result(''balanceOf(address) returns (uint256 balance)'', data)';
CREATE FUNCTION rflow.decode_revert(abi jsonb, data rflow.hex) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_revert_of_abi';
COMMENT ON FUNCTION rflow.decode_revert(jsonb, rflow.hex) IS 'Why a call reverted, in words, with the ABI''s own errors';
CREATE FUNCTION rflow.decode_revert(data rflow.hex) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_revert';
COMMENT ON FUNCTION rflow.decode_revert(rflow.hex) IS 'Why a call reverted, in words';
CREATE FUNCTION rflow.decode_error(abi jsonb, data rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_error';
COMMENT ON FUNCTION rflow.decode_error(jsonb, rflow.hex) IS 'Name, signature and arguments of the error that a call reverted with: the ABI''s own, Error(string) or Panic(uint256); NULL where it is none';

-- Amounts

CREATE FUNCTION rflow.parse_units(amount text, decimals integer) RETURNS numeric
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_parse_units_text_int';
COMMENT ON FUNCTION rflow.parse_units(text, integer) IS 'Amount in the smallest unit: rflow.parse_units(''1.5'', 6) is 1500000. Never rounds';
CREATE FUNCTION rflow.parse_units(amount text, unit text DEFAULT 'ether') RETURNS numeric
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_parse_units_text_unit';
COMMENT ON FUNCTION rflow.parse_units(text, text) IS 'Amount in wei: rflow.parse_units(''1.5'', ''gwei''). Never rounds';
CREATE FUNCTION rflow.parse_units(amount numeric, decimals integer) RETURNS numeric
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_parse_units_numeric_int';
COMMENT ON FUNCTION rflow.parse_units(numeric, integer) IS 'Amount in the smallest unit: rflow.parse_units(1.5, 6) is 1500000. Never rounds';
CREATE FUNCTION rflow.parse_units(amount numeric, unit text DEFAULT 'ether') RETURNS numeric
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_parse_units_numeric_unit';
COMMENT ON FUNCTION rflow.parse_units(numeric, text) IS 'Amount in wei: rflow.parse_units(1.5, ''gwei''). Never rounds';
CREATE FUNCTION rflow.format_units(value numeric, decimals integer) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_format_units_int';
COMMENT ON FUNCTION rflow.format_units(numeric, integer) IS 'An amount in the smallest unit for people: rflow.format_units(1500000, 6) is 1.5';
CREATE FUNCTION rflow.format_units(value numeric, unit text DEFAULT 'ether') RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_format_units_unit';
COMMENT ON FUNCTION rflow.format_units(numeric, text) IS 'An amount in wei for people: rflow.format_units(1500000000, ''gwei'') is 1.5';

-- Hashes, addresses and signers

CREATE FUNCTION rflow.keccak256(data bytea) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_keccak256';
COMMENT ON FUNCTION rflow.keccak256(bytea) IS 'Keccak-256 of bytes (rflow.hex or bytea): rflow.keccak256(rflow.hex ''0xab'')';
CREATE FUNCTION rflow.keccak256(data text) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_keccak256_text';
COMMENT ON FUNCTION rflow.keccak256(text) IS 'Keccak-256 of the UTF-8 bytes of a text, whatever it looks like';
CREATE FUNCTION rflow.create_address(deployer rflow.address, nonce bigint) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_create_address';
COMMENT ON FUNCTION rflow.create_address(rflow.address, bigint) IS 'Address of the contract that an account creates at a nonce (CREATE)';
CREATE FUNCTION rflow.create2_address(deployer rflow.address, salt rflow.hex, init_code_hash rflow.hex) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_create2_address';
COMMENT ON FUNCTION rflow.create2_address(rflow.address, rflow.hex, rflow.hex) IS 'Address of a contract made by CREATE2 (EIP-1014)';
CREATE FUNCTION rflow.recover_address(hash rflow.hex, signature rflow.hex) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_recover_address';
COMMENT ON FUNCTION rflow.recover_address(rflow.hex, rflow.hex) IS 'The signer of a hash, from the 65 bytes r, s, v';
CREATE FUNCTION rflow.recover_message(message text, signature rflow.hex) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_recover_message_text';
COMMENT ON FUNCTION rflow.recover_message(text, rflow.hex) IS 'The signer of a message (EIP-191, personal_sign)';
CREATE FUNCTION rflow.recover_message(message bytea, signature rflow.hex) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_recover_message';
COMMENT ON FUNCTION rflow.recover_message(bytea, rflow.hex) IS 'The signer of a message of bytes (EIP-191, personal_sign)';
CREATE FUNCTION rflow.namehash(name text, is_normalized boolean DEFAULT false) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_namehash';
COMMENT ON FUNCTION rflow.namehash(text, boolean) IS 'Node of an ENS name (EIP-137). A name with other than ASCII characters must come in its normal form (ENSIP-15), which is_normalized says';
CREATE FUNCTION rflow.ens_normalize(name text) RETURNS text
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_ens_normalize';
COMMENT ON FUNCTION rflow.ens_normalize(text) IS 'Normal form of an ENS name (ENSIP-15). Names of ASCII characters only';
CREATE FUNCTION rflow.hash_message(message text) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hash_message_text';
COMMENT ON FUNCTION rflow.hash_message(text) IS 'What a wallet signs for a message (EIP-191, personal_sign)';
CREATE FUNCTION rflow.hash_message(message bytea) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hash_message';
COMMENT ON FUNCTION rflow.hash_message(bytea) IS 'What a wallet signs for a message of bytes (EIP-191, personal_sign)';
CREATE FUNCTION rflow.hash_validator_message(validator rflow.address, data bytea) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hash_validator_message';
COMMENT ON FUNCTION rflow.hash_validator_message(rflow.address, bytea) IS 'What is signed for a contract that checks the signature (EIP-191, version 0)';
CREATE FUNCTION rflow.hash_typed_data(typed_data json) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hash_typed_data';
COMMENT ON FUNCTION rflow.hash_typed_data(json) IS 'What a wallet signs for typed data (EIP-712): an object of types, primaryType, domain and message';
CREATE FUNCTION rflow.recover_typed_data(typed_data json, signature rflow.hex) RETURNS rflow.address
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_recover_typed_data';
COMMENT ON FUNCTION rflow.recover_typed_data(json, rflow.hex) IS 'The signer of typed data (EIP-712)';
CREATE FUNCTION rflow.describe_typed_data(typed_data json) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_describe_typed_data';
COMMENT ON FUNCTION rflow.describe_typed_data(json) IS 'The parts of the hash of typed data (EIP-712): domain separator, hash of the message, encodeType';

-- Transactions

CREATE FUNCTION rflow.decode_transaction(raw rflow.hex) RETURNS jsonb
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_decode_transaction';
COMMENT ON FUNCTION rflow.decode_transaction(rflow.hex) IS 'A raw signed transaction of any type: its fields, its hash, and who signed it';
CREATE FUNCTION rflow.hash_transaction(transaction jsonb) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_hash_transaction';
COMMENT ON FUNCTION rflow.hash_transaction(jsonb) IS 'What is signed for a transaction, given with the names of decode_transaction: rflow.hash_transaction(''{"chain_id": 1, "nonce": 0, "max_fee_per_gas": "30000000000", "max_priority_fee_per_gas": "1000000000", "gas_limit": 21000, "to": "0x…", "value": "1"}'')';
CREATE FUNCTION rflow.encode_transaction(transaction jsonb, signature rflow.hex) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_encode_transaction_signed';
COMMENT ON FUNCTION rflow.encode_transaction(jsonb, rflow.hex) IS 'The raw bytes of a transaction with the 65 bytes r, s, v that somebody signed it with';
CREATE FUNCTION rflow.encode_transaction(transaction jsonb) RETURNS rflow.hex
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'rflow_encode_transaction';
COMMENT ON FUNCTION rflow.encode_transaction(jsonb) IS 'The raw bytes of a transaction that has its signature as y_parity, r and s';
