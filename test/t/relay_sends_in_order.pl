# Fifty sends through one account arrive once each and in order, across a restart of the server.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main');
add_network($node, $chain);
add_relayer($node, 'hot');

submit($node, 'hot', 1 .. 20);
poll_until($node, "SELECT count(*) >= 5 FROM rflow.transactions WHERE state IN ('broadcast', 'mined', 'confirmed')");
$node->restart;
submit($node, 'hot', 21 .. 50);
all_settled($node, 120);
executed_once($chain, $node, 1 .. 50);
is($node->safe_psql('postgres', 'SELECT string_agg(value::text, \' \' ORDER BY nonce) FROM rflow.transactions'),
	join(' ', 1 .. 50), 'nonces follow the order of the queue');
is($node->safe_psql('postgres',
		'SELECT bool_and(signed_at <= broadcast_at AND broadcast_at <= mined_at AND mined_at <= confirmed_at) FROM rflow.transactions'),
	't', 'each stage has its time');
is($node->safe_psql('postgres',
		'SELECT balance IS NOT NULL, chain_nonce, next_nonce, in_flight, queued, problem IS NULL FROM rflow.relayer_status'),
	't|50|50|0|0|t', 'the status says so');

done_testing();
