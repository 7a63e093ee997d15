# A chain that was started anew has the same chain id, and perhaps the same transactions, but another genesis block: nothing
# is read of it and nothing is sent to it, the status says so, and the network goes on when the old chain is back.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

# Two chains that differ in their genesis block alone.
my $chain  = start_anvil('--timestamp', '1700000000');
my $other  = start_anvil('--timestamp', '1700000001');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $job    = RflowAudit->start(node => $node, chain => $chain, endpoint => $faulty->url);

sub status
{
	return "SELECT status FROM rflow.workers WHERE kind = 'watcher'";
}

my $HALTED = 'halted: the endpoint has another genesis block: this is not the chain that was followed';

sub halts
{
	my ($what) = @_;

	poll_until($node, status(), $HALTED);
	is($other->nonce($job->{relayer_address}), 0, "$what: nothing is sent to it");
	is($node->safe_psql('postgres', "SELECT count(*) > 0 FROM rflow.stuck WHERE reason LIKE '%another genesis block%'"),
		't', "$what: and it is stuck for that reason");
}

sub goes_on
{
	my ($what) = @_;

	$faulty->state(upstream => $chain->url);
	poll_until($node, status(), 'running');
	$job->deposit(count => 2);
	$job->settled;
	$job->audit($what);
}

$job->deposit(count => 2);
$job->settled;

# On the other one the same contracts are at the same places.
my $twin = bless { %$job, chain => $other, sent => [] }, ref $job;
is($twin->deploy_deposits, $job->{deposits}, 'the chains look alike');
$other->deploy('Settle');

# The other chain is shorter.
$faulty->state(upstream => $other->url);
halts('a shorter chain');

# Nothing is read from it, and nothing is sent to it.
$twin->deposit(count => 3);
$node->safe_psql('postgres',
	"SELECT rflow.submit_transaction('hot', recipient => '$ACCOUNTS[3]', data => '0x', value => 1, idempotency_key => 'one')");
$other->mine(50);
is($other->nonce($job->{relayer_address}), 0, 'nothing was sent to it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.workflow_runs'), 2, 'nothing was read of it');
poll_until($node, status(), $HALTED);
goes_on('the old chain is back');

# The other chain is longer now.
$faulty->state(upstream => $other->url);
halts('a longer chain');
goes_on('the old chain is back again');

# A server that starts finds the other chain.
$node->stop('fast');
$faulty->state(upstream => $other->url);
$node->start;
halts('at the start');
goes_on('after the start');
is($other->nonce($job->{relayer_address}), 0, 'nothing was ever sent to the other chain');
done_testing();
