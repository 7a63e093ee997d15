# A network with a limit of compute units: all its workers together never exceed it, heads and broadcasts go first, and what
# waits says so.  The node counts by itself, and would refuse.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $LIMIT = 400;
my %COSTS = (eth_getLogs => 300, eth_sendRawTransaction => 20, eth_chainId => 0);

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $token  = $chain->deploy_token;
my $abi    = RflowAnvil::abi_json('StdToken');
my $url    = $faulty->url;
my $costs  = JSON::PP->new->canonical->encode({ %COSTS, '*' => 10 });

sub status
{
	my ($column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM rflow.network_status");
}

$chain->mine(60);

# The provider allows a little more than what we keep to: clocks and transit are not exact.
$faulty->state(units => { per_second => $LIMIT * 1.05, burst => $LIMIT * 2.2, costs => \%COSTS, other => 10 });
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.networks (name, chain_id, rpc_urls, poll_max, max_units_per_second, unit_costs)
VALUES ('local', 31337, '{$url}', '200 ms', $LIMIT, '$costs');
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('token', 'local', '$token', \$json\$$abi\$json\$);
SQL
add_relayer($node, 'hot', 'env:RFLOW_TEST_KEY_1');

# A range of old blocks, in pieces that cost most of a second each, beside payments.
my $began = time;
$node->safe_psql('postgres', <<'SQL');
UPDATE rflow.networks SET log_range = 6;
INSERT INTO rflow.workflows (name, start_at, trigger, steps) VALUES ('past', 'earliest', rflow.on_event('token', 'Transfer'),
	rflow.steps(rflow.read('mine', contract => 'token', function => 'totalSupply')));
SQL
for my $payment (1 .. 6)
{
	submit($node, 'hot', $payment);
	$chain->mine;
	poll_until($node, "SELECT state IN ('mined', 'confirmed') FROM rflow.transactions WHERE idempotency_key = 'payment $payment'");
}
poll_until($node, "SELECT lag_blocks = 0 FROM rflow.network_status");
my $seconds = time - $began;
$chain->mine(3);
all_settled($node);
executed_once($chain, $node, 1 .. 6);

my $state = $faulty->state;
is($state->{units_refused}, 0, 'the node had nothing to refuse');
cmp_ok($state->{units_spent}, '>', 60 / 6 * 300, 'the old blocks were read in pieces');
cmp_ok($state->{units_spent} / $seconds, '<', $LIMIT * 1.6, "$state->{units_spent} units in $seconds s");
cmp_ok(status('rpc_units'), '>', 0, 'units are counted');
cmp_ok(status('limited_ms'), '>', 0, 'and how long workers have waited for them');

# A limit that is far too low: it says that it waits, and what for.
$node->safe_psql('postgres', 'UPDATE rflow.networks SET max_units_per_second = 1');
poll_until($node, "SELECT limited_since IS NOT NULL FROM rflow.network_status");
poll_until($node, "SELECT last_error ~ 'the network''s limit of 1 compute units per second is used up' FROM rflow.workers WHERE kind = 'watcher'");
poll_until($node, "SELECT reason ~ 'waits: the limit of 1 compute units per second is used up' AND what_to_do ~ '^Raise max_units_per_second' FROM rflow.stuck WHERE kind = 'network'");
$node->safe_psql('postgres', 'UPDATE rflow.networks SET max_units_per_second = NULL');
$chain->mine;
poll_until($node, 'SELECT max(number) FROM rflow_private.blocks', $chain->block_number);
poll_until($node, "SELECT limited_since IS NULL FROM rflow.network_status");

# What cannot be a cost is refused where it is written.
for my $wrong ('[]', '{"eth_call": -1}', '{"eth_call": "26"}', '{"eth_call": 1.5}')
{
	my (undef, undef, $error) = $node->psql('postgres', "UPDATE rflow.networks SET unit_costs = '$wrong'");
	like($error, qr/violates check constraint "networks_unit_costs_check"/, "costs $wrong");
}

$node->stop;
done_testing();
