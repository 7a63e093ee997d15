# A dump that is restored beside the original, with the same keys in the environment: it does nothing until it is armed, and
# says why.  Armed while the original is, it gets no account.  When the original lets go, it finds on the chain what the
# original has paid since the dump, and pays nothing twice.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main');
add_network($node, $chain);
add_relayer($node, 'hot');
submit($node, 'hot', 1, 2);
all_settled($node);
$node->safe_psql('postgres', 'UPDATE rflow.relayers SET paused = true');
submit($node, 'hot', 3 .. 7);
my $dump = $node->basedir . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ], 'a dump with five queued payments');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('copy'), $dump ], 'restored beside the original');
$node->safe_psql('copy', 'UPDATE rflow.relayers SET paused = false');
$node->safe_psql('postgres', 'UPDATE rflow.relayers SET paused = false');
all_settled($node);
executed_once($chain, $node, 1 .. 7);

my $STATES = 'SELECT state, count(*) FROM rflow.transactions GROUP BY state ORDER BY state';

sub in_copy
{
	my ($sql, $expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	ok($node->poll_query_until('copy', $sql, $expected // 't'), $sql);
}

is($node->safe_psql('copy', 'SELECT rflow.readiness()'), 'disarmed: call rflow.arm()', 'the copy is disarmed');
is($node->safe_psql('copy', "SELECT reason, what_to_do FROM rflow.stuck WHERE kind = 'database'"),
	'disarmed: call rflow.arm()|SELECT * FROM rflow.arm()', 'and says what to do');
is($node->safe_psql('copy', $STATES), "confirmed|2\nqueued|5", 'it does nothing');
is($node->safe_psql('copy', "SELECT count(*) FROM rflow.workers WHERE kind = 'relayer'"), 0, 'and has no relayer');

$node->safe_psql('copy', 'SELECT rflow.arm()');
in_copy("SELECT problem LIKE 'account 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 is used by another relayer process (%' FROM rflow.relayer_status");
in_copy("SELECT count(*) FROM rflow.stuck WHERE kind = 'relayer' AND reason LIKE '%is used by another relayer process%'", 1);
is($node->safe_psql('copy', 'SELECT rflow.readiness()'),
	'ready, but signing is held until accounts are reconciled with the chain: network local', 'signing is held as well');
submit($node, 'hot', 8);
all_settled($node);
is($node->safe_psql('copy', $STATES), "confirmed|2\nqueued|5", 'the original has the account');

# Payment 8 is known to the original alone.
$node->safe_psql('postgres', 'SELECT rflow.disarm()');
in_copy('SELECT value FROM rflow.unmatched_transactions', 8);
in_copy('SELECT matched, unmatched FROM rflow.reconciliations', '5|1');
$node->safe_psql('copy', "SELECT rflow.dismiss_unmatched(transaction_hash, 'payment 8 of the original') FROM rflow.unmatched_transactions");
in_copy("SELECT count(*) FROM rflow.transactions WHERE state = 'confirmed'", 7);
in_copy('SELECT rflow.readiness()', 'ready');
$node->safe_psql('copy', submit_sql('hot', 9));
in_copy("SELECT count(*) FROM rflow.transactions WHERE state = 'confirmed'", 8);
is( join(' ', map { $_->[2] } grep { $_->[1] eq lc $SINK } executed($chain, $ACCOUNTS[0])),
	'1 2 3 4 5 6 7 8 9', 'each is paid once');

# The original, armed again, is the one that is behind.
$node->safe_psql('copy', 'SELECT rflow.disarm()');
$node->safe_psql('postgres', 'SELECT rflow.arm()');
poll_until($node, 'SELECT value FROM rflow.unmatched_transactions', 9);
$node->safe_psql('postgres', submit_sql('hot', 10));
is($node->safe_psql('postgres', "SELECT state FROM rflow.transactions WHERE value = 10"), 'queued', 'held');
is($node->safe_psql('postgres', "SELECT rflow.adopt_account('hot', reason => 'payment 9 of the copy')"),
	9, 'an operator takes the account over, with all that it has done');
all_settled($node);
is( join(' ', map { $_->[2] } grep { $_->[1] eq lc $SINK } executed($chain, $ACCOUNTS[0])),
	'1 2 3 4 5 6 7 8 9 10', 'each is paid once');

# What somebody has done long before the database is armed again is found in older blocks.
$chain->wait_receipt($chain->send({ from => $ACCOUNTS[0], to => $SINK, value => 777 }));
submit($node, 'hot', 11);
poll_until($node, "SELECT problem LIKE 'something else has used the account:%' FROM rflow.relayer_status");
my $head = $chain->block_number + 3;
poll_until($node, "SELECT max(number) >= $head FROM rflow.blocks");
$node->safe_psql('postgres', 'SELECT rflow.disarm()');
$node->safe_psql('postgres', 'SELECT rflow.arm()');
poll_until($node, 'SELECT value, block_number < r.from_block FROM rflow.unmatched_transactions u '
	  . 'JOIN rflow.reconciliations r USING (network, address)', '777|t');
$node->safe_psql('postgres', "SELECT rflow.dismiss_unmatched(transaction_hash, 'by hand') FROM rflow.unmatched_transactions");
all_settled($node);
is( join(' ', map { $_->[2] } grep { $_->[1] eq lc $SINK } executed($chain, $ACCOUNTS[0])),
	'1 2 3 4 5 6 7 8 9 10 777 11', 'it goes on after it');

$node->stop;
done_testing();
