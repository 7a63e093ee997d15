=pod

=head1 NAME

HotPath::Report - samples to numbers, bench-results.json, and a summary on the screen

=cut

package HotPath::Report;

use strict;
use warnings;

use JSON::PP;
use List::Util qw(max min);

use HotPath::Machine;
use HotPath::Page;
use HotPath::Statistics;

my $json = JSON::PP->new->canonical->utf8;

my $METHOD = <<'END';
One deposit a block on a chain with 1 s blocks, a and b by turns. Claim is workflow_runs.created_at, the clock when the
watcher holds the log; queued is the clock after the commit has returned (rflow_private.commit_samples()). Between two deposits a
worker of the server measures the floor of the last one: the same JSON-RPC batches to the same node, and a transaction that writes the
same rows to copies of the tables. The floor is the batches and the commit itself, from the last row written to the return of the
commit; floor_with_writes has the time of the writes as well. Detection is claim minus the moment at which a separate poller, which asks every millisecond
around the expected block, first saw it. The burst is 1000 deposits in three blocks that are mined at once; its rate is 1000 divided by
the time from the first claim to the last commit. The node's limit is the median of what it answers to the same batches of 256 pairs, alone. Percentiles
interpolate as percentile_cont does. README.md says why.
END

=pod

=head1 FUNCTIONS

=over

=item write_all(bench, directory)

Computes everything of a finished run and writes both files.

=back

=cut

# One line of samples.a, .b and .burst, in this order.
my @COLUMNS = qw(block alone deposit run claimed_at claim_to_queued_ms detection_ms floor_read_ms floor_send_ms
  floor_write_ms floor_commit_ms);

sub sample_of
{
	my ($bench, $deposit, $floors) = @_;
	my $sight = $bench->{sights}{ $deposit->{block} };
	my $floor = $floors->{ $deposit->{run} // '' };
	my %sample = (
		block   => 0 + $deposit->{block},
		alone   => $deposit->{alone},
		deposit => $deposit->{hash},
		run     => $deposit->{run},
		claimed_at => $deposit->{claimed_at},
		claim_to_queued_ms => rounded(1000 * ($deposit->{committed_at} - $deposit->{claimed_at})),
		detection_ms => $sight && !$sight->{late}
		? rounded(1000 * ($deposit->{claimed_at} - $sight->{seen_at}))
		: undef
	);

	$sample{"floor_${_}_ms"} = $floor ? rounded($floor->{"${_}_us"} / 1000) : undef for qw(read send write commit);
	return \%sample;
}

sub samples
{
	my ($bench) = @_;
	my %floors = map { $_->{run} => $_ } grep { $_->{run} ne '' } $bench->{floor}->samples;
	my %samples = (a => [], b => [], burst => []);

	for my $deposit (@{ $bench->{deposits} })
	{
		next unless defined $deposit->{committed_at} && $deposit->{committed_at} ne '';
		next unless $deposit->{counted} || $deposit->{series} eq 'burst';
		push @{ $samples{ $deposit->{series} } }, sample_of($bench, $deposit, \%floors);
	}
	return \%samples;
}

sub floor_of
{
	my ($sample) = @_;
	return $sample->{floor_read_ms} + $sample->{floor_send_ms} + $sample->{floor_commit_ms};
}

sub values_of
{
	my ($column, @samples) = @_;
	return grep { defined } map { $_->{$column} } @samples;
}

sub series_summary
{
	my (@samples) = @_;
	my @measured = grep { defined $_->{floor_send_ms} } @samples;
	my @ours = values_of('claim_to_queued_ms', @samples);
	my @floor = map { floor_of($_) } @measured;

	return {
		claim_to_queued_ms => percentiles([qw(p50 p95 p99 max n)], @ours),
		floor_ms           => percentiles([qw(p50 p99)], @floor),
		ratio_p50          => rounded(percentile(0.50, @ours) / percentile(0.50, @floor)),
		ratio_p99          => rounded(percentile(0.99, @ours) / percentile(0.99, @floor)),
	};
}

sub burst_rate
{
	my (@deposits) = @_;
	my $first = min map { $_->{claimed_at} } @deposits;
	my $last = max map { $_->{committed_at} } @deposits;

	return rounded(@deposits / ($last - $first), 1);
}

sub node_limits
{
	my ($bench) = @_;
	return map { rounded($_->{calls} / 2 / $_->{send_us} * 1e6, 1) }
	  grep { $_->{series} eq 'limit' } $bench->{floor}->samples;
}

sub summary
{
	my ($bench, $samples) = @_;
	my ($before, $after) = @$bench{qw(counts_before counts_after)};
	my @single = (@{ $samples->{a} }, @{ $samples->{b} });

	return {
		a               => series_summary(grep { $_->{alone} } @{ $samples->{a} }),
		b               => series_summary(grep { $_->{alone} } @{ $samples->{b} }),
		detection_ms    => percentiles([qw(p50 p95)], values_of('detection_ms', @single)),
		polls_per_block => rounded(
			($after->{polls} - $before->{polls}) / max(1, $after->{blocks} - $before->{blocks})),
		burst_queued_per_s => burst_rate(grep { $_->{series} eq 'burst' && defined $_->{run} } @{ $bench->{deposits} }),
		node_limit_per_s  => rounded(percentile(0.5, node_limits($bench)), 1),
		duplicates        => $bench->{audit}{duplicates},
		missed            => $bench->{audit}{missed},
		receipts_verified => $bench->{audit}{verified},
	};
}

# The parts of the floor, of all that was measured.
sub floor_parts
{
	my (@samples) = @_;
	my @measured = grep { defined $_->{floor_send_ms} } @samples;
	my %parts = map { $_ => percentiles([qw(p50 p95 p99)], values_of("floor_${_}_ms", @measured)) }
	  qw(read send write commit);

	$parts{with_writes} = percentiles([qw(p50 p95 p99)], map { floor_of($_) + $_->{floor_write_ms} } @measured);
	$parts{n} = scalar @measured;
	return \%parts;
}

sub results
{
	my ($bench) = @_;
	my $samples = samples($bench);
	my $audit = $bench->{audit};

	return {
		summary     => summary($bench, $samples),
		quick       => $bench->{quick} ? JSON::PP::true : JSON::PP::false,
		method      => join(' ', split ' ', $METHOD),
		machine     => HotPath::Machine::facts($bench->{server}, $bench->{chain}),
		settings    => HotPath::Machine::settings($bench->{server}),
		floor_parts => { map { $_ => floor_parts(@{ $samples->{$_} }) } qw(a b) },
		node_limits_per_s => [ node_limits($bench) ],
		late_sightings => scalar(grep { $_->{late} } values %{ $bench->{sights} }),
		complaints  => $audit->{complaints},
		columns     => { samples => \@COLUMNS, receipts => [qw(deposit payment block nonce status)] },
		samples     => { map { $_ => [ map { [ @$_{@COLUMNS} ] } @{ $samples->{$_} } ] } keys %$samples },
		receipts    => $audit->{receipts},
	};
}

# A line for each sample and receipt, so that the file can be read and compared.
sub as_text
{
	my ($value, $indent) = @_;
	my $inner = "$indent  ";

	if (ref $value eq 'HASH' && grep { ref } values %$value)
	{
		return "{\n" . join(",\n", map { $inner . $json->encode("$_") . ': ' . as_text($value->{$_}, $inner) } sort keys %$value) . "\n$indent}";
	}
	if (ref $value eq 'ARRAY' && grep { ref eq 'ARRAY' } @$value)
	{
		return "[\n" . join(",\n", map { $inner . $json->encode($_) } @$value) . "\n$indent]";
	}
	return $json->allow_nonref->encode($value);
}

sub write_file
{
	my ($path, $text) = @_;

	open my $out, '>:raw', $path or die "$path: $!";
	print $out $text;
	close $out or die "$path: $!";
}

sub print_series
{
	my ($name, $series, $parts) = @_;
	my ($ours, $floor) = @$series{qw(claim_to_queued_ms floor_ms)};

	printf "%s  claim->queued ms: p50 %.3f  p95 %.3f  p99 %.3f  max %.3f  n %d\n", $name, @$ours{qw(p50 p95 p99 max n)};
	printf "   floor ms:         p50 %.3f             p99 %.3f   (with writes p50 %.3f)   ratio p50 %.2f  p99 %.2f\n",
	  @$floor{qw(p50 p99)}, $parts->{with_writes}{p50}, @$series{qw(ratio_p50 ratio_p99)};
	printf "   floor parts p50:  read %.3f  send %.3f  write %.3f  commit %.3f\n", map { $parts->{$_}{p50} } qw(read send write commit);
}

sub print_summary
{
	my ($results) = @_;
	my $summary = $results->{summary};

	print_series($_, $summary->{$_}, $results->{floor_parts}{$_}) for qw(a b);
	printf "detection ms: p50 %.2f  p95 %.2f, polls per block %.2f\n", @{ $summary->{detection_ms} }{qw(p50 p95)}, $summary->{polls_per_block};
	printf "burst: %.0f queued per second; the node alone: %.0f\n", @$summary{qw(burst_queued_per_s node_limit_per_s)};
	printf "duplicates %d, missed %d, receipts verified %d\n", @$summary{qw(duplicates missed receipts_verified)};
	print "  $_\n" for @{ $results->{complaints} };
}

sub write_all
{
	my ($bench, $directory) = @_;
	my $results = results($bench);
	my $name = $bench->{quick} ? 'quick-results' : 'bench-results';

	write_file("$directory/$name.json", as_text($results, '') . "\n");
	write_file("$directory/$name.html", HotPath::Page::page($results, "$directory/page.html"));
	print_summary($results);
	print "results: $directory/$name.json and .html\n";
}

1;
