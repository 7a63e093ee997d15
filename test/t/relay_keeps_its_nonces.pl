# Nonces that get lost or taken: a pool that forgets, a nonce that somebody else uses, a slot that somebody else holds, two
# databases with one key, and a grant that is taken away while something is queued.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main');
add_network($node, $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '100 ms', confirmations = 2");
add_relayer($node, 'hot');
$chain->mine(1);

sub state_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $payment'", $state);
}

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

sub pool
{
	return hex_number($chain->rpc('txpool_status')->{pending});
}

# T21, I-3, I-18, gear-bridges#842, openzeppelin-relayer#843: the pool forgets all of them; the same bytes go out again, in order.
submit($node, 'hot', 1 .. 3);
state_is($_, 'broadcast') for 1 .. 3;
$chain->rpc('anvil_dropAllTransactions');
is(pool(), 0, 'the pool is empty');
RflowAnvil::wait_for(sub { pool() == 3 }, 'the pool to have them again');
is($node->safe_psql('postgres', 'SELECT max(attempts) FROM rflow.transactions'), 1, 'they are the same bytes');
mine(2);
state_is($_, 'confirmed') for 1 .. 3;

# rrelayer#36: the pool forgets one, and somebody else uses its nonce. That is final at depth only; then the send has failed
# without effect, and what comes next goes on.
submit($node, 'hot', 4);
state_is(4, 'broadcast');
$chain->rpc('anvil_dropAllTransactions');
my $foreign_hash = $chain->send({ from => $RflowAnvil::ACCOUNTS[0], to => $SINK, value => 1000, nonce => 3 });
mine(1);
poll_until($node,
	"SELECT reason ~ 'nonce 3 is used on the chain and no payload of ours has a receipt' FROM rflow.transactions WHERE idempotency_key = 'payment 4'");
is($node->safe_psql('postgres', "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment 4'"),
	'broadcast', 'it is not given up yet');
mine(4);
state_is(4, 'failed');
like($node->safe_psql('postgres', "SELECT error->>'kind', reason FROM rflow.transactions WHERE idempotency_key = 'payment 4'"),
	qr/^displaced\|nonce 3 was used by a transaction that is not rflow's: $foreign_hash in block \d+$/, 'it says why, and which');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.incidents WHERE kind = 'foreign-nonce'"), 1, 'and is an incident')
  if $node->safe_psql('postgres', "SELECT to_regclass('rflow.incidents') IS NOT NULL") eq 't';
submit($node, 'hot', 5);
state_is(5, 'broadcast');
mine(2);
state_is(5, 'confirmed');

# I-30: somebody else's transaction holds the slot in the pool, at a price that ours does not reach. It is not outbid blindly.
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = true");
submit($node, 'hot', 6);
my $foreign = $chain->rpc('eth_sendTransaction',
	{ from => $RflowAnvil::ACCOUNTS[0], to => $SINK, value => '0x3e9', nonce => '0x5',
		maxFeePerGas => '0x2540be400', maxPriorityFeePerGas => '0x2540be400' });
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = false");
poll_until($node, "SELECT reason ~ 'slot_taken' FROM rflow.transactions WHERE idempotency_key = 'payment 6'");
mine(6);
state_is(6, 'failed');
ok($chain->rpc('eth_getTransactionReceipt', $foreign), 'the foreign transaction was mined');
submit($node, 'hot', 7);
state_is(7, 'broadcast');
mine(2);
state_is(7, 'confirmed');
is_deeply([ sort { $a <=> $b } map { $_->[2] } executed($chain, $RflowAnvil::ACCOUNTS[0]) ],
	[ 1, 2, 3, 5, 7, 1000, 1001 ], 'each was executed once');

# I-27, ithacaxyz/relay#1519: two databases of a server share a key; one of them uses it.
$node->safe_psql('postgres', 'CREATE DATABASE second');
$node->safe_psql('second', 'CREATE EXTENSION rflow; SELECT rflow.arm()');
my $url = $chain->url;
$node->safe_psql('second', "INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('local', 31337, '{$url}');"
	  . "INSERT INTO rflow.relayers (name, network, signer) VALUES ('same', 'local', 'env:RFLOW_TEST_KEY')");
$node->poll_query_until('second', "SELECT problem ~ 'is used by another relayer process' FROM rflow.relayer_status")
  or fail('the second database waits for the account');

# The grant is checked again when it is signed.
$node->safe_psql('postgres', "CREATE ROLE payer; INSERT INTO rflow.relayer_grants VALUES ('hot', 'payer');"
	  . "UPDATE rflow.relayers SET paused = true");
$node->safe_psql('postgres', 'SET ROLE payer; ' . submit_sql('hot', 8));
$node->safe_psql('postgres', "DELETE FROM rflow.relayer_grants; UPDATE rflow.relayers SET paused = false");
state_is(8, 'failed');
is($node->safe_psql('postgres', "SELECT error->>'kind', reason, nonce FROM rflow.transactions WHERE idempotency_key = 'payment 8'"),
	'denied|role payer may not use relayer "hot" any more|', 'without a nonce');

done_testing();
