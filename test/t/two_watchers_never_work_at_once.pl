# A network has one watcher, and an account one process that assigns its nonces: a second one waits its turn, whether it is
# of the same database or of another one.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $chain = start_anvil();
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain);

sub watchers
{
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'rflow watcher' AND datname = 'postgres'");
}

sub watcher_pid
{
	return $node->safe_psql('postgres',
		"SELECT pid FROM rflow.workers WHERE kind = 'watcher'");
}

# A watcher that hangs, is told to stop and is wanted again: no second one starts beside it.
my $first = watcher_pid();
kill 'STOP', $first;
$node->safe_psql('postgres', "SELECT pg_terminate_backend($first)");
$node->safe_psql('postgres', "UPDATE rflow.networks SET enabled = false");
$node->safe_psql('postgres', "UPDATE rflow.networks SET enabled = true");
$job->deposit(count => 2);
$chain->mine(3);
is(watchers(), 1, 'one that hangs is alone');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.workflow_runs'), 0, 'and does nothing');
kill 'CONT', $first;
$job->settled;
is(watchers(), 1, 'and then another one is');
isnt(watcher_pid(), $first, 'which is not the first');
$job->audit('a watcher that hung');

# Dying in turn as fast as they can, they are never two.
for my $i (1 .. 5)
{
	my $pid = watcher_pid();
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)") if $pid ne '';
	$job->deposit;
	cmp_ok(watchers(), '<=', 1, 'never two');
}
$job->settled;
$job->audit('watchers that died in turn');

# Another database follows the same chain, and has the key of the same account.
$node->safe_psql('postgres', 'CREATE DATABASE second');
my $url = $chain->url;
$node->safe_psql('second', <<"SQL");
CREATE EXTENSION rflow;
SELECT rflow.arm();
INSERT INTO rflow.networks (name, chain_id, rpc_urls, confirmations, poll_max)
VALUES ('same', 31337, '{$url}', 1, '100 ms');
INSERT INTO rflow.relayers (name, network, signer) VALUES ('same', 'same', 'env:RFLOW_TEST_KEY_4');
SELECT rflow.submit_transaction('same', recipient => '$ACCOUNTS[3]', data => '0x', value => 1, idempotency_key => 'one');
SQL

sub second_says
{
	my ($sql, $expected, $what) = @_;
	is($node->poll_query_until('second', $sql, $expected), 1, $what);
}

second_says("SELECT problem LIKE 'account % is used by another relayer process%' FROM rflow.relayer_status",
	't', 'the other relayer says why it waits');
$job->deposit(count => 2);
$job->settled;
second_says('SELECT state FROM rflow.transactions', 'queued', 'and waits');
$job->audit('another database with the same key');

# The first one gives the account up, and the other takes it over behind the last nonce.
$node->safe_psql('postgres', "UPDATE rflow.networks SET enabled = false");
second_says('SELECT state FROM rflow.transactions', 'confirmed', 'the account changes hands');
my @executed = $job->executed;
is_deeply([ map { $_->{nonce} } @executed ], [ 0 .. $#executed ], 'without a gap');
is( $node->safe_psql('second', 'SELECT nonce FROM rflow.transactions'),
	$#executed, 'and the nonce is the next one');
done_testing();
