-- Amounts: never rounded, from text and numeric, by number of decimals and by unit.
SELECT rflow.parse_units('1.5', 18) AS text, rflow.parse_units(1.5, 6) AS "numeric", rflow.parse_units('1.5') AS ether,
	   rflow.parse_units(2, 'gwei') AS gwei, rflow.parse_units('7', 'wei') AS wei, rflow.parse_units('-0.5', 1) AS negative,
	   rflow.parse_units('1.500', 1) AS trailing_zeros, rflow.parse_units('.5', '1') AS number_as_text;
SELECT rflow.format_units(1500000, 6) AS decimals, rflow.format_units(1500000000000000000) AS ether, rflow.format_units(1, 'gwei') AS gwei,
	   rflow.format_units(-1500000, 6) AS negative, rflow.format_units(0, 18) AS zero, rflow.format_units(100, 0) AS whole,
	   rflow.format_units(2::numeric ^ 256 - 1, 18) AS largest;
SELECT count(*) AS amounts, count(*) FILTER (WHERE rflow.parse_units(rflow.format_units(n, d), d) = n) AS same
FROM generate_series(0, 77, 7) e, generate_series(0, 255, 15) d, LATERAL (VALUES (10::numeric ^ e), (10::numeric ^ e - 1), (-(10::numeric ^ (e / 2)))) AS v(n);
SELECT rflow.parse_units(NULL::text, 18) AS null_amount, rflow.format_units(NULL, 18) AS null_value;

SELECT rflow.parse_units('1.23', 1);
SELECT rflow.parse_units(0.0000000000000000001);
SELECT rflow.parse_units('1e18', 18);
SELECT rflow.parse_units('', 18);
SELECT rflow.parse_units('1,5', 18);
SELECT rflow.parse_units('NaN'::numeric, 18);
SELECT rflow.parse_units('1', 'eth');
SELECT rflow.parse_units('1', 256);
SELECT rflow.parse_units('1', -1);
SELECT rflow.parse_units('1', 78);
SELECT rflow.format_units(1.5, 18);
SELECT rflow.format_units(2::numeric ^ 256, 18);
\set VERBOSITY sqlstate
SELECT rflow.parse_units('1.23', 1);
SELECT rflow.parse_units('', 18);
SELECT rflow.parse_units('1', 'eth');
SELECT rflow.parse_units('1', 256);
SELECT rflow.parse_units('1', 78);
SELECT rflow.format_units(1.5, 18);
