# Blocks are replaced: an event that comes back in another block is the same event, one that appears in the new blocks is
# found, and what the relayer had in the old ones is mined again, once.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $CONFIRMATIONS = 4;    # deeper than what is replaced

my $chain = start_anvil('--no-mining');
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain, confirmations => $CONFIRMATIONS);

sub raw
{
	my ($hash) = @_;
	return $chain->rpc('eth_getRawTransactionByHash', $hash);
}

# Signed and not sent.
sub raw_deposit
{
	my ($account, $count) = @_;

	return $chain->rpc(
		'eth_signTransaction',
		{
			from                 => $ACCOUNTS[$account],
			to                   => $job->{deposits},
			data                 => $job->deposit_data(count => $count),
			nonce                => to_hex($chain->nonce($ACCOUNTS[$account])),
			gas                  => to_hex(200_000),
			maxFeePerGas         => to_hex('5000000000'),
			maxPriorityFeePerGas => to_hex('1000000000'),
			chainId              => $chain->rpc('eth_chainId'),
		});
}

# Until the watcher has read all, and the relayer's answers are in the pool.
sub answered
{
	my ($runs) = @_;

	poll_until($node, 'SELECT count(*) FROM rflow_private.workflow_runs', $runs);
	poll_until($node,
		"SELECT count(*) FROM rflow_private.relayer_transactions WHERE state IN ('queued', 'signed')", 0);
}

sub settle
{
	my ($what) = @_;

	RflowAnvil::wait_for(sub { $chain->mine; $job->is_settled }, 'everything to be settled');
	$job->audit($what);
}

my $runs = 0;
for my $depth (1 .. 3)
{
	my $hash = $job->deposit(count => 2);
	$chain->mine;
	answered($runs += 2);
	# The answers are in the blocks that are replaced, where there is more than one.
	$chain->mine for 2 .. $depth;
	$chain->reorg($depth, [ [ raw_deposit(1, 1), 0 ], [ raw($hash), $depth - 1 ] ]);
	answered($runs += 1);
	settle("$depth blocks were replaced");
}
is( $node->safe_psql('postgres', 'SELECT depth, detached, reattached, retracted, held FROM rflow.reorgs ORDER BY at'),
	join("\n", map { "$_|2|2|0|0" } 1 .. 3),
	'each reorganisation is recorded, and what was detached by it was re-attached');

# An event that does not come back leaves its run, whose answer was on the way, where the workflow says so.
$node->safe_psql('postgres',
	"UPDATE rflow.workflows SET trigger = rflow.on_event('deposits', 'Transfer', on_reorg => 'ignore')");
my $lost = $job->deposit(count => 2);
$chain->mine;
answered($runs += 2);
$chain->mine;
$job->vanish($lost, 2);
$chain->reorg(2, [ [ raw_deposit(1, 3), 1 ] ]);
answered($runs += 3);
settle('an event that has vanished');

# The head goes back, and another branch grows past it.
my $hash = $job->deposit(count => 1);
$chain->mine;
answered($runs += 1);
my $deposit = raw($hash);
$chain->rpc('anvil_rollback', 1);
$chain->rpc('eth_sendRawTransaction', $deposit);
$job->deposit(count => 2, account => 2);
settle('a lower head on another branch');

# While the server is down.
$hash = $job->deposit(count => 2);
$chain->mine;
answered($runs += 4);
$node->stop('immediate');
$chain->reorg(1, [ [ raw($hash), 0 ], [ raw_deposit(1, 1), 0 ] ]);
$node->start;
settle('a reorganisation while the server was down');
done_testing();
