-- Reorganisations: runs whose block was replaced are detached and held, re-attached when their event is on the chain
-- again, and retracted when it does not come back. src/chain/README.md tells the story.
--
-- Order of locks: runs by id, then transactions by id, but never waiting for one of those: what somebody else holds is done
-- at the next head. Until then the mark of its run keeps the relayer from signing it.

CREATE FUNCTION rflow_private.hold_sends(on_network text) RETURNS void
	LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH held AS MATERIALIZED (
		SELECT t.id, t.relayer, t.due_at
		FROM rflow_private.workflow_runs r
		JOIN rflow_private.step_runs s ON s.run_id = r.id
		JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
		WHERE r.network = on_network AND r.detached_at IS NOT NULL
			AND t.state = 'queued' AND t.due_at < 'infinity'
		ORDER BY t.id
		FOR UPDATE OF t SKIP LOCKED),
	taken AS (
		DELETE FROM rflow_private.due d
		USING held h
		WHERE d.kind = 'send' AND d.owner = h.relayer AND d.wake_at = h.due_at AND d.id = lpad(h.id::text, 19, '0')),
	put_back AS (
		INSERT INTO rflow_private.due (kind, owner, wake_at, id)
		SELECT 'send', h.relayer, 'infinity', lpad(h.id::text, 19, '0') FROM held h)
	UPDATE rflow_private.relayer_transactions t
		SET due_at = 'infinity', reason = 'held: the block of the event that caused it was replaced'
		FROM held h
		WHERE t.id = h.id;
END;
COMMENT ON FUNCTION rflow_private.hold_sends(text) IS 'Puts the unsigned sends of detached runs where no relayer takes them';

CREATE FUNCTION rflow_private.release_sends(on_network text) RETURNS bigint
	LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH back AS MATERIALIZED (
		SELECT t.id, t.relayer
		FROM rflow.relayers l
		JOIN rflow_private.due d ON d.kind = 'send' AND d.owner = l.name AND d.wake_at = 'infinity'
		JOIN rflow_private.relayer_transactions t ON t.id = d.id::bigint
		JOIN rflow_private.workflow_runs r ON r.id = t.run_id
		WHERE r.network = on_network AND r.detached_at IS NULL AND t.state = 'queued' AND t.due_at = 'infinity'
			AND t.intent = 'send'
		ORDER BY t.id
		FOR UPDATE OF t SKIP LOCKED),
	taken AS (
		DELETE FROM rflow_private.due d
		USING back b
		WHERE d.kind = 'send' AND d.owner = b.relayer AND d.wake_at = 'infinity' AND d.id = lpad(b.id::text, 19, '0')),
	put_back AS (
		INSERT INTO rflow_private.due (kind, owner, wake_at, id)
		SELECT 'send', b.relayer, '-infinity', lpad(b.id::text, 19, '0') FROM back b),
	released AS (
		UPDATE rflow_private.relayer_transactions t
		SET due_at = '-infinity', reason = NULL
		FROM back b
		WHERE t.id = b.id
		RETURNING t.id)
	SELECT count(*) FROM released;
END;
COMMENT ON FUNCTION rflow_private.release_sends(text) IS 'Puts sends of runs that are attached again back into the queue';

CREATE FUNCTION rflow_private.detach_runs(on_network text, fork bigint, old_head bigint, new_head bigint, new_hash rflow.hex) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	until bigint := old_head + greatest(2 * (old_head - fork), 3);
	reorg bigint;
	found_runs bigint;
BEGIN
	INSERT INTO rflow_private.reorgs (network, at, fork_number, old_head_number, old_head_hash, new_head_number, new_head_hash)
	VALUES (on_network, clock_timestamp(), fork, old_head,
		(SELECT b.hash FROM rflow_private.blocks b WHERE b.network = on_network AND b.number = old_head), new_head, new_hash)
	RETURNING id INTO reorg;
	-- What is held already may be in the newest branch.
	UPDATE rflow_private.workflow_runs r
		SET detached_until = greatest(r.detached_until, until)
		WHERE r.network = on_network AND r.detached_at IS NOT NULL;
	-- The revision makes whoever has one of them in hand throw away what it has computed.
	WITH gone AS MATERIALIZED (
		SELECT r.id
		FROM rflow_private.workflow_runs r
		LEFT JOIN rflow.workflow_versions v ON v.workflow = r.workflow AND v.version = r.version
		WHERE r.network = on_network AND r.block_number BETWEEN fork + 1 AND old_head
			AND r.detached_at IS NULL AND r.retracted_at IS NULL
			AND v.definition->'trigger'->>'on_reorg' IS DISTINCT FROM 'ignore'
		ORDER BY r.id
		FOR UPDATE OF r)
	UPDATE rflow_private.workflow_runs r
		SET reorg_id = reorg, detached_at = clock_timestamp(), detached_until = until, revision = r.revision + 1
		FROM gone
		WHERE r.id = gone.id;
	GET DIAGNOSTICS found_runs = ROW_COUNT;
	UPDATE rflow_private.reorgs SET detached = found_runs WHERE id = reorg;
	PERFORM rflow_private.hold_sends(on_network);
	RETURN found_runs;
END
$$;
COMMENT ON FUNCTION rflow_private.detach_runs(text, bigint, bigint, bigint, rflow.hex) IS 'Records a reorganisation, marks the runs of the blocks that it replaces, and holds their unsigned sends; before these blocks are deleted';

CREATE FUNCTION rflow_private.reattach_run(run uuid, number bigint, hash rflow.hex, at timestamptz, index_of_transaction integer, index_of_log integer) RETURNS boolean
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r rflow_private.workflow_runs;
BEGIN
	SELECT w.* INTO r
		FROM rflow_private.workflow_runs w
		WHERE w.id = run AND (w.detached_at IS NOT NULL OR w.retracted_at IS NOT NULL)
		FOR UPDATE;
	IF r.id IS NULL THEN
		RETURN false;
	END IF;
	UPDATE rflow_private.workflow_runs w
		SET detached_at = NULL, detached_until = NULL, retracted_at = NULL, undone = NULL, revision = w.revision + 1,
			block_number = number, block_hash = hash, block_timestamp = at, transaction_index = index_of_transaction,
			log_index = index_of_log, after = CASE WHEN w.retracted_at IS NULL OR w.undone THEN w.after END
		WHERE w.id = run;
	UPDATE rflow_private.incidents i
		SET resolved_at = clock_timestamp()
		WHERE r.retracted_at IS NOT NULL AND i.kind = 'retracted' AND i.subject = 'run ' || run AND i.resolved_at IS NULL;
	UPDATE rflow_private.reorgs g
		SET reattached = g.reattached + 1, retracted = g.retracted - (r.retracted_at IS NOT NULL)::integer
		WHERE g.id = r.reorg_id;
	-- What it waited for may have happened meanwhile; nobody tells it again.
	IF r.state IN ('ready', 'waiting') THEN
		INSERT INTO rflow_private.due (kind, owner, wake_at, id)
		VALUES ('run', left(run::text, 1), clock_timestamp(), run::text)
		ON CONFLICT DO NOTHING;
	END IF;
	PERFORM rflow_private.release_sends(r.network);
	RETURN true;
END
$$;
COMMENT ON FUNCTION rflow_private.reattach_run(uuid, bigint, rflow.hex, timestamptz, integer, integer) IS 'The event of a run is on the chain, in this block: the run goes on where it was, and so do its sends';

-- What was queued in the place of a send may be mined as well as the send.
CREATE FUNCTION rflow_private.sends_of_run(run uuid) RETURNS SETOF rflow_private.relayer_transactions
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT t.*
	FROM rflow_private.step_runs s
	JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
	WHERE s.run_id = run
	UNION ALL
	SELECT n.*
	FROM rflow_private.step_runs s
	JOIN rflow_private.relayer_transactions t ON t.id = s.transaction_id
	JOIN rflow_private.relayer_transactions n ON n.id = t.replaced_by
	WHERE s.run_id = run;
END;
COMMENT ON FUNCTION rflow_private.sends_of_run(uuid) IS 'The transactions of a run''s steps, and those that are to be mined in the place of one';

CREATE FUNCTION rflow_private.retract_run(run uuid, why text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r rflow_private.workflow_runs;
	t record;
	ids bigint[] := '{}';
	replacements bigint[] := '{}';
	given_up bigint[];
	moment timestamptz := clock_timestamp();
	failure jsonb := jsonb_build_object('sqlstate', '57014', 'message', why);
	ends boolean;
BEGIN
	SELECT w.* INTO r FROM rflow_private.workflow_runs w WHERE w.id = run AND w.detached_at IS NOT NULL FOR UPDATE;
	IF r.id IS NULL THEN
		RETURN false;
	END IF;
	FOR t IN
		SELECT x.id, x.replaced_by
		FROM rflow_private.step_runs s
		JOIN rflow_private.relayer_transactions x ON x.id = s.transaction_id
		WHERE s.run_id = run
		ORDER BY x.id
		FOR UPDATE OF x SKIP LOCKED
	LOOP
		ids := ids || t.id;
		replacements := array_remove(replacements || t.replaced_by, NULL);
	END LOOP;
	IF cardinality(ids) < (SELECT count(*) FROM rflow_private.step_runs s WHERE s.run_id = run AND s.transaction_id IS NOT NULL) THEN
		RETURN false;
	END IF;
	-- A replacement is made under the lock of what it replaces, so there is no other one by now.
	FOR t IN
		SELECT x.id
		FROM rflow_private.relayer_transactions x
		WHERE x.id = ANY (replacements)
		ORDER BY x.id
		FOR UPDATE OF x SKIP LOCKED
	LOOP
		ids := ids || t.id;
		replacements := array_remove(replacements, t.id);
	END LOOP;
	IF cardinality(replacements) > 0 THEN
		RETURN false;
	END IF;

	WITH ended AS (
		UPDATE rflow_private.relayer_transactions x
		SET state = 'cancelled', intent = 'cancel', reason = why, state_since = moment
		WHERE x.id = ANY (ids) AND x.state = 'queued'
		RETURNING x.id, x.relayer, x.due_at),
	taken AS (
		DELETE FROM rflow_private.due d
		USING ended e
		WHERE d.kind = 'send' AND d.owner = e.relayer AND d.wake_at = e.due_at AND d.id = lpad(e.id::text, 19, '0')),
	cancelled AS (
		UPDATE rflow_private.relayer_transactions x
		SET intent = 'cancel', replaced_by = NULL, reason = why || '; a no-op is to take its nonce'
		WHERE x.id = ANY (ids) AND x.state IN ('signed', 'broadcast')
			-- One that is being replaced is left to its replacement, once that has a payload at the nonce.
			AND (x.intent = 'send' OR x.intent = 'replace' AND EXISTS (SELECT
				FROM rflow_private.relayer_transactions n
				WHERE n.id = x.replaced_by AND n.state = 'queued'))
		RETURNING x.id)
	SELECT array_agg(e.id) INTO given_up FROM (SELECT id FROM ended UNION ALL SELECT id FROM cancelled) e;

	ends := r.state IN ('queued', 'ready', 'waiting');
	UPDATE rflow_private.workflow_runs w
		SET retracted_at = moment, detached_at = NULL, detached_until = NULL, revision = w.revision + 1,
			undone = ends OR given_up IS NOT NULL,
			state = CASE WHEN ends THEN 'cancelled' ELSE w.state END,
			error = CASE WHEN ends THEN failure ELSE w.error END,
			after = CASE WHEN ends THEN w.after ELSE why END,
			finished_at = CASE WHEN ends THEN moment ELSE w.finished_at END
		WHERE w.id = run;
	UPDATE rflow_private.step_runs s
		SET state = 'failed', error = failure, finished_at = moment
		WHERE s.run_id = run AND s.state = 'waiting';
	UPDATE rflow_private.reorgs g SET retracted = g.retracted + 1 WHERE g.id = r.reorg_id;

	-- Somebody has to know of what was sent for nothing.
	INSERT INTO rflow_private.incidents (kind, network, workflow, subject, reason, what_to_do)
	SELECT 'retracted', r.network, r.workflow, 'run ' || run,
		why || ', and ' || string_agg(format('transaction %s is %s', x.id, x.state), ', ' ORDER BY x.id),
		'What is mined stays: settle it by hand where it must not be. What is not is taken back by a no-op, if that comes first'
	FROM rflow_private.relayer_transactions x
	WHERE x.id = ANY (ids) AND x.state IN ('signed', 'broadcast', 'mined', 'confirmed')
	HAVING count(*) > 0
	ON CONFLICT (kind, subject) DO UPDATE SET reason = EXCLUDED.reason, since = EXCLUDED.since, resolved_at = NULL;
	RETURN true;
END
$$;
COMMENT ON FUNCTION rflow_private.retract_run(uuid, text) IS 'The event of a detached run has gone: the run is cancelled, its unsigned sends too, and what is signed and not mined is to be taken back. False when somebody has locked one of its sends';

-- The newest incarnation of an occurrence.
CREATE FUNCTION rflow_private.newest_incarnation(first_run uuid) RETURNS rflow_private.workflow_runs
	LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT i.*
	FROM (
		SELECT r.* FROM rflow_private.workflow_runs r WHERE r.id = first_run
		UNION ALL
		SELECT r.* FROM rflow_private.workflow_runs r WHERE r.origin = first_run) i
	ORDER BY i.incarnation DESC
	LIMIT 1;
END;
COMMENT ON FUNCTION rflow_private.newest_incarnation(uuid) IS 'The newest run of an occurrence whose first run is given';

-- Nothing of a new incarnation begins before it is certain what became of the sends of the one before.
CREATE FUNCTION rflow_private.decide_returns(on_network text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	next_run rflow_private.workflow_runs;
	former rflow_private.workflow_runs;
	undecided boolean;
	effect boolean;
	decided bigint := 0;
	moment timestamptz := clock_timestamp();
BEGIN
	FOR next_run IN
		SELECT r.*
		FROM rflow_private.workflow_runs r
		WHERE r.network = on_network AND r.follows IS NOT NULL AND r.state = 'queued' AND r.detached_at IS NULL
		ORDER BY r.id
		FOR UPDATE
	LOOP
		SELECT r.* INTO former FROM rflow_private.workflow_runs r WHERE r.id = next_run.follows FOR UPDATE;
		SELECT coalesce(bool_or(t.state IN ('queued', 'signed', 'broadcast', 'mined')), false), coalesce(bool_or(t.state = 'confirmed'), false)
			INTO undecided, effect
			FROM rflow_private.sends_of_run(former.id) t;
		CONTINUE WHEN undecided;
		decided := decided + 1;
		IF NOT effect THEN
			UPDATE rflow_private.workflow_runs r
				SET state = 'ready', follows = NULL, revision = r.revision + 1
				WHERE r.id = next_run.id;
			INSERT INTO rflow_private.due (kind, owner, wake_at, id)
			VALUES ('run', left(next_run.id::text, 1), moment, next_run.id::text)
			ON CONFLICT DO NOTHING;
		ELSIF next_run.transaction_hash = former.transaction_hash AND next_run.event IS NOT DISTINCT FROM former.event THEN
			PERFORM rflow_private.resume_run(former.id);
			DELETE FROM rflow_private.workflow_runs r WHERE r.id = next_run.id;
			PERFORM rflow_private.reattach_run(former.id, next_run.block_number, next_run.block_hash, next_run.block_timestamp,
				next_run.transaction_index, next_run.log_index);
		ELSE
			UPDATE rflow_private.workflow_runs r
				SET state = 'cancelled', finished_at = moment, revision = r.revision + 1,
					error = jsonb_build_object('sqlstate', '57014', 'message',
						format('a transaction of run %s, which was for another event with the same once_per, has been mined', former.id))
				WHERE r.id = next_run.id;
		END IF;
	END LOOP;
	RETURN decided;
END
$$;
COMMENT ON FUNCTION rflow_private.decide_returns(text) IS 'Starts incarnations when nothing of the one before can be mined any more, and goes on with the one before where something was mined';

CREATE FUNCTION rflow_private.resume_run(run uuid) RETURNS void
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	r rflow_private.workflow_runs;
BEGIN
	SELECT w.* INTO r FROM rflow_private.workflow_runs w WHERE w.id = run FOR UPDATE;
	WITH again AS (
		UPDATE rflow_private.relayer_transactions t
		SET state = 'queued', state_since = clock_timestamp(), due_at = '-infinity',
			intent = CASE WHEN a.transaction_id IS NULL THEN 'send' ELSE 'adopt' END,
			reason = 'held: outside transaction ' || a.transaction_hash || ' is looked for, which it is to become'
		FROM rflow_private.step_runs s
		LEFT JOIN rflow_private.adoptions a ON a.transaction_id = s.transaction_id
		WHERE s.run_id = run AND t.id = s.transaction_id AND t.state = 'cancelled' AND t.nonce IS NULL
			AND t.state_since = r.retracted_at
		RETURNING t.id, t.relayer, t.network, t.valid_until)
	INSERT INTO rflow_private.due (kind, owner, wake_at, id)
	SELECT 'send', a.relayer, '-infinity', lpad(a.id::text, 19, '0') FROM again a
	UNION ALL
	SELECT 'expire', a.network, a.valid_until, lpad(a.id::text, 19, '0') FROM again a WHERE a.valid_until IS NOT NULL
	ON CONFLICT DO NOTHING;
	IF r.finished_at IS DISTINCT FROM r.retracted_at THEN
		UPDATE rflow_private.workflow_runs w SET after = NULL WHERE w.id = run;
		RETURN;
	END IF;
	UPDATE rflow_private.step_runs s
		SET state = 'waiting', error = NULL, finished_at = NULL
		WHERE s.run_id = run AND s.state = 'failed' AND s.finished_at = r.retracted_at;
	UPDATE rflow_private.workflow_runs w
		SET state = CASE WHEN EXISTS (SELECT
				FROM rflow_private.step_runs s
				WHERE s.run_id = run AND s.state = 'waiting' AND s.transaction_id IS NOT NULL) THEN 'waiting' ELSE 'ready' END,
			error = NULL, finished_at = NULL
		WHERE w.id = run;
END
$$;
COMMENT ON FUNCTION rflow_private.resume_run(uuid) IS 'Undoes a retraction: the run stands where it stood, and what it had queued is queued again';

-- An occurrence whose run is not attached is claimed once more; the claim has found that its key is known.
CREATE FUNCTION rflow_private.return_run(first_run uuid, new_version integer, number bigint, hash rflow.hex, at timestamptz,
		in_transaction rflow.hex, index_of_transaction integer, index_of_log integer, emitter rflow.address, new_event jsonb,
		seen_at timestamptz) RETURNS boolean
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	former rflow_private.workflow_runs := rflow_private.newest_incarnation(first_run);
	same boolean := former.transaction_hash = in_transaction AND former.address = emitter AND former.event IS NOT DISTINCT FROM new_event;
	next_id uuid;
BEGIN
	IF same AND (former.detached_at IS NOT NULL OR NOT former.undone) THEN
		RETURN rflow_private.reattach_run(former.id, number, hash, at, index_of_transaction, index_of_log);
	END IF;
	IF former.detached_at IS NOT NULL
		AND NOT rflow_private.retract_run(former.id, 'retracted: another event with the same once_per has come in its place') THEN
		RAISE EXCEPTION USING errcode = 'lock_not_available',
			message = format('run %s has to be retracted, but one of its transactions is locked', former.id);
	END IF;
	next_id := encode(substr(rflow.keccak256((uuid_send(former.id) || int4send(former.incarnation + 1))::rflow.hex)::bytea, 1, 16), 'hex')::uuid;
	INSERT INTO rflow_private.workflow_runs (id, workflow, version, incarnation, owner, state, network, block_number, block_hash,
		block_timestamp, transaction_hash, transaction_index, log_index, address, event, created_at, reorg_id, origin, follows)
	SELECT next_id, former.workflow, new_version, former.incarnation + 1, v.owner, 'queued', former.network, number, hash,
		at, in_transaction, index_of_transaction, index_of_log, emitter, new_event, seen_at, former.reorg_id, first_run,
		CASE WHEN former.state = 'cancelled' AND former.follows IS NOT NULL THEN former.follows ELSE former.id END
	FROM rflow.workflow_versions v
	WHERE v.workflow = former.workflow AND v.version = new_version;
	PERFORM rflow_private.decide_returns(former.network);
	RETURN true;
END
$$;
COMMENT ON FUNCTION rflow_private.return_run(uuid, integer, bigint, rflow.hex, timestamptz, rflow.hex, integer, integer, rflow.address, jsonb, timestamptz) IS
	'An event has come back after its run was retracted: the run stands where the retraction had nothing to undo; otherwise there is a new incarnation, which waits until the sends of the one before are final';

CREATE FUNCTION rflow_private.settle_reorgs(on_network text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM rflow_private.hold_sends(on_network);
	RETURN rflow_private.release_sends(on_network) + rflow_private.decide_returns(on_network);
END
$$;
COMMENT ON FUNCTION rflow_private.settle_reorgs(text) IS 'What was left to do since the last head: sends to hold or to release, incarnations to start. Returns how many went on';

-- The new head is not known yet.
CREATE FUNCTION rflow_private.forget_branch(on_network text, from_block bigint) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	old_head bigint := (SELECT max(b.number) FROM rflow_private.blocks b WHERE b.network = on_network);
	found_runs bigint;
BEGIN
	IF from_block > old_head THEN
		RAISE EXCEPTION USING errcode = 'numeric_value_out_of_range',
			message = format('the newest block that was followed is %s', old_head);
	END IF;
	found_runs := rflow_private.detach_runs(on_network, from_block - 1, old_head, NULL, NULL);
	DELETE FROM rflow_private.blocks b WHERE b.network = on_network;
	UPDATE rflow_private.cursors c
		SET next_block = from_block, next_log = 0, revision = c.revision + 1
		WHERE c.network = on_network AND c.next_block > from_block;
	RETURN found_runs;
END
$$;
COMMENT ON FUNCTION rflow_private.forget_branch(text, bigint) IS 'Gives up what was followed of a network from a block on, and reads from there again';

CREATE FUNCTION rflow.accept_branch(network text, from_block bigint, reason text DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'rflow_accept_branch';
COMMENT ON FUNCTION rflow.accept_branch(text, bigint, text) IS
	'Lets a network that is halted by a reorganisation deeper than the headers that are kept follow the node''s branch: events are read again from from_block, the first one that was replaced. Returns how many runs were detached. For operators';

-- A workflow that is not read any more does not keep its runs held for ever: the node is asked for each before it is retracted.
CREATE VIEW rflow_private.retractable_runs AS
SELECT r.id, coalesce(r.origin, r.id) AS first_run, r.network, r.workflow, r.block_number, r.block_hash, r.transaction_hash, r.address
FROM rflow_private.workflow_runs r
LEFT JOIN rflow.workflows w ON w.name = r.workflow AND w.enabled
LEFT JOIN rflow_private.subscriptions s ON s.workflow = w.name AND s.network = r.network
LEFT JOIN rflow_private.cursors c ON c.id = s.cursor_id
WHERE r.detached_at IS NOT NULL
	AND CASE
		WHEN c.id IS NOT NULL THEN c.next_block
		ELSE (SELECT max(b.number) FROM rflow_private.blocks b WHERE b.network = r.network)
	END > r.detached_until;
COMMENT ON VIEW rflow_private.retractable_runs IS 'Detached runs whose grace is over';

CREATE VIEW rflow.reorgs AS
SELECT g.network, g.at, g.old_head_number - g.fork_number AS depth, g.fork_number AS fork,
	g.old_head_number AS from_number, g.old_head_hash AS from_hash, g.new_head_number AS to_number, g.new_head_hash AS to_hash,
	g.detached, g.reattached, g.retracted,
	(SELECT count(*)::integer
		FROM rflow_private.workflow_runs r
		WHERE r.network = g.network AND r.detached_at IS NOT NULL AND r.reorg_id = g.id) AS held
FROM rflow_private.reorgs g;
COMMENT ON VIEW rflow.reorgs IS 'Reorganisations that were followed, and what became of the runs of the blocks that they replaced';
COMMENT ON COLUMN rflow.reorgs.network IS 'The network';
COMMENT ON COLUMN rflow.reorgs.at IS 'When it was followed';
COMMENT ON COLUMN rflow.reorgs.depth IS 'How many blocks were replaced';
COMMENT ON COLUMN rflow.reorgs.fork IS 'The highest block that stayed';
COMMENT ON COLUMN rflow.reorgs.from_number IS 'Height of the head before';
COMMENT ON COLUMN rflow.reorgs.from_hash IS 'Hash of the head before';
COMMENT ON COLUMN rflow.reorgs.to_number IS 'Height of the head after; NULL where rflow.accept_branch() was called';
COMMENT ON COLUMN rflow.reorgs.to_hash IS 'Hash of the head after';
COMMENT ON COLUMN rflow.reorgs.detached IS 'Runs whose block was replaced: they and their unsigned sends were held';
COMMENT ON COLUMN rflow.reorgs.reattached IS 'Of those, how many went on since their event was in the new blocks, too';
COMMENT ON COLUMN rflow.reorgs.retracted IS 'Of those, how many were cancelled since it was not';
COMMENT ON COLUMN rflow.reorgs.held IS 'Of those, how many are held until the new blocks have been read';
GRANT SELECT ON rflow.reorgs TO PUBLIC;
