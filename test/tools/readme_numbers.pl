#!/usr/bin/perl
# readme_numbers.pl [--check]: puts what the benchmark has measured into the README, between its marks of numbers; or says
# whether that is what is there.  Without results there is nothing to say.
use strict;
use utf8;
use warnings;

use FindBin;
use JSON::PP;

my $README  = "$FindBin::Bin/../../README.md";
my $RESULTS = "$FindBin::Bin/../../bench/hot-path/bench-results.json";
my $MARKS   = qr/(<!-- numbers -->\n).*(<!-- \/numbers -->)/s;

sub content
{
	my ($file) = @_;
	open my $in, '<:raw', $file or die "could not read $file: $!\n";
	local $/;
	return scalar <$in>;
}

sub row
{
	my ($what, $series) = @_;
	my ($ours, $floor) = @$series{qw(claim_to_queued_ms floor_ms)};

	return sprintf "| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f× |\n", $what, @$ours{qw(p50 p95 p99)}, @$floor{qw(p50 p99)},
	  $series->{ratio_p50};
}

sub text
{
	my ($results) = @_;
	my ($summary, $machine, $settings) = @$results{qw(summary machine settings)};
	my ($postgresql) = $machine->{postgresql} =~ /^(PostgreSQL \S+)/;
	my ($node) = $machine->{node} =~ m{^(\w+/v?[\d.]+)};

	return join '',
	  "\nFrom the moment at which the watcher holds a log to the return of the commit that has queued its transaction, in\n",
	  "milliseconds, of single deposits on a chain with a block each second. The *floor* is what cannot be saved, measured between\n",
	  "the deposits of the same run: the same requests to the same node, and one commit of the same rows.\n\n",
	  "| workflow | p50 | p95 | p99 | floor p50 | floor p99 | p50 to floor |\n|---|---|---|---|---|---|---|\n",
	  row("filter and send ($summary->{a}{claim_to_queued_ms}{n} deposits)", $summary->{a}),
	  row("filter, read, and a send that depends on it ($summary->{b}{claim_to_queued_ms}{n} deposits)", $summary->{b}),
	  sprintf("\nThe block was noticed %.1f ms (p50; p95 %.1f) after a poller that asks every millisecond saw it, with %.1f polls a block.\n",
		@{ $summary->{detection_ms} }{qw(p50 p95)}, $summary->{polls_per_block}),
	  sprintf("Of 1,000 deposits at once, %.0f a second were queued, each simulated by the node, which alone answers %.0f a second to the same\n",
		@$summary{qw(burst_queued_per_s node_limit_per_s)}),
	  "requests. Duplicates: $summary->{duplicates}; missed: $summary->{missed}; transactions verified by their receipts: $summary->{receipts_verified}.\n\n",
	  "Measured by `make bench` with $postgresql (fsync $settings->{fsync}, synchronous_commit $settings->{synchronous_commit}) and $node,\n",
	  "on $machine->{processors} cores of $machine->{processor}, which server, node and benchmark shared.\n",
	  "[bench/hot-path](bench/hot-path) has the method and every sample.\n\n";
}

exit 0 if !-e $RESULTS;

my $before = content($README);
my $text   = text(decode_json(content($RESULTS)));
utf8::encode($text);
(my $after = $before) =~ s/$MARKS/$1$text$2/ or die "the README has no marks of numbers\n";

exit 0 if $after eq $before;
die "the README has other numbers than bench-results.json: run test/tools/readme_numbers.pl\n"
  if @ARGV && $ARGV[0] eq '--check';
open my $out, '>:raw', $README or die "could not write $README: $!\n";
print $out $after;
close $out or die "could not write $README: $!\n";
