
# A worker that waits for a node that hangs holds up nobody: not DROP DATABASE, not VACUUM, not its own end.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $LIMIT_S = 1;    # the node hangs for as long as the network's rpc_timeout, 30 s

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');

sub watcher
{
	my ($column) = @_;
	return $node->safe_psql('postgres', "SELECT $column FROM rflow.workers WHERE kind = 'watcher'");
}

# Waits until the watcher waits for the node, and returns its pid.
sub hang
{
	$faulty->fault({ kind => 'hang', method => 'eth_blockNumber' });
	$faulty->wait_hit;
	$faulty->heal;
	return watcher('pid');
}

sub seconds
{
	my ($code) = @_;
	my $began = time;

	$code->();
	return time - $began;
}

sub is_quick
{
	my ($what, $code) = @_;
	cmp_ok(seconds($code), '<', $LIMIT_S, $what);
}

sub drop
{
	my ($database) = @_;
	return seconds(sub { $node->safe_psql('postgres', "DROP DATABASE $database") });
}

$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(one two);
my $alone = drop('one');
add_network($node, $faulty);
my $pid = hang();

is( $node->safe_psql('postgres',
		"SELECT backend_xid, backend_xmin, xact_start FROM pg_stat_activity WHERE pid = $pid"),
	'||',
	'it holds no transaction and no snapshot');
cmp_ok(drop('two') - $alone, '<', $LIMIT_S, 'DROP DATABASE');
is(watcher('pid'), $pid, 'the watcher waits on');

my $offset = -s $node->logfile;
is_quick('cancel', sub {
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	RflowAnvil::wait_for(
		sub { slurp_file($node->logfile, $offset) =~ /canceling statement due to user request/ },
		'the watcher to notice');
});

$pid = hang();
is_quick('terminate', sub {
	is($node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)"),
		't', 'the watcher has ended');
});

$chain->mine;
poll_until($node, 'SELECT max(number) FROM rflow_private.blocks', $chain->block_number);

hang();
is_quick('shutdown', sub { $node->stop('fast') });
done_testing();
