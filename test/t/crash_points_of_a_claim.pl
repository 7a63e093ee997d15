# Wherever a watcher or its server dies around the claim's commit, each event is answered once; however weak the
# commit of the configuration is.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

for my $commit (qw(on off))
{
	my $chain = start_anvil();
	my $node  = new_node("commit_$commit", conf => "synchronous_commit = $commit\n");
	my $job   = RflowAudit->start(node => $node, chain => $chain);

	for my $point (qw(claim-before-commit claim-after-commit))
	{
		$job->dies_at($point, $_) for 'error', 'exit', 'SIGTERM', 'abort', 'immediate shutdown';
		$job->audit("$point, synchronous_commit = $commit");
	}
	$node->stop('fast');
}
done_testing();
