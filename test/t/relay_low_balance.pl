# A balance below low_balance is an incident, a line in rflow.stuck and a notification, once, until it is a quarter above the
# limit; it is noticed of an account that sends nothing, too, and survives a restart.  The pace at which the account spends
# says how many hours are left (research §1.10: balance monitor).
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $chain   = start_anvil();
my $node    = new_node('main');
my $address = $ACCOUNTS[1];
add_network($node, $chain);
add_relayer($node, 'hot', 'env:RFLOW_TEST_KEY_1');
poll_until($node, "SELECT balance > 0 FROM rflow.relayer_status");
$node->safe_psql('postgres', "UPDATE rflow.relayers SET low_balance = 1e18");

# The chain makes a block, and this is what it has then.
sub has
{
	my ($wei) = @_;
	$chain->rpc('anvil_setBalance', $address, to_hex($wei));
	$chain->mine(1);
	return poll_until($node, "SELECT balance FROM rflow.relayer_status", $wei);
}

sub incident
{
	return $node->safe_psql('postgres',
		"SELECT count(*) || ' ' || count(*) FILTER (WHERE resolved_at IS NULL) FROM rflow.incidents WHERE kind = 'low-balance'");
}

my $listener = $node->background_psql('postgres');
$listener->query_safe('LISTEN rflow_incidents');

# Notifications that have come since the last call.
sub notified
{
	my $out = $listener->query_safe('SELECT 1');
	my @ids = $out =~ /notification "rflow_incidents" with payload "(\d+)"/g;
	return scalar @ids;
}

has('1' . '0' x 18);
is(incident(), '0 0', 'a balance at the limit is not low');
has('9' x 18);
poll_until($node, "SELECT low_since IS NOT NULL FROM rflow.relayer_status");
is(incident(), '1 1', 'one wei less is');
my $since = $node->safe_psql('postgres', 'SELECT low_since FROM rflow.relayer_status');
like(
	$node->safe_psql('postgres', "SELECT reason || ' / ' || what_to_do FROM rflow.stuck WHERE kind = 'relayer'"),
	qr{^it has 9{18} wei, less than the 10{18} of low_balance / Send funds to $address: it is over at 1250000000000000000 wei$},
	'rflow.stuck says what to do');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.stuck WHERE since = '$since'"), 1, 'and since when, in one line');

# Hysteresis, and a restart in between.
has('1' . '0' x 17);
has('1249999999999999999');
$node->restart;
poll_until($node, "SELECT count(*) FROM rflow.workers WHERE kind = 'relayer' AND status = 'running'", 1);
has('1249999999999999998');
is($node->safe_psql('postgres', 'SELECT low_since FROM rflow.relayer_status'), $since, 'it is still low, since then');
is(incident(), '1 1', 'and was not told again');
has('1250000000000000000');
poll_until($node, "SELECT low_since IS NULL FROM rflow.relayer_status");
is(incident(), '1 0', 'a quarter above the limit it is over');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.stuck"), 0, 'and rflow.stuck is empty');

$listener = $node->background_psql('postgres');
$listener->query_safe('LISTEN rflow_incidents');
has('1' . '0' x 18);
is(incident(), '1 0', 'between the limits nothing changes');
has('5');
poll_until($node, "SELECT low_since IS NOT NULL FROM rflow.relayer_status");
is(incident(), '1 1', 'low again: the same incident, open again');
is(notified(), 1, 'who listens was told');
$node->safe_psql('postgres', 'UPDATE rflow.relayers SET low_balance = NULL');
poll_until($node, "SELECT low_since IS NULL FROM rflow.relayer_status");
is(incident(), '1 0', 'without a limit nothing is low');
is(notified(), 1, 'who listens was told that, too');
$listener->quit;
$node->safe_psql('postgres', 'UPDATE rflow.relayers SET low_balance = 1');

# 2^200 wei (rrelayer#56, research row 20), and the pace: 2 ether in the first hour, of 24.
has('1606938044258990275541962092341162602522202993782792835301376');
$node->safe_psql('postgres',
	"SELECT rflow.submit_transaction('hot', recipient => '$SINK', value => 1e18, data => '0x', idempotency_key => 'burn ' || n) FROM generate_series(1, 2) n");
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state IN ('mined', 'confirmed')", 2);
$chain->mine(2);
all_settled($node);
my $burn = $node->safe_psql('postgres', 'SELECT burn_per_hour FROM rflow.relayer_status');
cmp_ok($burn, '>', 2e18, 'value and gas are spent');
cmp_ok($burn, '<', 2.01e18, 'and no more');
has('24' . '0' x 18);
is($node->safe_psql('postgres', 'SELECT round(hours_left) FROM rflow.relayer_status'), 12, 'at that pace it lasts so long');

$node->stop;
$chain->stop;
done_testing();
