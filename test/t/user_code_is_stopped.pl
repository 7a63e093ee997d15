# A statement has a time limit, and a process whose statement ignores it ends: the step has failed then, the run is not
# tried again, and all else goes on.  A statement that brings the server down is not begun for ever.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowRuns;
use RflowTest;
use Test::More;

my $CANCELED = '57014 canceling statement due to statement timeout';
my $ENDED =
  '57014 user code went on after its time limit (rflow.statement_timeout), and the process had to end';

my $chain = start_anvil();
my $token = $chain->deploy_token;
my $node = new_node('main', conf => "rflow.executors = 1\nrflow.statement_timeout = '300ms'\n");

sub reason { my ($end) = @_; return "$end->{sqlstate} $end->{error}"; }

add_owner($node, 'alice');
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE TABLE log (what text);
CREATE FUNCTION stubborn(n integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		BEGIN
			PERFORM pg_sleep(60);
		EXCEPTION WHEN query_canceled THEN
			NULL;
		END;
	END LOOP;
END $$;
CREATE FUNCTION slow_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
CREATE TABLE deferred (a integer);
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON deferred DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION slow_at_commit();
SQL

# The limit.
is(reason(run_sql($node, 'alice', 'SELECT pg_sleep(60)')), $CANCELED, 'a statement');
is(reason(run_sql($node, 'alice', q{INSERT INTO log VALUES ('slow'); INSERT INTO deferred VALUES (1)})),
	$CANCELED, 'a deferred trigger');
is($node->safe_psql('postgres', 'SELECT count(*) FROM log'), '0', 'and nothing is left of it');
is(reason(run_as($node, 'alice', q{rflow.stop('stop', run_if => 'pg_sleep(60) IS NULL')})),
	$CANCELED, 'an expression');
my $restarts = q{SELECT restarts FROM rflow.workers WHERE kind = 'executor'};
is($node->safe_psql('postgres', $restarts), '0', 'all in one process');

# The second limit.
is(reason(run_sql($node, 'alice', q{INSERT INTO log VALUES ('stubborn'); SELECT stubborn(1)})), $ENDED,
	'a statement that ignores it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM log'), '0', 'is undone');
is(run_sql($node, 'alice', 'SELECT 1 AS n')->{result}, '{"n": 1}', 'another run');
is($node->safe_psql('postgres', $restarts), '1', 'goes on in another process');
my $run = start_run($node, 'alice',
	add_workflow($node, 'alice', q{rflow.sql('first', 'INSERT INTO log VALUES (''first'')'), rflow.stop('stop', run_if => 'stubborn(1)')}));
is(reason(end_of($node, $run)), $ENDED, 'an expression that ignores it');
is($node->safe_psql('postgres', "SELECT string_agg(step || ' ' || state || ' ' || attempt, ', ' ORDER BY position) FROM rflow_private.step_runs WHERE run_id = '$run'"),
	'first succeeded 1, stop failed 1', 'the step before it has been done');
is($node->safe_psql('postgres', 'SELECT count(*) FROM log'), '1', 'once');

# In a watcher nothing of the run is written yet: the workflow is disabled, with its place on the chain.
add_network($node, $chain);
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('token', 'local', '$token', rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)'));
SET ROLE alice;
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('good', rflow.on_event('token', 'Transfer'), 'event.value > 1', '[]'),
       ('stubborn', rflow.on_event('token', 'Transfer'), 'stubborn(log.log_index)', '[]');
SQL
poll_until($node, 'SELECT count(*) FROM rflow_private.subscriptions WHERE cursor_id IS NOT NULL', '2');
$chain->transfer($token, $ACCOUNTS[1], 2);
poll_until($node, q{SELECT enabled FROM rflow.workflows WHERE name = 'stubborn'}, 'f');
poll_until($node, q{SELECT state FROM rflow_private.workflow_runs WHERE workflow = 'good'}, 'succeeded');
is($node->safe_psql('postgres', q{SELECT kind, reason ~ '^user code went on after its time limit' FROM rflow_private.incidents}),
	'time-limit|t', 'an incident says why');
$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE FUNCTION stubborn(n integer) RETURNS boolean LANGUAGE sql AS 'SELECT true';
SELECT rflow.enable('stubborn', resume => 'cursor');
SQL
poll_until($node, q{SELECT state FROM rflow_private.workflow_runs WHERE workflow = 'stubborn'}, 'succeeded');

# Code that ends the process by itself: a setting that anyone may change makes an error fatal.
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE FUNCTION fatal(n integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('exit_on_error', 'on', false);
	RETURN 1 / (n - n) = 1;
END $$;
SQL
my $SELF_ENDED = '57014 user code has ended the process';
is(reason(run_sql($node, 'alice', 'SELECT fatal(1)')), $SELF_ENDED, 'a fatal statement');
is(reason(run_as($node, 'alice', q{rflow.stop('stop', run_if => 'fatal(1)')})), $SELF_ENDED, 'a fatal expression');
is(run_sql($node, 'alice', 'SELECT 1 AS n')->{result}, '{"n": 1}', 'another run goes on');
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('fatal', rflow.on_event('token', 'Transfer'), 'fatal(log.log_index)', '[]');
SQL
poll_until($node, q{SELECT cursor_id IS NOT NULL FROM rflow_private.subscriptions WHERE workflow = 'fatal'});
$chain->transfer($token, $ACCOUNTS[1], 2);
poll_until($node, q{SELECT enabled FROM rflow.workflows WHERE name = 'fatal'}, 'f');
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'good' AND state = 'succeeded'}, '2');
is($node->safe_psql('postgres', q{SELECT reason FROM rflow.stuck WHERE subject LIKE '%fatal%'}),
	'user code has ended the process', 'an incident says why');

# A server that goes down with each attempt.
$node->safe_psql('postgres', q{ALTER SYSTEM SET rflow.crash_point = 'execute-before-commit:abort'});
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
$run = start_run($node, 'alice', add_workflow($node, 'alice', q{rflow.sql('down', 'INSERT INTO log VALUES (''down'')')}));
is(reason(end_of($node, $run)),
	'57000 given up after 5 attempts: each time the process ended while the statement ran',
	'a statement that brings the server down');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET rflow.crash_point');
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
is($node->safe_psql('postgres', q{SELECT count(*) FROM log WHERE what = 'down'}), '0', 'has done nothing');

# A process that ends for another reason has its statement done by the next one, once.
$node->safe_psql('postgres', q{ALTER SYSTEM SET rflow.statement_timeout = '1min'});
$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
$run = start_run($node, 'alice', add_workflow($node, 'alice', q{rflow.sql('again', 'INSERT INTO log VALUES (''again''); SELECT pg_sleep(2)')}));
poll_until($node, "SELECT state FROM rflow_private.step_runs WHERE run_id = '$run'", 'waiting');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM rflow.workers WHERE kind = 'executor'});
is(end_of($node, $run)->{state}, 'succeeded', 'a terminated executor');
is($node->safe_psql('postgres', "SELECT attempt FROM rflow_private.step_runs WHERE run_id = '$run'"), '2', 'the second attempt');
is($node->safe_psql('postgres', q{SELECT count(*) FROM log WHERE what = 'again'}), '1', 'has done it once');

$node->stop;
$chain->stop;
done_testing();
