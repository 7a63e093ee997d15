#!/usr/bin/perl
# sync.pl FROM TO: makes TO a copy of the sources in FROM.
#
# A file is written only when its content differs, with the time of the copy, so that
# make in TO sees every change and nothing else.  Files that vanished from FROM since the
# last copy vanish from TO; what the build made in TO stays.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Compare qw(compare);
use File::Copy qw(copy);
use File::Find qw(find);
use File::Path qw(make_path);

my ($from, $to) = @ARGV;
die "usage: sync.pl FROM TO\n" unless defined $to;

# Directories and files that a build or a test makes.
my $made_dir  = qr{^(?:\.git|node_modules|tmp_.*|results|output_iso|log|build)$};
my $made_file = qr{\.(?:o|d|so|bc|gcno|gcda)$|^rflow--[0-9.]+\.sql$|^regression\.(?:diffs|out)$};

my ($uid, $gid) = (stat $to)[ 4, 5 ];
my $list = "$to/.copied";
my (%wanted, @known);

find({
	no_chdir   => 1,
	preprocess => sub { grep { !(-d "$File::Find::dir/$_" && /$made_dir/) } @_ },
	wanted     => sub {
		my ($name) = m{([^/]*)$};
		$wanted{ substr($_, length($from) + 1) } = 1 if -f && $name !~ $made_file;
	}
}, $from);

if (open my $in, '<', $list)
{
	chomp(@known = <$in>);
}
unlink "$to/$_" for grep { !$wanted{$_} } @known;

sub own
{
	my ($path) = @_;
	chown $uid, $gid, $path if $> == 0;
}

for my $path (sort keys %wanted)
{
	my ($source, $copy) = ("$from/$path", "$to/$path");
	my $mode = (stat $source)[2];
	next unless defined $mode;    # deleted meanwhile
	next if -f $copy && (stat $copy)[2] == $mode && compare($source, $copy) == 0;
	own($_) for make_path(dirname($copy));
	copy($source, $copy) or die "could not copy $path: $!\n";
	chmod $mode & 07777, $copy;
	own($copy);
}

open my $out, '>', $list or die "could not write $list: $!\n";
print $out "$_\n" for sort keys %wanted;
close $out or die "could not write $list: $!\n";
own($list);
