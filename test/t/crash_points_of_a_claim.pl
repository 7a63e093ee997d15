# Wherever a watcher or its server dies around the claim's commit, each event is answered once; however weak the
# commit of the configuration is.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my @POINTS  = qw(claim-before-commit claim-after-commit);
my @ACTIONS = ('error', 'exit', 'SIGTERM', 'abort', 'immediate shutdown');

for my $commit (qw(on off))
{
	my $chain = start_anvil();
	my $node  = new_node("commit_$commit", conf => "synchronous_commit = $commit\n");
	my $job   = RflowAudit->start(node => $node, chain => $chain);

	for my $point (@POINTS)
	{
		for my $action (@ACTIONS)
		{
			$job->dies_at($point, $action);
			$job->audit("synchronous_commit $commit, $point: $action");
		}
	}
	$node->stop('fast');
}
done_testing();
