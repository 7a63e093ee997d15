# While nothing happens, a process runs at most one statement a minute and uses next to no CPU.
use strict;
use warnings;

use List::Util qw(sum);
use POSIX qw(sysconf _SC_CLK_TCK);
use PostgreSQL::Test::Utils;
use RflowAudit;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $WATCH_S   = 65;      # what comes once a minute comes in it
my $MINUTE_S  = 55;      # between two statements of a process; less than 60 for the pace of looking at them
my $CPU_SHARE = 0.01;    # of one core, by all of them

# An anvil that nobody sends anything to mines nothing.
my $chain = start_anvil();
my $node  = new_node('main', conf => <<'CONF');
shared_preload_libraries = 'rflow, pg_stat_statements'
pg_stat_statements.track = all
CONF
my $job   = RflowAudit->start(node => $node, chain => $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = DEFAULT");
$job->deposit;
$job->settled;
poll_until($node,
	"SELECT count(*) FROM rflow.workers WHERE status = 'running' AND kind IN ('watcher', 'relayer')", 2);

sub ticks
{
	my ($pid) = @_;
	my @field = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\)//sr;
	return $field[11] + $field[12];
}

# When each process began its last statement, in seconds; asked in another database than the one that is watched.
sub starts
{
	return
	  map { split /\|/ } split /\n/,
	  $node->safe_psql('template1',
		"SELECT backend_type || ' ' || pid, extract(epoch FROM query_start) FROM pg_stat_activity WHERE backend_type LIKE 'rflow%'"
	  );
}

# What has been run in the database that is watched since the last reset.
sub statements
{
	return $node->safe_psql('template1',
		"SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE datname = 'postgres'"
	);
}

# What the start has left to do is done.
poll_until($node,
	"SELECT max(query_start) < clock_timestamp() - interval '3 s' FROM pg_stat_activity WHERE backend_type LIKE 'rflow%'"
);
my %seen    = starts();
my %last    = %seen;
my @pids    = map { (split ' ')[-1] } keys %seen;
my $on_proc = -e "/proc/$$/stat";
my $cpu     = $on_proc ? sum(map { ticks($_) } @pids) : 0;
$node->safe_psql('template1', 'CREATE EXTENSION pg_stat_statements; SELECT pg_stat_statements_reset()');
my $begin   = time;
my %often;
while (time - $begin < $WATCH_S)
{
	my %now = starts();
	for my $process (keys %now)
	{
		next if $now{$process} eq ($last{$process} // '');
		push @{ $often{$process} }, $now{$process};
		$last{$process} = $now{$process};
	}
	select undef, undef, undef, 0.5;
}
for my $process (sort keys %seen)
{
	my @at = @{ $often{$process} // [] };
	my @soon = grep { $at[$_] - $at[ $_ - 1 ] < $MINUTE_S } 1 .. $#at;

	is(scalar(@soon), 0, $process =~ s/ \d+$//r . ': at most one statement a minute');
}
is(join(' ', sort keys %last), join(' ', sort keys %seen), 'none was restarted');
is(scalar(grep { /watcher|relayer|coordinator|launcher/ } keys %seen), 4, 'all are there');
# There may be two of each in this time.
cmp_ok(statements(), '<=', 2 * keys %seen, 'statements in the database');
note('statements: ' . statements());
SKIP:
{
	skip 'no /proc', 1 unless $on_proc;
	my $used = (sum(map { ticks($_) } @pids) - $cpu) / sysconf(_SC_CLK_TCK) / (time - $begin);
	cmp_ok($used, '<', $CPU_SHARE, 'share of a core that they use');
	note("share: $used");
}

$node->stop('fast');
$chain->stop;
done_testing();
