# Behind one URL there are two nodes. One lags (I-43, rindexer#321), or is on another branch of the same height: nothing is
# detached while they take turns. Where the other branch is all there is, it is followed; going back takes more.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowAudit;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $TURNS = 400;

# A chain that has a twin with the same blocks so far.
my $state  = PostgreSQL::Test::Utils::tempdir() . '/chain.json';
my $chain  = start_anvil('--no-mining', '--state', $state);
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $job    = RflowAudit->start(node => $node, chain => $chain, endpoint => $faulty->url, confirmations => 2);

$chain->mine(5);
$chain->stop;
my $twin = RflowAnvil->start(args => [ '--no-mining', '--load-state', $state ]);
$chain->start_again;
is($twin->rpc('eth_getBlockByNumber', 'latest', JSON::PP::false)->{hash},
	$chain->rpc('eth_getBlockByNumber', 'latest', JSON::PP::false)->{hash}, 'two nodes have the same head');

sub polls
{
	return $node->safe_psql('postgres', 'SELECT round(polls_per_block * blocks) FROM rflow.network_status');
}

sub take_turns
{
	my $before = polls();

	# A machine that is busy asks less often.
	for (my $turn = 1; $turn <= $TURNS || ($turn <= 20 * $TURNS && polls() - $before <= 20); $turn++)
	{
		$faulty->state(upstream => (rand() < 0.5 ? $chain : $twin)->url);
	}
	$faulty->state(upstream => $chain->url);
	cmp_ok(polls() - $before, '>', 20, 'the head was asked for while they took turns');
}

sub reorgs
{
	return $node->safe_psql('postgres', 'SELECT count(*) FROM rflow.reorgs');
}

srand(my $seed = $ENV{RFLOW_SEED} // time);
note "seed $seed (RFLOW_SEED)";

# The twin stays behind.
$job->deposit(count => 2);
$chain->mine(2);
poll_until($node, 'SELECT count(*) FROM rflow.runs', 2);
take_turns();
is(reorgs(), 0, 'a node that lags detaches nothing');

# The twin has other blocks at the same heights.
$twin->mine(2);
take_turns();
is(reorgs(), 0, 'a node on another branch of the same height detaches nothing');
RflowAnvil::wait_for(sub { $chain->mine; $job->is_settled }, 'everything to be settled');
$job->audit('two nodes that disagreed');

# The other branch is all there is, and higher.
my $head = $chain->block_number;
$twin->mine($head + 1 - $twin->block_number);
$faulty->state(upstream => $twin->url);
poll_until($node, 'SELECT detached FROM rflow.reorgs', 2);

# Back on the first one, that grows: it was left before.
my $since = time;
$chain->mine(2);
$faulty->state(upstream => $chain->url);
poll_until($node, "SELECT last_error LIKE '%goes back and forth between branches' FROM rflow.network_status");
is(reorgs(), 1, 'going back and forth is not followed at once');
poll_until($node, 'SELECT count(*), sum(reattached) FROM rflow.reorgs', '2|2');
cmp_ok(time - $since, '>', 10, 'but when the node has stayed there');
RflowAnvil::wait_for(sub { $chain->mine; $job->is_settled }, 'everything to be settled');
$job->audit('and back again');

done_testing();
