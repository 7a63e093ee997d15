#!/usr/bin/perl
# The example from nothing: a PostgreSQL server and a chain that are thrown away afterwards, workflow.sql, deposits,
# and what has become of them.
#
# `make demo` runs it with a private copy of PostgreSQL.  By itself it needs rflow installed in the PostgreSQL whose
# programs are in PATH, an anvil (see test/chain/README.md), and a user that is not root.  It ends non-zero when anything
# is not as it should be, and stops what it has started in any case.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use FindBin;
use IPC::Open3 qw(open3);
use List::Util qw(sum);
use Time::HiRes qw(time);
use lib "$FindBin::Bin/../../test/perl";

use RflowAnvil;

my $WAIT_SECONDS = 60;      # for what the workers have to do
my $LOOK_SECONDS = 0.2;     # between two looks at it: each costs more than what is looked at
my $LOG_LINES    = 20;      # of the server's log, where something goes wrong

# In whole tokens, which have 18 decimals.
my ($FUNDS, $MINIMUM, $TOO_LITTLE, @DEPOSITS) = (1000, 100, 50, 250, 300);
my ($TREASURY, $POOL, $BENEFICIARY) = @RflowAnvil::ACCOUNTS[ 3, 1, 2 ];

my $CONF = <<'CONF';
shared_preload_libraries = 'rflow'
max_worker_processes = 16
listen_addresses = ''
CONF

my ($folder, $chain, $server);

$| = 1;
$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);

# What the environment says of other servers, or of how psql prints, does not count here.
delete @ENV{ grep { /^PG/ } keys %ENV };
$ENV{PSQL_PAGER}     = '';
$ENV{RFLOW_DEMO_KEY} = $RflowAnvil::KEYS[3];

sub bold
{
	my ($text) = @_;
	return -t STDOUT && !defined $ENV{NO_COLOR} ? "\e[1m$text\e[0m" : $text;
}

sub report
{
	my ($what, $text) = @_;
	print bold(sprintf '%-10s', $what), $text, "\n";
}

# ---- the server -------------------------------------------------------------

# What a program prints; dies with it where the program fails.
sub run
{
	my (@command) = @_;
	my $pid = open3(my $in, my $out, undef, @command);
	close $in;
	my $output = do { local $/; <$out> }
	  // '';
	waitpid $pid, 0;
	die "$command[0] failed:\n$output" if $? != 0;
	return $output;
}

# The server goes on when pg_ctl has ended, so what pg_ctl prints is not waited for.
sub start_server
{
	run('initdb', '-D', "$folder/data", '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync');
	open my $conf, '>>', "$folder/data/postgresql.conf" or die "could not configure the server: $!\n";
	print $conf $CONF, "unix_socket_directories = '$folder'\n";
	close $conf or die "could not configure the server: $!\n";
	$server = "$folder/data";
	system('pg_ctl', '-D', $server, '-l', "$folder/server.log", '-w', '-s', 'start') == 0
	  or die "the server did not start:\n" . end_of_log();
	run(psql('-d', 'postgres', '-c', 'CREATE DATABASE demo'));
	return sql('SHOW server_version') =~ s/ .*//r;
}

sub end_of_log
{
	open my $in, '<', "$folder/server.log" or return '';
	my @lines = <$in>;
	return join '', @lines > $LOG_LINES ? @lines[ -$LOG_LINES .. -1 ] : @lines;
}

sub psql
{
	return ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $folder, '-U', 'postgres', @_);
}

# What a query gives: rows are lines.
sub sql
{
	my ($query) = @_;
	my $rows = run(psql('-d', 'demo', '-A', '-t', '-c', $query));

	chomp $rows;
	return $rows;
}

# What a file of SQL prints, with these psql variables.
sub sql_file
{
	my ($file, %variables) = @_;
	my @variables = map { ('-v', "$_=$variables{$_}") } sort keys %variables;

	return run(psql('-d', 'demo', @variables, '-P', 'linestyle=unicode', '-f', "$FindBin::Bin/$file"));
}

# Waits until a query gives 't'; what is stuck is the best explanation where it does not.
sub wait_until
{
	my ($what, $query) = @_;
	my $deadline = time + $WAIT_SECONDS;

	while (time < $deadline)
	{
		return if sql($query) eq 't';
		select undef, undef, undef, $LOOK_SECONDS;
	}
	die "$what: not within $WAIT_SECONDS seconds\n"
	  . run(psql('-d', 'demo', '-x', '-c', 'SELECT * FROM rflow.stuck')) . end_of_log();
}

# ---- the story --------------------------------------------------------------

sub set_up_server
{
	report('server', 'PostgreSQL ' . start_server());
	sql('CREATE EXTENSION rflow');
	sql('SELECT rflow.arm()');
	report('extension', 'rflow ' . sql("SELECT extversion FROM pg_extension WHERE extname = 'rflow'") . ', created and armed');
}

# The address of the token.
sub set_up_chain
{
	{
		local $ENV{TMPDIR} = $folder;    # for its log
		local $ENV{TESTDIR} = undef;
		$chain = RflowAnvil->start(args => [ '--block-time', '1' ]);
	}
	report('chain', $chain->rpc('web3_clientVersion') =~ s{^anvil/v}{anvil }r . ', a block each second');
	my $token = $chain->deploy_token;
	$chain->wait_receipt($chain->transfer($token, $TREASURY, base_units($FUNDS)));
	report('token', "$token, of which the treasury has $FUNDS");
	return $token;
}

sub base_units
{
	my ($tokens) = @_;
	return $tokens . '0' x 18;
}

sub define_workflow
{
	my ($token) = @_;

	sql_file('workflow.sql',
		rpc_url     => $chain->url,
		token       => $token,
		pool        => $POOL,
		treasury    => $TREASURY,
		beneficiary => $BENEFICIARY,
		minimum     => $MINIMUM);
	report('workflow', "of $MINIMUM tokens or more at the pool, half is sent on: see workflow.sql");
	wait_until('the relayer has its key', 'SELECT bool_and(address IS NOT NULL) FROM rflow.relayer_status');
}

# One that the filter leaves out, and those that it does not, each when the one before has started its run.
sub make_deposits
{
	my ($token) = @_;
	my $runs = 0;

	report('deposit', "$TOO_LITTLE tokens: too little, nothing is to happen");
	$chain->transfer($token, $POOL, base_units($TOO_LITTLE));
	for my $tokens (@DEPOSITS)
	{
		report('deposit', "$tokens tokens, in transaction " . $chain->transfer($token, $POOL, base_units($tokens)));
		$runs++;
		wait_until('a run has begun', "SELECT count(*) >= $runs FROM rflow.runs");
	}
	wait_until('the runs have ended', "SELECT bool_and(state IN ('succeeded', 'failed')) FROM rflow.runs");
}

sub must_be
{
	my ($what, $is, $wanted) = @_;
	die "$what: $is, and not $wanted\n" if $is ne $wanted;
}

# The chain has the last word.
sub check
{
	my ($token) = @_;
	my @hashes = split /\n/, sql('SELECT transaction_hash FROM rflow.transactions ORDER BY id');
	my $halves = sum(@DEPOSITS) / 2;

	must_be('runs', sql("SELECT string_agg(concat_ws(' ', state, error_message), ', ') FROM rflow.runs"),
		join ', ', ('succeeded') x @DEPOSITS);
	must_be('transactions', sql("SELECT string_agg(concat_ws(' ', state, reason), ', ') FROM rflow.transactions"),
		join ', ', ('confirmed') x @DEPOSITS);
	must_be("status of $_", $chain->rpc('eth_getTransactionReceipt', $_)->{status}, '0x1') for @hashes;
	must_be('balance of the beneficiary', $chain->balance($token, $BENEFICIARY), base_units($halves));
	must_be('what is stuck', sql('SELECT count(*) FROM rflow.stuck'), '0');
	report('result', "the beneficiary has $halves tokens");
}

sub main
{
	my $began = time;

	$folder = abs_path(tempdir('rflow-demo-XXXXXX', TMPDIR => 1, CLEANUP => 1));
	set_up_server();
	my $token = set_up_chain();
	define_workflow($token);
	make_deposits($token);
	check($token);
	print "\n", sql_file('look.sql');
	print bold(sprintf "Deposits have become confirmed transactions, %.0f s after the demo began.\n", time - $began);
}

END
{
	my $status = $?;

	system('pg_ctl', '-D', $server, '-m', 'immediate', '-s', 'stop') if defined $server && -e "$server/postmaster.pid";
	$chain->stop if defined $chain;
	$? = $status;
}

main();
