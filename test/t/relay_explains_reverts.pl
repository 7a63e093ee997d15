# A call that reverts: refused without a nonce when its gas is estimated, failed with the contract's reason when it was
# sent all the same, and a reason that quotes a node's wording is not mistaken for it.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $zoo   = $chain->deploy('ErrorZoo', '');
my $abi   = RflowAnvil::abi_json('ErrorZoo');
my $node  = new_node('main');
add_network($node, $chain);
add_relayer($node, 'hot', 'env:RFLOW_TEST_KEY_1');
$node->safe_psql('postgres',
	"INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('zoo', 'local', '$zoo', \$json\$$abi\$json\$)");

sub call
{
	my ($key, $function, $args, $gas) = @_;

	$gas = defined $gas ? ", gas_limit => $gas" : '';
	return $node->safe_psql('postgres',
		"SELECT rflow.submit_transaction('hot', 'zoo', '$function', '$args', '$key'$gas)");
}

# state|nonce|reason|kind of error
sub outcome
{
	my ($id) = @_;
	return $node->safe_psql('postgres',
		"SELECT state, nonce, reason, error->>'kind' FROM rflow.transactions WHERE id = $id");
}

# rrelayer#52, rrelayer#107, I-17: nothing is sent, no nonce is used, the caller sees why.
my $refused = call('refused', 'text', '["boom"]');
all_settled($node);
like(outcome($refused), qr/^failed\|\|.*boom.*\|reverts$/, 'refused before it has a nonce');
submit($node, 'hot', 1);
all_settled($node);
is($node->safe_psql('postgres', "SELECT nonce FROM rflow.transactions WHERE state = 'confirmed'"),
	0, 'the nonce is used by the next one');

# rrelayer#113 (c), I-14, rrelayer#102: the text of a revert is the contract's, not the node's.
my @sent = (
	call('string', 'text', '["nonce too low: insufficient funds"]', 100000),
	call('custom', 'withArgs', '["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", 5, 7]', 100000),
	call('panic', 'panicAssert', '[]', 100000),
	call('gas', 'burnGas', '[]', 60000));
submit($node, 'hot', 2);
all_settled($node);
my @want = (
	qr/^failed\|1\|nonce too low: insufficient funds\|reverted$/,
	qr/^failed\|2\|WithArgs\(who: 0x70997970C51812dc3A010C7d01b50e0d17dc79C8, have: 5, need: 7\)\|reverted$/,
	qr/^failed\|3\|panic 0x01: .*\|reverted$/,
	qr/^failed\|4\|out of gas\|reverted$/);
like(outcome($sent[$_]), $want[$_], "reason of reverted call $_") for 0 .. $#want;
is($node->safe_psql('postgres',
		"SELECT bool_and(reverted AND block_number > 0 AND gas_used > 0 AND error->>'message' = reason) FROM rflow.transactions WHERE error->>'kind' = 'reverted'"),
	't', 'what is known of the block is kept');
executed_once($chain, $node, 1, 2);

# go-livepeer#1906 (row 89): what reverts because of a transaction of ours that is not mined yet waits for that one.
my $usdt = $chain->deploy('NoReturnToken', abi_encode('uint256', 1_000_000));
my $usdt_abi = RflowAnvil::abi_json('NoReturnToken');
$node->safe_psql('postgres',
	"INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('usdt', 'local', '$usdt', \$json\$$usdt_abi\$json\$)");
sub approve
{
	my ($amount) = @_;
	return $node->safe_psql('postgres',
		"SELECT rflow.submit_transaction('hot', 'usdt', 'approve', '[\"$SINK\", $amount]', 'approve $amount')");
}
my @approvals = approve(5);
all_settled($node);
# Both at once: the second may not follow an allowance that is not 0.
my $both = $node->safe_psql('postgres', "BEGIN; SELECT rflow.submit_transaction('hot', 'usdt', 'approve', '[\"$SINK\", 0]', 'approve 0'); "
	  . "SELECT rflow.submit_transaction('hot', 'usdt', 'approve', '[\"$SINK\", 7]', 'approve 7'); COMMIT");
all_settled($node);
push @approvals, split /\n/, $both;
is($node->safe_psql('postgres', sprintf "SELECT string_agg(state, ' ') FROM rflow.transactions WHERE id IN (%s)", join ', ', @approvals),
	'confirmed confirmed confirmed', 'a simulation on the state of now is no verdict while something is under way');
executed_once($chain, $node, 1, 2);

done_testing();
