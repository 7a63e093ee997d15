# Expressions read with the rights of the workflow's owner and write nothing, whatever they try; a relayer is used by
# those who are granted it; runs are seen by their owners.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowRuns;
use RflowTest;
use Test::More;

my $node = new_node('main', conf => "rflow.executors = 1\n");

add_owner($node, $_) for 'alice', 'bob';

sub as
{
	my ($role, $sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $role ]);

	return $err =~ /ERROR:  (.*)/ ? $1 : $out;
}

# The value of a run_if, or its error.
sub evaluate
{
	my ($role, $expression) = @_;
	my $end = run_as($node, $role,
		qq{rflow.stop('stop', run_if => \$e\$$expression\$e\$), rflow.sql('last', 'SELECT 1 AS false')});

	return $end->{error} // ($end->{result} ? 'false' : 'true');
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE secret (a integer);
INSERT INTO secret VALUES (1);
CREATE TABLE witness (who text);
GRANT SELECT, INSERT ON witness TO PUBLIC;
CREATE FUNCTION note(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO witness VALUES ($1); RETURN true; END $$;
CREATE FUNCTION note_as_definer(text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO witness VALUES ($1); RETURN true; END $$;
CREATE SEQUENCE numbers;
GRANT USAGE ON numbers TO PUBLIC;
SQL

# Rights.
is(evaluate('alice', q{current_user = 'alice'}), 'true', 'an expression runs as the owner');
is(evaluate('alice', q{current_user = 'postgres'}), 'false', 'and not as somebody else');
is(evaluate('alice', '(SELECT a FROM secret) = 1'), 'permission denied for table secret', 'with its rights');
is(evaluate('alice', q{pg_read_file('PG_VERSION') <> ''}), 'permission denied for function pg_read_file', 'no files');

# Writing.
for my $attempt (
	[ q{note('a')}, 'cannot execute INSERT in a read-only transaction' ],
	[ q{note_as_definer('a')}, 'cannot execute INSERT in a read-only transaction' ],
	[ q{nextval('numbers') > 0}, 'cannot execute nextval() in a read-only transaction' ],
	[ q{set_config('transaction_read_only', 'off', false) = 'off' AND note('a')}, 'transaction read-write mode must be set before any query' ],
	[ q{set_config('role', 'postgres', false) = 'postgres'}, 'cannot set parameter "role" within security-definer function' ],
	[ q{set_config('session_authorization', 'postgres', false) = ''}, 'cannot set parameter "session_authorization" within security-definer function' ],
	[ q{lo_creat(-1) > 0 AND note('a')}, 'cannot execute INSERT in a read-only transaction' ])
{
	is(evaluate('alice', $attempt->[0]), $attempt->[1], $attempt->[0]);
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM witness'), '0', 'nothing was written');

# What read-only lets through is undone.
my $listener = $node->background_psql('postgres');
$listener->query_safe('LISTEN heard');
evaluate('alice', q{pg_notify('heard', 'secret') IS NOT NULL});
evaluate('alice', q{pg_advisory_lock(42) IS NOT NULL});
evaluate('alice', q{set_config('my.secret', 'alice', false) IS NOT NULL});
evaluate('alice', q{lo_creat(-1) > 0});
is(evaluate('bob', q{coalesce(current_setting('my.secret', true), '') = '' AND
	NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())}),
	'true', 'bob finds neither a lock nor a setting of alice');
unlike($listener->query('SELECT 1'), qr/notification/i, 'nobody was notified');
$node->safe_psql('postgres', q{SELECT pg_notify('heard', 'aloud')});
like($listener->query('SELECT 1'), qr/notification/i, 'but would have been');
$listener->quit;
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_largeobject_metadata'), '0', 'no large object was made');

# Temporary objects do not hide what the definition meant, and search_path is that of the definition.
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE TABLE prices (price numeric);
INSERT INTO prices VALUES (7);
SQL
is(run_as($node, 'alice', <<'SQL')->{state}, 'succeeded', 'a temporary table of an earlier step');
rflow.sql('temp', 'CREATE TEMP TABLE prices AS SELECT 0.5 AS price'),
rflow.sql('look', 'SELECT 1', run_if => '(SELECT price FROM prices) = 7')
SQL
is($node->safe_psql('postgres', q{SELECT state FROM rflow_private.step_runs WHERE step = 'look'}), 'succeeded',
	'hides nothing from an expression');
is(as('alice', <<'SQL'), '', 'a path that begins with pg_temp');
SET search_path = pg_temp, public;
CREATE TEMP TABLE prices AS SELECT 0.5 AS price;
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('first-temp', rflow.on_start(),
	rflow.steps(rflow.stop('stop', run_if => '(SELECT price FROM prices) = 7')))
SQL
my $run = start_run($node, 'alice', 'first-temp');
is(end_of($node, $run)->{state}, 'succeeded', 'still finds the table in another session');

# Relayers.
$node->safe_psql('postgres', <<'SQL');
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES ('local', 31337, '{http://127.0.0.1:9}', false);
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY');
SQL
my $send = q{rflow.send_transaction('send', relayer => 'hot', recipient => '''0x70997970C51812dc3A010C7d01b50e0d17dc79C8''', value => '1',
	simulate => 'never', gas_limit => '21000', wait_for => 'none')};
my $insert = sub {
	my ($name) = @_;
	return qq{INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('$name', rflow.on_start(), rflow.steps(rflow.sql('first', 'SELECT 1'), $send))};
};
is(as('alice', $insert->('foreign')), 'step "send": role "alice" may not use relayer "hot"', 'a relayer without a grant');
$node->safe_psql('postgres', q{INSERT INTO rflow.relayer_grants VALUES ('hot', 'alice')});
is(as('alice', $insert->('granted')), '', 'with a grant');
is(as('bob', $insert->('others')), 'step "send": role "bob" may not use relayer "hot"', 'which is for one role');
$node->safe_psql('postgres', q{UPDATE rflow.networks SET enabled = true});
is(end_of($node, start_run($node, 'alice', 'granted'))->{state}, 'succeeded', 'it sends');
is($node->safe_psql('postgres', 'SELECT owner, relayer FROM rflow_private.relayer_transactions'), 'alice|hot', 'for its owner');
$node->safe_psql('postgres', q{DELETE FROM rflow.relayer_grants});
is(end_of($node, start_run($node, 'alice', 'granted'))->{error}, 'role "alice" may not use relayer "hot"',
	'a grant that is revoked later');

# Owners.
is(as('bob', q{UPDATE rflow.workflows SET vars = '{"a": 1}' WHERE name = 'granted'}), '', 'a workflow of somebody else');
is($node->safe_psql('postgres', q{SELECT owner, vars FROM rflow.workflows WHERE name = 'granted'}), 'alice|{}', 'is not changed');
is(as('bob', q{SELECT rflow.start('granted')}), 'permission denied for workflow "granted"', 'nor started');
is(as('alice', q{INSERT INTO rflow.workflows (name, trigger, steps, owner) VALUES ('for-bob', rflow.on_start(), '[]', 'bob')}),
	'role "alice" cannot make a workflow of role "bob"', 'nor made for somebody else');
$node->safe_psql('postgres', q{UPDATE rflow.workflows SET steps = '[]' WHERE name = 'first-temp'});
is($node->safe_psql('postgres', q{SELECT owner FROM rflow.workflows WHERE name = 'first-temp'}), 'alice',
	'a superuser is a member of the owner');

# Views.
is(as('bob', q{SELECT count(*) FROM rflow.runs WHERE workflow = 'granted'}), '0', 'runs of others are not seen');
is(as('alice', q{SELECT count(*) FROM rflow.runs WHERE workflow = 'granted'}), '2', 'but one\'s own');
is(as('bob', q{SELECT count(*) FROM rflow.steps WHERE workflow = 'granted'}), '0', 'nor their steps');
is(as('bob', q{SELECT count(*) FROM rflow.transactions}), '0', 'nor their transactions');
as('bob', q{CREATE FUNCTION peek(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS 'BEGIN RAISE NOTICE ''%'', $1; RETURN true; END'});
unlike(($node->psql('postgres', 'SELECT count(*) FROM rflow.runs WHERE peek(workflow)', extra_params => [ '-U', 'bob' ]))[2],
	qr/granted/, 'that would be called first');

# An owner that is gone fails its runs, nothing else.
$run = start_run($node, 'alice', add_workflow($node, 'alice', q{rflow.sql('first', 'SELECT pg_sleep(1)'), rflow.stop('stop', run_if => 'true')}));
$node->safe_psql('postgres', <<'SQL');
REASSIGN OWNED BY alice TO postgres;
DROP OWNED BY alice;
SQL
my $oid = $node->safe_psql('postgres', q{SELECT oid FROM pg_roles WHERE rolname = 'alice'});
$node->safe_psql('postgres', 'DROP ROLE alice');
is(end_of($node, $run)->{error}, "the owner of the workflow, role with OID $oid, does not exist any more", 'a dropped owner');
is(run_sql($node, 'bob', 'SELECT 1 AS n')->{result}, '{"n": 1}', 'the workflows of others go on');

is($node->safe_psql('postgres', 'SELECT string_agg(restarts::text, $$,$$) FROM rflow.workers WHERE kind = $$executor$$'),
	'0', 'all in one process');
$node->stop;
done_testing();
