-- In a database of another encoding, text of a contract is converted, and what the encoding lacks is kept as bytes.
SELECT current_database() AS original \gset
CREATE DATABASE rflow_latin1 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
CREATE DATABASE rflow_ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;

\c rflow_latin1
\set ECHO errors
SET client_min_messages = warning;
CREATE EXTENSION rflow;
\set ECHO all
SET client_encoding = 'UTF8';
-- e with acute: two bytes in UTF-8, one here.
SELECT rflow.abi_encode('string', U&'caf\00E9') AS encoded, rflow.abi_encode_json('string', jsonb_build_array(U&'caf\00E9')) = rflow.abi_encode('string', U&'caf\00E9') AS by_json;
SELECT octet_length(s) AS bytes_here, s = U&'caf\00E9' AS same
FROM (SELECT rflow.abi_decode('string s', rflow.abi_encode('string', U&'caf\00E9'))->>'s') AS v(s);
SELECT rflow.abi_decode('string[] s', rflow.abi_encode_json('string[]', '[[{"bytes": "0x636166c3a9"}, {"bytes": "0xe282ac"}, {"bytes": "0xff"}, "plain"]]')) = jsonb_build_object('s', jsonb_build_array(U&'caf\00E9', '{"bytes": "0xe282ac"}'::jsonb, '{"bytes": "0xff"}'::jsonb, 'plain')) AS as_expected;
SELECT rflow.keccak256(U&'caf\00E9') = rflow.keccak256('\x636166c3a9'::bytea) AS hash_of_utf8;
SELECT rflow.decode_revert(rflow.encode_call_json('Error(string)', '[{"bytes": "0x636166c3a9"}]')) = U&'caf\00E9' AS revert;
SELECT rflow.decode_revert(rflow.encode_call_json('Error(string)', '[{"bytes": "0x61e282acc3a9"}]')) = U&'a\\u{20ac}\00E9' AS revert_with_another;
SELECT '0xab'::rflow.hex LIKE '0xA%' AS pattern;

\c rflow_ascii
\set ECHO errors
SET client_min_messages = warning;
CREATE EXTENSION rflow;
\set ECHO all
SELECT rflow.abi_decode('string[] s', rflow.abi_encode_json('string[]', '[[{"bytes": "0xff"}, "plain"]]'));
SELECT rflow.abi_encode('string', 'plain');

\c :original
DROP DATABASE rflow_latin1;
DROP DATABASE rflow_ascii;
