# A session that cancels its transactions and then does nothing holds their rows, and nothing can be recorded of them: the others
# of the same relayer go on, though all its window was in flight.
use strict;
use warnings;

use IPC::Run;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main');
my ($in, $out) = ('', '');
add_network($node, $chain);
add_relayer($node, 'hot');
$chain->mine(1);
poll_until($node, 'SELECT count(*) FROM rflow.relayer_status WHERE balance > 0', 1);
submit($node, 'hot', 1 .. 16);
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'broadcast'", 16);

my $session = IPC::Run::start([ 'psql', '-XAt', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$out);
$in = "BEGIN; SELECT rflow.cancel_transaction(id) FROM rflow.transactions; SELECT 'held';\n";
$session->pump until $out =~ /held/;
$chain->mine(1);
submit($node, 'hot', 17);
poll_until($node, "SELECT state FROM rflow.transactions WHERE value = 17", 'broadcast');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.transactions WHERE state = 'broadcast' AND value < 17"),
	16, 'nothing is recorded of what is held');
$chain->mine(3);
poll_until($node, "SELECT state FROM rflow.transactions WHERE value = 17", 'confirmed');

# What mined decides.
$in .= "COMMIT;\n\\q\n";
$session->finish;
all_settled($node);
executed_once($chain, $node, 1 .. 17);

$node->stop;
$chain->stop;
done_testing();
