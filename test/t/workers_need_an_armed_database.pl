# Workers act where rflow.arm() was called, soon after it, and nowhere else: not in a restored dump, a
# copied database, another server, or a snapshot with another rflow.instance_id.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $START_S = 2;
my $COPY    = 'a copy of the database that was armed: call rflow.arm() if it is to act';
my $RUNNING =
  "SELECT count(*) FROM rflow.workers WHERE state = 'running' AND status <> 'starts' AND kind IN ('watcher', 'relayer')";

my $node = new_node(
	'main',
	armed => 0,
	init => [ allows_streaming => 1 ],
	conf => "rflow.instance_id = 'one'\n");
$node->safe_psql('postgres',
	"INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('local', 31337, '{http://127.0.0.1:9}')"
);
poll_until($node, "SELECT status FROM rflow.workers WHERE kind = 'coordinator'",
	'disarmed: call rflow.arm()');
is($node->safe_psql('postgres', $RUNNING), 0, 'disarmed: no watcher, no relayer');

my $start = time;
$node->safe_psql('postgres', 'SELECT rflow.arm()');
poll_until($node, $RUNNING, 2);
cmp_ok(time - $start, '<', $START_S, 'armed: they run within two seconds');
is($node->safe_psql('postgres', 'SELECT rflow.readiness()'), 'ready', 'ready');

# Who may arm.
$node->safe_psql('postgres', 'CREATE ROLE admin LOGIN IN ROLE rflow_admin; CREATE ROLE stranger LOGIN');
my ($code, $out, $err) =
  $node->psql('postgres', 'SELECT rflow.disarm()', extra_params => [ '-U', 'stranger' ]);
like($err, qr/permission denied for function disarm/, 'a stranger may not disarm');
($code, $out, $err) =
  $node->psql('postgres', 'SELECT rflow.arm()', extra_params => [ '-U', 'stranger' ]);
like($err, qr/permission denied for function arm/, 'nor arm');
$node->safe_psql('postgres', 'SELECT rflow.disarm()', extra_params => [ '-U', 'admin' ]);
poll_until($node, "SELECT count(*) FROM rflow.workers WHERE kind IN ('watcher', 'relayer')", 0);
$node->safe_psql('postgres', 'SELECT rflow.arm()', extra_params => [ '-U', 'admin' ]);
poll_until($node, $RUNNING, 2);
is($node->safe_psql('postgres', 'SELECT armed_by FROM rflow_private.identity'),
	'admin', 'who armed it is recorded');

# A rollback arms nothing.
$node->safe_psql('postgres', 'SELECT rflow.disarm()');
$node->safe_psql('postgres', 'BEGIN; SELECT rflow.arm(); ROLLBACK');
is($node->safe_psql('postgres', 'SELECT rflow.readiness()'),
	'disarmed: call rflow.arm()', 'arming can be rolled back');
is( $node->safe_psql('postgres',
		"BEGIN; SELECT count(*) FROM rflow.arm(); SELECT rflow.readiness(); ROLLBACK; SELECT rflow.readiness()"),
	"0\nready\ndisarmed: call rflow.arm()",
	'what a transaction has changed itself it sees, and forgets when it rolls back');
($code, $out, $err) = $node->psql('postgres',
	"BEGIN; SELECT rflow.arm(); PREPARE TRANSACTION 'arms'");
like($err, qr/cannot PREPARE a transaction that has changed definitions of rflow/, 'it cannot be prepared');
$node->safe_psql('postgres', 'SELECT rflow.arm()');

# A dump restores disarmed.
$node->command_ok([ 'pg_dump', '-Fc', '-f', $node->basedir . '/dump', $node->connstr('postgres') ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), $node->basedir . '/dump' ], 'restore');
is($node->safe_psql('restored', 'SELECT rflow.readiness()'),
	'disarmed: call rflow.arm()', 'a restored dump is disarmed');

# So is a copy by template.
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE postgres');
is($node->safe_psql('copy', 'SELECT rflow.readiness()'), $COPY, 'a database by template may not act');
poll_until($node,
	"SELECT string_agg(kind, ',' ORDER BY kind) FROM rflow_private.worker_slots() WHERE database = (SELECT oid FROM pg_database WHERE datname = 'copy')",
	'coordinator');
is($node->safe_psql('copy', "SELECT status FROM rflow.workers WHERE kind = 'coordinator'"),
	$COPY, 'its coordinator says so');
$node->safe_psql('copy', 'SELECT rflow.arm()');
is($node->safe_psql('copy', 'SELECT rflow.readiness()'), 'ready', 'until it is armed itself');

# A physical copy has another instance_id, if the operator gives it one.
$node->backup('base');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($node, 'base');
$clone->append_conf('postgresql.conf', "rflow.instance_id = 'two'\n");
$clone->start;
poll_until($clone, "SELECT status FROM rflow.workers WHERE kind = 'coordinator'", $COPY);
is($clone->safe_psql('postgres', $RUNNING), 0, 'a snapshot with another instance_id does nothing');
$clone->stop('fast');

# One that it has not given one is the original, as far as anybody can tell: the README warns of it.
my $twin = PostgreSQL::Test::Cluster->new('twin');
$twin->init_from_backup($node, 'base');
$twin->start;
poll_until($twin, $RUNNING, 2);
is($twin->safe_psql('postgres', 'SELECT rflow.readiness()'), 'ready', 'a snapshot with the same instance_id cannot be told apart');
$twin->stop('fast');

# Another server has another system identifier.
my $IDENTITY = 'UPDATE rflow_private.identity SET system_identifier = system_identifier + %d; SELECT rflow_private.definitions_changed()';
$node->safe_psql('postgres', sprintf $IDENTITY, 1);
poll_until($node, "SELECT status FROM rflow.workers WHERE kind = 'coordinator'", $COPY);
poll_until($node, "SELECT count(*) FROM rflow.workers WHERE kind IN ('watcher', 'relayer', 'executor')", 0);
pass('nothing runs for another system identifier');
$node->safe_psql('postgres', sprintf $IDENTITY, -1);
poll_until($node, $RUNNING, 2);

# Another version than the loaded library's.
$node->safe_psql('postgres', "UPDATE pg_extension SET extversion = '9.9' WHERE extname = 'rflow'; SELECT rflow_private.definitions_changed()");
poll_until($node, "SELECT status ~ 'version is not that of the loaded library' FROM rflow.workers WHERE kind = 'coordinator'");
is($node->safe_psql('postgres', $RUNNING), 0, 'and nothing runs with another version');

$node->stop('fast');
done_testing();
