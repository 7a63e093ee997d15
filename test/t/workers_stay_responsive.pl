# While a node does not answer: DROP of another database, SIGTERM and cancel take no time, and no worker
# holds a transaction.
use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $AT_ONCE_S = 1;
my $WORKERS   = "backend_type IN ('rflow watcher', 'rflow relayer')";

# It takes connections and requests, and says nothing.
my $silent = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 16)
  or die "cannot listen: $!";
my $url  = 'http://127.0.0.1:' . $silent->sockport;
my $node = new_node('main');

sub seconds(&)
{
	my ($action) = @_;
	my $start = time;
	$action->();
	return time - $start;
}

# Accepts the next connection of a worker and reads the beginning of its request.
sub wait_for_request
{
	die 'no connection came' unless IO::Select->new($silent)->can_read($RflowTest::TIMEOUT);
	my $connection = $silent->accept;
	die 'no request came' unless IO::Select->new($connection)->can_read($RflowTest::TIMEOUT);
	return $connection;
}

sub watcher_pid
{
	return $node->safe_psql('postgres',
		"SELECT pid FROM rflow.workers WHERE kind = 'watcher' AND pid IS NOT NULL");
}

$node->safe_psql('postgres', 'CREATE DATABASE unrelated');
$node->safe_psql('postgres',
	"INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('silent', 31337, '{$url}')");
my @connections = (wait_for_request());

is( $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_activity WHERE $WORKERS AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR xact_start IS NOT NULL)"),
	0,
	'no transaction is open');
cmp_ok(seconds { $node->safe_psql('postgres', 'DROP DATABASE unrelated') },
	'<', $AT_ONCE_S, 'another database is dropped at once');

my $pid = watcher_pid();
cmp_ok(
	seconds
	{
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 20000)")
	},
	'<', $AT_ONCE_S, 'SIGTERM ends it at once');
push @connections, wait_for_request();

$pid = watcher_pid();
cmp_ok(
	seconds
	{
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
		poll_until($node, "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid", 0, 20);
	},
	'<', $AT_ONCE_S, 'so does a cancel');
push @connections, wait_for_request();

cmp_ok(
	seconds
	{
		$node->safe_psql('postgres', 'DROP EXTENSION rflow');
		poll_until($node, "SELECT count(*) FROM pg_stat_activity WHERE $WORKERS", 0, 20);
	},
	'<', 2 * $AT_ONCE_S, 'so does DROP EXTENSION');
cmp_ok(seconds { $node->stop('fast') }, '<', 10 * $AT_ONCE_S, 'the server stops');
done_testing();
