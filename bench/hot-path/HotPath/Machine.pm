=pod

=head1 NAME

HotPath::Machine - what it was measured on

=cut

package HotPath::Machine;

use strict;
use warnings;

use POSIX ();

=pod

=head1 FUNCTIONS

=over

=item facts(server, chain)

Processors, memory, kernel, file system of the data, versions, load.

=item settings(server)

The settings of the server that durations depend on, and rflow's.

=back

=cut

sub first_line
{
	my (@command) = @_;

	open my $pipe, '-|', @command or return '';
	my $line = readline $pipe // '';
	close $pipe;
	chomp $line;
	return $line;
}

sub found_in
{
	my ($path, $pattern) = @_;

	open my $in, '<', $path or return '';
	while (<$in>)
	{
		return $1 if /$pattern/;
	}
	return '';
}

sub facts
{
	my ($server, $chain) = @_;
	my ($system, undef, $release, undef, $machine) = POSIX::uname();

	return {
		processor    => found_in('/proc/cpuinfo', qr/^model name\s*:\s*(.*)/),
		processors   => 0 + first_line('nproc'),
		memory_kb    => 0 + found_in('/proc/meminfo', qr/^MemTotal:\s*(\d+)/),
		system       => "$system $release $machine",
		load_average => found_in('/proc/loadavg', qr/^(\S+ \S+ \S+)/),
		file_system  => first_line('stat', '-f', '-c', '%T', $server->{data}),
		postgresql   => $server->value('SELECT version()'),
		rflow        => $server->value("SELECT extversion FROM pg_extension WHERE extname = 'rflow'"),
		node         => $chain->rpc('web3_clientVersion'),
		finished_at  => POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime),
	};
}

sub settings
{
	my ($server) = @_;

	return { map { $_->[0] => $_->[1] } $server->rows(<<'SQL') };
SELECT name, current_setting(name)
  FROM pg_settings
 WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'wal_level',
                'shared_buffers', 'checkpoint_timeout', 'max_wal_size', 'commit_delay', 'wal_compression',
                'data_checksums', 'autovacuum', 'track_io_timing', 'track_wal_io_timing')
    OR name LIKE 'rflow.%'
 ORDER BY name
SQL
}

1;
