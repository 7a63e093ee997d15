# Commands that need a database for themselves succeed although workers are connected to it.
use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;

my $node = new_node('main', armed => 0, conf => "fsync = off\nrflow.executors = 0\n");
my $TABLESPACE = PostgreSQL::Test::Utils::tempdir();

sub workers_of
{
	my ($database) = @_;
	return
	  "SELECT count(*) FROM rflow_private.worker_slots() s JOIN pg_database d ON d.oid = s.database WHERE d.datname = '$database' AND s.state = 'running'";
}

# A database with a coordinator, a watcher and a relayer.
sub new_database
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'CREATE EXTENSION rflow');
	$node->safe_psql($name, 'SELECT rflow.arm()');
	$node->safe_psql($name,
		"INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('local', 31337, '{http://127.0.0.1:9}')"
	);
	poll_until($node, workers_of($name), 3, 10);
}

# PostgreSQL refuses such a command when someone stays connected for five seconds.
sub succeeds
{
	my ($database, $command) = @_;
	my ($code, $out, $err) = $node->psql($database, $command);
	is($code, 0, $command) or diag($err);
}

new_database('first');
succeeds('postgres', 'ALTER DATABASE first RENAME TO second');
poll_until($node, workers_of('second'), 3);
succeeds('postgres', 'CREATE DATABASE copy TEMPLATE second');
poll_until($node, workers_of('second'), 3);
succeeds('postgres', "CREATE TABLESPACE elsewhere LOCATION '$TABLESPACE'");
succeeds('postgres', 'ALTER DATABASE second SET TABLESPACE elsewhere');
poll_until($node, workers_of('second'), 3);

# The copy has a coordinator, which does nothing.
poll_until($node, workers_of('copy'), 1);
is($node->safe_psql('copy', 'SELECT rflow.readiness()'),
	'a copy of the database that was armed: call rflow.arm() if it is to act',
	'the copy may not act');

# A command that fails lets the workers come back.
my $session = $node->background_psql('second');
$session->query_safe('SELECT 1');
my ($code, $out, $err) = $node->psql('postgres', 'DROP DATABASE second');
like($err, qr/is being accessed by other users/, 'a client is in the way');
poll_until($node, workers_of('second'), 3);

# So does one whose session is terminated while it holds them.
my $drop = IPC::Run::start(
	[ 'psql', '-X', '-c', 'DROP DATABASE second', $node->connstr('postgres') ],
	'<', \undef, '>', \my $drop_out, '2>', \my $drop_err);
poll_until($node, workers_of('second'), 0);
$node->safe_psql('postgres',
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'DROP DATABASE second'");
$drop->finish;
like($drop_err, qr/terminating connection/, 'the command was terminated');
poll_until($node, workers_of('second'), 3);
succeeds('postgres', 'DROP DATABASE second WITH (FORCE)');

# Nor does a role that may not drop it stop anything.
$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
new_database('other');
my $pids =
  "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM rflow_private.worker_slots() s JOIN pg_database d ON d.oid = s.database WHERE datname = 'other'";
my $before = $node->safe_psql('postgres', $pids);
for my $command (
	'DROP DATABASE other',
	'ALTER DATABASE other RENAME TO mine',
	'CREATE DATABASE mine TEMPLATE other')
{
	($code, $out, $err) =
	  $node->psql('postgres', $command, extra_params => [ '-U', 'stranger' ]);
	like($err, qr/must be owner|permission denied/, "$command by a stranger");
}
is($node->safe_psql('postgres', $pids), $before, 'workers of other went on');

# DROP EXTENSION while they run; then nothing is left, not even a coordinator.
succeeds('other', 'DROP EXTENSION rflow');
poll_until($node, workers_of('other'), 0);
succeeds('other', 'CREATE EXTENSION rflow');
poll_until($node, workers_of('other'), 1);
succeeds('other', 'BEGIN; DROP EXTENSION rflow; CREATE EXTENSION rflow; COMMIT');
poll_until($node, workers_of('other'), 1);
succeeds('postgres', 'DROP DATABASE other');
succeeds('postgres', 'DROP DATABASE copy');
is( $node->safe_psql(
		'postgres', "SELECT count(*) FROM rflow_private.worker_slots() WHERE database NOT IN (SELECT oid FROM pg_database)"),
	0,
	'no slot is left of a database that was dropped')
  if poll_until($node,
	'SELECT count(*) FROM rflow_private.worker_slots() WHERE database IS NOT NULL', 1);
unlike(slurp_file($node->logfile), qr/database \d+ does not exist/, 'no worker was started for a database that was gone');

$node->stop('fast');
done_testing();
