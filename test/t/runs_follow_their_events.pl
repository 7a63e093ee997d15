# cowprotocol/services#2069 (row 80): a transaction moves from block 100a to 101b. Its run and its send stay the same ones,
# whatever the state of the send: queued, signed, broadcast, mined, confirmed. While its event is on no block nothing is
# signed for it.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $CONFIRMATIONS = 3;

my $chain  = start_anvil('--no-mining');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $job    = RflowAudit->start(
	node          => $node,
	chain         => $chain,
	endpoint      => $faulty->url,
	confirmations => $CONFIRMATIONS);

sub raw
{
	return $chain->rpc('eth_getRawTransactionByHash', $_[0]);
}

# One block, and the watcher has it.
sub mine
{
	my ($blocks) = @_;

	for (1 .. $blocks // 1)
	{
		my $next = $chain->block_number + 1;
		$chain->mine;
		poll_until($node, "SELECT max(number) >= $next FROM rflow.blocks");
	}
}

sub paused
{
	my ($paused) = @_;
	$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = $paused");
}

sub send_is
{
	my ($state) = @_;
	poll_until($node, 'SELECT state FROM rflow.transactions ORDER BY id DESC LIMIT 1', $state);
}

# How the send comes into each state, what is mined meanwhile, and what lets it go on.
my %before = (
	queued    => [ sub { paused('true') },  0, sub { paused('false') } ],
	signed    => [ sub { $faulty->fault({ kind => 'close', method => 'eth_sendRawTransaction' }) }, 0, sub { $faulty->heal } ],
	broadcast => [ sub { }, 0, sub { } ],
	mined     => [ sub { }, 1, sub { } ],
	confirmed => [ sub { }, 1 + $CONFIRMATIONS, sub { } ],
);

my $reorgs = 0;
for my $state (qw(queued signed broadcast mined confirmed))
{
	my ($prepare, $blocks, $release) = @{ $before{$state} };
	my $runs = $node->safe_psql('postgres', 'SELECT count(*) FROM rflow.runs');

	$prepare->();
	my $hash = $job->deposit;
	mine();
	poll_until($node, 'SELECT count(*) FROM rflow.runs', $runs + 1);
	send_is($blocks ? 'broadcast' : $state);
	if ($blocks)
	{
		mine($blocks);
		send_is($state);
	}
	else
	{
		# Empty: what is in the pool stays there.
		$chain->rpc('anvil_dropAllTransactions');
		mine();
	}
	my $was   = $chain->rpc('eth_getTransactionReceipt', $hash);
	my $depth = $chain->block_number - hex_number($was->{blockNumber}) + 1;

	$chain->reorg($depth, [ [ raw($hash), 1 ] ]);
	poll_until($node, 'SELECT count(*) OVER (), depth, detached, reattached, retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1',
		++$reorgs . "|$depth|1|1|0|0");
	my $is = $chain->rpc('eth_getTransactionReceipt', $hash);
	is(hex_number($is->{blockNumber}), hex_number($was->{blockNumber}) + 1, "$state: the event is in the next block now");
	is( $node->safe_psql('postgres', "SELECT block_number, block_hash, count(*) OVER () FROM rflow.runs WHERE transaction_hash = '$hash'"),
		join('|', hex_number($is->{blockNumber}), $is->{blockHash}, 1),
		'and its one run says so');
	$release->();
	RflowAnvil::wait_for(sub { $chain->mine; $job->is_settled }, 'everything to be settled');
	$job->audit("the send was $state");
}

# The event is on no block for a while: nothing is signed for it, although the relayer could.
paused('true');
my $hash = $job->deposit;
mine();
send_is('queued');
my $raw = raw($hash);
$chain->reorg(1, []);
poll_until($node, 'SELECT count(*) OVER (), held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', ++$reorgs . '|1');
paused('false');
mine(2);
is( $node->safe_psql('postgres', "SELECT state, reason FROM rflow.transactions ORDER BY id DESC LIMIT 1"),
	'queued|held: the block of the event that caused it was replaced',
	'a send of a detached run is held');
is( $node->safe_psql('postgres', "SELECT count(*) FROM rflow_private.due WHERE kind = 'send' AND wake_at < 'infinity'"),
	0, 'no relayer finds it');
$chain->rpc('eth_sendRawTransaction', $raw);
mine();
poll_until($node, 'SELECT reattached, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', '1|0');
RflowAnvil::wait_for(sub { $chain->mine; $job->is_settled }, 'everything to be settled');
$job->audit('an event that was nowhere for two blocks');

done_testing();
