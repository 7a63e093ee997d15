
=pod

=head1 NAME

RflowFaultyNode - a node that misbehaves on request, before a chain

=head1 SYNOPSIS

  my $faulty = RflowFaultyNode->start(upstream => $chain);
  add_network($node, $faulty);
  $faulty->fault({ kind => 'hang', ms => 20_000, method => 'eth_getLogs', times => 1 });
  $faulty->wait_hit;
  $faulty->heal;
  my @calls = $faulty->calls('eth_getLogs');

=head1 DESCRIPTION

Starts test/chain/faulty-node.js, whose first lines list the faults and the state, on a free
port of the loopback interface.  It dies with the object, and with the test.

=cut

package RflowFaultyNode;

use strict;
use warnings;

use File::Basename qw(dirname);
use HTTP::Tiny;
use JSON::PP;
use POSIX qw(:sys_wait_h);

use RflowAnvil;

our $SCRIPT  = dirname(__FILE__) . '/../chain/faulty-node.js';
our $TIMEOUT = 30;    # seconds until a request of the test itself is given up

my $json = JSON::PP->new->utf8->canonical->allow_nonref;

=pod

=head1 METHODS

=over

=item start(upstream => CHAIN)

CHAIN is an RflowAnvil, or nothing for a node of canned answers.

=cut

sub start
{
	my ($class, %options) = @_;
	my $self = bless {
		upstream => $options{upstream},
		port     => RflowAnvil::free_port(),
		owner    => $$,
		http     => HTTP::Tiny->new(timeout => $TIMEOUT, keep_alive => 0),
	}, $class;

	$self->start_again;
	return $self;
}

=pod

=item start_again / stop

Ends it, so that connections are refused, and starts it anew on the same port: without
faults, and knowing of no calls.

=cut

sub start_again
{
	my ($self) = @_;
	my $directory = $ENV{TESTDIR} ? "$ENV{TESTDIR}/tmp_check" : ($ENV{TMPDIR} // '/tmp');
	my @upstream = $self->{upstream} ? ('--upstream', $self->{upstream}->url) : ();

	die 'the node runs already' if $self->{pid};
	$self->{log} = "$directory/faulty-node-$self->{port}.log";
	$self->{pid} = fork() // die "could not fork: $!";
	if ($self->{pid} == 0)
	{
		open STDIN,  '<',  '/dev/null';
		open STDOUT, '>>', $self->{log};
		open STDERR, '>&', \*STDOUT;
		exec 'node', $SCRIPT, '--port', $self->{port}, @upstream or POSIX::_exit(127);
	}
	RflowAnvil::wait_for(
		sub {
			die "the node did not start: see $self->{log}" if waitpid($self->{pid}, WNOHANG) != 0;
			return eval { $self->state };
		},
		"the faulty node at port $self->{port} to answer");
}

sub stop
{
	my ($self) = @_;
	my $pid = delete $self->{pid} or return;

	kill 'KILL', $pid;
	waitpid $pid, 0;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $@);

	$self->stop if $self->{owner} == $$;
}

=pod

=item url / port / log

Where it answers, and the file of what it printed.

=item rpc(method, params...)

Asks the chain behind it, past all faults.

=cut

sub url  { return "http://127.0.0.1:$_[0]{port}" }
sub port { return $_[0]{port} }
sub log  { return $_[0]{log} }

sub rpc
{
	my ($self, @call) = @_;
	return $self->{upstream}->rpc(@call);
}

sub control
{
	my ($self, $method, $what, $body) = @_;
	my $response = $self->{http}->request($method, $self->url . "/control/$what",
		defined $body ? { content => $json->encode($body) } : {});

	die "$method $what: $response->{content}" unless $response->{success};
	return $json->decode($response->{content});
}

=pod

=item fault({kind, ...}, ...)

Replaces all faults; heal removes them.

=item hits

How often each fault struck, in the order of fault's arguments; their sum in scalar context.

=item wait_hit(count)

Waits until the faults have struck so often (1).

=cut

sub fault
{
	my ($self, @faults) = @_;
	$self->control('POST', 'faults', \@faults);
}

sub heal { $_[0]->fault }

sub hits
{
	my ($self) = @_;
	my @hits = map { $_->{hits} } @{ $self->control('GET', 'faults') };
	my $sum = 0;

	$sum += $_ for @hits;
	return wantarray ? @hits : $sum;
}

sub wait_hit
{
	my ($self, $count) = @_;
	$count //= 1;
	RflowAnvil::wait_for(sub { $self->hits >= $count }, "$count strikes of the faults");
}

=pod

=item state(name => value...)

Changes the state and returns it; the first lines of the program list what there is.

=item calls(method)

The calls that reached it, all or those of one method, as {at, request, method, params, id,
batch, struck}, struck being the kinds of the faults; forget_calls begins anew.

=item pool / evict(nonce...)

What its pool holds (where state has rules for one), and makes it forget these nonces, or all.

=back

=cut

sub state
{
	my ($self, %changes) = @_;

	$self->control('POST', 'state', \%changes) if %changes;
	return $self->control('GET', 'state');
}

sub calls
{
	my ($self, $method) = @_;
	my $calls = $self->control('GET', 'calls');

	return grep { !defined $method || $_->{method} eq $method } @$calls;
}

sub forget_calls { $_[0]->control('DELETE', 'calls') }

sub pool { return @{ $_[0]->control('GET', 'pool') } }

sub evict
{
	my ($self, @nonces) = @_;
	$self->control('POST', 'evict', \@nonces);
}

1;
