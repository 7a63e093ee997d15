=pod

=head1 NAME

HotPath::Statistics - percentiles

=cut

package HotPath::Statistics;

use strict;
use warnings;

use Exporter qw(import);
use List::Util qw(max);

our @EXPORT = qw(percentile rounded percentiles);

=pod

=head1 FUNCTIONS

=over

=item percentile(fraction, values...)

As PostgreSQL's percentile_cont: between two values it interpolates.  undef when there is none.

=cut

sub percentile
{
	my ($fraction, @values) = @_;
	my @sorted = sort { $a <=> $b } @values;
	my $place = $fraction * $#sorted;
	my $low = int $place;

	return undef unless @sorted;
	return $sorted[$low] if $low == $#sorted;
	return $sorted[$low] + ($place - $low) * ($sorted[ $low + 1 ] - $sorted[$low]);
}

=pod

=item rounded(value, digits)

A number with so many digits behind the point (3), for JSON.

=item percentiles(names, values...)

{p50 => ..., max => ..., n => ...} as named, rounded.

=back

=cut

sub rounded
{
	my ($value, $digits) = @_;

	return undef unless defined $value;
	return 0 + sprintf '%.*f', $digits // 3, $value;
}

sub percentiles
{
	my ($names, @values) = @_;
	my %out;

	for my $name (@$names)
	{
		$out{$name} =
			$name eq 'n'     ? scalar @values
		  : $name eq 'max'   ? rounded(max @values)
		  : $name =~ /^p(\d+)$/ ? rounded(percentile($1 / 100, @values))
		  :                    die "no such statistic: $name";
	}
	return \%out;
}

1;
