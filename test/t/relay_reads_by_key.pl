# A relayer that was started with empty tables reads as much for each send when thousands are queued: its plans, which are
# kept, go by key.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $SENDS  = 600;
my $WINDOW = 256;
# Rows and index entries read for each send, over all rounds; a plan that reads a whole table for each row needs thousands.
my $MOST_READ = 150;

my $TABLES = "('due', 'nonces', 'relayer_attempts', 'relayer_transactions')";
my $READ = <<"SQL";
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'rflow_private' AND relname IN $TABLES)
     + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'rflow_private' AND relname IN $TABLES)
SQL

my $chain = start_anvil();
my $node  = new_node('main', conf => "autovacuum = off\n");
add_network($node, $chain);
add_relayer($node, 'hot');
$node->safe_psql('postgres', "UPDATE rflow.networks SET confirmations = 1; UPDATE rflow.relayers SET max_in_flight = $WINDOW");

# The plans are made here.
submit($node, 'hot', 1);
all_settled($node);

my $before = $node->safe_psql('postgres', $READ);
$node->safe_psql('postgres', "SELECT count(rflow.submit_transaction('hot', recipient => '$SINK', value => n, data => '0x', "
	  . "idempotency_key => 'payment ' || n, gas_limit => 21000)) FROM generate_series(2, $SENDS) n");
# The chain is asked, so that the test itself reads nothing that counts.
RflowAnvil::wait_for(sub { $chain->nonce($ACCOUNTS[0]) == $SENDS }, 'all to be on the chain');
all_settled($node, 120);
# The process reports what it has read now and then.
poll_until($node, "SELECT n_tup_upd >= $SENDS FROM pg_stat_user_tables WHERE schemaname = 'rflow_private' AND relname = 'nonces'", 't', 150);
my $read = ($node->safe_psql('postgres', $READ) - $before) / $SENDS;
cmp_ok($read, '<', $MOST_READ, sprintf('%.0f rows and index entries were read for each send', $read));
executed_once($chain, $node, 1 .. $SENDS);
done_testing();
