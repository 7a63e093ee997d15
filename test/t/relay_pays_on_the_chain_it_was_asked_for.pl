# A send is for the chain that it was queued for: a relayer that was deleted and made again on another one does not pay there what
# it was asked to pay here, nor does a pool.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $here  = start_anvil('--block-time', '1');
my $there = start_anvil('--block-time', '1', '--chain-id', '1337');
my $node  = new_node('main');

add_network($node, $here,  'here');
add_network($node, $there, 'there');
add_relayer($node, 'hot',    'env:RFLOW_TEST_KEY_1', 'here');
add_relayer($node, 'member', 'env:RFLOW_TEST_KEY_2', 'here');
poll_until($node, 'SELECT count(*) FROM rflow.relayer_status WHERE balance > 0', 2);
$node->safe_psql('postgres', <<'SQL');
INSERT INTO rflow.relayer_pools VALUES ('pool', 'here', '{member}');
UPDATE rflow.relayers SET paused = true;
SQL
submit($node, 'hot',       1 .. 2);
submit($node, 'pool:pool', 3 .. 4);

# All under the same names, on the other chain; a send that is queued while its relayer is deleted gets past the check for such.
$node->safe_psql('postgres', <<'SQL');
DELETE FROM rflow.relayer_pools;
SET session_replication_role = replica;
DELETE FROM rflow.relayers WHERE name = 'hot';
RESET session_replication_role;
INSERT INTO rflow.relayers (name, network, signer) VALUES
  ('hot', 'there', 'env:RFLOW_TEST_KEY_1'), ('other', 'there', 'env:RFLOW_TEST_KEY_3');
INSERT INTO rflow.relayer_pools VALUES ('pool', 'there', '{other}');
SQL
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'failed'", 2);
is($node->safe_psql('postgres', "SELECT DISTINCT error->>'kind', reason FROM rflow.transactions WHERE state = 'failed'"),
	'denied|it was queued for network "here" (chain id 31337), and relayer "hot" is on "there" (chain id 1337) now',
	'what was queued for a relayer of another chain fails, and says why');

# Its own sends go on, and so does the pool's once its member is not paused.
submit($node, 'hot', 5);
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = false");
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'confirmed'", 3);

sub paid
{
	my ($chain) = @_;
	my @found = grep { $_->[1] eq lc $SINK && $_->[3] } map { executed($chain, $_) } @ACCOUNTS[ 1 .. 3 ];
	return join ' ', sort { $a <=> $b } map { $_->[2] } @found;
}

is(paid($here),  '3 4', 'paid here');
is(paid($there), '5',   'paid there');

$node->stop;
$_->stop for $here, $there;
done_testing();
