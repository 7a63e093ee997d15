# When processes or slots run out, what waits says so, the log says it once, and it recovers by itself.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;

# Launcher, logical replication launcher and coordinator leave one process for four workers.
my $node = new_node('main', conf => "max_worker_processes = 4\nrflow.executors = 0\n");
my $NETWORK =
  "INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('%s', 31337, '{http://127.0.0.1:9}')";
my $RUNNING =
  "SELECT count(*) FROM rflow.workers WHERE state = 'running' AND kind IN ('watcher', 'relayer')";

sub times_logged
{
	my ($pattern) = @_;
	return scalar(() = slurp_file($node->logfile) =~ /$pattern/g);
}

$node->safe_psql('postgres', sprintf($NETWORK, 'a') . ';' . sprintf($NETWORK, 'b'));
poll_until($node, $RUNNING, 1);
poll_until($node,
	"SELECT count(*) FROM rflow.workers WHERE state = 'waiting' AND status ~ 'max_worker_processes is too small'",
	3);

# It tries again a few times; each time is the same lack.
poll_until($node,
	"SELECT bool_and(restart_at > clock_timestamp() + interval '4 s') FROM rflow.workers WHERE state = 'waiting'");
poll_until($node,
	"SELECT bool_and(restart_at < clock_timestamp() + interval '1 s') FROM rflow.workers WHERE state = 'waiting'");
poll_until($node,
	"SELECT bool_and(restart_at > clock_timestamp() + interval '4 s') FROM rflow.workers WHERE state = 'waiting'");
is(times_logged(qr/waits for a process/), 1, 'the log says once that something waits for a process');

# What runs is no longer wanted: what waits gets its process.
my $network = $node->safe_psql('postgres',
	"SELECT network FROM rflow.workers WHERE state = 'running' AND kind IN ('watcher', 'relayer')");
$node->safe_psql('postgres', "UPDATE rflow.networks SET enabled = false WHERE name = '$network'");
poll_until($node, $RUNNING, 1);
poll_until($node, "SELECT count(*) FROM rflow.workers WHERE network = '$network'", 0);
$node->stop('fast');

# Slots: one for the coordinator and one of two workers.
$node->append_conf('postgresql.conf', "max_worker_processes = 24\nrflow.max_workers = 2\n");
$node->start;
poll_until($node, $RUNNING, 1);
poll_until($node, "SELECT status ~ 'waits for a slot: rflow.max_workers is too small' FROM rflow.workers WHERE kind = 'coordinator'");
is(times_logged(qr/waits for a slot/), 1, 'the log says once that something waits for a slot');

# Databases without the extension take slots only for as long as they are looked at.
$node->safe_psql('postgres', "CREATE DATABASE empty_$_") for 1 .. 3;
poll_until($node, "SELECT count(*) FROM rflow_private.worker_slots() WHERE database IS NOT NULL", 2);
$node->safe_psql('postgres', 'DELETE FROM rflow.networks');
poll_until($node, "SELECT count(*) FROM rflow_private.worker_slots() WHERE kind = 'coordinator' AND pid IS NOT NULL", 1);
poll_until($node, "SELECT count(*) FROM rflow_private.worker_slots() WHERE database IS NOT NULL", 1);

$node->stop('fast');
done_testing();
