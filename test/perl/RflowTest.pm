
=pod

=head1 NAME

RflowTest - servers with rflow, and a chain, for TAP tests

=head1 SYNOPSIS

  use RflowTest;
  use Test::More;

  my $chain = start_anvil();
  my $token = $chain->deploy_token;
  my $node  = new_node('main', conf => 'synchronous_commit = off');
  add_network($node, $chain);
  ...
  poll_until($node, 'SELECT count(*) FROM rflow.runs', 1);

=head1 DESCRIPTION

On top of PostgreSQL::Test::Cluster, whose methods the nodes have.  Nothing here sleeps for
a fixed time: what has to be waited for is looked at until it is there.

The environment of the servers holds keys by reference: signer 'env:RFLOW_TEST_KEY' is
$ACCOUNTS[0] of the chain, 'env:RFLOW_TEST_KEY_1' is $ACCOUNTS[1], up to 4.

=cut

package RflowTest;

use strict;
use warnings;

use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use RflowAnvil;
use RflowFaultyNode;

our @ACCOUNTS = @RflowAnvil::ACCOUNTS;
our @KEYS     = @RflowAnvil::KEYS;

our @EXPORT = qw(@ACCOUNTS @KEYS abi_encode add_network hex_number new_node poll_until
  start_anvil start_faulty_node to_hex);

our $TIMEOUT       = 60;      # seconds until poll_until gives up
our $POLL_INTERVAL = 0.03;    # seconds between its looks

# Cluster.pm turns off what tests of crashes are about, and logs every statement.
my $CONF = <<'CONF';
shared_preload_libraries = 'rflow'
max_worker_processes = 24
max_prepared_transactions = 4
restart_after_crash = on
fsync = on
full_page_writes = on
synchronous_commit = on
log_statement = none
log_min_messages = log
log_line_prefix = '%m [%p] %b %a %q'
CONF

$ENV{RFLOW_TEST_KEY} = $KEYS[0];
$ENV{"RFLOW_TEST_KEY_$_"} = $KEYS[$_] for 0 .. $#KEYS;

=pod

=head1 FUNCTIONS

=over

=item new_node(name, conf => TEXT, init => [...], armed => 0)

A started server with the extension created in database postgres, and armed unless told
otherwise.  init goes to Cluster's init (allows_streaming => 1).

=cut

sub new_node
{
	my ($name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(@{ $options{init} // [] });
	$node->append_conf('postgresql.conf', $CONF . ($options{conf} // ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION rflow');
	$node->safe_psql('postgres', 'SELECT rflow.arm()') if $options{armed} // 1;
	return $node;
}

=pod

=item start_anvil(args...)

A chain (see RflowAnvil) with these command line arguments.

=cut

sub start_anvil
{
	my (@args) = @_;
	return RflowAnvil->start(args => \@args);
}

=pod

=item start_faulty_node(chain)

A node that misbehaves on request (see RflowFaultyNode) before the chain.

=cut

sub start_faulty_node
{
	my ($chain) = @_;
	return RflowFaultyNode->start(upstream => $chain);
}

=pod

=item add_network(node, chain, name)

Inserts the chain as a network ('local') of the node's database postgres.

=cut

sub add_network
{
	my ($node, $chain, $name) = @_;
	my $chain_id = hex_number($chain->rpc('eth_chainId'));
	my $url = $chain->url;

	$name //= 'local';
	$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('$name', $chain_id, '{$url}')
SQL
}

=pod

=item poll_until(node, sql, expected, timeout)

Runs sql in database postgres until it gives expected ('t'); a server that is down, as during
a restart after a crash, is asked again.  Passes or fails a test of that name.

=back

=cut

# One look that may find the server down: what psql said, undef for nothing.
sub look
{
	my ($node, $sql) = @_;
	my ($out, $err);

	# A psql that is refused before it has read the statement makes IPC::Run die.
	eval { $node->psql('postgres', $sql, stdout => \$out, stderr => \$err, on_error_stop => 0) };
	return ($out, $err);
}

sub poll_until
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($node, $sql, $expected, $timeout) = @_;
	my $deadline = time + ($timeout // $TIMEOUT);
	my ($out, $err);

	$expected //= 't';
	do
	{
		($out, $err) = look($node, $sql);
		return pass($sql) if defined $out && $out eq $expected;
		select undef, undef, undef, $POLL_INTERVAL;
	} while (time < $deadline);
	fail($sql);
	diag("waited for: $expected\nlast output: " . ($out // '') . "\n" . ($err // ''));
	return 0;
}

1;
