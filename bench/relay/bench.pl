#!/usr/bin/perl
# bench.pl: how many sends of one key are confirmed a second, by rflow and by scripts that use viem?
#
# Run by `make bench PART=relay`; QUICK=1 makes a small run for trying it out.  The method is told in README.md.  Writes
# bench-results.json and bench-results.md beside itself.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../hot-path", "$FindBin::Bin/../../test/perl";

use JSON::PP;
use List::Util qw(max min sum);
use POSIX qw(strftime);
use Time::HiRes qw(time);

use HotPath::Machine;
use HotPath::Server;
use HotPath::Statistics;
use RflowAnvil;

my $QUICK  = $ENV{QUICK} // 0;
my $ROUNDS = $ENV{ROUNDS} // ($QUICK ? 2 : 9);
my $SENDS  = $ENV{SENDS} // ($QUICK ? 300 : 1000);    # of each contestant in a round
my $SLOW   = 10;                                      # … so many times fewer for the one that waits for each receipt
my $WINDOW = 256;
my $LEAST  = 3;                                       # times the script that is asked for
my $SINK   = '0x00000000000000000000000000000000005111c4';
my $SETTLE_SECONDS = 120;

my %SETTINGS = (
	shared_preload_libraries => 'rflow',
	max_worker_processes     => 16,
	max_connections          => 20,
	fsync                    => 'on',
	synchronous_commit       => 'on',
	full_page_writes         => 'on',
	log_line_prefix          => '%m [%p] %b %a %q',
);

# [name, what it is, function of the number of sends: {seconds, …}].
my @CONTESTANTS = (
	[ rflow            => "rflow, max_in_flight $WINDOW",                               \&rflow, $WINDOW ],
	[ rflow_default    => 'rflow, max_in_flight 16 (the default)',                      \&rflow, 16 ],
	[ viem_pipelined   => 'viem, in order, awaits each answer to eth_sendRawTransaction', \&viem,  'pipelined' ],
	[ viem_all_at_once => 'viem, all sends at once (Promise.all)',                      \&viem,  'all_at_once' ],
	[ viem_batched     => 'viem, all sends at once, in JSON-RPC batches',               \&viem,  'batched' ],
	[ viem_one_by_one  => 'viem, awaits each receipt',                                  \&viem,  'one_by_one' ],
);

$| = 1;
$ENV{RFLOW_BENCH_KEY} = $RflowAnvil::KEYS[0];
my $json = JSON::PP->new->canonical->utf8;
my ($chain, $server);
my $sent = 0;

sub say_time { printf "%s %s\n", strftime('%H:%M:%S', localtime), "@_" }

# ---- the contestants -----------------------------------------------------------------------

# From the statement that queues them all to the moment at which all are seen to be confirmed.
sub rflow
{
	my ($sends, $window) = @_;
	my $first = $sent + 1;
	my $blocks = "FROM rflow_private.relayer_transactions WHERE id > (SELECT max(id) - $sends FROM rflow_private.relayer_transactions)";

	$server->execute("UPDATE rflow.relayers SET max_in_flight = $window");
	$sent += $sends;
	my $began = time;
	$server->execute("SELECT count(rflow.submit_transaction('hot', recipient => '$SINK', value => 1, data => '0x', "
		  . "idempotency_key => 'send ' || n, gas_limit => 21000)) FROM generate_series($first, $sent) n");
	my $queued = time;
	$server->wait_for("SELECT count(*) FROM rflow_private.nonces WHERE settled", $sent, $SETTLE_SECONDS, 0.01);
	my $ended = time;
	die "not all of them are confirmed\n"
	  if $server->value("SELECT count(*) FROM rflow_private.relayer_transactions WHERE state = 'confirmed'") != $sent;
	return {
		seconds      => $ended - $began,
		sent_seconds => $queued - $began,
		blocks       => 0 + $server->value("SELECT count(DISTINCT block_number) $blocks"),
	};
}

sub viem
{
	my ($sends, $how) = @_;
	open my $pipe, '-|', 'node', "$FindBin::Bin/viem.mjs", $chain->url, $RflowAnvil::KEYS[1], $sends, $how
	  or die "node: $!\n";
	my $line = readline $pipe;
	close $pipe or die "viem.mjs failed\n";
	return $json->decode($line);
}

# ---- rounds --------------------------------------------------------------------------------

sub prepare
{
	$chain  = RflowAnvil->start;
	$server = HotPath::Server->start('tmp_check/relay', \%SETTINGS);
	$server->execute('SET client_min_messages = warning; CREATE EXTENSION rflow; SELECT rflow.arm()');
	$server->execute("INSERT INTO rflow.networks (name, chain_id, rpc_urls, confirmations) VALUES ('local', 31337, '{"
		  . $chain->url . "}', 1)");
	$server->execute("INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_BENCH_KEY')");
}

sub sends_of
{
	my ($name) = @_;
	return $name eq 'viem_one_by_one' ? $SENDS / $SLOW : $SENDS;
}

# Everyone in turn, the first of a round is the last of the next one.
sub round
{
	my ($round) = @_;
	my $first = $round % @CONTESTANTS;
	my @samples;

	for my $contestant (@CONTESTANTS[ $first .. $#CONTESTANTS, 0 .. $first - 1 ])
	{
		my ($name, undef, $run, $argument) = @$contestant;
		my $sends  = sends_of($name);
		my $result = $run->($sends, $argument);

		push @samples,
		  {
			round      => $round,
			contestant => $name,
			sends      => $sends,
			rate       => 0 + sprintf('%.1f', $sends / $result->{seconds}),
			blocks     => $result->{blocks},
			map { $_ => 0 + sprintf('%.4f', $result->{$_}) } qw(seconds sent_seconds)
		  };
	}
	say_time("round $round:", map { "$_->{contestant} $_->{rate}/s" } sort { $a->{contestant} cmp $b->{contestant} } @samples);
	return @samples;
}

# What the chain says: nothing is missing, nothing was sent twice.
sub audit
{
	my ($samples) = @_;
	my $all = sum map { $_->{sends} } @$samples;
	my $paid = hex_number($chain->rpc('eth_getBalance', $SINK, 'latest'));
	my @complaints;

	push @complaints, "$paid wei were paid, not $all" if $paid != $all;
	push @complaints, 'rflow has used ' . $chain->nonce($RflowAnvil::ACCOUNTS[0]) . " nonces, not $sent"
	  if $chain->nonce($RflowAnvil::ACCOUNTS[0]) != $sent;
	return @complaints;
}

# ---- results -------------------------------------------------------------------------------

sub median { return percentile(0.5, @_) }

sub rates
{
	my ($samples, $name) = @_;
	return map { $_->{rate} } grep { $_->{contestant} eq $name } @$samples;
}

# Of the two rates of each round: what disturbed one has disturbed the other.
sub ratios
{
	my ($samples, $ours, $theirs) = @_;
	my %rate;

	$rate{ $_->{round} }{ $_->{contestant} } = $_->{rate} for @$samples;
	return map { $_->{$ours} / $_->{$theirs} } values %rate;
}

sub results
{
	my ($samples, @complaints) = @_;
	my %contestants;

	for my $contestant (@CONTESTANTS)
	{
		my ($name, $text) = @$contestant;
		my @rates = rates($samples, $name);
		$contestants{$name} = {
			is            => $text,
			median        => 0 + sprintf('%.0f', median(@rates)),
			min           => min(@rates),
			max           => max(@rates),
			rflow_times   => 0 + sprintf('%.2f', median(ratios($samples, 'rflow', $name))),
			default_times => 0 + sprintf('%.2f', median(ratios($samples, 'rflow_default', $name))),
		};
	}
	return {
		contestants => \%contestants,
		samples     => $samples,
		complaints  => \@complaints,
		machine     => HotPath::Machine::facts($server, $chain),
		settings    => HotPath::Machine::settings($server),
		rounds      => $ROUNDS,
		least       => $LEAST,
	};
}

sub table
{
	my ($results) = @_;
	my $machine = $results->{machine};
	my $text = "| | confirmed a second (median) | least | most | rflow is |\n|---|---|---|---|---|\n";

	for my $name (map { $_->[0] } @CONTESTANTS)
	{
		my $one = $results->{contestants}{$name};
		$text .= sprintf "| %s | %d | %d | %d | %s |\n", @$one{qw(is median min max)},
		  $name =~ /^rflow/ ? '' : sprintf '%.1f× (%.1f× with the default)', @$one{qw(rflow_times default_times)};
	}
	return $text . "\n$ROUNDS alternating rounds of $SENDS sends; medians, and medians of the ratios of each round. $machine->{node}, "
	  . "PostgreSQL " . ($machine->{postgresql} =~ /(\d+\.\d+)/)[0] . ", $machine->{processors} cores of $machine->{processor}, "
	  . "load average at the end $machine->{load_average}.\n";
}

sub write_file
{
	my ($name, $text) = @_;
	open my $out, '>', "$FindBin::Bin/$name" or die "$name: $!\n";
	print $out $text;
	close $out or die "$name: $!\n";
}

# One sample a line, so that two runs can be compared.
sub results_text
{
	my ($results) = @_;
	my %rest = %$results;
	my $samples = join ",\n", map { $json->encode($_) } @{ delete $rest{samples} };

	return '{' . join(",\n", map { "\"$_\": " . $json->encode($rest{$_}) } sort keys %rest) . ",\n\"samples\": [\n$samples\n]}\n";
}

prepare();
rflow($SENDS, $WINDOW);
viem($SENDS, 'pipelined');
my $warm_up = { sends => 2 * $SENDS };
my @samples = map { round($_) } 1 .. $ROUNDS;
my @complaints = audit([ @samples, $warm_up ]);
my $results = results(\@samples, @complaints);
my $prefix = $QUICK ? 'quick-results' : 'bench-results';

write_file("$prefix.json", results_text($results));
write_file("$prefix.md", "# What one key sends a second\n\n" . table($results));
print table($results);
push @complaints, "rflow is not $LEAST times as fast as a script that sends in order"
  if $results->{contestants}{viem_pipelined}{rflow_times} < $LEAST;
print "$_\n" for @complaints;
$server->stop;
exit(@complaints > 0);
