# A sql step and what it writes are one transaction: with the journal, with what the run does next, and with nothing where
# it fails.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowRuns;
use RflowTest;
use Test::More;

my $node = new_node('main');

add_owner($node, 'alice');
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE TABLE notes (what text PRIMARY KEY, transaction xid8 DEFAULT pg_current_xact_id());
CREATE TABLE parents (id integer PRIMARY KEY);
CREATE TABLE children (parent integer REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE slots (a integer);
INSERT INTO slots VALUES (1), (2);
SQL

# Results.
is(run_sql($node, 'alice', q{SELECT 1 AS a, 'x' AS b, NULL AS c, ARRAY[1, 2] AS d, 12345678901234567890 AS e, now() IS NOT NULL AS f})->{result},
	'{"a": 1, "b": "x", "c": null, "d": [1, 2], "e": 12345678901234567890, "f": true}', 'the first row');
is(run_sql($node, 'alice', 'SELECT g FROM generate_series(5, 9) g')->{result}, '{"g": 5}', 'of several');
is(run_sql($node, 'alice', 'SELECT 1 WHERE false')->{result}, undef, 'none');
is(run_sql($node, 'alice', 'SELECT 1 AS one; SELECT 2 AS two')->{result}, '{"two": 2}', 'of the last statement');
is(run_sql($node, 'alice', q{INSERT INTO notes VALUES ('a'), ('b') RETURNING what})->{result}, '{"what": "a"}', 'of RETURNING');
is(run_sql($node, 'alice', 'SHOW work_mem')->{result}, '{"work_mem": "4MB"}', 'of a command');
like(run_sql($node, 'alice', q{SELECT repeat('x', 2000000)})->{error}, qr/^the row that the statement returns is larger than/, 'not too large');
is( run_as($node, 'alice', q{
	rflow.sql('a', 'UPDATE notes SET what = what || ''!'''), rflow.sql('b', 'SELECT 1 WHERE false'), rflow.sql('c', 'SELECT 7 AS n FROM generate_series(1, 3)'),
	rflow.sql('d', 'SELECT a.row_count AS a, a.result AS ar, b.row_count AS b, b.result AS br, c.row_count AS c, (c.result->>''n'')::int + 1 AS cr')})->{result},
	'{"a": 2, "b": 0, "c": 3, "ar": null, "br": null, "cr": 8}', 'later steps see row_count and result');

# One commit.
$node->safe_psql('postgres', 'TRUNCATE notes');
my $run = start_run($node, 'alice', add_workflow($node, 'alice', q{rflow.sql('note', 'INSERT INTO notes VALUES (run.id::text)')}));
is(end_of($node, $run)->{state}, 'succeeded', 'a note');
is( $node->safe_psql('postgres', <<"SQL"), 't', 'was written by the transaction that ended the run');
SELECT r.xmin::text = n.xmin::text AND s.xmin::text = n.xmin::text FROM rflow_private.workflow_runs r, rflow_private.step_runs s, notes n
 WHERE r.id = '$run' AND s.run_id = '$run' AND n.what = '$run'
SQL
my $end = run_sql($node, 'alice', "INSERT INTO notes VALUES ('half'); INSERT INTO notes VALUES ('$run')");
is("$end->{sqlstate} $end->{state}", '23505 failed', 'a failure');
is($node->safe_psql('postgres', q{SELECT count(*) FROM notes WHERE what = 'half'}), '0', 'leaves nothing');
my $error = $node->safe_psql('postgres', q{SELECT error FROM rflow_private.step_runs WHERE state = 'failed' ORDER BY finished_at DESC LIMIT 1});
like($error, qr/"detail": "Key \(what\)=\($run\) already exists\."/, 'but what happened');
like($error, qr/"context": "SQL statement .*step \\"step\\" of workflow/, 'and where');
$end = run_sql($node, 'alice', 'INSERT INTO children VALUES (1)');
is($end->{error}, 'insert or update on table "children" violates foreign key constraint "children_parent_fkey"', 'a deferred constraint');
is(run_sql($node, 'alice', 'INSERT INTO children VALUES (2); INSERT INTO parents VALUES (2)')->{state}, 'succeeded', 'that holds in the end');

# A run that is started in a step is started when the step commits.
my $child = add_workflow($node, 'alice', q{rflow.sql('note', 'INSERT INTO notes VALUES (''child '' || (input->>''of''))')});
is(run_sql($node, 'alice', "SELECT rflow.start('$child', jsonb_build_object('of', 'good'), 'good'); SELECT 1 AS n")->{result}, '{"n": 1}', 'a step that starts a run');
is(run_sql($node, 'alice', "SELECT rflow.start('$child', jsonb_build_object('of', 'bad'), 'bad'); SELECT 1 / 0")->{state}, 'failed', 'one that fails after that');
poll_until($node, q{SELECT string_agg(what, ',') FROM notes WHERE what LIKE 'child %'}, 'child good');

# Two runs at once: a deadlock is tried again.
my $lock = add_workflow($node, 'alice', q{rflow.sql('lock',
	'UPDATE slots SET a = a WHERE a = (input->>''first'')::int; SELECT pg_sleep(0.4); UPDATE slots SET a = a WHERE a = 3 - (input->>''first'')::int')});
$node->append_conf('postgresql.conf', "deadlock_timeout = '100ms'\n");
$node->reload;
my %executor;
my $n = 0;
while (keys %executor < 2 && $n < 64)
{
	my $id = $node->safe_psql('postgres', "BEGIN; SELECT rflow.start('$lock', '{}', 'lock " . ++$n . "'); ROLLBACK", extra_params => [ '-U', 'alice' ]);
	$executor{ hex(substr($id, 0, 1)) % 2 } //= $n;
}
my $keys = join ' UNION ALL ', map { "SELECT rflow.start('$lock', '{\"first\": ${\($_ + 1)}}', 'lock $executor{$_}') AS id" } 0, 1;
my @ids = split /\n/, $node->safe_psql('postgres', $keys, extra_params => [ '-U', 'alice' ]);
is(end_of($node, $_)->{state}, 'succeeded', 'a run in a deadlock') for @ids;
is($node->safe_psql('postgres', q{SELECT string_agg(attempt::text, ',' ORDER BY attempt) FROM rflow_private.step_runs WHERE step = 'lock'}), '1,2', 'one of which was tried again');

# What was changed since the definition was written.
my $gone = add_workflow($node, 'alice', q{rflow.sql('use', 'SELECT a FROM slots ORDER BY a LIMIT 1')});
is(end_of($node, start_run($node, 'alice', $gone))->{result}, '{"a": 1}', 'a plan');
$node->safe_psql('postgres', 'ALTER TABLE slots ALTER a TYPE text; INSERT INTO slots VALUES (0)', extra_params => [ '-U', 'alice' ]);
is(end_of($node, start_run($node, 'alice', $gone))->{result}, '{"a": "0"}', 'follows its tables');
$node->safe_psql('postgres', 'DROP TABLE slots', extra_params => [ '-U', 'alice' ]);
is(end_of($node, start_run($node, 'alice', $gone))->{error}, 'relation "slots" does not exist', 'until they are gone');

$node->stop;
done_testing();
