# Prices where a chain has no base fee (R9), and where the base fee is what a script says: what a block asks for decides.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain  = start_anvil('--no-mining');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');

sub sql { return $node->safe_psql('postgres', $_[0]) }

sub settle
{
	RflowAnvil::wait_for(
		sub {
			$chain->mine(1);
			return sql('SELECT NOT EXISTS (SELECT FROM rflow_private.nonces WHERE NOT settled) '
				  . "AND NOT EXISTS (SELECT FROM rflow_private.due WHERE kind = 'send')") eq 't';
		},
		'everything to be settled');
}

# R9: rrelayer finds no price on such a chain, and sends nothing.
$chain->mine(1);
$faulty->state(legacy => JSON::PP::true);
add_network($node, $faulty);
sql("UPDATE rflow.networks SET poll_max = '50 ms'");
add_relayer($node, 'hot');
submit($node, 'hot', 1);
poll_until($node, 'SELECT state FROM rflow.transactions', 'broadcast');
is(sql('SELECT gas_price > 0, max_fee_per_gas IS NULL FROM rflow.attempts'), 't|t', 'a gas price where there is no base fee');
is(hex_number($chain->rpc('eth_getTransactionByHash', sql('SELECT transaction_hash FROM rflow.attempts'))->{type}),
	0, 'in a transaction of the old kind');
# What is too cheap is raised there too, by a tenth at least.
$chain->rpc('anvil_setNextBlockBaseFeePerGas', to_hex('40000000000'));
RflowAnvil::wait_for(sub { $chain->mine(1); return sql('SELECT count(*) > 1 FROM rflow.attempts') eq 't' }, 'a higher gas price');
is(sql('SELECT bool_and(b.gas_price * 10 >= a.gas_price * 11) FROM rflow.attempts a JOIN rflow.attempts b USING (address, nonce) WHERE b.attempt = a.attempt + 1'),
	't', 'a tenth more');
settle();
executed_once($chain, $node, 1);

# The chain learns EIP-1559; its base fee is a script from here on, since its own is low again.
$chain->mine(60);
my $next = $chain->block_number + 2;
$faulty->state(legacy => JSON::PP::false, base_fees => { from => $next, fees => [ '1000000000', '1000000000' ] });
$chain->mine(5);
submit($node, 'hot', 2);
poll_until($node, "SELECT state FROM rflow.transactions WHERE value = 2", 'broadcast');
is(sql("SELECT max_fee_per_gas >= 2000000000 AND max_fee_per_gas < 10000000000 FROM rflow.attempts a JOIN rflow.transactions t ON t.id = a.transaction_id WHERE value = 2"),
	't', 'twice the base fee, and the tip');
# A base fee beyond what it pays: it is raised to what the next block asks.
$faulty->state(base_fees => { from => $next, fees => [ '30000000000' ] });
my $before = $chain->rpc('txpool_content');
RflowAnvil::wait_for(sub {
	# Empty blocks: nothing of it is mined meanwhile.
	$chain->rpc('anvil_dropAllTransactions');
	$chain->mine(1);
	return sql("SELECT max(max_fee_per_gas) >= 30000000000 FROM rflow.attempts a JOIN rflow.transactions t ON t.id = a.transaction_id WHERE value = 2") eq 't';
}, 'a price that enters the next block');
$faulty->state(base_fees => undef);
settle();
executed_once($chain, $node, 1, 2);

$node->stop;
done_testing();
