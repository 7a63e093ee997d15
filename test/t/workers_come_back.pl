# A worker that ends is started again: at once when it was terminated, later and later when it failed.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;

# Nobody listens there: the workers run, and say so.
my $NETWORK = "INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('local', 31337, '{http://127.0.0.1:9}')";

my $node = new_node('main');
$node->safe_psql('postgres', $NETWORK);

sub worker
{
	my ($kind, $column) = @_;
	return $node->safe_psql('postgres',
		"SELECT $column FROM rflow.workers WHERE kind = '$kind' AND index = 0");
}

sub wait_for_all
{
	poll_until($node,
		"SELECT count(*) FROM rflow.workers WHERE state = 'running' AND kind IN ('launcher', 'coordinator', 'watcher', 'relayer')",
		4);
}

wait_for_all();

for my $kind (qw(watcher relayer coordinator launcher))
{
	my %before = map { $_ => worker($_, 'pid') } qw(watcher relayer coordinator launcher);

	$node->safe_psql('postgres', "SELECT pg_terminate_backend($before{$kind})");
	poll_until($node,
		"SELECT pid IS NOT NULL AND pid <> $before{$kind} FROM rflow.workers WHERE kind = '$kind'",
		't', 10);
	delete $before{$kind};
	is(worker($_, 'pid'), $before{$_}, "$_ outlives the $kind") for sort keys %before;
}

# An error ends it; the error is shown, and the next start is later each time.
$node->safe_psql('postgres', q(ALTER SYSTEM SET rflow.crash_point = 'coordinator-turn:error'));
$node->reload;
poll_until($node,
	"SELECT state = 'waiting' AND restart_at > clock_timestamp() + interval '1.2 s' FROM rflow.workers WHERE kind = 'coordinator'"
);
is(worker('coordinator', 'last_error'),
	'rflow: crash point "coordinator-turn"', 'the last error is shown');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM rflow.workers WHERE kind IN ('watcher', 'relayer') AND state = 'running'"
	),
	2,
	'the workers outlive a coordinator that fails');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET rflow.crash_point');
$node->reload;
wait_for_all();

# A dead process restarts the whole server; everything comes back.
my $log = -s $node->logfile;
$node->safe_psql('postgres', q(ALTER SYSTEM SET rflow.crash_point = 'coordinator-turn:abort'));
$node->reload;
$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
append_to_file($node->data_dir . '/postgresql.auto.conf', "rflow.crash_point = ''\n");
kill 'HUP', $node->{_pid};
wait_for_all();

# rflow.enabled = off: the coordinator stays, the others go.
$node->safe_psql('postgres', 'ALTER SYSTEM SET rflow.enabled = off');
$node->reload;
poll_until($node,
	q(SELECT string_agg(kind || ': ' || status, ', ' ORDER BY kind) FROM rflow.workers),
	'coordinator: rflow.enabled is off, launcher: running');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET rflow.enabled');
$node->reload;
wait_for_all();

# A network that is disabled or deleted has no workers.
$node->safe_psql('postgres', 'UPDATE rflow.networks SET enabled = false');
poll_until($node, "SELECT count(*) FROM rflow.workers WHERE network = 'local'", 0);
$node->safe_psql('postgres', 'UPDATE rflow.networks SET enabled = true');
wait_for_all();
$node->safe_psql('postgres', 'DELETE FROM rflow.networks');
poll_until($node, "SELECT count(*) FROM rflow.workers WHERE network = 'local'", 0);

$node->stop('fast');
done_testing();
