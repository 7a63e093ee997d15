# Wherever the relayer or its server dies on the way from the queue to the receipt, each event is answered once.  With
# synchronous_commit = off the same is tested of the relayer alone (relay_survives_crashes.pl), and of
# executors (executor_survives_crashes.pl).
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $chain = start_anvil();
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain);

for my $point (qw(relay-before-sign-commit relay-after-sign-commit relay-after-broadcast relay-after-receipt))
{
	$job->dies_at($point, $_) for 'error', 'exit', 'SIGTERM', 'abort', 'immediate shutdown';
	$job->audit($point);
}
done_testing();
