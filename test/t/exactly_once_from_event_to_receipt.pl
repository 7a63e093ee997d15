# Two hundred deposits, several in a block, several in a transaction, equal ones among them: two hundred runs and two
# hundred successful transactions, no more and no less.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $EVENTS = 200;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain);
my $left  = $EVENTS;

# Equal events in one transaction are told apart by their order alone.
$job->deposit(count => 20);
$left -= 20;
# Different ones in one transaction; and some that do not count, between those that do.
$job->deposit(count => 30, value => $RflowAudit::LIMIT - 10, step => 1);
$left -= 20;
$job->deposit(count => 3, to => $ACCOUNTS[3]);
# The rest comes over some seconds, from several accounts, in transactions that are equal but for their nonces.
for my $i (0 .. $left / 2 - 1)
{
	$job->deposit(count => 2, account => $i % 4);
	select undef, undef, undef, 0.02;
}

$job->settled(120);
$job->audit("$EVENTS events");
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.workflow_runs'),
	$EVENTS, "there were $EVENTS");
cmp_ok(
	$node->safe_psql('postgres',
		'SELECT max(n) FROM (SELECT count(*) AS n FROM rflow_private.workflow_runs GROUP BY block_number) b'),
	'>', 20, 'several came in one block');

# A server that starts anew finds nothing to do again.
$node->restart;
$job->deposit;
$job->settled;
$job->audit('after a restart, one more');
done_testing();
