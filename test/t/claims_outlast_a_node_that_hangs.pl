# The node hangs while every kind of worker is in the middle of the main job: none holds a transaction or a snapshot, other
# commands do not wait for them, and when the node is back each event is answered once.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $AT_ONCE_S = 1;
my $EVENTS    = 60;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main');
# A read that an executor has to do, behind a transaction that it waits for.
my $job = RflowAudit->start(
	node  => $node,
	chain => $chain,
	steps => <<'SQL');
rflow.steps(
    rflow.send_transaction('answer', relayer => 'hot', contract => 'settle', function => 'loose', wait_for => 'mined',
      args => $$ rflow.keccak256(log.transaction_hash::text || ' ' || log.log_index), event.value $$),
    rflow.read('seen', contract => 'settle', function => 'total'))
SQL

sub seconds
{
	my ($sql) = @_;
	my $began = time;

	$node->safe_psql('postgres', $sql);
	return time - $began;
}

$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(one two);
my $alone = seconds('DROP DATABASE one');

for my $round (1 .. 3)
{
	$job->deposit(count => $EVENTS / 3);
	poll_until($node, 'SELECT count(*) > 0 FROM rflow_private.nonces WHERE NOT settled');
	$chain->pause;
	# Whatever they did is over, and they wait for the node: it was asked more often than once a second before.
	poll_until($node,
		"SELECT max(query_start) < clock_timestamp() - interval '1.5 s' FROM pg_stat_activity WHERE backend_type LIKE 'rflow%'");
	is( $node->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'rflow%' AND "
			  . '(backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR xact_start IS NOT NULL)'),
		0,
		'no worker holds a transaction or a snapshot');
	if ($round == 1)
	{
		cmp_ok(seconds('DROP DATABASE two') - $alone, '<', $AT_ONCE_S, 'DROP DATABASE does not wait');
	}
	if ($round == 2)
	{
		cmp_ok(
			seconds('SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity '
				  . "WHERE backend_type IN ('rflow watcher', 'rflow relayer')"),
			'<', $AT_ONCE_S, 'SIGTERM ends them at once');
	}
	if ($round == 3)
	{
		my $began = time;
		$node->stop('fast');
		cmp_ok(time - $began, '<', 5 * $AT_ONCE_S, 'the server stops');
		$node->start;
	}
	$chain->resume;
	$job->settled;
}
$job->audit("$EVENTS events");
done_testing();
