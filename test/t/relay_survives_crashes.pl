# Wherever the relayer dies, each payment is executed once and no nonce is left open: at each crash point by an error,
# an exit, an abort (which restarts the server), SIGTERM, and an immediate shutdown; the commit of the configuration is weak.
#
# I-1, I-2, I-21, R6 (openzeppelin-relayer#683, #818): nonces are assigned in the commit that stores the bytes, so one that fails
# assigns none. I-6, I-8: it is prepared once. I-11, I-26: bytes are stored before they are sent. I-12: nothing is left over.
# rrelayer#41: SIGTERM leaves nothing half-written.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my @POINTS = qw(relay-before-sign-commit relay-after-sign-commit relay-after-broadcast relay-after-receipt);

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main', conf => "synchronous_commit = off\nrestart_after_crash = on\n");
add_network($node, $chain);
add_relayer($node, 'hot');
my $paid = 0;

sub crash_point
{
	my ($setting) = @_;

	$node->append_conf('postgresql.conf', "rflow.crash_point = '$setting'\n");
	$node->reload;
}

sub relayer_pid
{
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'rflow relayer'");
}

# The next three payments meet the crash point.
sub meet
{
	my ($point, $action) = @_;
	my $offset = -s $node->logfile;

	crash_point("$point:$action");
	submit($node, 'hot', $paid + 1 .. $paid + 3);
	$paid += 3;
	$node->wait_for_log(qr/crash point "$point" reached/, $offset);
}

sub recovered
{
	my ($what) = @_;

	crash_point('');
	poll_until($node, 'SELECT true');
	subtest $what => sub {
		all_settled($node, 60);
		executed_once($chain, $node, 1 .. $paid);
	};
}

for my $point (@POINTS)
{
	for my $action (qw(error exit abort))
	{
		meet($point, $action);
		recovered("$point: $action");
	}

	meet($point, 'wait');
	my $pid = relayer_pid();
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	recovered("$point: SIGTERM");

	meet($point, 'wait');
	$node->stop('immediate');
	$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
	$node->start;
	recovered("$point: immediate shutdown");
}

done_testing();
