=pod

=head1 NAME

HotPath::Page - the results as one HTML page that needs nothing else

=cut

package HotPath::Page;

use strict;
use warnings;


use HotPath::Histogram;

my %NAMES = (a => 'a: filter and send', b => 'b: filter, read, send');

sub escaped
{
	my ($text) = @_;

	$text =~ s/&/&amp;/g;
	$text =~ s/</&lt;/g;
	$text =~ s/>/&gt;/g;
	return $text;
}

sub row
{
	my ($tag, @cells) = @_;
	return '<tr>' . join('', map { ref ? "<$tag class=\"$_->[1]\">$_->[0]</$tag>" : "<$tag>$_</$tag>" } @cells) . '</tr>';
}

sub table
{
	my ($head, @rows) = @_;
	return join "\n", '<table>', row('th', @$head), map({ row('td', @$_) } @rows), '</table>';
}

sub facts
{
	my ($facts) = @_;
	return join "\n", '<table class="facts">', map({ row('td', escaped($_), escaped($facts->{$_})) } sort keys %$facts), '</table>';
}

sub ms { return sprintf '%.2f', $_[0] }

# What it must show: [what, target, measured, met].
sub targets
{
	my ($summary) = @_;
	my ($a, $b, $detection) = @$summary{qw(a b detection_ms)};
	my $needed = $summary->{node_limit_per_s} * 0.8;
	my @targets = (
		[ 'a, p50',             'at most 2 ms',   ms($a->{claim_to_queued_ms}{p50}), $a->{claim_to_queued_ms}{p50} <= 2 ],
		[ 'a, p50 to floor',    'at most 1.6',    ms($a->{ratio_p50}),               $a->{ratio_p50} <= 1.6 ],
		[ 'a, p99 to floor',    'at most 2',      ms($a->{ratio_p99}),               $a->{ratio_p99} <= 2 ],
		[ 'b, p50',             'at most 3 ms',   ms($b->{claim_to_queued_ms}{p50}), $b->{claim_to_queued_ms}{p50} <= 3 ],
		[ 'detection, p50',     'at most 15 ms',  ms($detection->{p50}),             $detection->{p50} <= 15 ],
		[ 'detection, p95',     'at most 60 ms',  ms($detection->{p95}),             $detection->{p95} <= 60 ],
		[ 'polls per block',    'at most 3',      ms($summary->{polls_per_block}),   $summary->{polls_per_block} <= 3 ],
		[ 'burst, queued per second', sprintf('1000, or %.0f (80 %% of the node)', $needed),
			sprintf('%.0f', $summary->{burst_queued_per_s}),
			$summary->{burst_queued_per_s} >= 1000 || $summary->{burst_queued_per_s} >= $needed ],
		[ 'duplicates', 'none', $summary->{duplicates}, $summary->{duplicates} == 0 ],
		[ 'missed',     'none', $summary->{missed},     $summary->{missed} == 0 ],
	);

	return table([ '', 'asked for', 'measured' ], map { [ @$_[ 0, 1 ], [ $_->[2], $_->[3] ? 'met' : 'missed' ] ] } @targets);
}

sub percentiles
{
	my ($summary) = @_;
	my @rows = map {
		my ($ours, $floor) = @{ $summary->{$_} }{qw(claim_to_queued_ms floor_ms)};
		[
			$NAMES{$_}, map({ ms($_) } @$ours{qw(p50 p95 p99 max)}), $ours->{n},
			map({ ms($_) } @$floor{qw(p50 p99)}, @{ $summary->{$_} }{qw(ratio_p50 ratio_p99)})
		]
	} qw(a b);

	return table([ '', qw(p50 p95 p99 max n), 'floor p50', 'floor p99', 'ratio p50', 'ratio p99' ], @rows);
}

# A column of the samples that were alone in their block.
sub column
{
	my ($results, $series, $name) = @_;
	my %at = map { $results->{columns}{samples}[$_] => $_ } 0 .. $#{ $results->{columns}{samples} };

	return grep { defined } map { $_->[ $at{$name} ] } grep { $_->[ $at{alone} ] } @{ $results->{samples}{$series} };
}

sub floors
{
	my ($results, $series) = @_;
	my @parts = map { [ column($results, $series, "floor_${_}_ms") ] } qw(read send commit);

	return map { $parts[0][$_] + $parts[1][$_] + $parts[2][$_] } 0 .. $#{ $parts[1] };
}

sub histogram_of
{
	my ($results, $series) = @_;
	return HotPath::Histogram::svg(
		{ class => 'ours', name => 'claim to queued', values => [ column($results, $series, 'claim_to_queued_ms') ] },
		{ class => 'floor', name => 'floor', values => [ floors($results, $series) ] });
}

sub parts
{
	my ($results) = @_;
	my %what = (
		read        => 'JSON-RPC batch of the read',
		send        => 'JSON-RPC batch of the simulation',
		write       => 'writing the rows (not in the floor)',
		commit      => 'commit',
		with_writes => 'floor with the writes'
	);
	my @rows;

	for my $series (qw(a b))
	{
		my $parts = $results->{floor_parts}{$series};

		push @rows, [ "$series: $what{$_}", map { ms($_) } @{ $parts->{$_} }{qw(p50 p95 p99)} ]
		  for grep { $series eq 'b' || $_ ne 'read' } qw(read send write commit with_writes);
	}
	return table([ '', qw(p50 p95 p99) ], @rows);
}

sub burst
{
	my ($results) = @_;
	my $summary = $results->{summary};
	my $count = @{ $results->{samples}{burst} };

	return "<p>$count deposits in a few blocks: " . sprintf('%.0f', $summary->{burst_queued_per_s})
	  . ' queued per second. The node alone, asked with the same batches: '
	  . join(', ', map { sprintf '%.0f', $_ } @{ $results->{node_limits_per_s} }) . ' per second.</p>';
}

sub audit
{
	my ($results) = @_;
	my $summary = $results->{summary};
	my @complaints = map { '<li>' . escaped($_) . '</li>' } @{ $results->{complaints} };

	return "<p>$summary->{duplicates} duplicates, $summary->{missed} missed; $summary->{receipts_verified} of "
	  . scalar(@{ $results->{receipts} }) . ' transactions on the chain verified by their receipts.</p>'
	  . (@complaints ? '<ul>' . join("\n", @complaints) . '</ul>' : '');
}

sub replacements
{
	my ($results) = @_;

	return {
		when    => "$results->{machine}{finished_at}, " . escaped($results->{machine}{postgresql}),
		warning => $results->{quick} ? '<p><strong>A small run for trying it out: its numbers say little.</strong></p>' : '',
		targets     => targets($results->{summary}),
		percentiles => percentiles($results->{summary}),
		histogram_a => histogram_of($results, 'a'),
		histogram_b => histogram_of($results, 'b'),
		histogram_detection => HotPath::Histogram::svg(
			{ class => 'ours', name => 'detection', values => [ map { column($results, $_, 'detection_ms') } qw(a b) ] }),
		parts    => parts($results),
		burst    => burst($results),
		audit    => audit($results),
		method   => escaped($results->{method}),
		machine  => facts($results->{machine}),
		settings => facts($results->{settings}),
	};
}

=pod

=head1 FUNCTIONS

=over

=item page(results, template)

The page, from the template file.

=back

=cut

sub page
{
	my ($results, $template) = @_;
	my $replacements = replacements($results);

	open my $in, '<', $template or die "$template: $!";
	my $page = do { local $/; readline $in };
	$page =~ s/\{\{(\w+)\}\}/$replacements->{$1} \/\/ die "no $1 for the page"/ge;
	return $page;
}

1;
