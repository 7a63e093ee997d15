# Wherever an executor dies, each run goes on from its journal: every statement is executed once and every transaction is
# sent once.  The commit of the configuration is weak.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowTest;
use Test::More;

my @POINTS = qw(executor-before-commit executor-after-commit execute-before-commit execute-after-commit);
my $RUNS = 4;

my $chain = start_anvil();
my $token = $chain->deploy_token;
my $node  = new_node('main', conf => "synchronous_commit = off\nrflow.executors = 1\n");

add_network($node, $chain);
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('token', 'local', '$token', rflow.abi(
	'function transfer(address to, uint256 value) returns (bool)', 'function balanceOf(address owner) view returns (uint256)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY_4');
CREATE TABLE notes (run uuid, what text, PRIMARY KEY (run, what));
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pay', rflow.on_start(), rflow.steps(
	rflow.sql('begin_note', 'INSERT INTO notes VALUES (run.id, ''begin'')'),
	rflow.read('pool', 'token', 'balanceOf', \$\$ '$ACCOUNTS[4]' \$\$),
	rflow.send_transaction('pay', relayer => 'hot', contract => 'token', function => 'transfer',
		args => \$\$ '$ACCOUNTS[3]', 1 \$\$, wait_for => 'mined'),
	rflow.sql('end_note', 'INSERT INTO notes VALUES (run.id, ''end'')')));
SQL
$chain->transfer($token, $ACCOUNTS[4], '1000000');
poll_until($node, q{SELECT address IS NOT NULL FROM rflow_private.relayer_states}, 't');
my $started = 0;

sub crash_point
{
	my ($setting) = @_;

	$node->append_conf('postgresql.conf', "rflow.crash_point = '$setting'\n");
	$node->reload;
}

# The next runs meet the crash point.
sub meet
{
	my ($point, $action) = @_;
	my $offset = -s $node->logfile;

	crash_point("$point:$action");
	$node->safe_psql('postgres', "SET synchronous_commit = on; SELECT rflow.start('pay') FROM generate_series(1, $RUNS)");
	$started += $RUNS;
	$node->wait_for_log(qr/crash point "$point" reached/, $offset);
}

sub recovered
{
	my ($what) = @_;

	crash_point('') if $node->{_pid};
	subtest $what => sub {
		poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE state = 'succeeded'}, $started);
		is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT what, ' ' ORDER BY what) || ' ' || count(*) FROM notes}),
			'begin end ' . 2 * $started, 'each statement has been executed once');
		is($node->safe_psql('postgres', q{SELECT count(*) FROM rflow_private.relayer_transactions WHERE NOT reverted}),
			$started, 'each transaction has been sent once');
		is($chain->balance($token, $ACCOUNTS[3]), $started, 'the chain says so');
		is($node->safe_psql('postgres', q{SELECT count(*) FROM rflow_private.due}), '0', 'nothing is due any more');
		poll_until($node, q{SELECT count(*) FROM rflow_private.incidents WHERE resolved_at IS NULL}, '0');
	};
}

for my $point (@POINTS)
{
	for my $action (qw(error exit abort))
	{
		meet($point, $action);
		recovered("$point: $action");
	}

	meet($point, 'wait');
	$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'rflow executor'});
	recovered("$point: SIGTERM");

	meet($point, 'wait');
	$node->stop('immediate');
	$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
	$node->start;
	recovered("$point: immediate shutdown");
}

$node->stop;
$chain->stop;
done_testing();
