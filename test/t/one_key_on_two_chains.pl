# One key on two chains (research row 25: rrelayer#61, #89, #108): the same address on both, each signature is for its own
# chain, nonces and balances are counted apart, and both keep working when one of them cannot.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $address = $ACCOUNTS[1];
my %chain   = (local => start_anvil(), other => start_anvil('--chain-id', '1337'));
my %chain_id = (local => 31337, other => 1337);
my $node    = new_node('main');
for my $network (sort keys %chain)
{
	add_network($node, $chain{$network}, $network);
	add_relayer($node, "on-$network", 'env:RFLOW_TEST_KEY_1', $network);
}
poll_until($node, "SELECT count(*) FROM rflow.relayer_status WHERE balance > 0 AND address = '$address'", 2);

# What the account has sent on a chain: [nonce, value, chain id].
sub sent
{
	my ($network) = @_;
	my @found = executed($chain{$network}, $address);
	my @hashes = split /\n/, $node->safe_psql('postgres', "SELECT transaction_hash FROM rflow.transactions WHERE network = '$network' AND state = 'confirmed' ORDER BY nonce");
	my @ids = map { hex_number($chain{$network}->rpc('eth_getTransactionByHash', $_)->{chainId}) } @hashes;
	return [ map { "$found[$_][0]:$found[$_][2]:$ids[$_]" } 0 .. $#found ];
}

# Confirmed means two deep: the chains make blocks with transactions only.
sub confirmed
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (%count) = @_;
	for my $network (sort keys %count)
	{
		poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE network = '$network' AND state IN ('mined', 'confirmed')", $count{$network});
		$chain{$network}->mine(2);
		poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE network = '$network' AND state = 'confirmed'", $count{$network});
	}
}

$node->safe_psql('postgres', submit_sql('on-local', 1 .. 3) . submit_sql('on-other', 11 .. 12));
confirmed(local => 3, other => 2);
is_deeply(sent('local'), [ map { ($_ - 1) . ":$_:31337" } 1 .. 3 ], 'three on one chain, for that chain');
is_deeply(sent('other'), [ '0:11:1337', '1:12:1337' ], 'two on the other, for the other, from nonce 0');

# Without funds on one of them, the other goes on.
$chain{local}->rpc('anvil_setBalance', $address, '0x1');
$node->safe_psql('postgres', submit_sql('on-local', 4) . submit_sql('on-other', 13));
poll_until($node, "SELECT problem ~ '^insufficient funds' FROM rflow.relayer_status WHERE relayer = 'on-local'");
confirmed(other => 3);
is($node->safe_psql('postgres', "SELECT problem IS NULL FROM rflow.relayer_status WHERE relayer = 'on-other'"), 't', 'a balance is that of its chain');
$chain{local}->rpc('anvil_setBalance', $address, to_hex('1000000000000000000'));
confirmed(local => 4);
is_deeply(sent('local'), [ map { ($_ - 1) . ":$_:31337" } 1 .. 4 ], 'and what waited is sent once there is some');

$node->stop;
$_->stop for values %chain;
done_testing();
