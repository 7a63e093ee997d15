# Policies count each signature once whatever crashes, are in a dump with what they have counted, and their checks give nobody
# rights, end in time or are suspended, and then hold what comes under them and nothing else.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main', conf => "rflow.statement_timeout = '200 ms'\n");
add_network($node, $chain);
add_relayer($node, 'hot');
add_relayer($node, 'other', 'env:RFLOW_TEST_KEY_1');

sub sql { return $node->safe_psql('postgres', @_) }

sub error_of
{
	my ($sql, $role) = @_;
	my ($out, $err);
	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err, extra_params => [ '-U', $role // 'postgres' ]);
	return $err =~ /ERROR:  (.*)/ ? $1 : $out;
}

sub crash_point
{
	my ($setting) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET rflow.crash_point = '$setting'");
	$node->reload;
}

sub counted_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(sql(q{SELECT value, transactions FROM rflow_private.policy_windows WHERE policy = 'few' AND upto = '-infinity'}), $_[0], $_[1]);
}

# A relayer that ends before the signing commit has counted nothing; one that ends behind it has counted once.
sql(q{INSERT INTO rflow.policies (name, relayer, max_transactions_per_window, window_length) VALUES ('few', 'hot', 3, '1 hour')});
my $expected = 0;
my $value    = 0;
for my $point ('relay-before-sign-commit:exit', 'relay-before-sign-commit:error', 'relay-after-sign-commit:exit')
{
	my $restarts = sql(q{SELECT restarts FROM rflow.workers WHERE kind = 'relayer'});
	crash_point($point);
	submit($node, 'hot', ++$expected);
	$value += $expected;
	poll_until($node, "SELECT restarts > $restarts FROM rflow.workers WHERE kind = 'relayer'");
	crash_point('');
	poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $expected'", 'confirmed');
	counted_is("$value|$expected", "$point: counted once");
}
submit($node, 'hot', 4);
poll_until($node, q{SELECT reason ~ '^policy "few" \(max_transactions_per_window\): 3 of 3 transactions are signed in 01:00:00; there is room at ' FROM rflow.transactions WHERE value = 4});
counted_is('6|3', 'what waits is not counted');

# A dump has the policies, what they have counted, and what is paused.
sql(q{SELECT rflow.pause('all', reason => 'copy')});
my $file = $node->basedir . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, 'postgres' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'copy', $file ], 'pg_restore');
for my $table (qw(rflow.policies rflow_private.policy_windows rflow.pauses))
{
	my $rows = "SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM $table t";
	my $there = sql($rows);
	is($node->safe_psql('copy', $rows), $there, "$table is restored");
	isnt($there, '', 'with rows');
}
$node->safe_psql('postgres', 'DROP DATABASE copy');
sql(q{SELECT rflow.resume('all')});
sql(q{DELETE FROM rflow.policies});
poll_until($node, q{SELECT state FROM rflow.transactions WHERE value = 4}, 'confirmed');

# A check has the rights of who wrote it, in the session of a superuser too, and writes nothing.
sql(<<'SQL');
CREATE ROLE admin LOGIN;
GRANT rflow_admin TO admin;
GRANT CREATE ON SCHEMA public TO admin;
CREATE TABLE secret (a integer);
CREATE TABLE witness (who text);
GRANT INSERT ON witness TO PUBLIC;
CREATE SEQUENCE numbers;
GRANT USAGE ON numbers TO PUBLIC;
SQL
sql(<<'SQL', extra_params => [ '-U', 'admin' ]);
CREATE FUNCTION note() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO witness VALUES (current_user); RETURN true; END $$;
CREATE FUNCTION stubborn() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		BEGIN
			PERFORM pg_sleep(60);
		EXCEPTION WHEN query_canceled THEN
			NULL;
		END;
	END LOOP;
END $$;
SQL

sub set_check
{
	my ($check) = @_;
	return error_of(qq{DELETE FROM rflow.policies; INSERT INTO rflow.policies (name, relayer, check_expression) VALUES ('checked', 'hot', \$c\$$check\$c\$)}, 'admin');
}
my $payment = 100;
for my $attempt (
	[ q{current_user = 'admin'}, 't' ],
	[ q{current_user = 'postgres'}, 'it is not true of this one' ],
	[ q{(SELECT count(*) FROM secret) = 0}, 'permission denied for table secret' ],
	[ q{pg_read_file('PG_VERSION') <> ''}, 'permission denied for function pg_read_file' ],
	[ q{note()}, 'cannot execute INSERT in a read-only transaction' ],
	[ q{nextval('numbers') > 0}, 'cannot execute nextval() in a read-only transaction' ],
	[ q{set_config('transaction_read_only', 'off', false) = 'off' AND note()}, 'cannot set transaction read-write mode inside a read-only transaction' ],
	[ q{set_config('role', 'postgres', false) = 'postgres'}, 'cannot set parameter "role" within security-definer function' ],
	[ q{set_config('session_authorization', 'postgres', false) = ''}, 'cannot set parameter "session_authorization" within security-definer function' ])
{
	my ($check, $told) = @$attempt;
	is(set_check($check), '', "a check: $check");
	$told = qq{policy "checked" (check_expression): $told} if $told ne 't';
	is(error_of("SELECT rflow.submit_transaction('hot', recipient => '$SINK', data => '0x', value => 0, idempotency_key => 'try " . ++$payment . "') > 0"), $told, 'in a session of a superuser');
}
is(sql('SELECT count(*) FROM witness'), 0, 'nothing was written');

# What a check leaves in the relayer's session is gone after it.
set_check(q{pg_advisory_lock(42) IS NOT NULL AND set_config('my.secret', 'x', false) = 'x' AND current_user = 'admin'});
sql(q{UPDATE rflow.relayers SET paused = true WHERE name = 'hot'; UPDATE rflow.policies SET enabled = false});
submit($node, 'hot', 50);
sql(q{UPDATE rflow.policies SET enabled = true; UPDATE rflow.relayers SET paused = false});
poll_until($node, q{SELECT state FROM rflow.transactions WHERE value = 50}, 'confirmed');
is(sql(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42}), 0, 'no lock is left');

# A check that is slow is stopped; one that goes on is suspended, and what comes under it waits until it is another one.
sql(q{UPDATE rflow.relayers SET paused = true WHERE name = 'hot'; DELETE FROM rflow.policies});
submit($node, 'hot', 51);
set_check('pg_sleep(60) IS NOT NULL');
sql(q{UPDATE rflow.relayers SET paused = false});
poll_until($node, q{SELECT reason FROM rflow.transactions WHERE value = 51}, 'policy "checked" (check_expression): canceling statement due to statement timeout');
is(error_of(q{UPDATE rflow.policies SET check_expression = 'stubborn()'}, 'admin'), '', 'a check that ignores the limit');
poll_until($node, q{SELECT reason FROM rflow.transactions WHERE value = 51},
	'policy "checked" (check_expression): its check_expression went on after its time limit (rflow.statement_timeout), and is suspended');
is(sql(q{SELECT count(*) FROM rflow.stuck WHERE kind = 'policy' AND subject = 'checked'}), 1, 'rflow.stuck says so');
submit($node, 'other', 52);
poll_until($node, q{SELECT state FROM rflow.transactions WHERE value = 52}, 'confirmed');
is(sql(q{SELECT state FROM rflow.transactions WHERE value = 51}), 'queued', 'another relayer goes on');
is(error_of(q{UPDATE rflow.policies SET check_expression = 'send.value = 51'}, 'admin'), '', 'the check is corrected');
poll_until($node, q{SELECT state FROM rflow.transactions WHERE value = 51}, 'confirmed');
is(sql(q{SELECT count(*) FROM rflow.stuck WHERE kind = 'policy'}), 0, 'and nothing is stuck');

$node->stop;
done_testing();
