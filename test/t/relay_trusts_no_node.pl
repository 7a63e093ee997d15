# What nodes do to a relayer: answers that are lost, bytes that are forgotten, empty receipts, refusals in every wording, trouble
# that passes, nonces that somebody else has used. Each payment is executed once all the same.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain  = start_anvil('--block-time', '1');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
add_network($node, $faulty);
$node->safe_psql('postgres', "UPDATE rflow.networks SET rpc_timeout = '2 s', confirmations = 2");
add_relayer($node, 'hot');
my $paid = 0;

sub pay
{
	my ($count) = @_;
	my @payments = ($paid + 1 .. $paid + $count);

	$paid += $count;
	submit($node, 'hot', @payments);
	return @payments;
}

# The faults strike while payments are under way; afterwards they arrive.
sub meets
{
	my ($what, $strikes, @faults) = @_;

	subtest $what => sub {
		$faulty->fault(@faults);
		pay(2);
		$faulty->wait_hit($strikes);
		$faulty->heal;
		all_settled($node, 90);
		executed_once($chain, $node, 1 .. $paid);
	};
}

pay(1);
all_settled($node);

my $send = 'eth_sendRawTransaction';

# rrelayer#113 (b), I-26: taken, and the answer is lost.
meets('answers to broadcasts are cut off', 2, { kind => 'truncate', method => $send, bytes => 20, times => 2 });
meets('answers to broadcasts are left out', 2, { kind => 'drop', method => $send, times => 2 });
# rrelayer#113 (d), I-13: trouble of the node.
meets('connections are closed', 3, { kind => 'close', times => 3 });
meets('the node is down behind its load balancer', 3, { kind => 'respond', status => 502, body => '<html>Bad Gateway</html>', times => 3 });
meets('the node limits the rate', 2, { kind => 'rate_limit', seconds => 1, times => 2 });
meets('the pool is full', 2, { kind => 'error', method => $send, code => -32000, message => 'txpool is full', times => 2 });
meets('estimates of gas that are none', 4, map({ { kind => 'result', method => 'eth_estimateGas', result => $_, times => 1 } } '0x0', '0x1', '0x5207', '0xffffffffffffffff'));
meets('nothing that is known', 2, { kind => 'error', method => $send, code => -32603, message => 'frobnication failure', times => 2 });
# I-24: refused, and taken when the same bytes come again.
meets('a nonce that is ahead', 2, { kind => 'error', method => $send, code => -32000, message => 'nonce too high', times => 2 });
meets('funds that are missing for a moment', 2,
	{ kind => 'error', method => $send, code => -32000, message => 'insufficient funds for gas * price + value', times => 2 });
# I-17: a fee that is too low is raised.
meets('a fee that is too low', 1, { kind => 'error', method => $send, code => -32000, message => 'transaction underpriced', times => 1 });
# I-5, I-25: receipts that a lagging backend does not know of, beside a count that knows.
meets('receipts that are empty for a while', 6, { kind => 'result', method => 'eth_getTransactionReceipt', result => undef, times => 12 });
meets('receipts that fail', 6, { kind => 'error', method => 'eth_getTransactionReceipt', code => -32005, message => 'limit exceeded', times => 6 });
# "nonce too low" for our own payload (T11): it has been mined already.
meets('a nonce that is used, by our own payload', 2,
	{ kind => 'error', method => $send, code => -32000, message => 'nonce too low', times => 2 });

my $attempts = $node->safe_psql('postgres',
	"SELECT max(attempts) FROM rflow.transactions WHERE NOT EXISTS (SELECT FROM rflow.attempts a WHERE a.transaction_id = id AND a.answer_class = 'fee_too_low')");
cmp_ok($attempts, '<=', 2, 'no trouble makes more payloads than the fees call for');

# rrelayer 0.11.4 (row 14): a node says, again and again, that it would revert, in words that mean something else elsewhere
# (rrelayer#113). The nonce is taken by a no-op, which does not name the recipient, and what is behind it goes on.
my ($sink) = lc($SINK) =~ /^0x(.*)/;
$faulty->fault({ kind => 'error', method => $send, params => $sink, code => 3, message => 'execution reverted: nonce too low' });
$paid++;
my ($reverting) = submit($node, 'hot', $paid);
poll_until($node, "SELECT state, error->>'kind', error->>'message' ~ 'execution reverted: nonce too low' FROM rflow.transactions WHERE id = $reverting", 'failed|reverts|t', 120);
$faulty->heal;
my @others = pay(2);
all_settled($node, 90);
my $reverted = $others[0] - 1;
executed_once($chain, $node, 1 .. $reverted - 1, @others);

# A node that answers from another chain is not used.
my $other = start_anvil('--chain-id', '5');
$faulty->state(upstream => $other->url);
$faulty->forget_calls;
pay(1);
poll_until($node, "SELECT count(*) > 0 FROM rflow.workers WHERE kind = 'relayer' AND last_error ~ 'is on chain 5, not on 31337'");
is(scalar(grep { $_->{method} eq $send } $faulty->calls), 0, 'nothing is broadcast to another chain');
$faulty->state(upstream => $chain->url);
all_settled($node, 90);
executed_once($chain, $node, grep { $_ != $reverted } 1 .. $paid);

done_testing();
