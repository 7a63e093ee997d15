# A send that is queued in a prepared transaction goes out when that is committed, not minutes later.
use strict;
use warnings;

use RflowTest;
use Test::More;

# Without a wake a relayer looks at its tables after five minutes.
my $WAKE_S = 20;

my $chain = start_anvil();
my $node  = new_node('main');
add_network($node, $chain);
$node->safe_psql('postgres',
	"INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY')");
poll_until($node,
	"SELECT count(*) FROM rflow.workers WHERE status = 'running' AND kind IN ('watcher', 'relayer')", 2);

$node->safe_psql('postgres', <<"SQL");
BEGIN;
SELECT rflow.submit_transaction('hot', recipient => '$ACCOUNTS[1]', value => 1, data => '0x',
	idempotency_key => 'prepared');
PREPARE TRANSACTION 'send';
SQL
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.relayer_transactions'),
	0, 'not visible before it is committed');
$node->safe_psql('postgres', "COMMIT PREPARED 'send'");
poll_until($node, 'SELECT count(*) FROM rflow_private.relayer_transactions WHERE broadcast_at IS NOT NULL',
	1, $WAKE_S);

$node->stop('fast');
$chain->stop;
done_testing();
