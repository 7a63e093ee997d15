# Wherever the relayer dies while it reconciles, by an error, an abort (which restarts the server) or an immediate shutdown,
# what it has read and adopted is there or is done again: nothing is paid twice, nothing is lost.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowRelay;
use RflowTest;
use Test::More;

my @POINTS = qw(reconcile-before-scan-commit reconcile-before-adopt-commit reconcile-after-adopt-commit);

my $chain = start_anvil('--block-time', '1');
my $lost  = new_node('lost', init => [ allows_streaming => 1 ]);
add_network($lost, $chain);
add_relayer($lost, 'hot');
submit($lost, 'hot', 1);
all_settled($lost);
$lost->safe_psql('postgres', 'UPDATE rflow.relayers SET paused = true');
submit($lost, 'hot', 2 .. 9);
$lost->backup('base');
$lost->safe_psql('postgres', 'UPDATE rflow.relayers SET paused = false');
all_settled($lost);
executed_once($chain, $lost, 1 .. 9);
$lost->stop('immediate');
my $nonce = $chain->nonce($ACCOUNTS[0]);
my $count = 0;

sub meet
{
	my ($point, $action) = @_;
	my $node = PostgreSQL::Test::Cluster->new('restored' . ++$count);

	$node->init_from_backup($lost, 'base', has_streaming => 1);
	$node->append_conf('postgresql.conf', "rflow.crash_point = '$point:$action'\n");
	$node->start;
	my $offset = -s $node->logfile;
	$node->promote;
	$node->wait_for_log(qr/crash point "$point" reached/, $offset);
	return $node;
}

sub recovered
{
	my ($node, $what) = @_;

	subtest $what => sub {
		poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'confirmed'", 9);
		all_settled($node);
		executed_once($chain, $node, 1 .. 9);
		poll_until($node, 'SELECT found, matched, unmatched FROM rflow.reconciliations', '8|8|0');
		is($chain->nonce($ACCOUNTS[0]), $nonce, 'nothing was signed');
		is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT transaction_id) FROM rflow.attempts'),
			'9|9', 'each has one payload');
	};
	$node->stop;
	$node->clean_node;
}

for my $point (@POINTS)
{
	for my $action (qw(error abort))
	{
		my $node = meet($point, $action);
		$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
		$node->reload;
		recovered($node, "$point: $action");
	}
	my $node = meet($point, 'wait');
	$node->stop('immediate');
	$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
	$node->start;
	recovered($node, "$point: immediate shutdown");
}
done_testing();
