# Wherever the relayer dies while it tops an account up, between the decision and the commit or right behind it, by an error,
# an exit, an abort (which restarts the server), SIGTERM, and an immediate shutdown: there is one transfer.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main', conf => "synchronous_commit = off\nrestart_after_crash = on\n");
my ($bank, $hot) = @ACCOUNTS[ 1, 2 ];
my $made = 0;
add_network($node, $chain);
add_relayer($node, 'bank', 'env:RFLOW_TEST_KEY_1');
add_relayer($node, 'hot',  'env:RFLOW_TEST_KEY_2');
poll_until($node, "SELECT count(*) FROM rflow.relayer_status WHERE balance > 0", 2);
$node->safe_psql('postgres',
	"INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('hot', 'bank', 'hot', 1e18, 3e18)");

sub crash_point
{
	my ($setting) = @_;

	$node->append_conf('postgresql.conf', "rflow.crash_point = '$setting'\n");
	$node->reload;
}

sub meet
{
	my ($point, $action) = @_;
	my $offset = -s $node->logfile;

	crash_point("$point:$action");
	$chain->rpc('anvil_setBalance', $hot, '0x1');
	$node->wait_for_log(qr/crash point "$point" reached/, $offset);
	$made++;
}

sub recovered
{
	my ($what) = @_;

	crash_point('');
	poll_until($node, 'SELECT true');
	subtest $what => sub {
		poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE idempotency_key LIKE 'top-up:hot:%' AND state = 'confirmed'", $made);
		all_settled($node, 60);
		# Two looks later there is no other one.
		poll_until($node, "SELECT count(*) FROM rflow_private.top_up_transfers WHERE NOT outstanding", $made);
		poll_until($node, "SELECT balance FROM rflow.top_up_status", '3000000000000000000');
		my @sent = executed($chain, $bank);
		is(scalar(@sent), $made, 'one transfer on the chain for each time');
		is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.top_up_transfers'), $made, 'and in the table');
	};
}

for my $point (qw(top-up-before-commit top-up-after-commit))
{
	for my $action (qw(error exit abort))
	{
		meet($point, $action);
		recovered("$point: $action");
	}

	meet($point, 'wait');
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'rflow relayer'");
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	recovered("$point: SIGTERM");

	meet($point, 'wait');
	$node->stop('immediate');
	$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
	$node->start;
	recovered("$point: immediate shutdown");
}

$node->stop;
$chain->stop;
done_testing();
