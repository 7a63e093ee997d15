# While nothing happens, a process runs at most one statement a minute and uses next to no CPU.
use strict;
use warnings;

use List::Util qw(sum);
use POSIX qw(sysconf _SC_CLK_TCK);
use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $WATCH_S   = 20;      # less than a minute: at most one statement of each is seen
my $CPU_SHARE = 0.01;    # of one core, by all of them

# An anvil that nobody sends anything to mines nothing.
my $chain = start_anvil();
my $node  = new_node('main');
add_network($node, $chain);
poll_until($node,
	"SELECT count(*) FROM rflow.workers WHERE status = 'running' AND kind IN ('watcher', 'relayer')", 2);

sub ticks
{
	my ($pid) = @_;
	my @field = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\)//sr;
	return $field[11] + $field[12];
}

# When each process began its last statement.
sub starts
{
	return
	  map { split /\|/ } split /\n/,
	  $node->safe_psql('postgres',
		"SELECT backend_type || ' ' || pid, query_start FROM pg_stat_activity WHERE backend_type LIKE 'rflow%'");
}

# What the start has left to do is done.
poll_until($node,
	"SELECT max(query_start) < clock_timestamp() - interval '3 s' FROM pg_stat_activity WHERE backend_type LIKE 'rflow%'"
);
my %seen = starts();
my %statements;
my %before  = starts();
my @pids    = map { (split ' ')[-1] } keys %before;
my $on_proc = -e "/proc/$$/stat";
my $cpu     = $on_proc ? sum(map { ticks($_) } @pids) : 0;
my $begin   = time;
while (time - $begin < $WATCH_S)
{
	my %now = starts();
	for my $process (keys %now)
	{
		$statements{$process}++ if $now{$process} ne ($before{$process} // '');
	}
	%before = %now;
	select undef, undef, undef, 0.2;
}
cmp_ok($statements{$_} // 0, '<=', 1, "$_: at most one statement") for sort keys %before;
is(join(' ', sort keys %before), join(' ', sort keys %seen), 'none was restarted');
is(scalar(grep { /watcher|relayer|coordinator|launcher/ } keys %before), 4, 'all are there');
SKIP:
{
	skip 'no /proc', 1 unless $on_proc;
	my $used = (sum(map { ticks($_) } @pids) - $cpu) / sysconf(_SC_CLK_TCK) / (time - $begin);
	cmp_ok($used, '<', $CPU_SHARE, 'share of a core that they use');
}

$node->stop('fast');
$chain->stop;
done_testing();
