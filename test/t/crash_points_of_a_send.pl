# Wherever the relayer, an executor or the server dies on the way from the queue to the run's end, each event is
# answered once.  With synchronous_commit = off the same is tested for the relayer alone (relay_survives_crashes.pl).
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my @DEATHS = ('exit', 'SIGTERM', 'abort', 'immediate shutdown');

my $chain = start_anvil();
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain);

for my $point (qw(relay-before-sign-commit relay-after-sign-commit relay-after-broadcast relay-after-receipt))
{
	$job->dies_at($point, $_) for 'error', @DEATHS;
	$job->audit($point);
}

# An executor survives an error, and puts the run off for a while.
for my $point (qw(executor-before-commit executor-after-commit))
{
	$job->dies_at($point, $_) for @DEATHS;
	$job->audit($point);
}
done_testing();
