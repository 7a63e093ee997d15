=pod

=head1 NAME

HotPath::Histogram - a histogram on a logarithmic axis, as SVG

=head1 SYNOPSIS

  my $svg = HotPath::Histogram::svg(
      { class => 'ours',  name => 'rflow', values => [...] },
      { class => 'floor', name => 'floor', values => [...] });

=head1 DESCRIPTION

All values are positive milliseconds.  The series share the axis and the bins; vertical lines are their p50 and p99.

=cut

package HotPath::Histogram;

use strict;
use warnings;

use List::Util qw(max min);
use POSIX qw(ceil floor);

use HotPath::Statistics;

my ($WIDTH, $HEIGHT) = (900, 260);
my ($LEFT, $RIGHT, $TOP, $BOTTOM) = (45, 15, 30, 35);
my $BINS_PER_DECADE = 20;
my @TICKS = (1, 2, 5);
my $SMALLEST = 0.01;    # what is below is shown there

sub log10 { return log($_[0]) / log 10 }

# From which bin to which: the whole of the data.
sub bin_of
{
	my ($value) = @_;
	return floor(log10(max($value, $SMALLEST)) * $BINS_PER_DECADE);
}

sub x_of
{
	my ($range, $value) = @_;
	my $bin = log10(max($value, $SMALLEST)) * $BINS_PER_DECADE;

	return $LEFT + ($bin - $range->[0]) / ($range->[1] + 1 - $range->[0]) * ($WIDTH - $LEFT - $RIGHT);
}

sub y_of
{
	my ($highest, $count) = @_;
	return $HEIGHT - $BOTTOM - $count / $highest * ($HEIGHT - $TOP - $BOTTOM);
}

sub counts_of
{
	my (@values) = @_;
	my %counts;

	$counts{ bin_of($_) }++ for @values;
	return \%counts;
}

sub bars
{
	my ($range, $highest, $series, $counts) = @_;
	my @bars;

	for my $bin (sort { $a <=> $b } keys %$counts)
	{
		my ($from, $to) = map { 10**($_ / $BINS_PER_DECADE) } $bin, $bin + 1;
		my ($left, $right) = (x_of($range, $from), x_of($range, $to));
		my $top = y_of($highest, $counts->{$bin});

		push @bars,
		  sprintf
		  '<rect class="bar %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s: %d between %.2f and %.2f ms</title></rect>',
		  $series->{class}, $left, $top, $right - $left - 1, y_of($highest, 0) - $top, $series->{name},
		  $counts->{$bin}, $from, $to;
	}
	return @bars;
}

sub marks
{
	my ($range, $series) = @_;

	return map {
		my $value = percentile($_ / 100, @{ $series->{values} });
		my $x = x_of($range, $value);
		sprintf
		  '<line class="mark %s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"><title>%s p%d: %.3f ms</title></line>',
		  $series->{class}, $x, $TOP, $x, $HEIGHT - $BOTTOM, $series->{name}, $_, $value;
	} 50, 99;
}

sub horizontal_axis
{
	my ($range) = @_;
	my $bottom = $HEIGHT - $BOTTOM;
	my @parts = sprintf '<line class="axis" x1="%d" y1="%d" x2="%d" y2="%d"/>', $LEFT, $bottom, $WIDTH - $RIGHT, $bottom;

	for my $decade (floor($range->[0] / $BINS_PER_DECADE) .. ceil(($range->[1] + 1) / $BINS_PER_DECADE))
	{
		for my $value (map { $_ * 10**$decade } @TICKS)
		{
			my $x = x_of($range, $value);

			next if $x < $LEFT - 0.5 || $x > $WIDTH - $RIGHT + 0.5;
			push @parts,
			  sprintf('<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>', $x, $TOP, $x, $bottom),
			  sprintf('<text x="%.1f" y="%d" text-anchor="middle">%g</text>', $x, $bottom + 16, $value);
		}
	}
	push @parts, sprintf '<text x="%d" y="%d" text-anchor="end">milliseconds</text>', $WIDTH - $RIGHT, $HEIGHT - 3;
	return @parts;
}

sub legend
{
	my (@series) = @_;
	my $x = $LEFT;
	my @parts;

	for my $series (@series)
	{
		my $text = sprintf '%s: p50 %.2f, p99 %.2f, n %d', $series->{name},
		  percentile(0.50, @{ $series->{values} }), percentile(0.99, @{ $series->{values} }), scalar @{ $series->{values} };

		push @parts,
		  sprintf('<rect class="bar %s" x="%d" y="6" width="12" height="12"/>', $series->{class}, $x),
		  sprintf('<text x="%d" y="17">%s</text>', $x + 18, $text);
		$x += 360;
	}
	return @parts;
}

=pod

=head1 FUNCTIONS

=over

=item svg(series...)

=back

=cut

sub svg
{
	my (@series) = grep { @{ $_->{values} } } @_;
	return '<p>Nothing was measured.</p>' unless @series;

	my @all = map { @{ $_->{values} } } @series;
	my $range = [ bin_of(min @all), bin_of(max @all) ];
	my @counts = map { counts_of(@{ $_->{values} }) } @series;
	my $highest = max map { values %$_ } @counts;
	my @parts = (horizontal_axis($range), legend(@series));

	push @parts, sprintf('<text x="%d" y="%d" text-anchor="end">%d</text>', $LEFT - 6, y_of($highest, $_) + 4, $_) for 0, $highest;
	push @parts, bars($range, $highest, $series[$_], $counts[$_]) for 0 .. $#series;
	push @parts, map { marks($range, $_) } @series;
	return join "\n", qq(<svg viewBox="0 0 $WIDTH $HEIGHT" role="img">), @parts, '</svg>';
}

1;
