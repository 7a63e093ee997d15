# Several backends behind one address: some lag, one has no receipts, none knows all. What a node does not show is not gone: no
# payment is given up, none is made twice, and no nonce goes back.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $CONFIRMATIONS = 2;

my $chain  = start_anvil('--no-mining');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
add_network($node, $faulty);
$node->safe_psql('postgres',
	"UPDATE rflow.networks SET poll_max = '50 ms', confirmations = $CONFIRMATIONS");
add_relayer($node, 'hot');
my $paid = 0;

sub mine
{
	my ($blocks) = @_;

	for (1 .. $blocks)
	{
		my $next = $chain->block_number + 1;
		$chain->mine(1);
		poll_until($node, "SELECT max(number) >= $next FROM rflow_private.blocks");
	}
}

sub pay
{
	my ($count) = @_;
	my @payments = ($paid + 1 .. $paid + $count);

	$paid += $count;
	submit($node, 'hot', @payments);
	poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state IN ('queued', 'signed')", 0);
	return @payments;
}

sub states
{
	my (@payments) = @_;
	return $node->safe_psql('postgres', sprintf(
		"SELECT string_agg(DISTINCT state, ' ') FROM rflow.transactions WHERE value IN (%s)", join ', ', @payments));
}

sub settle
{
	RflowAnvil::wait_for(
		sub {
			$chain->mine(1);
			return $node->safe_psql('postgres', 'SELECT NOT EXISTS (SELECT FROM rflow_private.nonces WHERE NOT settled) '
				  . "AND NOT EXISTS (SELECT FROM rflow_private.due WHERE kind = 'send')") eq 't';
		},
		'everything to be settled');
}

$chain->mine(20);

# R15, I-2, I-6: two backends, one three blocks behind the other; the count of nonces goes up and down, the nonces do not.
$faulty->state(backends => [ { lag => 0 }, { lag => 3 } ], spread => 'call');
for (1 .. 4)
{
	pay(3);
	$chain->mine(1);
}
settle();
executed_once($chain, $node, 1 .. $paid);
is($node->safe_psql('postgres', 'SELECT max(nonce) - min(nonce) + 1 FROM rflow.transactions'), $paid, 'no nonce was left out or used twice');

# I-25, I-5 (celo-monorepo#11790, OZ relayer#817): counts come from a current backend, receipts from one that is behind for much
# longer than the confirmations. Used, and without a receipt: but it is ours, which the block shows.
$faulty->state(backends => [ { receipts_lag => 1000 } ], spread => 'request');
my @payments = pay(2);
mine($CONFIRMATIONS + 8);
poll_until($node, "SELECT reason ~ '^it is in block [0-9]+, and the node does not give its receipt' FROM rflow.transactions WHERE value = $payments[0]");
is(states(@payments), 'broadcast', 'what is used is not given up without seeing by whom');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.incidents"), 0, 'and nobody else is suspected');
$faulty->state(backends => undef);
mine(2);
poll_until($node, sprintf("SELECT bool_and(state = 'confirmed') FROM rflow.transactions WHERE value IN (%s)", join ', ', @payments));
executed_once($chain, $node, 1 .. $paid);

# The block cannot be read either: nothing is concluded, however long it takes.
$faulty->fault({ kind => 'result', method => 'eth_getTransactionReceipt', result => undef },
	{ kind => 'error', method => 'eth_getBlockByNumber', params => 'true', code => -32000, message => 'missing trie node' });
@payments = pay(1);
mine($CONFIRMATIONS + 8);
$faulty->wait_hit(20);
is(states(@payments), 'broadcast', 'no answer is no evidence');
$faulty->heal;
mine(2);
poll_until($node, "SELECT state FROM rflow.transactions WHERE value = $payments[0]", 'confirmed');

# Somebody else has used the nonce, while a backend lags: that is seen, and named.
$faulty->fault({ kind => 'forget', method => 'eth_sendRawTransaction' });
@payments = pay(1);
my $nonce = $node->safe_psql('postgres', "SELECT nonce FROM rflow.transactions WHERE value = $payments[0]");
my $hash  = $chain->send({ from => $RflowAnvil::ACCOUNTS[0], to => $SINK, value => 1000, nonce => $nonce });
$faulty->state(backends => [ { lag => 0 }, { lag => 1 } ], spread => 'call');
$faulty->heal;
RflowAnvil::wait_for(
	sub {
		$chain->mine(1);
		return $node->safe_psql('postgres', "SELECT state FROM rflow.transactions WHERE value = $payments[0]") eq 'failed';
	},
	'the foreign use to be believed');
like($node->safe_psql('postgres', "SELECT reason FROM rflow.transactions WHERE value = $payments[0]"),
	qr/^nonce $nonce was used by a transaction that is not rflow's: $hash in block \d+$/, 'the transaction is named');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.incidents WHERE kind = 'foreign-nonce'"), 1, 'and is an incident');
$faulty->state(backends => undef);

# R8: confirmed is a number of blocks, not of seconds: whatever the clocks of the blocks say, and however long none comes.
$faulty->state(skew => 1_000_000);
my ($payment) = pay(1);
mine(1);
poll_until($node, "SELECT state FROM rflow.transactions WHERE value = $payment", 'mined');
$faulty->forget_calls;
RflowAnvil::wait_for(sub { (my @asked = $faulty->calls('eth_getTransactionReceipt')) > 2 }, 'the relayer to look again and again');
is(states($payment), 'mined', 'no block, no confirmation');
mine(1);
poll_until($node, "SELECT state FROM rflow.transactions WHERE value = $payment", 'confirmed');

$node->stop;
done_testing();
