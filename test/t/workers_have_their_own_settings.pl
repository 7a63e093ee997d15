# What ALTER DATABASE says of sessions does not reach the workers: events are answered under any of it, and a workflow
# that has to be detached keeps its place.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my %SETTINGS = (
	default_transaction_isolation       => 'serializable',
	default_transaction_read_only       => 'on',
	exit_on_error                       => 'on',
	idle_in_transaction_session_timeout => '1ms',
	lock_timeout                        => '1ms',
	role                                => 'pg_monitor',
	search_path                         => 'nowhere',
	session_replication_role            => 'replica',
	standard_conforming_strings         => 'off',
	statement_timeout                   => '1ms',
	work_mem                            => '64kB',
);
my $EVENTS = 12;

my $chain = start_anvil();
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain);

$node->safe_psql('postgres', <<'SQL');
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('bad', rflow.on_event('deposits', 'Transfer'), '1 / (event.value - event.value) = 1', '[]')
SQL
# The test's own sessions are as before.
my %before = map { $_ => $node->safe_psql('postgres', "SHOW $_") } keys %SETTINGS;
$before{$_} =~ s/ /\\ /g for keys %before;
$ENV{PGOPTIONS} = join ' ', map { "-c $_=$before{$_}" } sort keys %before;
$node->safe_psql('postgres', join '; ', map { "ALTER DATABASE postgres SET $_ = '$SETTINGS{$_}'" } sort keys %SETTINGS);
$node->safe_psql('postgres', <<'SQL');
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' AND backend_type LIKE 'rflow %'
SQL

$job->deposit(count => $EVENTS);
poll_until($node, "SELECT count(*) FROM rflow.runs WHERE workflow = 'answer' AND state = 'succeeded'", $EVENTS);
poll_until($node, "SELECT NOT enabled FROM rflow.workflows WHERE name = 'bad'");
is($node->safe_psql('postgres', <<'SQL'), 2, 'a detached workflow has its own place');
SELECT count(DISTINCT cursor_id) FROM rflow_private.subscriptions
SQL
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/FATAL:  .*division by zero/, 'an error of a filter ends no worker');

$node->safe_psql('postgres', "UPDATE rflow.workflows SET filter = 'true' WHERE name = 'bad'");
$node->safe_psql('postgres', "SELECT rflow.enable('bad', resume => 'cursor')");
poll_until($node, "SELECT count(*) FROM rflow.runs WHERE workflow = 'bad' AND state = 'succeeded'", $EVENTS);
done_testing();
