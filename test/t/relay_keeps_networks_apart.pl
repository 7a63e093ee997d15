# One key on two chains, and a chain whose node hangs: each has its own nonces, its own signatures, and its own pace.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

# A development key is refused on other chains, so this is none that everybody knows.
$ENV{RFLOW_TEST_OWN_KEY} = '0x' . 'c7' x 32;

my $one    = start_anvil('--block-time', '1');
# rindexer#53 (row 64): a chain id wider than 32 bits.
my $two    = start_anvil('--block-time', '1', '--chain-id', '5264468217');
my $faulty = start_faulty_node($two);
my $node   = new_node('main');
my $url    = $faulty->url;

add_network($node, $one, 'one');
$node->safe_psql('postgres', "INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('two', 5264468217, '{$url}')");
add_relayer($node, $_, 'env:RFLOW_TEST_OWN_KEY', $_) for qw(one two);

# rrelayer#61, rrelayer#89, rrelayer#108: the same address on both, and the right chain id in each signature.
poll_until($node, 'SELECT count(address), count(DISTINCT address) FROM rflow.relayer_status', '2|1');
my $address = $node->safe_psql('postgres', 'SELECT DISTINCT address FROM rflow.relayer_status');
$_->rpc('anvil_setBalance', $address, to_hex('1000000000000000000')) for $one, $two;
submit($node, $_, $_ eq 'one' ? (1 .. 3) : (11 .. 13)) for qw(one two);
all_settled($node);
for ([ $one, 1 .. 3 ], [ $two, 11 .. 13 ])
{
	my ($chain, @payments) = @$_;
	is_deeply([ map { [ $_->[0], $_->[2] ] } executed($chain, $address) ], [ map { [ $_, $payments[$_] ] } 0 .. 2 ],
		'each chain has its own nonces and payments');
}
is($node->safe_psql('postgres', 'SELECT chain_id, count(*), min(nonce), max(nonce) FROM rflow.attempts GROUP BY 1 ORDER BY 1'),
	"31337|3|0|2\n5264468217|3|0|2", 'signed for the chain that they are sent to');

# R12: the node of one chain hangs; the other does not wait for it.
$faulty->fault({ kind => 'hang' });
submit($node, 'two', 14);
$faulty->wait_hit;
my $began = time;
submit($node, 'one', 4);
poll_until($node, "SELECT state IN ('mined', 'confirmed') FROM rflow.transactions WHERE value = 4", 't', 20);
cmp_ok(time - $began, '<', 15, 'a chain whose node hangs holds up no other');
is($node->safe_psql('postgres', 'SELECT state FROM rflow.transactions WHERE value = 14'), 'queued', 'which waits');
$faulty->heal;
all_settled($node, 90);

# R5, flashbots#44 (row 95): a server that starts anew gives no nonce to two of them, however many are signed and not mined.
$one->rpc('evm_setIntervalMining', 0);
submit($node, 'one', 5 .. 8);
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'broadcast'", 4);
$node->restart;
submit($node, 'one', 9 .. 10);
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'broadcast'", 6);
$one->rpc('evm_setIntervalMining', 1);
all_settled($node, 90);
is_deeply([ map { [ $_->[0], $_->[2] ] } executed($one, $address) ], [ map { [ $_, $_ + 1 ] } 0 .. 9 ], 'nonces go on where they were');

$node->stop;
done_testing();
