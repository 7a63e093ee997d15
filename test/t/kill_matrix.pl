# The kill/restart matrix (relayers-and-indexers §4.5): at each step from the event to the confirmed receipt, the process is
# killed, the server is stopped at once, the node is restarted (its pool is lost), or it is restarted from an earlier state
# (blocks are lost, too).  After each cell the tables and the chain say: one run for each event, one successful execution
# for each key, no gap in the nonces, nothing under way, no cursor beyond the headers.
#
# "After simulate" and "after estimate" are before the claim's commit, which is also that of the queue: claim-*.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowAudit;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $CONFIRMATIONS  = 2;
my $CELL_SECONDS   = 60;
my $MINING_SECONDS = 0.1;
# What was confirmed in blocks that are lost counts as settled until the relayer has seen that.
my $STEADY_LOOKS = 15;

my @POINTS = qw(claim-before-commit claim-after-commit executor-before-commit executor-after-commit
  relay-before-sign-commit relay-after-sign-commit relay-after-broadcast relay-after-receipt
  reorg-before-commit reorg-after-commit);
my @ENDS = ('kill -9', 'immediate stop', 'node restart', 'earlier state');

my $CURSORS = <<'SQL';
SELECT count(*) FROM rflow_private.cursors c
 WHERE c.next_block > (SELECT max(b.number) + 1 FROM rflow_private.blocks b WHERE b.network = c.network)
SQL

# A chain that is started anew has the same genesis block only if its time is given.
my $chain = start_anvil('--no-mining', '--timestamp', int time);
my $node  = new_node('main', conf => "synchronous_commit = off\nrflow.executors = 1\n");
my $state = "$ENV{TESTDIR}/tmp_check/kill_matrix_state.json";

# The step after the answer is an executor's.
my $job = RflowAudit->start(
	node          => $node,
	chain         => $chain,
	confirmations => $CONFIRMATIONS,
	steps         => <<'SQL');
rflow.steps(
    rflow.send_transaction('answer', relayer => 'hot', contract => 'settle', function => 'loose',
      args => $$ rflow.keccak256(log.transaction_hash::text || ' ' || log.log_index), event.value $$, wait_for => 'mined'),
    rflow.read('seen', contract => 'settle', function => 'total'))
SQL
# With the weak commit the definitions themselves could be lost.
$node->safe_psql('postgres', 'CHECKPOINT');
my %table;

sub set_crash_point
{
	my ($setting) = @_;

	$job->crash_point($setting);
	$node->reload if $node->{_pid};
}

sub reached
{
	my ($point, $offset) = @_;
	return slurp_file($node->logfile, $offset) =~ /\[(\d+)\].*crash point "$point" reached/ ? $1 : undef;
}

# Blocks come until the process is at the point; the state is that of the events' block.
sub bring_to
{
	my ($point) = @_;
	my $offset = -s $node->logfile;
	my ($pid, $reorganised);

	set_crash_point("$point:wait");
	$job->deposit(count => 2);
	$chain->mine;
	$chain->dump_state($state);
	RflowAnvil::wait_for(
		sub {
			return 1 if $pid = reached($point, $offset);
			select undef, undef, undef, $MINING_SECONDS;
			if ($point =~ /^reorg/ && !$reorganised++)
			{
				$chain->mine;
				select undef, undef, undef, $MINING_SECONDS * 5;
				$chain->reorg(1, []);
			}
			$chain->mine if $point !~ /^claim/;
			return;
		},
		"the crash point $point");
	return $pid;
}

sub end
{
	my ($how, $pid) = @_;

	if ($how eq 'kill -9')
	{
		kill 'KILL', $pid;
	}
	elsif ($how eq 'immediate stop')
	{
		$node->stop('immediate');
	}
	elsif ($how eq 'node restart')
	{
		$chain->dump_state("$state.now");
		$chain->restart_from("$state.now");
	}
	else
	{
		$chain->mine;
		$chain->restart_from($state);
	}
	set_crash_point('');
	$node->start unless $node->{_pid};
}

# Has the chain come to this height, and the watcher, too?
sub followed
{
	my ($height) = @_;

	return $chain->block_number >= $height
	  && $node->safe_psql('postgres', 'SELECT coalesce(max(number), 0) FROM rflow_private.blocks') >= $height;
}

sub cell
{
	my ($point, $how) = @_;

	my $pid = bring_to($point);
	my $height = $chain->block_number;
	my $steady = 0;

	end($how, $pid);
	my $began = time;
	my $over = eval { RflowAnvil::wait_for(
			sub {
				select undef, undef, undef, $MINING_SECONDS;
				$chain->mine;
				$steady = eval { $job->is_settled } && followed($height + 1) ? $steady + 1 : 0;
				return $steady >= ($how eq 'earlier state' ? $STEADY_LOOKS : 1);
			}, 'everything to be settled') };
	my $seconds = time - $began;
	ok($over, sprintf('settled after %.1f s', $seconds));
	$job->audit('chain and tables');
	is($node->safe_psql('postgres', $CURSORS), '0', 'no cursor is beyond the headers');
	return $seconds;
}

$RflowAnvil::TIMEOUT = $CELL_SECONDS;
for my $point (@POINTS)
{
	for my $how (@ENDS)
	{
		my $seconds;
		my $ok = subtest "$point: $how" => sub { $seconds = cell($point, $how) };

		$table{$point}{$how} = $ok ? sprintf('ok %.1f s', $seconds) : 'FAILED';
	}
}
note join ' | ', sprintf('%-26s', 'point'), map { sprintf '%-14s', $_ } @ENDS;
note join ' | ', sprintf('%-26s', $_), do { my $row = $table{$_}; map { sprintf '%-14s', $row->{$_} } @ENDS } for @POINTS;
done_testing();
