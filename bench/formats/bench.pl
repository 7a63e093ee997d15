#!/usr/bin/perl
# bench.pl: what the formats of the chain cost, in C and in SQL, beside viem and ethers.
#
# Run by `make bench PART=formats`; QUICK=1 makes a small run for trying it out.  The method is told in
# README.md.  Writes bench-results.json and bench-results.md beside itself.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../hot-path";

use JSON::PP;
use List::Util qw(max min);
use POSIX qw(strftime);

use HotPath::Server;

my $QUICK   = $ENV{QUICK} // 0;
my $ROUNDS  = $QUICK ? 1 : 3;
my $SECONDS = $QUICK ? 0.1 : 0.5;    # of processor time, for each operation and round
my $DATA    = "$FindBin::Bin/build/data.json";

# Rows of the table; what a row is compared with decides which columns are divided.
my @OPERATIONS = (
	[ decode_transfer => 'decode an ERC-20 Transfer log' ],
	[ decode_nested   => 'decode an event of nested tuples' ],
	[ encode_transfer => 'encode a call of transfer' ],
	[ encode_swap     => 'encode a call with a tuple of 8' ],
	map({ [ "keccak_$_" => "keccak256 of $_ bytes" ] } 32, 136, 256, 512, 1024),
	[ sign    => 'sign a hash' ],
	[ recover => 'recover a signer' ],
);
my @IMPLEMENTATIONS = qw(rflow sql viem ethers openssl libsecp256k1);

# What is asked, and of whom.  The best round counts: the others were disturbed.
my @TARGETS = (
	[ 'Transfer logs decoded, times viem',     'decode_transfer', 'rflow', 'viem',         20 ],
	[ 'nested events decoded, times viem',     'decode_nested',   'rflow', 'viem',         20 ],
	map({ [ "keccak256 of $_ bytes, times OpenSSL's SHA3-256", "keccak_$_", 'rflow', 'openssl', 0.5 ] } 32, 136, 256,
		512, 1024),
	[ "signatures, times a bare libsecp256k1", 'sign',            'rflow', 'libsecp256k1', 0.9 ],
);

my (%best, %all, %checks);

sub run
{
	my (@command) = @_;
	open my $pipe, '-|', @command or die "$command[0]: $!\n";
	my @lines = <$pipe>;
	close $pipe or die "@command failed\n";
	return @lines;
}

sub note
{
	my ($result) = @_;
	my ($operation, $implementation) = @$result{qw(operation implementation)};

	push @{ $all{$operation}{$implementation} }, 0 + sprintf('%.1f', $result->{ops});
	$best{$operation}{$implementation} = max($best{$operation}{$implementation} // 0, $result->{ops});
	$checks{$operation}{$implementation} = $result->{check} if defined $result->{check};
}

# ---- SQL ---------------------------------------------------------------------------------

my $TRANSFER = 'event Transfer(address indexed from, address indexed to, uint256 value)';
my $NESTED   = 'event Order(bytes32 indexed id, address indexed maker, '
  . '(address token, uint256 amount, (uint8 kind, bytes data)[] legs)[] items, string note)';
my $CALL = 'function transfer(address to, uint256 amount)';
my $SWAP = 'function exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, '
  . 'uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)';

# Tables of the data, and an expression over a row of each.
my %SQL = (
	decode_transfer => [ 'transfers', "rflow.decode_log('$TRANSFER', topics, data)" ],
	decode_nested   => [ 'nested',    "rflow.decode_log('$NESTED', topics, data)" ],
	encode_transfer => [ 'calls',     "rflow.encode_call('$CALL', recipient, amount)" ],
	encode_swap     => [ 'swaps',     "rflow.encode_call('$SWAP', params)" ],
	map({ ("keccak_$_" => [ "messages_$_", 'rflow.keccak256(data)' ]) } 32, 136, 256, 512, 1024),
	recover => [ 'signed', 'rflow.recover_address(hash, signature)' ],
);

# The same checks as the other implementations make.
my %SQL_CHECK = (
	decode_transfer => "(SELECT sum((v->>'value')::numeric)::text FROM made)",
	decode_nested   => "(SELECT sum((i->>'amount')::numeric)::text FROM made, jsonb_array_elements(v->'items') i) || ' ' || "
	  . "(SELECT sum(length((l->>'data')::rflow.hex::bytea))::text FROM made, jsonb_array_elements(v->'items') i, jsonb_array_elements(i->'legs') l)",
);

sub load_data
{
	my ($server) = @_;

	$server->execute(<<"SQL");
CREATE EXTENSION rflow;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE file AS SELECT pg_read_file('$DATA')::jsonb AS j;
CREATE TABLE transfers AS SELECT ARRAY(SELECT t::rflow.hex FROM jsonb_array_elements_text(l->'topics') t) AS topics, (l->>'data')::rflow.hex AS data
	FROM file, jsonb_array_elements(j->'transfers') l;
CREATE TABLE nested AS SELECT ARRAY(SELECT t::rflow.hex FROM jsonb_array_elements_text(l->'topics') t) AS topics, (l->>'data')::rflow.hex AS data
	FROM file, jsonb_array_elements(j->'nested') l;
CREATE TABLE calls AS SELECT (c->>'to')::rflow.address AS recipient, (c->>'amount')::numeric AS amount FROM file, jsonb_array_elements(j->'calls') c;
CREATE TABLE swaps AS SELECT s AS params FROM file, jsonb_array_elements(j->'swaps') s;
SQL
	$server->execute("CREATE TABLE messages_$_ AS SELECT (m #>> '{}')::rflow.hex AS data FROM file, jsonb_array_elements(j->'messages'->'$_') m")
	  for 32, 136, 256, 512, 1024;
	# Any signatures do for recovering: those of one r and s recover different signers from different hashes.
	$server->execute("CREATE TABLE signed AS SELECT (h #>> '{}')::rflow.hex AS hash, "
		  . "('0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798' || repeat('11', 32) || '1b')::rflow.hex AS signature "
		  . "FROM file, jsonb_array_elements(j->'hashes') h");
	$server->execute('VACUUM ANALYZE');
}

# Nanoseconds of processor time of a session's process (Documentation/scheduler/sched-stats in Linux).
sub cpu_ns
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/schedstat" or die "/proc/$pid/schedstat: $!\n";
	return (split ' ', <$file>)[0];
}

sub measure_sql
{
	my ($server, $pid, $operation) = @_;
	my ($table, $expression) = @{ $SQL{$operation} };
	my $rows  = $server->value("SELECT count(*) FROM $table");
	my $times = 1;
	my $spent;

	for my $phase ('warm-up', 'measured')
	{
		while (1)
		{
			my $start = cpu_ns($pid);
			# OFFSET 0 keeps the call from being planned away.
			$server->value("SELECT count(v) FROM (SELECT $expression AS v FROM generate_series(1, $times), $table OFFSET 0) s");
			$spent = (cpu_ns($pid) - $start) / 1e9;
			last if $spent >= $SECONDS;
			$times = int($times * min(10, 1.2 * $SECONDS / ($spent || 1e-3))) + 1;
		}
	}
	my $check = $SQL_CHECK{$operation};
	$check //= "(SELECT rflow.keccak256(string_agg(v::bytea, ''))::text FROM made)" unless $operation eq 'recover';
	note({
		implementation => 'sql',
		operation      => $operation,
		ops            => $rows * $times / $spent,
		check => defined $check ? $server->value("WITH made AS MATERIALIZED (SELECT $expression AS v FROM $table) SELECT $check") : undef
	});
}

# ---- the report --------------------------------------------------------------------------

sub check_outcomes
{
	for my $operation (sort keys %checks)
	{
		my %made = %{ $checks{$operation} };
		delete $made{openssl};    # another padding
		my %different = map { $_ => 1 } values %made;
		die "$operation gives different results: " . encode_json(\%made) . "\n" if keys %different > 1;
	}
}

sub commas
{
	my ($text) = sprintf '%.0f', shift;
	1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
	return $text;
}

sub machine
{
	my ($model) = map { /^model name\s*:\s*(.*)/ ? $1 : () } run('cat', '/proc/cpuinfo');
	return $model // 'unknown';
}

sub versions
{
	my %versions = (rflow => (run('sed', '-n', "s/^default_version *= *'\\(.*\\)'/\\1/p", "$FindBin::Bin/../../rflow.control"))[0]);

	for my $library (qw(viem ethers))
	{
		open my $file, '<', "$FindBin::Bin/node_modules/$library/package.json" or die "$library: $!\n";
		$versions{$library} = decode_json(do { local $/; <$file> })->{version};
	}
	$versions{node}         = (run('node', '--version'))[0];
	$versions{openssl}      = (run('pkg-config', '--modversion', 'libcrypto'))[0];
	$versions{libsecp256k1} = (run('pkg-config', '--modversion', 'libsecp256k1'))[0];
	chomp %versions;
	return \%versions;
}

sub target_rows
{
	return map {
		my ($name, $operation, $ours, $theirs, $at_least) = @$_;
		my $ratio = $best{$operation}{$ours} / $best{$operation}{$theirs};
		{ name => $name, ratio => 0 + sprintf('%.2f', $ratio), at_least => $at_least, met => $ratio >= $at_least ? JSON::PP::true : JSON::PP::false }
	} @TARGETS;
}

sub write_file
{
	my ($name, $text) = @_;
	open my $file, '>', "$FindBin::Bin/$name" or die "$name: $!\n";
	print $file $text;
	close $file or die "$name: $!\n";
}

sub table
{
	my ($versions, @targets) = @_;
	my $text = "# What the formats cost\n\nOperations in a second of one core's processor time, the best of $ROUNDS rounds ("
	  . machine() . "; " . join(', ', map { "$_ $versions->{$_}" } sort keys %$versions) . ").\n\n";

	$text .= "| | C | SQL | viem | ethers | OpenSSL SHA3-256 | libsecp256k1 | C ÷ viem |\n|---|--:|--:|--:|--:|--:|--:|--:|\n";
	for (@OPERATIONS)
	{
		my ($operation, $name) = @$_;
		my %ops = %{ $best{$operation} };
		$text .= "| $name | " . join(' | ', map({ defined $ops{$_} ? commas($ops{$_}) : '' } @IMPLEMENTATIONS),
			sprintf('%.0f', $ops{rflow} / $ops{viem})) . " |\n";
	}
	$text .= "\n| asked for | measured | at least |\n|---|--:|--:|\n";
	$text .= "| $_->{name} | $_->{ratio} | $_->{at_least} |\n" for @targets;
	return $text;
}

# ---- the run -----------------------------------------------------------------------------

chdir $FindBin::Bin or die "$FindBin::Bin: $!\n";
run('make', '-s');
run('node', 'data.mjs', $DATA);
my $server = HotPath::Server->start("$FindBin::Bin/build/server", { shared_preload_libraries => 'rflow' });
load_data($server);
my $pid = $server->value('SELECT pg_backend_pid()');

# Round by round, so that what disturbs the machine disturbs all of them.
for my $round (1 .. $ROUNDS)
{
	print strftime('%H:%M:%S', localtime), " round $round of $ROUNDS\n";
	note(decode_json($_)) for run('build/formats', $DATA, $SECONDS);
	measure_sql($server, $pid, $_) for grep { $SQL{$_} } map { $_->[0] } @OPERATIONS;
	note(decode_json($_)) for map { run('node', 'libraries.mjs', $_, $DATA, $SECONDS) } qw(viem ethers);
}
check_outcomes();

my @targets  = target_rows();
my $versions = versions();
my $report   = table($versions, @targets);
write_file('bench-results.json',
	JSON::PP->new->canonical->pretty->encode({
		at => strftime('%Y-%m-%dT%H:%M:%SZ', gmtime), machine => machine(), versions => $versions, rounds => $ROUNDS,
		seconds => $SECONDS, operations_per_second => \%all, best => { map { my $o = $_; ($o => { map { ($_ => 0 + sprintf('%.1f', $best{$o}{$_})) } keys %{ $best{$o} } }) } keys %best },
		checks => \%checks, targets => \@targets
	}));
write_file('bench-results.md', $report);
print "\n$report";
exit(grep({ !$_->{met} } @targets) && !$QUICK ? 1 : 0);
