-- Values survive COPY as text, CSV and binary, which is how dumps and replication carry them.
CREATE TABLE original (id int PRIMARY KEY, h rflow.hex, a rflow.address, hs rflow.hex[], addresses rflow.address[]);
INSERT INTO original VALUES
	(1, '0x', '0x0000000000000000000000000000000000000000', '{}', '{}'),
	(2, '0x00', '0xffffffffffffffffffffffffffffffffffffffff', '{0x,0x00,NULL}', '{0xffffffffffffffffffffffffffffffffffffffff,NULL}'),
	(3, NULL, NULL, NULL, NULL),
	(4, ('0x' || repeat('5c', 10000))::rflow.hex, '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', '{{0x5c,0x22},{0x0a,0x0d}}', NULL);
CREATE TABLE copied (LIKE original);

\copy original TO 'results/types_copy.text'
\copy original TO 'results/types_copy.csv' csv
\copy original TO 'results/types_copy.binary' binary

\copy copied FROM 'results/types_copy.text'
TABLE original EXCEPT TABLE copied;
SELECT count(*) FROM copied;
TRUNCATE copied;
\copy copied FROM 'results/types_copy.csv' csv
TABLE original EXCEPT TABLE copied;
SELECT count(*) FROM copied;
TRUNCATE copied;
\copy copied FROM 'results/types_copy.binary' binary
TABLE original EXCEPT TABLE copied;
SELECT count(*) FROM copied;

-- Binary input is checked: an address of another length is refused.
CREATE TABLE short (a bytea);
INSERT INTO short VALUES ('\x00');
CREATE TABLE addresses (a rflow.address);
\copy short TO 'results/types_copy.binary' binary
\copy addresses FROM 'results/types_copy.binary' binary
\set VERBOSITY sqlstate
\copy addresses FROM 'results/types_copy.binary' binary
\set VERBOSITY default
DROP TABLE original, copied, short, addresses;
