# What a send costs is compared with the balance less all that the account may still have to pay: what is signed and not mined,
# at its highest price, and what the same round signs; of two relayers with one account, too, and of balances beyond 2^128
# (rrelayer#56, research row 20).  A send that is not covered waits at the head of its account and says what is missing.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $chain   = start_anvil('--no-mining');
my $node    = new_node('main');
my $address = $ACCOUNTS[1];
add_network($node, $chain);
add_relayer($node, 'one', 'env:RFLOW_TEST_KEY_1');
add_relayer($node, 'two', 'env:RFLOW_TEST_KEY_1');

sub set_balance
{
	my ($wei) = @_;
	$chain->rpc('anvil_setBalance', $address, to_hex($wei));
}

sub state_of
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $payment'", $state);
}

# Waits, and says of which amounts: what is missing is the difference.
sub lacks
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $balance) = @_;
	return poll_until($node, <<"SQL");
SELECT state = 'queued' AND m[1]::numeric = $balance AND m[2]::numeric - m[1]::numeric = m[3]::numeric AND m[3]::numeric > 0
  FROM rflow.transactions,
       regexp_match(reason, '^insufficient funds: the account has (\\d+) wei, with what is under way it needs (\\d+): (\\d+) are missing\$') m
 WHERE idempotency_key = 'payment $payment'
SQL
}

sub needed
{
	my ($payment) = @_;
	return $node->safe_psql('postgres',
		"SELECT substring(reason, 'it needs (\\d+)') FROM rflow.transactions WHERE idempotency_key = 'payment $payment'");
}

sub queue
{
	my ($relayer, $payment, $value) = @_;
	$node->safe_psql('postgres',
		"SELECT rflow.submit_transaction('$relayer', recipient => '$SINK', value => $value, data => '0x', idempotency_key => 'payment $payment', gas_limit => 21000)");
}

# One is signed and not mined: the other relayer of the account knows.
poll_until($node, "SELECT count(*) FROM rflow.relayer_status WHERE balance > 0", 2);
set_balance('1500000000000000000');
queue('one', 1, '1e18');
state_of(1, 'broadcast');
queue('two', 2, '1e18');
lacks(2, '1500000000000000000');
cmp_ok(needed(2), '>', 2e18, 'both values are needed');
queue('two', 3, '1e16');
queue('one', 4, '1e16');
poll_until($node, "SELECT problem ~ '^insufficient funds' FROM rflow.relayer_status WHERE relayer = 'two'");
is( $node->safe_psql('postgres', "SELECT count(*) FROM rflow.attempts WHERE address = '$address'"), 1, 'no nonce is used');
is( $node->safe_psql('postgres', "SELECT string_agg(state, ' ' ORDER BY id) FROM rflow.transactions WHERE idempotency_key IN ('payment 3', 'payment 4')"),
	'queued queued', 'smaller ones behind it do not eat up what it waits for');
like($node->safe_psql('postgres', "SELECT what_to_do FROM rflow.stuck WHERE kind = 'relayer' AND subject = 'two'"), qr/\Q$address\E/, 'rflow.stuck has the address to fund');

# Enough: they go on in their order.
set_balance('3000000000000000000');
state_of(4, 'broadcast');
is( $node->safe_psql('postgres', "SELECT string_agg(substring(idempotency_key, '\\d+'), ' ' ORDER BY nonce) FROM rflow.transactions"), '1 2 3 4', 'in the order of the queue');
$chain->mine(3);
state_of($_, 'confirmed') for 1 .. 4;

# Two at once, each of which the balance covers alone: the second one is not signed.
set_balance('1500000000000000000');
$node->safe_psql('postgres', join '', 'BEGIN;', map("SELECT rflow.submit_transaction('one', recipient => '$SINK', value => 1e18, data => '0x', idempotency_key => 'payment $_', gas_limit => 21000);", 5, 6), 'COMMIT;');
state_of(5, 'broadcast');
lacks(6, '1500000000000000000');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.attempts WHERE address = '$address'"), 5, 'no nonce is used for the other');
set_balance('3000000000000000000');
state_of(6, 'broadcast');
$chain->mine(3);
state_of($_, 'confirmed') for 5, 6;
is(scalar(grep { $_->[1] eq lc $SINK && $_->[3] } executed($chain, $address)), 6, 'each was paid once');

# 200 bits: of a balance that equals the value, the gas is missing.
my $huge = '1606938044258990275541962092341162602522202993782792835301376';
set_balance($huge);
queue('two', 7, $huge);
lacks(7, $huge);
cmp_ok($node->safe_psql('postgres', "SELECT substring(reason, '(\\d+) are missing')::numeric % 21000 FROM rflow.transactions WHERE idempotency_key = 'payment 7'"),
	'==', 0, 'what is missing is the gas, to the wei');

$node->stop;
$chain->stop;
done_testing();
