
# A node that takes no batches, or small ones only, is asked in the sizes that it takes.
use strict;
use warnings;

use RflowTest;
use Test::More;

my $BLOCKS = 40;

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');

sub follows
{
	$chain->mine($BLOCKS);
	poll_until($node, 'SELECT max(number) FROM rflow_private.blocks', $chain->block_number);
}

# The largest number of calls in a request for headers.
sub largest_batch
{
	my %sizes;

	$sizes{ $_->{request} }++ for $faulty->calls('eth_getBlockByNumber');
	return (sort { $b <=> $a } values %sizes)[0];
}

add_network($node, $faulty);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '20 ms'");
follows();
cmp_ok(largest_batch(), '>', 20, 'blocks are asked for in one batch');

$faulty->fault({ kind => 'refuse_batch', max => 5, message => 'batch too large' });
follows();
cmp_ok(scalar($faulty->hits), '>', 0, 'it was refused');
$faulty->forget_calls;
my $hits = $faulty->hits;
follows();
is(scalar($faulty->hits), $hits, 'what a node takes is remembered');
cmp_ok(largest_batch(), '<=', 5, 'and kept to');
cmp_ok(largest_batch(), '>', 1, 'no more than needed');

# None at all: single calls, which are plain objects.
$faulty->fault({ kind => 'refuse_batch' });
follows();
$faulty->forget_calls;
follows();
is(largest_batch(), 1, 'calls are sent one by one');
is(scalar(grep { $_->{batch} } $faulty->calls), 0, 'and never as an array');

$node->stop;
done_testing();
