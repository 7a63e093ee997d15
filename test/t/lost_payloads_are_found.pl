# Nonces that are live in the restored database, and on the chain with other payloads than it has: a lost bump of the same
# payment, a lost no-op, the payload of another payment.  What is on the chain decides; who has lost its nonce is sent anew.
# A lost bump that is mined when signing has gone on already is found as well.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowRelay;
use RflowTest;
use Test::More;

my $ACCOUNT = $ACCOUNTS[0];

my $chain = start_anvil('--block-time', '1');
my $lost  = new_node('lost', init => [ allows_streaming => 1 ]);
add_network($lost, $chain);
$lost->safe_psql('postgres',
	"INSERT INTO rflow.relayers (name, network, signer, max_in_flight) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY', 4)");
submit($lost, 'hot', 1);
all_settled($lost);

# In the image: four in flight that are in no block, and one that is queued behind them.
$chain->rpc('evm_setIntervalMining', 0);
submit($lost, 'hot', 2 .. 6);
poll_until($lost, "SELECT count(*) FROM rflow.transactions WHERE state = 'broadcast'", 4);
$lost->backup('base');
$lost->stop('immediate');

# What the lost server would have sent: the chain sees only what it is given.
sub replace
{
	my ($nonce, $recipient, $value) = @_;

	return $chain->send({
		from => $ACCOUNT, to => $recipient, value => $value, nonce => $nonce, gas => 21000,
		maxFeePerGas => to_hex('900000000000'), maxPriorityFeePerGas => to_hex('800000000000')
	});
}

sub restore
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup($lost, 'base', has_streaming => 1);
	$node->start;
	$node->promote;
	return $node;
}

my $bump = replace(1, $SINK, 2);
replace(2, $ACCOUNT, 0);
my $other = replace(3, $SINK, 6);
$chain->rpc('evm_setIntervalMining', 1);
$chain->wait_receipt($other);
my $node = restore('restored');
all_settled($node, 60);
is($node->safe_psql('postgres', "SELECT value, state, nonce FROM rflow.transactions ORDER BY value"), <<'ROWS' =~ s/\n$//r, 'what is on the chain decides');
1|confirmed|0
2|confirmed|1
3|cancelled|2
4|confirmed|5
5|confirmed|4
6|confirmed|3
ROWS
is($node->safe_psql('postgres', "SELECT transaction_hash FROM rflow.transactions WHERE value = 2"), $bump, 'the lost bump has its hash');
is($node->safe_psql('postgres', "SELECT reason FROM rflow.transactions WHERE value = 3"),
	'a no-op has taken nonce 2 in block ' . $node->safe_psql('postgres', "SELECT block_number FROM rflow.transactions WHERE value = 3"),
	'who was given up says so');
is( join(' ', map { $_->[2] } grep { $_->[1] eq lc $SINK && $_->[3] } executed($chain, $ACCOUNT)),
	'1 2 6 5 4', 'each is paid once, but for the one that was given up');
is($node->safe_psql('postgres', 'SELECT found, matched, unmatched FROM rflow.reconciliations'), '3|2|0', 'three were found');

# ---- a bump that is mined later ------------------------------------------------------------------------------

$chain->rpc('evm_setIntervalMining', 0);
submit($node, 'hot', 11);
poll_until($node, "SELECT state FROM rflow.transactions WHERE value = 11", 'broadcast');
$node->backup('late');
$node->stop('immediate');
my $late = PostgreSQL::Test::Cluster->new('late');
$late->init_from_backup($node, 'late', has_streaming => 1);
$late->start;
$late->promote;
poll_until($late, 'SELECT rflow.readiness()', 'ready');
is($late->safe_psql('postgres', 'SELECT state FROM rflow.transactions WHERE value = 11'), 'broadcast', 'signing goes on while it is not mined');
$bump = replace(6, $SINK, 11);
$chain->rpc('evm_setIntervalMining', 1);
poll_until($late, 'SELECT state, transaction_hash FROM rflow.transactions WHERE value = 11', "confirmed|$bump");
submit($late, 'hot', 12);
all_settled($late);
is( join(' ', map { $_->[2] } grep { $_->[1] eq lc $SINK && $_->[3] } executed($chain, $ACCOUNT)),
	'1 2 6 5 4 11 12', 'each is paid once');
is($late->safe_psql('postgres', 'SELECT count(*) FROM rflow.incidents'), 0, 'nothing is taken for the use of somebody else');

# ---- a snapshot that nobody can tell from the original: what does the same is the same -------------------------

$chain->rpc('evm_setIntervalMining', 0);
submit($late, 'hot', 21);
poll_until($late, "SELECT state FROM rflow.transactions WHERE value = 21", 'broadcast');
$late->backup('snapshot');
$late->stop('immediate');
$bump = replace(8, $SINK, 21);
$chain->rpc('evm_setIntervalMining', 1);
$chain->wait_receipt($bump);
my $snapshot = PostgreSQL::Test::Cluster->new('snapshot');
$snapshot->init_from_backup($late, 'snapshot');
$snapshot->start;
poll_until($snapshot, 'SELECT state, transaction_hash FROM rflow.transactions WHERE value = 21', "confirmed|$bump");
is($snapshot->safe_psql('postgres', 'SELECT count(*) FROM rflow.incidents'), 0, 'a payload of the same effect has not displaced it');
submit($snapshot, 'hot', 22);
all_settled($snapshot);

$snapshot->stop;
done_testing();
