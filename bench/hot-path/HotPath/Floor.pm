=pod

=head1 NAME

HotPath::Floor - orders measurements from the floor's worker (floor/rflow_floor.c)

=cut

package HotPath::Floor;

use strict;
use warnings;


=pod

=head1 METHODS

=over

=item build(directory)

Builds its library.

=item start(server, directory, url)

Makes its tables in the server and starts its worker for a node.  The server's dynamic_library_path must have
the directory.

=cut

sub build
{
	my ($directory) = @_;

	system('make', '-s', '-C', $directory) == 0 or die 'the floor does not build';
}

sub start
{
	my ($class, $server, $directory, $url) = @_;
	my $self = bless { server => $server }, $class;

	$server->execute("\\i $directory/floor.sql");
	$server->execute('RESET search_path');
	$self->{pid} = $server->value("SELECT floor.launch('$url')");
	return $self;
}

=pod

=item order(series => ..., run => uuid, delay => seconds, logs => params, read => params, sends => [params])

Orders one measurement, which begins after the delay, and returns its number at once.

=cut

sub order
{
	my ($self, %order) = @_;
	my $server = $self->{server};
	my $literal = sub { defined $_[0] ? "'$_[0]'" : 'NULL' };
	my $delay = $order{delay} // 0;
	my $values = join ', ', map { $literal->($_) } @order{qw(series run logs read)};
	my $sends = join ', ', map { "'$_'" } @{ $order{sends} };

	return $server->value(<<"SQL");
WITH ordered AS (
	INSERT INTO floor.orders (series, run_id, logs_params, read_params, start_at, send_params)
	VALUES ($values, clock_timestamp() + $delay * interval '1 s', ARRAY[$sends])
	RETURNING id)
SELECT id FROM ordered
SQL
}

=pod

=item wake / wait(seconds)

Tells the worker that there are orders; waits until all are done.

=item samples

All that was measured: [{order, series, run, calls, read_us, send_us, write_us, commit_us}].

=back

=cut

sub wake
{
	my ($self) = @_;

	$self->{server}->execute("SELECT floor.wake($self->{pid})");
}

sub wait
{
	my ($self, $seconds) = @_;

	$self->{server}->wait_for('SELECT count(*) FROM floor.orders WHERE NOT done', 0, $seconds);
}

sub samples
{
	my ($self) = @_;
	my @columns = qw(order series run calls read_us send_us write_us commit_us);

	return map { my %sample; @sample{@columns} = @$_; \%sample } $self->{server}->rows(<<'SQL');
SELECT o.id, o.series, o.run_id, s.calls, s.read_us, s.send_us, s.write_us, s.commit_us
  FROM floor.samples s
  JOIN floor.orders o ON o.id = s.order_id
 ORDER BY o.id
SQL
}

1;
