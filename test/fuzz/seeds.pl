# Writes the first inputs of a fuzz target, taken from the conformance vectors.
#
#   perl seeds.pl TARGET FOLDER-OF-VECTORS OUTPUT-FOLDER
use strict;
use warnings;
use JSON::PP;

# Per target: files of vectors, and what of a row is an input (undef: nothing).  The row is
# given as the line it came from, too.  Each file gives at most $ROWS_PER_FILE inputs, spread
# over the file.  Beside files, "literal" is a list of inputs.
my $ROWS_PER_FILE = 60;

sub bytes_of { my ($hex) = @_; return pack('H*', substr($hex, 2)); }

# A length, a parameter list of that length, and encoded arguments.
sub types_and_data
{
	my ($row) = @_;
	my $types = join(',', @{ $row->{types} });
	return length($types) > 255 ? undef : chr(length $types) . $types . bytes_of($row->{enc});
}

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
		literal => [
			'[1234567890123456789012,-1234567890123456789012]',
			'{"a":9223372036854775808,"b":["\\u0000",-9223372036854775808]}',
			"[1\0]", "{\"\":[-9223372036854775808\0]}", '1.5e3', 'true', 'false', 'null', '""', '{"a":1,"a":2}',
		],
		map { $_ => sub { $_[1] } } qw(abi_roundtrip calldata errors human_abi keccak typed_data units),
	},
	number => {
		units => sub { chr($_[0]{decimals}) . $_[0]{text} },
	},
	name => {
		namehash => sub { $_[0]{name} },
	},
	abi_type => {
		human_abi => sub { $_[0]{text} },
		abi_roundtrip => sub { join(', ', @{ $_[0]{types} }) },
	},
	abi_decode => {
		map { $_ => \&types_and_data } qw(abi_roundtrip abi_hostile abi_bomb)
	},
	abi_json => {
		abi_signature => sub { '[' . encode_json($_[0]{abi}) . ']' },
		errors => sub { $_[0]{abi} ? encode_json($_[0]{abi}) : undef },
	},
	tx => {
		tx_sign => sub { bytes_of($_[0]{raw}) },
	},
	# The members under the names that evm_tx_from_json has.
	tx_json => {
		tx_sign => sub {
			my %names = (
				chainId => 'chain_id', gasPrice => 'gas_price', gas => 'gas_limit',
				maxFeePerGas => 'max_fee_per_gas', maxPriorityFeePerGas => 'max_priority_fee_per_gas',
				accessList => 'access_list', storageKeys => 'storage_keys',
				maxFeePerBlobGas => 'max_fee_per_blob_gas', blobVersionedHashes => 'blob_hashes',
				authorizationList => 'authorizations', yParity => 'y_parity');
			my $text = encode_json($_[0]{tx});
			$text =~ s/"(\w+)":/'"' . ($names{$1} \/\/ $1) . '":'/ge;
			return $text;
		},
		literal => ['{"nonce":1,"gas_price":"0x1","gas_limit":2,"to":null,"y_parity":1,"r":"0x1","s":1,"hash":null}'],
	},
	typed_data => {
		typed_data => sub { encode_json($_[0]{data}) },
	},
	# How many calls were sent (less one), and the response.
	rpc_answer => {
		literal => [
			map { chr(3) . $_ }
			'[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"id":2,"error":{"code":3,"message":"execution reverted","data":"0x08c379a0"}}]',
			'[{"id":4,"error":{"code":-32000,"message":"m","data":{"data":"0x12","originalError":{"data":"Reverted 0x12"}}}}]',
			'[{"id":9,"result":null,"error":null},{"id":null,"error":{"code":-32600,"message":"batch too large"}}]',
			'{"id":null,"error":{"code":-32005,"message":"too many requests s3cr3t-token"}}',
			'{"error":"unauthorized"}', '{"message":"no Route matched"}', '<html></html>',
		],
	},
	# The length of a URL, the URL, and a message that may quote it.
	rpc_url => {
		literal => [
			map { chr(length $_) . $_ . 'http://key-4711/x@y 0123456789 token-0815' }
			'https://user:pass@node.example:8443/v2/token-0815?key=0123456789abcdef',
			'https://node.example/${env:RFLOW_KEY}', '${env:RFLOW_URL}', 'http://[::1]:8545',
		],
	},
	chain => {
		literal => [
			'{"number":"0x1","hash":"0x' . 'a' x 64 . '","parentHash":"0x' . 'b' x 64
			  . '","timestamp":"0x65","baseFeePerGas":"0x7","logsBloom":"0x' . '01' x 256 . '"}',
			'null', '[]',
			map { '[' . join(',', ($_) x 2) . ']' } map {
				'{"address":"0x' . '5f' x 20 . '","blockNumber":"0x1","blockHash":"0x' . 'a' x 64
				  . '","transactionHash":"0x' . 'b' x 64 . '","transactionIndex":"0x0","logIndex":"0x'
				  . $_ . '","topics":["0x' . 'c' x 64 . '"],"data":"0x00","removed":false}'
			} 0 .. 1
		],
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

sub write_seed
{
	my ($name, $seed) = @_;
	utf8::encode($seed) if utf8::is_utf8($seed);
	open(my $out, '>:raw', "$to/$name") or die "$to/$name: $!\n";
	print $out $seed;
	close($out) or die "$to/$name: $!\n";
}

for my $file (sort keys %$files)
{
	if ($file eq 'literal')
	{
		my $literals = $files->{$file};
		write_seed("literal.$_", $literals->[$_]) for 0 .. $#$literals;
		next;
	}
	open(my $in, '-|', 'gzip', '-dc', "$from/$file.jsonl.gz") or die "gzip: $!\n";
	my @lines = <$in>;
	close($in) or die "cannot read $from/$file.jsonl.gz\n";
	my $step = int(@lines / $ROWS_PER_FILE) + 1;
	for (my $i = 0; $i < @lines; $i += $step)
	{
		chomp(my $line = $lines[$i]);
		my $seed = $files->{$file}->(decode_json($line), $line);
		write_seed("$file.$i", $seed) if defined $seed;
	}
}
