-- What the floor's worker reads and writes: orders, samples, and copies of the tables of a claim.
CREATE SCHEMA floor;
SET search_path = floor, rflow, pg_catalog;

CREATE TABLE orders (
	id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	series text NOT NULL,
	run_id uuid,              -- whose rows are committed; NULL: no commit
	start_at timestamptz NOT NULL,
	logs_params text,         -- of the eth_getLogs before it; NULL: nothing goes before it
	read_params text,         -- of the first batch of B
	send_params text[] NOT NULL,
	done boolean NOT NULL DEFAULT false
);

-- In microseconds.
CREATE TABLE samples (
	order_id integer PRIMARY KEY,
	calls integer NOT NULL,
	read_us double precision NOT NULL,
	send_us double precision NOT NULL,
	write_us double precision NOT NULL,
	commit_us double precision NOT NULL,
	measured_at timestamptz NOT NULL
);

CREATE TABLE blocks (LIKE rflow_private.blocks INCLUDING ALL);
CREATE TABLE cursors (LIKE rflow_private.cursors INCLUDING ALL);
CREATE TABLE occurrences (LIKE rflow_private.occurrences INCLUDING ALL);
CREATE TABLE workflow_runs (LIKE rflow_private.workflow_runs INCLUDING ALL);
CREATE TABLE step_runs (LIKE rflow_private.step_runs INCLUDING ALL);
CREATE TABLE relayer_transactions (LIKE rflow_private.relayer_transactions INCLUDING ALL);
CREATE TABLE due (LIKE rflow_private.due INCLUDING ALL);

INSERT INTO cursors (id, network, ceiling, next_block) VALUES (1, 'local', 'head', 0);

CREATE FUNCTION launch(url text) RETURNS integer LANGUAGE c STRICT AS 'rflow_floor', 'floor_launch';
CREATE FUNCTION wake(pid integer) RETURNS void LANGUAGE c STRICT AS 'rflow_floor', 'floor_wake';
