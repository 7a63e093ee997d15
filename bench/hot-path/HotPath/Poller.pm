=pod

=head1 NAME

HotPath::Poller - sees each block of a chain within about a millisecond, in a process of its own

=head1 SYNOPSIS

  my $poller = HotPath::Poller->start($chain->port);
  my $sight = $poller->next;      # {number, seen_at, late}

=head1 DESCRIPTION

Asks eth_blockNumber every millisecond, on a raw socket, from 40 ms before a block is expected until it is there, and
rests in between: a poller that never rests takes a quarter of a core from node and poller, and what is measured then is the
poller.  A block that is there at the first look of such a window was first seen late; it is marked, and says nothing about
detection.  Times are seconds since 1970 on the clock that PostgreSQL uses.

=cut

package HotPath::Poller;

use strict;
use warnings;

use IO::Handle;
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(time sleep);

our $PERIOD   = 0.001;
our $LEAD     = 0.040;    # seconds before the expected block
our $SIGHTINGS = 8;       # the expected moment comes from so many last ones

=pod

=head1 METHODS

=over

=item start(port, block_time)

Polls the node at this port of the loopback interface, from now on until the object goes.

=cut

sub start
{
	my ($class, $port, $block_time) = @_;
	my $self = bless { owner => $$, text => '' }, $class;

	pipe $self->{in}, my $out or die "no pipe: $!";
	$self->{pid} = fork() // die "could not fork: $!";
	if ($self->{pid} == 0)
	{
		close $self->{in};
		eval { poll_for_ever($port, $block_time, $out) };
		print STDERR "poller: $@" if $@;
		POSIX::_exit(1);
	}
	$self->{select} = IO::Select->new($self->{in});
	return $self;
}

sub block_number
{
	my ($socket, $request) = @_;
	my $answer = '';

	syswrite $socket, $request or die "the node is gone: $!";
	while (1)
	{
		sysread $socket, $answer, 4096, length $answer or die "the node is gone: $answer";
		return hex $1 if $answer =~ /"result":"0x([0-9a-f]+)"\}/;
	}
}

# The earliest of what the last sightings predict: each is late by up to a period, none is early.
sub expected
{
	my ($block_time, @seen) = @_;
	my $expected;

	for my $i (0 .. $#seen)
	{
		my $next = $seen[$i] + $block_time * (@seen - $i);
		$expected = $next if !defined $expected || $next < $expected;
	}
	return $expected;
}

sub poll_for_ever
{
	my ($port, $block_time, $out) = @_;
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Proto => 'tcp')
	  or die "no connection: $!";
	my $body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
	my $request = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	  . 'Content-Length: ' . length($body) . "\r\n\r\n$body";
	my ($number, $looks, @seen) = (undef, 0);

	setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;
	$out->autoflush(1);
	while (1)
	{
		my $now = block_number($socket, $request);
		my $at = time;

		$looks++;
		if (defined $number && $now > $number)
		{
			my $late = $looks == 1 || $now != $number + 1 ? 1 : 0;

			printf $out "%d %.6f %d\n", $now, $at, $late;
			@seen = () if $now != $number + 1;
			push @seen, $at unless $late;
			shift @seen if @seen > $SIGHTINGS;
			my $rest = @seen ? expected($block_time, @seen) - $LEAD - time : 0;
			sleep $rest if $rest > 0;
			$looks = $rest > 0 ? 0 : 1;
			$number = $now;
			next;
		}
		$number //= $now;
		sleep $PERIOD;
	}
}

=pod

=item next(seconds)

The next block as {number, seen_at, late}; nothing when none comes in this time.

=back

=cut

sub next
{
	my ($self, $seconds) = @_;

	while ($self->{text} !~ /\n/)
	{
		return unless $self->{select}->can_read($seconds);
		sysread $self->{in}, $self->{text}, 4096, length $self->{text} or die 'the poller has ended';
	}
	$self->{text} =~ s/^(.*)\n//;
	my ($number, $seen_at, $late) = split ' ', $1;
	return { number => $number, seen_at => $seen_at, late => $late };
}

sub DESTROY
{
	my ($self) = @_;
	local $?;

	return unless $self->{owner} == $$;
	kill 'TERM', $self->{pid};
	waitpid $self->{pid}, 0;
}

1;
