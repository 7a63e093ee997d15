# When the relayer leaves an endpoint, and when not: refusals of transactions are answers (I-13), a node that is down or stays
# behind is left, and the one that takes over says first which chain it is on.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $SEND = 'eth_sendRawTransaction';

my $chain  = start_anvil('--block-time', '1');
my $other  = start_anvil('--chain-id', '5');
my @faulty = (start_faulty_node($chain), start_faulty_node($other));
my $node   = new_node('main');
my $paid   = 0;

$node->safe_psql('postgres', sprintf(
	"INSERT INTO rflow.networks (name, chain_id, rpc_urls, poll_max, rpc_timeout) VALUES ('local', 31337, '{%s}', '100 ms', '2 s')",
	join(',', map { $_->url } @faulty)));
add_relayer($node, 'hot');

sub pay
{
	my ($count) = @_;
	my @payments = ($paid + 1 .. $paid + $count);

	$paid += $count;
	return submit($node, 'hot', @payments);
}

sub asked { return scalar(my @calls = $faulty[ $_[0] ]->calls($_[1])) }

# I-13 (OZ relayer PR #696): whatever a node says about a transaction, it works; the second one is not asked.
pay(1);
all_settled($node);
$faulty[1]->forget_calls;
for my $client (qw(geth nethermind besu))
{
	$faulty[0]->fault(map { { kind => 'refuse', client => $client, means => $_, method => $SEND, times => 1 } }
		  qw(nonce_consumed known slot_taken nonce_ahead fee_too_low funds never_valid));
	pay(3);
	$faulty[0]->wait_hit(7);
	$faulty[0]->heal;
	all_settled($node, 90);
}
is(scalar(my @none = $faulty[1]->calls), 0, 'a refusal is no reason to ask another node');
executed_once($chain, $node, 1 .. $paid);

# The one that takes over is on another chain: nothing is sent there, and it says so.
$faulty[0]->stop;
pay(1);
poll_until($node, "SELECT last_error ~ 'is on chain 5, not on 31337' FROM rflow.workers WHERE kind = 'relayer'");
is(asked(1, $SEND), 0, 'nothing is sent to a node of another chain');
$faulty[1]->state(upstream => $chain->url);
all_settled($node, 90);
executed_once($chain, $node, 1 .. $paid);
$faulty[0]->start_again;

# What is in use stays behind the newest block, which others show: it is left, by watcher and relayer.
my $head = $chain->block_number;
$faulty[1]->state(head => $head);
$faulty[0]->forget_calls;
pay(1);
all_settled($node, 90);
cmp_ok(asked(0, 'eth_blockNumber'), '>', 0, 'a node whose head stands still is left');
like($node->safe_psql('postgres', "SELECT string_agg(last_error, E'\\n') FROM rflow.workers WHERE kind IN ('watcher', 'relayer')"),
	qr/no block after \d+ for \d+ s|it is behind the newest block/, 'and why is said');
executed_once($chain, $node, 1 .. $paid);

$node->stop;
done_testing();
