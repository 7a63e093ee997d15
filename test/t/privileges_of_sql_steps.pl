# A sql step has the rights of the workflow's owner and no others, whatever it tries, and leaves nothing in the session
# that the next owner's step could find.  One executor serves both owners.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowRuns;
use RflowTest;
use Test::More;

my $node = new_node('main', conf => "rflow.executors = 1\nrflow.statement_timeout = '2s'\n");

add_owner($node, $_) for 'alice', 'bob';
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE secret (a integer);
CREATE TABLE witness (who text, super boolean);
GRANT INSERT, SELECT ON witness TO PUBLIC;
GRANT USAGE ON SCHEMA rflow_private TO alice;
SQL

my $superuser = q{SELECT rolsuper FROM pg_roles WHERE rolname = current_user};

# Who it is.
my $end = run_sql($node, 'alice', "SELECT current_user, ($superuser) AS super");
is($end->{result}, '{"super": false, "current_user": "alice"}', 'a step runs as its owner');
is(run_sql($node, 'alice', 'SELECT a FROM secret')->{error}, 'permission denied for table secret',
	'and has no more rights');
is(run_sql($node, 'alice', 'DELETE FROM rflow_private.workflow_runs')->{error},
	'permission denied for table workflow_runs', 'on our tables neither');

# Becoming somebody else.
for my $attempt ('SET ROLE postgres', 'RESET ROLE', 'SET SESSION AUTHORIZATION postgres', 'RESET SESSION AUTHORIZATION')
{
	$end = run_sql($node, 'alice', "$attempt; INSERT INTO witness SELECT current_user, ($superuser)");
	like($end->{error}, qr/^cannot set parameter "(role|session_authorization)" within security-definer function$/,
		"$attempt is refused");
}
$end = run_sql($node, 'alice', q{SELECT set_config('role', 'postgres', false); INSERT INTO secret VALUES (1)});
like($end->{error}, qr/^cannot set parameter "role"/, 'set_config of the role is refused');
$end = run_sql($node, 'alice', q{DO $$ BEGIN EXECUTE 'SET ROLE postgres'; EXCEPTION WHEN OTHERS THEN
	INSERT INTO witness SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user); END $$});
is($end->{state}, 'succeeded', 'an error that is caught');
is($node->safe_psql('postgres', 'SELECT * FROM witness; TRUNCATE witness'), 'alice|f', 'changes nothing');
like(run_sql($node, 'alice', q{COPY witness TO PROGRAM 'cat'})->{error}, qr/^must be superuser or (a member|have privileges) of/,
	'no programs');
like(run_sql($node, 'alice', 'ALTER SYSTEM SET work_mem = 100')->{error}, qr/^ALTER SYSTEM cannot be executed from a function$/,
	'no settings of the server');

# A trigger that waits for the commit.
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE TABLE orders (a integer);
CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO witness SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
	IF new.a < 0 THEN
		RAISE EXCEPTION 'orders are positive' USING ERRCODE = 'check_violation';
	END IF;
	IF new.a > 10 THEN
		SET CONSTRAINTS ALL DEFERRED;
		INSERT INTO orders VALUES (new.a - 10);
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER spy AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION spy();
SQL
is(run_sql($node, 'alice', 'INSERT INTO orders VALUES (1)')->{state}, 'succeeded', 'a deferred trigger');
is($node->safe_psql('postgres', 'SELECT * FROM witness; TRUNCATE witness'), 'alice|f', 'runs as the owner');
is(run_sql($node, 'alice', 'INSERT INTO orders VALUES (21)')->{state}, 'succeeded', 'one that defers again');
is($node->safe_psql('postgres', 'SELECT DISTINCT * FROM witness; TRUNCATE witness'), 'alice|f', 'does too');
$end = run_sql($node, 'alice', 'INSERT INTO orders VALUES (-1)');
is("$end->{sqlstate} $end->{error}", '23514 orders are positive', 'its error is the error of the step');
is($node->safe_psql('postgres', 'SELECT string_agg(a::text, $$,$$ ORDER BY a) FROM orders'), '1,1,11,21',
	'and the statement was undone');
$node->safe_psql('postgres', 'TRUNCATE witness');

# A cursor that is materialised at the commit.
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE FUNCTION note() RETURNS text LANGUAGE sql AS
	'INSERT INTO witness SELECT current_user, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user); SELECT $$x$$';
SQL
is(run_sql($node, 'alice', 'DECLARE held CURSOR WITH HOLD FOR SELECT note() FROM generate_series(1, 2)')->{state},
	'succeeded', 'a held cursor');
is($node->safe_psql('postgres', 'SELECT count(*) FROM witness WHERE super'), '0', 'does not run as somebody else');

# What bob finds after alice.
$node->safe_psql('postgres', 'CREATE SEQUENCE alices', extra_params => [ '-U', 'alice' ]);
run_sql($node, 'alice', <<'SQL');
SELECT set_config('search_path', 'public, pg_catalog', false), set_config('my.secret', 'alice', false), set_config('work_mem', '99MB', false);
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;
SET synchronous_commit = off;
SELECT pg_advisory_lock(42);
PREPARE left_behind AS SELECT 1;
CREATE TEMP TABLE left_behind (a integer);
CREATE FUNCTION pg_temp.left_behind() RETURNS integer LANGUAGE sql AS 'SELECT 1';
SELECT nextval('alices');
DECLARE left_behind CURSOR WITH HOLD FOR SELECT 1
SQL
$end = run_sql($node, 'bob', <<'SQL');
SELECT current_setting('work_mem') <> '99MB' AS settings, coalesce(current_setting('my.secret', true), '') = '' AS secret,
	current_setting('default_transaction_read_only') = 'off' AS read_only,
	current_setting('synchronous_commit') = 'on' AS synchronous,
	(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
	(SELECT count(*) FROM pg_prepared_statements) AS statements,
	(SELECT count(*) FROM pg_cursors) AS cursors,
	(SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()) AS tables,
	(SELECT count(*) FROM pg_proc WHERE pronamespace = pg_my_temp_schema()) AS functions
SQL
is($end->{result},
	'{"locks": 0, "secret": true, "tables": 0, "cursors": 0, "settings": true, "functions": 0, "read_only": true, "statements": 0, "synchronous": true}',
	'bob finds nothing of what alice left');
is(run_sql($node, 'bob', 'SELECT lastval()')->{error}, 'lastval is not yet defined in this session', 'not even a sequence value');

# A failed step leaves nothing either.
$end = run_sql($node, 'alice', 'SELECT pg_advisory_lock(43); PREPARE left_behind AS SELECT 1; SELECT 1 / 0');
is($end->{error}, 'division by zero', 'a failed step');
$end = run_sql($node, 'bob', <<'SQL');
SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
	(SELECT count(*) FROM pg_prepared_statements) AS statements
SQL
is($end->{result}, '{"locks": 0, "statements": 0}', 'leaves nothing either');

# Names that hide ours, and those of the catalog.
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.now()';
CREATE FUNCTION public.left(text, integer) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO witness VALUES ('hidden', true); RETURN $1; END $$;
CREATE FUNCTION public.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO witness VALUES ('hidden', true); RETURN; END $$;
CREATE FUNCTION public.equals(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO witness VALUES ('hidden', true); RETURN true; END $$;
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.equals);
CREATE TABLE public.workflow_runs (id uuid);
CREATE TABLE public.due (id uuid);
SQL
$node->safe_psql('postgres', 'TRUNCATE witness');
$end = run_sql($node, 'alice', 'SET search_path = public, pg_catalog; CREATE TEMP TABLE step_runs (a integer); CREATE TEMP TABLE due (a integer)');
is($end->{state}, 'succeeded', 'tables named like ours');
is(run_sql($node, 'bob', 'SELECT 1 AS n')->{result}, '{"n": 1}', 'hide nothing');
is($node->safe_psql('postgres', q{SELECT count(*) FROM witness WHERE who OPERATOR(pg_catalog.=) 'hidden'}), '0',
	'functions and operators of others are not called by us');

is($node->safe_psql('postgres', 'SELECT string_agg(restarts::text, $$,$$) FROM rflow.workers WHERE kind = $$executor$$'),
	'0', 'all in one process');
$node->stop;
done_testing();
