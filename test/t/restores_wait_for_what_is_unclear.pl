# After a restore nothing is signed while something is unclear: blocks that the node does not give, or gives without
# transactions; transactions of ours in its pool that the database does not know.  Reading goes on where it was, and the sends
# of a pool are found whichever member they were of.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain  = start_anvil('--block-time', '1');
my $faulty = start_faulty_node($chain);
my $lost   = new_node('lost', init => [ allows_streaming => 1 ]);
add_network($lost, $faulty);
add_relayer($lost, 'a', 'env:RFLOW_TEST_KEY_1');
add_relayer($lost, 'b', 'env:RFLOW_TEST_KEY_2');
$lost->safe_psql('postgres', "INSERT INTO rflow.relayer_pools VALUES ('ab', 'local', '{a,b}')");
poll_until($lost, 'SELECT count(*) FROM rflow.relayer_status WHERE balance > 0', 2);
submit($lost, 'pool:ab', 1 .. 4);
all_settled($lost);
$lost->backup('base');

# Lost: what follows is not even queued in the image, and comes back as it does where a user's own tables queue it.
$chain->mine(100);
submit($lost, 'pool:ab', 5 .. 10);
all_settled($lost);
$chain->rpc('evm_setIntervalMining', 0);
submit($lost, 'pool:ab', 11 .. 14);
poll_until($lost, "SELECT count(*) FROM rflow.transactions WHERE state = 'broadcast'", 4);
my $before = join ' ', map { $chain->rpc('eth_getTransactionCount', $_, 'pending') } @ACCOUNTS[ 1, 2 ];
$lost->stop('immediate');

sub paid
{
	my @found = grep { $_->[1] eq lc $SINK && $_->[3] } map { executed($chain, $_) } @ACCOUNTS[ 1, 2 ];
	return join ' ', sort { $a <=> $b } map { $_->[2] } @found;
}

my $node = PostgreSQL::Test::Cluster->new('restored');
$node->init_from_backup($lost, 'base', has_streaming => 1);
$node->start;
# Asked for with whole transactions, blocks are missing, then hashes, then too many at once.
$faulty->fault(
	{ kind => 'result', result => undef, method => 'eth_getBlockByNumber', params => 'true', skip => 3, times => 5 },
	{ kind => 'result', result => { number => '0x1', transactions => [] }, method => 'eth_getBlockByNumber', params => 'true', skip => 20, times => 5 },
	{ kind => 'refuse_batch', max => 12, code => -32600, message => 'batch too large', method => 'eth_getBlockByNumber', skip => 10, times => 3 },
	{ kind => 'truncate', bytes => 900, method => 'eth_getBlockByNumber', skip => 14, times => 2 });
$node->promote;
poll_until($node, 'SELECT max(scanned_to) > max(from_block) + 100 FROM rflow.reconciliations');
cmp_ok(scalar $faulty->hits, '>', 8, 'the node was of little help');
poll_until($node, 'SELECT sum(found) FROM rflow.reconciliations', 6);
is( $node->safe_psql('postgres', "SELECT count(*) FROM rflow.unmatched_transactions u JOIN rflow.reconciliations r USING (address) WHERE u.block_number > r.from_block"),
	6, 'all that is in blocks is found');

# The same is queued again, all of it for one member of the pool.
$node->safe_psql('postgres', "UPDATE rflow.relayer_pools SET relayers = '{b}'");
submit($node, 'pool:ab', 5 .. 14);
$node->safe_psql('postgres', "UPDATE rflow.relayer_pools SET relayers = '{a,b}'");
poll_until($node, 'SELECT sum(matched), sum(unmatched) FROM rflow.reconciliations', '6|0');
poll_until($node, "SELECT count(*) FROM rflow.relayer_status WHERE problem LIKE 'signing is held: the node has % transactions of the account pending that this database does not know'", 2);
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.transactions WHERE state = 'queued'"), 4, 'what is in the pool is queued, and not signed');
is(join(' ', map { $chain->rpc('eth_getTransactionCount', $_, 'pending') } @ACCOUNTS[ 1, 2 ]), $before, 'the pool has what it had');
$chain->rpc('evm_setIntervalMining', 1);
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'confirmed'", 14);
poll_until($node, 'SELECT rflow.readiness()', 'ready');
is(paid(), join(' ', 1 .. 14), 'each is paid once');
is(join(' ', map { $chain->rpc('eth_getTransactionCount', $_, 'latest') } @ACCOUNTS[ 1, 2 ]), $before, 'and nothing besides');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow.transactions t JOIN rflow.relayer_status s USING (relayer) WHERE t.from_address <> s.address'),
	0, 'each has the relayer that has sent it');
submit($node, 'pool:ab', 15);
all_settled($node);
is(paid(), join(' ', 1 .. 15), 'signing goes on');

$node->stop;
done_testing();
