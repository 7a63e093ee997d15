# A block that held a transaction goes: before the transaction is confirmed, after that while nothing is under way, and with
# a no-op in it.  The same bytes go out again, and what was cancelled stays without effect.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main');
add_network($node, $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '100 ms', confirmations = 3");
add_relayer($node, 'hot');
$chain->mine(1);

sub state_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $payment'", $state);
}

# One block at a time, seen by the watcher before the next one.
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

# R4, R8: rrelayer loops for ever when the receipt of a mined transaction has gone.
submit($node, 'hot', 1, 2);
state_is($_, 'broadcast') for 1, 2;
mine(1);
state_is($_, 'mined') for 1, 2;
$chain->reorg(1, []);
state_is($_, 'broadcast') for 1, 2;
like($node->safe_psql('postgres', "SELECT string_agg(reason, '; ') FROM rflow.transactions") . '',
	qr/^(block \d+, which held it, is not on the chain any more(; )?)*$/, 'the reason is the block that has gone');
poll_until($node, "SELECT count(DISTINCT transaction_hash) || '|' || count(*) FROM rflow.attempts", '2|2');
RflowAnvil::wait_for(sub { hex_number($chain->rpc('txpool_status')->{pending}) == 2 }, 'the same bytes to be in the pool again');
mine(3);
state_is($_, 'confirmed') for 1, 2;
all_settled($node);

# Deeper than the confirmations, while nothing is under way.
$chain->reorg(5, []);
state_is($_, 'broadcast') for 1, 2;
RflowAnvil::wait_for(sub { hex_number($chain->rpc('txpool_status')->{pending}) == 2 }, 'confirmed ones to be in the pool again');
mine(3);
state_is($_, 'confirmed') for 1, 2;

# A transaction that a no-op has cancelled is not executed when the block of the no-op goes.
my ($id) = submit($node, 'hot', 3);
state_is(3, 'broadcast');
is($node->safe_psql('postgres', "SELECT rflow.cancel_transaction($id)"), 'cancelling', 'it is to be cancelled');
poll_until($node, "SELECT count(*) FROM rflow.attempts WHERE transaction_id = $id AND kind = 'noop' AND broadcast_at IS NOT NULL", 1);
mine(3);
state_is(3, 'cancelled');
all_settled($node);
$chain->reorg(4, []);
RflowAnvil::wait_for(sub { hex_number($chain->rpc('txpool_status')->{pending}) == 1 }, 'the no-op to be in the pool again');
mine(3);
all_settled($node);
state_is(3, 'cancelled');
submit($node, 'hot', 4);
state_is(4, 'broadcast');
mine(3);
state_is(4, 'confirmed');
executed_once($chain, $node, 1, 2, 4);

done_testing();
