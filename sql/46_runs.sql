-- The halves of watchers and executors that carry the guarantees, for isolation tests. Schema rflow_private is closed to
-- all but superusers.

CREATE FUNCTION rflow_private.claim_log(
		cursor_id bigint, revision bigint, workflow text, version integer, key rflow.hex, block_number bigint) RETURNS boolean
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_claim_log';
COMMENT ON FUNCTION rflow_private.claim_log IS 'Claims an occurrence and moves the cursor behind its block, as a watcher does; true when the key is new. An error when the cursor is not at that revision';

CREATE FUNCTION rflow_private.settle_run(id uuid) RETURNS text
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_settle_run';
COMMENT ON FUNCTION rflow_private.settle_run IS 'Looks at what a run waits for, and writes what that makes of it, as an executor does; NULL when it is not due. An error when the run has changed meanwhile';
