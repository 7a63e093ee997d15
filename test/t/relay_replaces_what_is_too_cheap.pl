# What the base fee has left behind is signed again for more: at least a tenth on both fees, never beyond a cap, and when the
# cap is in the way it says so.  Whichever payload is mined, the payment is made once.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main');
add_network($node, $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '100 ms'");
add_relayer($node, 'hot');
add_relayer($node, 'thrifty', 'env:RFLOW_TEST_KEY_1');

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

# A block is asked for whose base fee nothing in the pool can pay.
sub spike
{
	$chain->rpc('anvil_setNextBlockBaseFeePerGas', to_hex('50000000000'));
	mine(1);
}

# Mines until nothing is under way any more.
sub settle
{
	for (1 .. 400)
	{
		last if $node->safe_psql('postgres',
			"SELECT NOT EXISTS (SELECT FROM rflow.transactions WHERE state IN ('queued', 'signed', 'broadcast', 'mined'))") eq 't';
		mine(1);
		select undef, undef, undef, 0.05;
	}
	all_settled($node);
}

# I-23, R3: what stays pending is raised. rrelayer#82, digital-objects-network#76, zkDatabase#253: every payload is remembered.
mine(1);
submit($node, 'hot', 1, 2);
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'broadcast'", 2);
spike();
is($chain->nonce($RflowAnvil::ACCOUNTS[0]), 0, 'what is too cheap is not mined');
for (1 .. 40)
{
	last if $node->safe_psql('postgres', 'SELECT count(*) >= 4 FROM rflow.attempts') eq 't';
	mine(1);
	select undef, undef, undef, 0.1;
}
settle();
executed_once($chain, $node, 1, 2);
is($node->safe_psql('postgres', <<'SQL'), 't', 'each attempt offers a tenth more than the one before, on both fees');
SELECT count(*) > 0 AND bool_and(b.max_fee_per_gas >= ceil(a.max_fee_per_gas * 1.1) AND
	b.max_priority_fee_per_gas >= ceil(a.max_priority_fee_per_gas * 1.1))
FROM rflow.attempts a JOIN rflow.attempts b USING (address, nonce) WHERE b.attempt = a.attempt + 1
SQL
is($node->safe_psql('postgres', <<'SQL'), 't', 'the row carries the hash of the payload that was mined');
SELECT bool_and(t.transaction_hash IN (SELECT a.transaction_hash FROM rflow.attempts a WHERE a.transaction_id = t.id)) FROM rflow.transactions t
SQL

# R14, openzeppelin-relayer#581: a cap on a relayer: one that is signed stays at its price, one that is not waits; both say why.
$node->safe_psql('postgres', "UPDATE rflow.relayers SET max_fee_per_gas = 3000000000 WHERE name = 'thrifty'");
mine(60);
submit($node, 'thrifty', 11);
poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment 11'", 'broadcast');
spike();
submit($node, 'thrifty', 12);
poll_until($node,
	"SELECT reason ~ '^held at the cap of 3000000000 wei per gas: the next block asks for' FROM rflow.transactions WHERE idempotency_key = 'payment 12'");
mine(3);
poll_until($node,
	"SELECT state = 'broadcast' AND reason ~ '^held at its price of' FROM rflow.transactions WHERE idempotency_key = 'payment 11'");
is($node->safe_psql('postgres', "SELECT max(max_fee_per_gas) <= 3000000000 FROM rflow.attempts WHERE address = (SELECT address FROM rflow.relayer_status WHERE relayer = 'thrifty')"),
	't', 'nothing beyond the cap is signed');
$node->safe_psql('postgres', "UPDATE rflow.relayers SET max_fee_per_gas = NULL WHERE name = 'thrifty'");
settle();
is($node->safe_psql('postgres', "SELECT string_agg(state, ' ') FROM rflow.transactions WHERE relayer = 'thrifty'"),
	'confirmed confirmed', 'without the cap they go on');

done_testing();
