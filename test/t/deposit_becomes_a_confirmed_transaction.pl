# The main job: a deposit on chain becomes a filtered event, a run, a simulated and queued transaction, a signed and
# broadcast one, and a confirmed receipt; each with its row.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowTest;
use Test::More;

my $chain = start_anvil();
my $token = $chain->deploy_token;
my $node  = new_node('main');
my ($pool, $target) = ('0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC');

add_network($node, $chain);
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('token', 'local', '$token',
        rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
                  'function transfer(address to, uint256 value) returns (bool)',
                  'function balanceOf(address owner) view returns (uint256)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY_4');
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('forward-deposits',
  rflow.on_event('token', 'Transfer'),
  \$\$ event.to = '$pool' AND event.value >= 100e18 \$\$,
  rflow.steps(
    rflow.read('pool', contract => 'token', function => 'balanceOf', args => \$\$ event.to \$\$),
    rflow.send_transaction('forward', relayer => 'hot', contract => 'token', function => 'transfer',
               args     => \$\$ '$target', div(event.value, 2) \$\$,
               run_if   => \$\$ pool.result > 0 \$\$,
               wait_for => 'mined')));
SQL

# The relayer's account needs tokens to forward; this transfer is below the filter's limit.
poll_until($node, "SELECT address IS NOT NULL FROM rflow_private.relayer_states WHERE relayer = 'hot'", 't');
$chain->transfer($token, $ACCOUNTS[4], '1000000000000000000000');

my $deposit = $chain->transfer($token, $pool, '250000000000000000000');
poll_until($node, 'SELECT count(*) FROM rflow_private.workflow_runs', '1');
$chain->transfer($token, $pool, '1000000000000000000');

poll_until($node, "SELECT state IN ('mined', 'confirmed') FROM rflow_private.relayer_transactions", 't');
is($chain->balance($token, $target), '125000000000000000000', 'half of the deposit was forwarded');
is($node->safe_psql('postgres', 'SELECT transaction_hash FROM rflow_private.workflow_runs'), $deposit,
	'the run belongs to the deposit');
is( $node->safe_psql('postgres', "SELECT event->>'value' FROM rflow_private.workflow_runs"),
	'250000000000000000000', 'the event is exact');
poll_until($node, 'SELECT state FROM rflow_private.workflow_runs', 'succeeded');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.workflow_runs'),
	'1', 'the small transfer started nothing');
is( $node->safe_psql('postgres', 'SELECT string_agg(step || \' \' || state, \', \' ORDER BY position) FROM rflow_private.step_runs'),
	'pool succeeded, forward succeeded', 'both steps are in the journal');

$chain->rpc('anvil_mine', '0x2');
poll_until($node, 'SELECT state FROM rflow_private.relayer_transactions', 'confirmed');

$node->stop;
$chain->stop;
done_testing();
