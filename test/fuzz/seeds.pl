# Writes the first inputs of a fuzz target, taken from the conformance vectors.
#
#   perl seeds.pl TARGET FOLDER-OF-VECTORS OUTPUT-FOLDER
use strict;
use warnings;
use JSON::PP;

# Per target: files of vectors, and what of a row is an input (undef: nothing).  The row is
# given as the line it came from, too.  Each file gives at most $ROWS_PER_FILE inputs, spread
# over the file.
my $ROWS_PER_FILE = 60;

sub bytes_of { my ($hex) = @_; return pack('H*', substr($hex, 2)); }

my %seeds = (
	hex => {
		keccak => sub { $_[0]{data} },
		checksum => sub { $_[0]{input} },
	},
	rlp => {
		rlp => sub { bytes_of($_[0]{enc}) },
		tx_sign => sub { $_[0]{tx}{type} ? undef : bytes_of($_[0]{raw}) },
	},
	json => {
		map { $_ => sub { $_[1] } } qw(abi_roundtrip calldata errors human_abi keccak typed_data units)
	},
	number => {
		units => sub { chr($_[0]{decimals}) . $_[0]{text} },
	},
	name => {
		namehash => sub { $_[0]{name} },
	},
	tx => {
		tx_sign => sub { bytes_of($_[0]{raw}) },
	},
	typed_data => {
		typed_data => sub { encode_json($_[0]{data}) },
	},
	keystore => {
		keystore => sub {
			my ($row) = @_;
			utf8::encode(my $password = $row->{password});
			utf8::encode(my $file = $row->{keystore});
			return chr(length $password) . $password . $file;
		},
	},
	hd => {
		hd => sub { $_[0]{mnemonic} },
		hd_invalid => sub { $_[0]{mnemonic} },
		key_address => sub { $_[0]{key} },
	},
);

my ($target, $from, $to) = @ARGV;
my $files = $seeds{$target} or die "seeds.pl has no line for the target $target\n";

for my $file (sort keys %$files)
{
	open(my $in, '-|', 'gzip', '-dc', "$from/$file.jsonl.gz") or die "gzip: $!\n";
	my @lines = <$in>;
	close($in) or die "cannot read $from/$file.jsonl.gz\n";
	my $step = int(@lines / $ROWS_PER_FILE) + 1;
	for (my $i = 0; $i < @lines; $i += $step)
	{
		chomp(my $line = $lines[$i]);
		my $seed = $files->{$file}->(decode_json($line), $line);
		next unless defined $seed;
		utf8::encode($seed) if utf8::is_utf8($seed);
		open(my $out, '>:raw', "$to/$file.$i") or die "$to/$file.$i: $!\n";
		print $out $seed;
		close($out) or die "$to/$file.$i: $!\n";
	}
}
