
# Endpoints are tried in their order, the one that works is kept, and one that fails is left alone for a while.
use strict;
use warnings;

use RflowTest;
use Test::More;

my $RETRY_AFTER_S = 3;

my $chain  = start_anvil();
my @faulty = map { start_faulty_node($chain) } 1 .. 2;
my $node   = new_node('main');

sub follows
{
	$chain->mine;
	poll_until($node, 'SELECT max(number) FROM rflow_private.blocks', $chain->block_number);
}

# Only the watcher asks for the number of the head.
sub polls { return scalar(my @calls = $faulty[ $_[0] ]->calls('eth_blockNumber')) }

$node->safe_psql('postgres', sprintf(
	"INSERT INTO rflow.networks (name, chain_id, rpc_urls, poll_max) VALUES ('local', 31337, '{%s}', '20 ms')",
	join(',', map { $_->url } @faulty)));
follows();
is(polls(1), 0, 'the first endpoint alone is asked');

# It refuses connections; the second one takes over, and is kept.
$faulty[0]->stop;
follows();
cmp_ok(polls(1), '>', 0, 'the second endpoint is asked');
$faulty[0]->start_again;
follows();
is(polls(0), 0, 'the endpoint that works is kept');

# It asks for a rest: the first one is back at once, and the second is left alone for so long.
$faulty[1]->fault({ kind => 'rate_limit', seconds => $RETRY_AFTER_S, method => 'eth_blockNumber' });
$faulty[1]->wait_hit;
follows();
my ($refused) = grep { @{ $_->{struck} } } $faulty[1]->calls('eth_blockNumber');
$faulty[1]->heal;

# While both are ill, the one that has rested is tried first.
sub asked_after
{
	my ($time) = @_;
	return grep { $_->{at} > $time } $faulty[1]->calls('eth_blockNumber');
}

$faulty[0]->fault({ kind => 'respond', status => 503 });
RflowAnvil::wait_for(sub { scalar(my @calls = asked_after($refused->{at})) }, 'the second endpoint to be asked again');
my ($again) = asked_after($refused->{at});
cmp_ok($again->{at} - $refused->{at}, '>=', 1000 * $RETRY_AFTER_S, 'Retry-After was honoured');
follows();

# I-13: what a node says about a call is no failure of the endpoint.
$faulty[0]->heal;
$faulty[0]->forget_calls;
$faulty[1]->fault({ kind => 'error', method => 'eth_blockNumber', code => -32000, message => 'no', times => 20 });
$faulty[1]->wait_hit(20);
follows();
is(polls(0), 0, 'an error of a call keeps the endpoint');

$node->stop;
done_testing();
