#!/usr/bin/perl
# source_rules.pl RULE: checks one rule of the sources, from the top of the checkout.
# Prints what breaks it, as file:line: reason, and fails if anything does.
use strict;
use warnings;

use File::Find qw(find);

# The layers, and what each may include besides its own files: a layer, or one header of it.
# What stands above may know what stands below, never the reverse.
my %LAYERS = (
	evm    => [],
	rpc    => [qw(evm db/wait.h)],                          # the wait loop they share
	db     => [qw(evm)],
	chain  => [qw(db rpc evm)],
	relay  => [qw(db rpc evm)],
	flow   => [qw(relay/policy.h relay/policy_check.h relay/pool.h relay/queue.h db rpc evm)],
	api    => [qw(chain relay flow db rpc evm)],
	worker => [qw(chain relay flow db rpc evm)],
	''     => [qw(worker api chain relay flow db rpc evm)],    # src/rflow.c
);

# A library's header, and the number of files that may include it.
my %SINGLE_USER = (
	'jansson.h'                 => 1,
	'curl/curl.h'               => 1,
	'secp256k1.h'               => 1,
	'secp256k1_recovery.h'      => 1,
	'secp256k1_preallocated.h'  => 1,
);

my $MAX_FILE_LINES     = 600;
my $MAX_FUNCTION_LINES = 80;
my $MAX_COLUMNS        = 100;
my $TAB_WIDTH          = 4;

my %RULES = (
	layers    => \&check_layers,
	cycles    => \&check_cycles,
	libraries => \&check_libraries,
	sizes     => \&check_sizes,
	columns   => \&check_columns,
	words     => \&check_words,
	waits     => \&check_waits,
	versions  => \&check_versions,
);

my $broken = 0;
my $rule = $ARGV[0] // '';
die "usage: source_rules.pl ", join('|', sort keys %RULES), "\n" unless $RULES{$rule};
$RULES{$rule}->();
exit($broken ? 1 : 0);

sub report
{
	my ($file, $line, $reason) = @_;
	print "$file:$line: $reason\n";
	$broken++;
}

sub lines_of
{
	my ($file) = @_;
	open my $in, '<', $file or die "could not read $file: $!\n";
	chomp(my @lines = <$in>);
	return @lines;
}

sub files_of
{
	my ($pattern, @folders) = @_;
	my @files;

	@folders = grep { -e } @folders;
	return unless @folders;
	find({
		no_chdir   => 1,
		preprocess => sub { grep { !/^(?:build|node_modules)$/ } @_ },
		wanted     => sub { push @files, $_ if -f && /$pattern/ }
	}, @folders);
	return sort @files;
}

# [line, included name] for each #include with quotes ('"') or brackets ('<').
sub includes_of
{
	my ($file, $opening) = @_;
	my $number = 0;
	my @found;

	for (lines_of($file))
	{
		$number++;
		push @found, [ $number, $2 ] if /^\s*#\s*include\s*([<"])([^>"]+)/ && $1 eq $opening;
	}
	return @found;
}

sub layer_of
{
	my ($name) = @_;
	return $name =~ m{^(\w+)/} ? $1 : '';
}

sub check_layers
{
	for my $file (files_of(qr/\.[ch]$/, 'src'))
	{
		my $layer = layer_of($file =~ s{^src/}{}r);
		my $may = $LAYERS{$layer};

		unless ($may)
		{
			report($file, 1, "src/$layer is no layer");
			next;
		}
		for (includes_of($file, '"'))
		{
			my ($line, $name) = @$_;
			my $other = layer_of($name);
			my $ours = -f "src/$name";

			if (!$ours && $layer eq 'evm')
			{
				report($file, $line, "src/evm includes $name, which is not of src/evm");
			}
			elsif ($ours && $other ne $layer && !grep({ $_ eq $other || $_ eq $name } @$may))
			{
				report($file, $line, "layer $layer may not include $name");
			}
		}
	}
}

sub check_cycles
{
	my (%includes, %state, $visit);

	for my $file (files_of(qr/\.h$/, 'src'))
	{
		$includes{$file} = [ grep { -f } map { "src/$_->[1]" } includes_of($file, '"') ];
	}
	$visit = sub {
		my ($file, @path) = @_;
		my $seen = $state{$file} // '';

		return if $seen eq 'done';
		return report($file, 1, 'includes itself by ' . join(' -> ', @path)) if $seen eq 'open';
		$state{$file} = 'open';
		$visit->($_, @path, $_) for @{ $includes{$file} };
		$state{$file} = 'done';
	};
	$visit->($_, $_) for sort keys %includes;
}

sub check_libraries
{
	my %users;

	for my $file (files_of(qr/\.[ch]$/, 'src'))
	{
		push @{ $users{ $_->[1] } }, "$file:$_->[0]" for includes_of($file, '<');
		my $number = 0;
		for (lines_of($file))
		{
			$number++;
			report($file, $number, 'json_object() is also a function of the server')
			  if /\bjson_object\s*\(/ && !m{^\s*/?\*};
		}
	}
	for my $header (sort keys %SINGLE_USER)
	{
		my @users = @{ $users{$header} // [] };
		next if @users <= $SINGLE_USER{$header};
		report($_, "<$header> has more than one user") for map { /^(.*):(\d+)$/ } @users;
	}
}

# Functions begin and end with a brace in the first column.
sub check_sizes
{
	for my $file (files_of(qr/\.[ch]$/, 'src'))
	{
		my @lines = lines_of($file);
		my $opened;

		report($file, 1, scalar(@lines) . " lines, at most $MAX_FILE_LINES")
		  if @lines > $MAX_FILE_LINES;
		for my $number (1 .. @lines)
		{
			local $_ = $lines[ $number - 1 ];
			if (/^\{/)
			{
				$opened = $number;
			}
			elsif (/^\}/ && $opened)
			{
				my $length = $number - $opened - 1;
				report($file, $opened, "a body of $length lines, at most $MAX_FUNCTION_LINES")
				  if /^\}\s*$/ && $length > $MAX_FUNCTION_LINES;
				undef $opened;
			}
		}
	}
}

sub check_columns
{
	for my $file (files_of(qr/\.[ch]$/, 'src', 'test'))
	{
		my $number = 0;
		for my $line (lines_of($file))
		{
			my $columns = 0;
			$number++;
			utf8::decode($line);
			$columns += $_ eq "\t" ? $TAB_WIDTH - $columns % $TAB_WIDTH : 1 for split //, $line;
			report($file, $number, "$columns columns, at most $MAX_COLUMNS")
			  if $columns > $MAX_COLUMNS;
			report($file, $number, 'blanks at the end of the line') if $line =~ /\s$/;
		}
	}
}

sub check_words
{
	for my $file (files_of(qr/\.(?:[ch]|sql|spec|p[lm]|sh|mjs)$/, qw(src sql test bench examples)))
	{
		next if $file =~ /source_rules\.pl$/;
		my $number = 0;
		for (lines_of($file))
		{
			$number++;
			report($file, $number, "unfinished: $1") if /\b(TODO|FIXME|XXX|HACK)\b/;
		}
	}
}

# Tests wait for what they want to see, not for time to pass.
sub check_waits
{
	for my $file (files_of(qr/\.p[lm]$/, 'test/t', 'test/perl'))
	{
		my $number = 0;
		for (lines_of($file))
		{
			$number++;
			report($file, $number, 'sleeps') if /\b(?:u|nano)?sleep\b\s*[(\d\$]/ && !/^\s*#/;
		}
	}
}

sub check_versions
{
	my ($control) = join("\n", lines_of('rflow.control')) =~ /default_version\s*=\s*'(.*?)'/;
	my @stated = join("\n", lines_of('META.json')) =~ /"version"\s*:\s*"(.*?)"/g;

	for my $version (grep { $_ ne $control && !/^1\.0\.0$/ } @stated)
	{
		report('META.json', 1, "version $version, but rflow.control says $control");
	}
	report('CHANGELOG.md', 1, "no entry for version $control")
	  unless grep { /^## \Q$control\E/ } lines_of('CHANGELOG.md');
}
