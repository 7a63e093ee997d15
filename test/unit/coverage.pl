#!/usr/bin/perl
# coverage.pl FOLDER MIN: how many lines of src/evm the tests have run, from the counts that a
# build with --coverage left in FOLDER; fails below MIN percent.
use strict;
use warnings;

my ($folder, $min) = @ARGV;
my ($all, $run) = (0, 0);

# [line, run or not] of all lines with code, as gcov lists them: "     12:   34:  source".
sub lines_of
{
	my ($counts) = @_;
	my ($ours, @lines);

	open my $gcov, '-|', 'gcov', '-t', $counts or die "gcov: $!\n";
	while (<$gcov>)
	{
		# A listing per source: that of headers is left out.
		$ours = m{src/evm/\w+\.c$} if /^\s+-:\s+0:Source:/;
		next unless $ours && /^\s*([0-9#=]+)\*?:\s*([1-9]\d*):/;
		push @lines, [ $2, $1 =~ /^\d/ ? 1 : 0 ];
	}
	close $gcov or die "gcov failed on $counts\n";
	return @lines;
}

for my $counts (sort glob "$folder/evm/*.gcda")
{
	my @lines  = lines_of($counts);
	my @missed = map { $_->[0] } grep { !$_->[1] } @lines;
	my $ran    = @lines - @missed;
	my ($name) = $counts =~ m{(\w+)\.gcda$};

	next unless @lines;
	printf "%-20s %4d of %4d lines  %3d %%  %s\n", "$name.c", $ran, scalar @lines,
	  100 * $ran / @lines, @missed ? "not: @missed" : '';
	$all += @lines;
	$run += $ran;
}
die "no counts in $folder\n" unless $all;
printf "coverage of src/evm by the tests: %.1f %% of %d lines\n", 100 * $run / $all, $all;
exit(100 * $run / $all < $min);
