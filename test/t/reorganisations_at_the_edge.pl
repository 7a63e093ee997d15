# Reorganisations that are found late: of the last block before a long pause, while the server was down, and one that is deeper
# than the headers that are kept, which halts the network and says so, without a word of it running, until the branch that was
# followed is back (rindexer#10, #231).
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowAudit;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $WINDOW = 256;    # CHAIN_WINDOW

my $state  = PostgreSQL::Test::Utils::tempdir() . '/chain.json';
my $chain  = start_anvil('--no-mining', '--state', $state);
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $job    = RflowAudit->start(node => $node, chain => $chain, endpoint => $faulty->url, confirmations => 2);

sub raw
{
	return $chain->rpc('eth_getRawTransactionByHash', $_[0]);
}

sub settle
{
	my ($what) = @_;
	RflowAnvil::wait_for(sub { $chain->mine; $job->is_settled }, 'everything to be settled');
	$job->audit($what);
}

sub seen
{
	poll_until($node, 'SELECT head FROM rflow.network_status', $chain->block_number);
}

# The newest block is replaced while the server is down, and the chain goes on for longer than headers are kept.
my $hash = $job->deposit(count => 2);
$chain->mine;
poll_until($node, 'SELECT count(*) FROM rflow.runs', 2);
seen();
my $raw = raw($hash);
$node->stop('fast');
$chain->rpc('anvil_dropAllTransactions');
$chain->reorg(1, []);
$chain->mine(3);
$chain->rpc('eth_sendRawTransaction', $raw);
$chain->mine(2 * $WINDOW);
$node->start;
poll_until($node, 'SELECT depth, detached, reattached, held FROM rflow.reorgs', '1|2|2|0');
settle('the head was replaced before a long pause');

# Once more, and the event does not come back: by the time it is read, its grace is over.
$hash = $job->deposit;
$chain->mine;
poll_until($node, 'SELECT count(*) FROM rflow.runs', 3);
seen();
$node->stop('fast');
$chain->rpc('anvil_dropAllTransactions');
$chain->reorg(1, []);
$chain->mine(2 * $WINDOW);
$node->start;
poll_until($node, 'SELECT detached, reattached, retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', '1|0|1|0');
poll_until($node, "SELECT count(*) FROM rflow.runs WHERE state = 'cancelled'", 1);
$job->{sent} = [];
RflowAnvil::wait_for(
	sub {
		$chain->mine;
		$node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.nonces WHERE NOT settled') eq '0';
	},
	'the payment to end');

# A twin of the chain goes its own way for longer than headers are kept.
$chain->stop;
my $twin = RflowAnvil->start(args => [ '--no-mining', '--load-state', $state ]);
$chain->start_again;
$chain->mine($WINDOW + 5);
seen();
$twin->mine($WINDOW + 10);
$faulty->state(upstream => $twin->url);
my $status = "SELECT status FROM rflow.workers WHERE kind = 'watcher'";

poll_until($node, "SELECT status LIKE 'halted: no block of the last % is on the node''s chain: the reorganisation is deeper than what is kept' FROM rflow.workers WHERE kind = 'watcher'");
my $until = time + 12;    # longer than the node is left alone
my %said;

$said{ $node->safe_psql('postgres', $status) =~ s/:.*//sr }++ while time < $until;
is_deeply([ keys %said ], ['halted'], 'it stays halted, and does not say that it runs meanwhile');
is($node->safe_psql('postgres', "SELECT kind, what_to_do FROM rflow.stuck WHERE reason LIKE 'halted: no block%'"),
	q(network|Check rpc_urls of rflow.networks. Where the chain has really reorganised that deep: )
	  . q(SELECT rflow.accept_branch('local', from_block), with the first block that was replaced),
	'rflow.stuck says it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow.reorgs'), 2, 'nothing was detached');
$faulty->state(upstream => $chain->url);
poll_until($node, $status, 'running');
my ($code, $out, $error) = $node->psql('postgres', "SELECT rflow.accept_branch('local', 5)");
like($error, qr/network "local" is not halted/, 'a branch is accepted only by one that is halted');

# The deep branch is what there is: somebody accepts it. Events of the old one are taken back, those of the new one found.
my $fork = $chain->block_number - $WINDOW - 5;
$hash = $job->deposit;
$chain->mine;
poll_until($node, "SELECT count(*) FROM rflow.runs WHERE transaction_hash = '$hash'", 1);
my $other = bless({ %$job, chain => $twin }, ref $job)->deposit(count => 2);
$twin->mine(5);
$faulty->state(upstream => $twin->url);
poll_until($node, "SELECT status LIKE 'halted:%' FROM rflow.workers WHERE kind = 'watcher'");
is($node->safe_psql('postgres', "SELECT rflow.accept_branch('local', $fork + 1, 'it is so')"), 1, 'an operator accepts the branch');
poll_until($node, $status, 'running');
poll_until($node, "SELECT count(*) FROM rflow.runs WHERE transaction_hash = '$other'", 2);
is($node->safe_psql('postgres', 'SELECT detached, held, to_number FROM rflow.reorgs ORDER BY at DESC LIMIT 1'),
	'1|1|', 'the run of the old branch is held');
is($node->safe_psql('postgres', "SELECT verb, subject, reason, detail, outcome FROM rflow.operator_log"),
	'accept_branch|network local|it is so|{"from_block": ' . ($fork + 1) . '}|1 runs detached', 'and it is in the journal');

done_testing();
