=pod

=head1 NAME

HotPath::Server - a PostgreSQL server of the benchmark's own, and a session in it

=head1 SYNOPSIS

  my $server = HotPath::Server->start('tmp_check/hot-path', { fsync => 'on' });
  my @rows = $server->rows('SELECT a, b FROM t');    # [a, b], ...
  my $one  = $server->value('SELECT count(*) FROM t');
  $server->execute($sql);

=cut

package HotPath::Server;

use strict;
use warnings;

use File::Path qw(make_path remove_tree);
use File::Temp qw(tempdir);
use IPC::Open2 qw(open2);

my $END = 'end of result';

=pod

=head1 METHODS

=over

=item start(directory, settings)

Makes a cluster in the directory (anew) and starts it, with these settings, on a socket of its own.

=cut

sub start
{
	my ($class, $directory, $settings) = @_;
	my $self = bless {
		data    => "$directory/data",
		log     => "$directory/server.log",
		sockets => tempdir(CLEANUP => 1, TMPDIR => 1),
		owner   => $$,
	}, $class;
	my %settings = (%$settings, listen_addresses => '', unix_socket_directories => $self->{sockets});

	remove_tree($directory);
	make_path($directory);
	run('initdb', '-D', $self->{data}, '-U', 'postgres', '-A', 'trust', '--no-sync');
	open my $conf, '>>', "$self->{data}/postgresql.conf" or die "postgresql.conf: $!";
	print $conf "$_ = '$settings{$_}'\n" for sort keys %settings;
	close $conf or die "postgresql.conf: $!";
	run('pg_ctl', '-D', $self->{data}, '-l', $self->{log}, '-w', 'start');
	$self->{running} = 1;
	$self->open_session;
	return $self;
}

sub run
{
	my (@command) = @_;
	my $output = '';

	open my $pipe, '-|', @command or die "$command[0]: $!";
	$output .= $_ while <$pipe>;
	close $pipe or die "@command failed:\n$output";
}

sub open_session
{
	my ($self) = @_;

	$self->{pid} = open2($self->{out}, $self->{in}, 'psql', '-XqAt', '-F', "\t", '-h', $self->{sockets},
		'-U', 'postgres', '-d', 'postgres', '-v', 'ON_ERROR_STOP=1');
	$self->{in}->autoflush(1);
}

=pod

=item rows(sql) / value(sql) / execute(sql)

The rows of a statement as arrays of text, its only value, or nothing.  Dies when it fails (psql has said
why on stderr).  SQL NULL is the empty text.

=cut

sub rows
{
	my ($self, $sql) = @_;
	my @rows;

	print { $self->{in} } "$sql\n;\n\\echo $END\n";
	while (defined(my $line = readline $self->{out}))
	{
		chomp $line;
		return @rows if $line eq $END;
		push @rows, [ split /\t/, $line, -1 ];
	}
	die "the statement failed: $sql";
}

sub value
{
	my ($self, $sql) = @_;
	my @rows = $self->rows($sql);

	die "not one value: $sql" unless @rows == 1 && @{ $rows[0] } == 1;
	return $rows[0][0];
}

sub execute
{
	my ($self, $sql) = @_;

	$self->rows($sql);
	return;
}

=pod

=item wait_for(sql, expected, seconds, pause)

Runs a statement of one value until it gives what is expected, after pauses of so many seconds (0.2); dies when that takes longer.

=back

=cut

sub wait_for
{
	my ($self, $sql, $expected, $seconds, $pause) = @_;
	my $deadline = time + $seconds;
	my $value;

	while (($value = $self->value($sql)) ne $expected)
	{
		die "waited $seconds s for $expected, is $value: $sql" if time > $deadline;
		select undef, undef, undef, $pause // 0.2;
	}
}

sub stop
{
	my ($self) = @_;

	return unless delete $self->{running};
	close $self->{in};
	waitpid $self->{pid}, 0;
	run('pg_ctl', '-D', $self->{data}, '-m', 'fast', '-w', 'stop');
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $@);

	eval { $self->stop } if $self->{owner} == $$;
}

1;
