# A filter that takes too long, or does nothing but raise, is detached: the other workflows of the network go on, and it
# goes on from where it stopped once it is mended.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowTest;
use Test::More;

my $chain = start_anvil();
my $token = $chain->deploy_token;
my $node  = new_node('main', conf => "rflow.statement_timeout = '200ms'\n");

add_network($node, $chain);
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('token', 'local', '$token', rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)'));
CREATE FUNCTION slow(numeric) RETURNS boolean LANGUAGE sql AS 'SELECT true FROM pg_sleep(60)';
CREATE FUNCTION wrong(numeric) RETURNS boolean LANGUAGE plpgsql AS \$\$ BEGIN RETURN 1 / 0 > \$1; END \$\$;
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('good', rflow.on_event('token', 'Transfer'), 'event.value > 1', rflow.steps(rflow.stop('done'))),
       ('slow', rflow.on_event('token', 'Transfer'), 'slow(event.value)', rflow.steps(rflow.stop('done'))),
       ('wrong', rflow.on_event('token', 'Transfer'), 'wrong(event.value)', rflow.steps(rflow.stop('done')));
SQL
poll_until($node, 'SELECT count(*) FROM rflow_private.subscriptions WHERE cursor_id IS NOT NULL', '3');

$chain->transfer($token, $ACCOUNTS[1], 2) for 1 .. 3;
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'good' AND state = 'succeeded'}, '3');
poll_until($node, q{SELECT string_agg(reason, '') FROM rflow_private.incidents WHERE workflow = 'slow'},
	'its filter takes longer than rflow.statement_timeout');
is($node->safe_psql('postgres', q{SELECT enabled FROM rflow.workflows WHERE name = 'slow'}),
	'f', 'the slow workflow is disabled');
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'wrong' AND state = 'failed'
	AND error->>'message' = 'division by zero'}, '3');

# The tenth error in a row detaches the workflow; the events of that round are not claimed.
$chain->transfer($token, $ACCOUNTS[1], 2) for 1 .. 8;
poll_until($node, q{SELECT enabled FROM rflow.workflows WHERE name = 'wrong'}, 'f');
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'good'}, '11');

# Mended, both see every event from where they stopped.
$node->safe_psql('postgres', <<'SQL');
CREATE OR REPLACE FUNCTION slow(numeric) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OR REPLACE FUNCTION wrong(numeric) RETURNS boolean LANGUAGE sql AS 'SELECT true';
SELECT rflow.enable('slow', resume => 'cursor');
SELECT rflow.enable('wrong', resume => 'cursor');
SQL
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'slow' AND state = 'succeeded'}, '11');
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'wrong'}, '11');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.incidents WHERE resolved_at IS NULL'),
	'0', 'enabling resolves the incidents');
poll_until($node, 'SELECT count(*) FROM rflow_private.cursors', '1');

$node->stop;
$chain->stop;
done_testing();
