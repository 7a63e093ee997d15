#!/usr/bin/perl
# bench.pl: how long is it from a block to a queued transaction?
#
# Run by `make bench`.  The method is told in README.md.  Writes bench-results.json and bench-results.html beside
# itself; QUICK=1 makes a small run for trying it out, and writes quick-results.*.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../../test/perl";

use POSIX qw(ceil);
use Time::HiRes qw(time sleep);

use RflowAnvil;

use HotPath::Audit;
use HotPath::Floor;
use HotPath::Poller;
use HotPath::Report;
use HotPath::Server;
use HotPath::Workload;

my $QUICK      = $ENV{QUICK} // 0;
my $EVENTS     = $QUICK ? 30 : 320;      # single deposits of each series
my $WARM_UP    = $QUICK ? 3 : 10;        # of each series, before them, not counted
my $BURST      = 1000;
my $LIMIT_RUNS = 5;                      # measurements of what the node alone can do
my $BLOCK_TIME = 1;

# Seconds after a block was seen, each with a random part so that nothing falls into step.
my $ORDER_AFTER   = 0.10;
my $FLOOR_AFTER   = 0.40;
my $DEPOSIT_AFTER = 0.65;
my $RANDOM_PART   = 0.15;

my $SETTLE_SECONDS = 180;

my %SETTINGS = (
	shared_preload_libraries => 'rflow',
	dynamic_library_path     => "\$libdir:$FindBin::Bin/floor",
	max_worker_processes     => 16,
	max_connections          => 20,
	fsync                    => 'on',
	synchronous_commit       => 'on',
	full_page_writes         => 'on',
	log_line_prefix          => '%m [%p] %b %a %q',
);

$| = 1;
$ENV{RFLOW_BENCH_KEY} = $HotPath::Workload::HOT_KEY;

sub say_time { printf "%s %s\n", POSIX::strftime('%H:%M:%S', localtime), "@_" }

# ---- single deposits -----------------------------------------------------------------------

sub sleep_until
{
	my ($when) = @_;
	my $rest = $when - time;
	sleep $rest if $rest > 0;
}

# The run of a deposit, once it is there; nothing when it does not come in time.
sub run_of
{
	my ($server, $deposit, $until) = @_;

	do
	{
		my ($row) = $server->rows(
			"SELECT id FROM rflow_private.workflow_runs WHERE transaction_hash = '$deposit->{hash}'");
		return $row->[0] if $row;
		sleep 0.01;
	} while (time < $until);
	return;
}

sub order_floor
{
	my ($bench, $deposit, $sight) = @_;
	my $workload = $bench->{workload};

	sleep_until($sight->{seen_at} + $ORDER_AFTER);
	my $start_at = $sight->{seen_at} + $FLOOR_AFTER + rand $RANDOM_PART;
	my $run = run_of($bench->{server}, $deposit, $start_at - 0.05) or return;

	$bench->{floor}->order(
		series => $deposit->{series},
		run    => $run,
		delay  => $start_at - time,
		logs   => $workload->logs_params($sight->{number}),
		read   => $deposit->{series} eq 'b' ? $workload->read_params : undef,
		sends  => [ $workload->send_params($deposit->{amount}) ]);
	$bench->{floor}->wake;
}

# One deposit a block, a and b by turns, and between two of them the floor of the last one.
sub single_deposits
{
	my ($bench, $count, $counted) = @_;
	my (@deposits, $pending);

	while (@deposits < $count || $pending)
	{
		my $sight = $bench->{poller}->next(10 * $BLOCK_TIME) or die 'no block comes';

		$bench->{sights}{ $sight->{number} } = $sight;
		order_floor($bench, $pending, $sight) if $pending;
		$pending = undef;
		last if @deposits == $count;
		sleep_until($sight->{seen_at} + $DEPOSIT_AFTER + rand $RANDOM_PART);
		$pending = $bench->{workload}->deposit(@deposits % 2 ? 'b' : 'a');
		$pending->{counted} = $counted;
		push @deposits, $pending;
		say_time(scalar @deposits, 'of', $count) if @deposits % 100 == 0;
	}
	return @deposits;
}

# ---- the burst -----------------------------------------------------------------------------

# All deposits are in the node's pool before the first block takes some of them.
sub burst
{
	my ($bench) = @_;
	my ($chain, $server) = @$bench{qw(chain server)};
	my @deposits;

	$chain->rpc('evm_setIntervalMining', 0);
	@deposits = $bench->{workload}->deposits('a', $BURST);
	$_->{series} = 'burst' for @deposits;
	$chain->rpc_batch(map { ['evm_mine'] } 1 .. ceil($BURST * $HotPath::Workload::DEPOSIT_GAS / $HotPath::Workload::BLOCK_GAS));
	$server->wait_for(
		"SELECT count(*) FROM rflow_private.workflow_runs WHERE transaction_hash IN ("
		  . join(', ', map { "'$_->{hash}'" } @deposits) . ')',
		$BURST, 60);
	$chain->rpc('evm_setIntervalMining', $BLOCK_TIME);
	return @deposits;
}

# What the node answers alone, to the same batches.
sub node_limit
{
	my ($bench, $deposits) = @_;
	my @sends = map { $bench->{workload}->send_params($_->{amount}) } @$deposits;

	for (1 .. $LIMIT_RUNS)
	{
		$bench->{floor}->order(series => 'limit', sends => \@sends);
		$bench->{floor}->wake;
		$bench->{floor}->wait(60);
	}
}

sub settle
{
	my ($server) = @_;

	$server->wait_for(
		"SELECT count(*) FROM rflow_private.workflow_runs WHERE state NOT IN ('succeeded', 'failed')",
		0, $SETTLE_SECONDS);
	$server->wait_for(
		"SELECT count(*) FROM rflow_private.relayer_transactions WHERE state IN ('queued', 'signed', 'broadcast', 'mined')",
		0, $SETTLE_SECONDS);
}

sub watcher_counts
{
	my ($server) = @_;
	my ($row) = $server->rows("SELECT polls, blocks FROM rflow_private.worker_slots() WHERE kind = 'watcher'");

	return { polls => $row->[0], blocks => $row->[1] };
}

# ---- the story -----------------------------------------------------------------------------

sub prepare
{
	my $bench = { sights => {} };

	HotPath::Floor::build("$FindBin::Bin/floor");
	$bench->{chain} = RflowAnvil->start(
		args => [ '--block-time', $BLOCK_TIME, '--gas-limit', $HotPath::Workload::BLOCK_GAS ]);
	$bench->{workload} = HotPath::Workload->new($bench->{chain});
	$bench->{server} = HotPath::Server->start('tmp_check/hot-path', \%SETTINGS);
	$bench->{server}->execute('SET client_min_messages = warning; CREATE EXTENSION rflow; SELECT rflow.arm()');
	$bench->{workload}->install($bench->{server});
	# What the benchmark itself writes must not wait for the disk, or make it busy: the claims and floors do.
	$bench->{server}->execute('SET synchronous_commit = off');
	$bench->{floor} = HotPath::Floor->start($bench->{server}, "$FindBin::Bin/floor", $bench->{chain}->url);
	return $bench;
}

my $bench = prepare();
my ($chain, $server) = @$bench{qw(chain server)};
my @deposits;

$bench->{poller} = HotPath::Poller->start($chain->port, $BLOCK_TIME);
say_time('warming up');
push @deposits, single_deposits($bench, 2 * $WARM_UP, 0);
$bench->{counts_before} = watcher_counts($server);
say_time(2 * $EVENTS, 'single deposits');
push @deposits, single_deposits($bench, 2 * $EVENTS, 1);
$bench->{counts_after} = watcher_counts($server);
$bench->{floor}->wait(10);
delete $bench->{poller};

say_time("a burst of $BURST");
my @burst = burst($bench);
say_time('waiting for confirmations');
settle($server);
say_time('what the node can do alone');
node_limit($bench, \@burst);

say_time('reading the chain');
$bench->{deposits} = [ @deposits, @burst ];
$bench->{audit} = HotPath::Audit->new($chain, $server, $bench->{workload}, $bench->{deposits});
$bench->{quick} = $QUICK;
$server->execute('RESET synchronous_commit');
HotPath::Report::write_all($bench, $FindBin::Bin);
$server->stop;
exit(@{ $bench->{audit}{complaints} } > 0);
