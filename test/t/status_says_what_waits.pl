# The status views over a live chain: a network that is followed, one whose node is of another chain, a relayer without a
# key, a transaction that waits for blocks, and a session that holds a worker up.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowTest;
use Test::More;

my $chain = start_anvil();
my $token = $chain->deploy_token;
my $node  = new_node('main');
my $pool  = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

sub sql { return $node->safe_psql('postgres', $_[0]) }

add_network($node, $chain);
my $url = $chain->url;
sql(<<"SQL");
CREATE ROLE author LOGIN;
GRANT INSERT ON rflow.workflows TO author;
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('other', 4242, '{$url}');
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('token', 'local', '$token',
        rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
                  'function transfer(address to, uint256 value) returns (bool)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY_4');
INSERT INTO rflow.relayers (name, network, signer) VALUES ('keyless', 'local', 'env:RFLOW_TEST_NO_SUCH_KEY');
INSERT INTO rflow.relayer_grants VALUES ('hot', 'author');
SET ROLE author;
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('forward', rflow.on_event('token', 'Transfer'),
        \$\$ event.to = '$pool' \$\$,
        rflow.steps(rflow.send_transaction('forward', relayer => 'hot', contract => 'token', function => 'transfer',
                                           args => \$\$ log.address, event.value \$\$)));
SQL

# Networks
poll_until($node, "SELECT status FROM rflow.network_status WHERE network = 'local'", 'running');
poll_until($node,
	"SELECT status LIKE 'halted: %' AND reason = status FROM rflow.network_status n JOIN rflow.stuck s ON s.kind = 'network' AND s.subject = n.network WHERE n.network = 'other'");
my $head = $chain->block_number;
poll_until($node, "SELECT head FROM rflow.network_status WHERE network = 'local'", $head);
is(sql("SELECT endpoint FROM rflow.network_status WHERE network = 'local'"), $url, 'the endpoint shows');
is(sql("SELECT rpc_requests > 0 AND rpc_calls > 0 AND rpc_latency_ms > 0 FROM rflow.network_status WHERE network = 'local'"),
	't', 'what the node costs shows');
is(sql("SET ROLE author; SELECT concat(endpoint, last_error) FROM rflow.network_status"),
	"\n", 'endpoints and errors do not show to everyone');

# Relayers
poll_until($node, "SELECT count(*) FROM rflow.stuck WHERE kind = 'relayer' AND subject = 'keyless' AND reason LIKE '%RFLOW_TEST_NO_SUCH_KEY%'", 1);
poll_until($node, "SELECT address IS NOT NULL FROM rflow.relayer_status WHERE relayer = 'hot'");

# A run that waits for blocks that nobody makes
$chain->transfer($token, $ACCOUNTS[4], '1000');
$chain->transfer($token, $pool, '10');
poll_until($node, 'SELECT state FROM rflow.transactions', 'mined');
is(sql('SET ROLE author; SELECT workflow, state, step, event->>\'value\', queued_after > \'0\' FROM rflow.runs'),
	'forward|waiting|forward|10|t', 'the run and its step show to the owner');
is(sql('SET ROLE author; SELECT step, state, transaction_state FROM rflow.steps'),
	'forward|waiting|mined', 'so does the journal');
is( sql("SET ROLE author; SELECT string_agg(what, ', ' ORDER BY at) FROM rflow.timeline"),
	'block seen, claimed, simulated, queued, signed, broadcast, mined', 'and the timeline');
is(sql('SELECT lag_blocks FROM rflow.network_status WHERE network = \'local\''), '0', 'nothing is left to read');

# A session that has locked rows of ours, and one that has locked a table.  Ten seconds are long.
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; SELECT 1 FROM rflow_private.relayer_transactions FOR UPDATE');
my $pid = $holder->query_safe('SELECT pg_backend_pid()');
poll_until($node, "SELECT blocking_pid FROM rflow.stuck WHERE kind = 'session' AND reason LIKE '%rflow_private.relayer_transactions%'", $pid);
$holder->quit;
poll_until($node, "SELECT count(*) FROM rflow.stuck WHERE kind = 'session'", 0);

$chain->rpc('anvil_mine', '0x3');
poll_until($node, 'SELECT state FROM rflow.runs', 'succeeded');
is( sql("SELECT string_agg(what, ', ' ORDER BY at) FROM rflow.timeline WHERE what IN ('confirmed', 'step succeeded', 'run succeeded')"),
	'confirmed, step succeeded, run succeeded', 'the timeline has the end');
is(sql('SELECT runs, succeeded, waiting, runs_in_day, queued_p50_ms > 0, confirmed_p99_ms > queued_p99_ms FROM rflow.workflow_stats'),
	'1|1|0|1|t|t', 'the statistics have the run');
is(sql("SET ROLE author; SELECT count(*) FROM rflow.stuck WHERE kind <> 'network'"), 0, 'nothing of the owner is stuck');

# A node that is gone
$chain->stop;
poll_until($node, "SELECT last_error IS NOT NULL FROM rflow.network_status WHERE network = 'local'");

$node->stop;
done_testing();
