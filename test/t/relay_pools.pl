# A send through a pool goes to the member that can send it and has least to do (rrelayer#28, research row 24): not to one
# that is paused, not granted or poor.  It is simulated as the account that sends it.  What is queued for a member
# that is paused or runs out of funds goes out from another, once.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $token = lc $chain->deploy_token;
my $node  = new_node('main', conf => <<'CONF');
shared_preload_libraries = 'rflow, pg_stat_statements'
pg_stat_statements.track = all
CONF
add_network($node, $chain);
add_relayer($node, 'a', 'env:RFLOW_TEST_KEY_1');
add_relayer($node, 'b', 'env:RFLOW_TEST_KEY_2');
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION pg_stat_statements;
INSERT INTO rflow.relayer_pools VALUES ('ab', 'local', '{a,b}');
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('token', 'local', '$token', rflow.abi('function transfer(address to, uint256 value) returns (bool)'));
INSERT INTO rflow.workflows (name, trigger, steps)
VALUES ('named', rflow.on_start(), rflow.steps(rflow.send_transaction('pay', 'a', recipient => '''$SINK''',
           value => '(input->>''value'')::numeric', wait_for => 'none'))),
       ('pooled', rflow.on_start(), rflow.steps(rflow.send_transaction('pay', 'pool:ab', recipient => '''$SINK''',
           value => '(input->>''value'')::numeric', wait_for => 'none'))),
       ('tokens', rflow.on_start(), rflow.steps(rflow.send_transaction('pay', 'pool:ab', 'token', 'transfer',
           args => '''$SINK'', 5', wait_for => 'confirmed')));
SQL
poll_until($node, "SELECT count(*) FROM rflow.relayer_status WHERE balance > 0", 2);

sub by_relayer
{
	my ($where) = @_;
	return $node->safe_psql('postgres',
		"SELECT string_agg(relayer || ' ' || n, ', ' ORDER BY relayer) FROM (SELECT relayer, count(*) AS n FROM rflow.transactions WHERE $where GROUP BY 1) t");
}

# Executed payments of both accounts, by value.
sub paid
{
	my @found = grep { $_->[1] eq lc $SINK && $_->[3] } map { executed($chain, $_) } @ACCOUNTS[ 1, 2 ];
	return join ' ', sort { $a <=> $b } map { $_->[2] } @found;
}

sub reads_of_pools
{
	return $node->safe_psql('postgres',
		"SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE '%rflow.relayer_pools p%' AND query LIKE '%unnest(p.relayers)%'");
}

sub start_runs
{
	my ($workflow, @values) = @_;
	$node->safe_psql('postgres', join '', 'BEGIN;', map("SELECT rflow.start('$workflow', '{\"value\": $_}');", @values), 'COMMIT;');
	poll_until($node, "SELECT count(*) FROM rflow.runs WHERE workflow = '$workflow' AND state = 'succeeded'", scalar @values);
}

# What a pool costs: one statement for all runs that are prepared together, none where none is used.
$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
start_runs('named', 1 .. 8);
all_settled($node);
is(reads_of_pools(), 0, 'no statement of pools where none is used');
start_runs('pooled', 11 .. 30);
cmp_ok(reads_of_pools(), '<=', 16, 'at most one for each bucket of runs');
cmp_ok(reads_of_pools(), '>=', 1, 'and it is counted');
note('statements for 20 runs: ' . reads_of_pools());
all_settled($node);
is(paid(), join(' ', 1 .. 8, 11 .. 30), 'each was paid once');
my ($of_a, $of_b) = by_relayer("pool = 'ab'") =~ /(\d+)/g;
ok($of_a >= 5 && $of_b >= 5, "both members had a share: $of_a and $of_b");

# Events, claimed by the watcher: one statement for all of a block, in the same commit as ever.
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('deposits', 'local', '$token', rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)'));
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('events', rflow.on_event('deposits', 'Transfer'), \$\$ event.to = '$ACCOUNTS[4]' \$\$,
        rflow.steps(rflow.send_transaction('pay', 'pool:ab', recipient => '''$SINK''', value => 'event.value + 1000', wait_for => 'none')));
SELECT pg_stat_statements_reset();
SQL
poll_until($node, "SELECT cursor_id IS NOT NULL FROM rflow_private.subscriptions WHERE workflow = 'events'");
$chain->transfer($token, $ACCOUNTS[4], $_) for 1 .. 10;
poll_until($node, "SELECT count(*) FROM rflow.runs WHERE workflow = 'events' AND state = 'succeeded'", 10);
cmp_ok(reads_of_pools(), '<=', $node->safe_psql('postgres', "SELECT count(DISTINCT block_number) FROM rflow.runs WHERE workflow = 'events'"), 'at most one statement for each block');
all_settled($node);
($of_a, $of_b) = by_relayer("value > 1000") =~ /(\d+)/g;
ok($of_a >= 3 && $of_b >= 3, "both members had a share of the events: $of_a and $of_b");

# Only b has tokens; a is paused: the simulation is that of b.
$chain->wait_receipt($chain->transfer($token, $ACCOUNTS[2], '100'));
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = true WHERE name = 'a'");
$node->safe_psql('postgres', "SELECT rflow.start('tokens')");
poll_until($node, "SELECT state FROM rflow.runs WHERE workflow = 'tokens'", 'succeeded');
is($chain->balance($token, $SINK), 5, 'it is simulated as, and sent from, the member that was chosen');

# Paused with sends in its queue: they go out from the other one.  With both paused they wait.
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = true");
submit($node, 'pool:ab', 41 .. 50);
like(by_relayer("state = 'queued'"), qr/^a \d+, b \d+$|^a 10$|^b 10$/, 'all are queued');
like($node->safe_psql('postgres', "SELECT min(reason) FROM rflow.transactions WHERE state = 'queued'"),
	qr/^no relayer of pool "ab" can send it now \(a: paused; b: paused\); it waits for "[ab]"$/, 'and say why they wait');
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = false WHERE name = 'a'");
all_settled($node);
is(by_relayer("idempotency_key LIKE 'payment %'"), 'a 10', 'all were sent by the one that is not paused');

# b is paused: a gets all.  Its money is gone while they are queued: b pays, once it is not paused.
submit($node, 'pool:ab', 51 .. 55);
is(by_relayer("idempotency_key IN ('payment 51', 'payment 52', 'payment 53', 'payment 54', 'payment 55')"), 'a 5', 'one that is paused gets nothing');
all_settled($node);
$chain->rpc('anvil_setBalance', $ACCOUNTS[1], '0x1');
submit($node, 'pool:ab', 61 .. 63);
poll_until($node, "SELECT bool_or(reason ~ 'insufficient funds') FROM rflow.transactions WHERE relayer = 'a' AND state = 'queued'");
$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = false");
all_settled($node);
is(by_relayer("idempotency_key LIKE 'payment 6%'"), 'b 3', 'what it cannot pay is paid by the other');
is(paid(), join(' ', 1 .. 8, 11 .. 30, 41 .. 55, 61 .. 63, 1001 .. 1010), 'each was paid once');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.transactions WHERE state <> 'confirmed'"), 0, 'all are confirmed');

$node->stop;
$chain->stop;
done_testing();
