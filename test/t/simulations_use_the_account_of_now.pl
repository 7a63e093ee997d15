# A send is simulated from the account that its relayer has at that moment: another signer counts at once.  What
# reverts fails at once, unless something of that account is in flight, whose effect is waited for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowTest;
use Test::More;

my $chain = start_anvil();
my ($trigger, $payout) = map { lc $chain->deploy_token } 1 .. 2;
my $node = new_node('main');
my ($pool, $target) = @ACCOUNTS[ 1, 2 ];
my $deposits = 0;

sub deposit
{
	my ($tokens) = @_;
	$deposits++;
	return $chain->transfer($trigger, $pool, $tokens . '0' x 18);
}

# The newest run, in this state.
sub run_is
{
	my ($hash, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow_private.workflow_runs WHERE transaction_hash = '$hash'", $state);
}

sub step_of
{
	my ($hash, $what) = @_;
	return $node->safe_psql('postgres',
		"SELECT $what FROM rflow_private.workflow_runs r JOIN rflow_private.step_runs s ON s.run_id = r.id "
		  . "WHERE r.transaction_hash = '$hash'");
}

sub address_is
{
	my ($address) = @_;
	return poll_until($node, "SELECT address FROM rflow_private.relayer_states WHERE relayer = 'hot'", $address);
}

add_network($node, $chain);
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi)
SELECT name, 'local', address::rflow.address,
       rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
                 'function transfer(address to, uint256 value) returns (bool)')
  FROM (VALUES ('deposits', '$trigger'), ('payout', '$payout')) c(name, address);
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY_3');
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('pay', rflow.on_event('deposits', 'Transfer'), \$\$ event.to = '$pool' \$\$,
  rflow.steps(
    rflow.send_transaction('pay', relayer => 'hot', contract => 'payout', function => 'transfer',
               args => \$\$ '$target', event.value \$\$, wait_for => 'mined')));
SQL
address_is($ACCOUNTS[3]);
$chain->transfer($payout, $ACCOUNTS[3], '100' . '0' x 18);

my $first = deposit(10);
run_is($first, 'succeeded');

$chain->mine(2);
poll_until($node, 'SELECT count(*) FROM rflow_private.nonces WHERE NOT settled', 0);
$node->safe_psql('postgres', "UPDATE rflow.relayers SET signer = 'env:RFLOW_TEST_KEY_4' WHERE name = 'hot'");
address_is($ACCOUNTS[4]);

my $poor = deposit(10);
run_is($poor, 'failed');
is(step_of($poor, 's.attempt'), '1', 'what reverts with nothing in flight is not tried again');
like(step_of($poor, "s.error->>'message'"), qr/revert/, 'and says so');

$chain->transfer($payout, $ACCOUNTS[4], '10' . '0' x 18);
my $funded = deposit(10);
run_is($funded, 'succeeded');
is( $node->safe_psql('postgres', 'SELECT string_agg(from_address::text, \' \' ORDER BY id) FROM rflow_private.relayer_transactions'),
	"$ACCOUNTS[3] $ACCOUNTS[4]", 'each send came from the account of its time');

$node->safe_psql('postgres', <<"SQL");
UPDATE rflow.relayers SET paused = true WHERE name = 'hot';
SELECT rflow.submit_transaction('hot', recipient => '$target', data => '0x', value => 1, idempotency_key => 'in flight');
SQL
my $early = deposit(20);
run_is($early, 'ready');
like(step_of($early, "s.error->>'message'"), qr/transactions in flight/, 'what reverts waits for what is in flight');

$chain->transfer($payout, $ACCOUNTS[4], '20' . '0' x 18);
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = false WHERE name = 'hot'");
run_is($early, 'succeeded');
is($chain->balance($payout, $target), '40' . '0' x 18, 'every run but the failed one has paid');

$node->stop;
$chain->stop;
done_testing();
