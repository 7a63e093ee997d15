
=pod

=head1 NAME

RflowAnvil - the local chain of the tests

=head1 SYNOPSIS

  my $chain = RflowAnvil->start(args => [ '--block-time', '1' ]);
  my $token = $chain->deploy('StdToken', abi_encode('string,string,uint8,uint256',
      'Test', 'TST', 18, '1000000' . '0' x 18));
  my $hash  = $chain->transfer($token, $RflowAnvil::ACCOUNTS[1], '5' . '0' x 18);
  my $receipt = $chain->wait_receipt($hash);
  $chain->kill9; $chain->start_again;

=head1 DESCRIPTION

Starts anvil's native binary (named by RFLOW_ANVIL, or installed in test/chain by npm ci)
on a free port of the loopback interface, and speaks JSON-RPC with it.  It dies with the object, and with the test.
Amounts are decimal strings (or plain integers); addresses, hashes and data are 0x hex.

=cut

package RflowAnvil;

use strict;
use warnings;

use Exporter qw(import);
use File::Basename qw(dirname);
use HTTP::Tiny;
use IO::Socket::INET;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use JSON::PP;
use Math::BigInt;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(time);

our @EXPORT = qw(abi_encode hex_number to_hex);

# The first accounts of anvil's well-known mnemonic ("test test ... junk"), and their keys.
our @ACCOUNTS = qw(
  0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
  0x70997970C51812dc3A010C7d01b50e0d17dc79C8
  0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC
  0x90F79bf6EB2c4f870365E785982E1f101E93b906
  0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65
);
our @KEYS = qw(
  0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
  0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d
  0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a
  0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6
  0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a
);

our $TIMEOUT = 30;               # seconds until a wait is given up
our $POLL_INTERVAL = 0.01;       # seconds between the looks of a wait
our $CHAIN = dirname(__FILE__) . '/../chain';

my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my %artifacts;

=pod

=head1 FUNCTIONS

=over

=item to_hex(number) / hex_number(hex)

A decimal integer as a JSON-RPC quantity, and the reverse (a decimal string).

=cut

sub to_hex
{
	return Math::BigInt->new(shift)->as_hex;
}

sub hex_number
{
	return Math::BigInt->from_hex(shift)->bstr;
}

# One static value as a word of 32 bytes.
sub abi_word
{
	my ($type, $value) = @_;

	if ($type =~ /^bytes(\d+)$/)
	{
		$value =~ s/^0x//;
		return $value . '0' x (64 - length $value);
	}
	if ($type eq 'bool')
	{
		return sprintf '%064x', $value ? 1 : 0;
	}
	my $number = Math::BigInt->new("$value");
	die "not an integer: $value" if $number->is_nan;
	$number += Math::BigInt->new(2)**256 if $number < 0;
	return sprintf '%064s', substr($number->as_hex, 2);
}

# One dynamic value: its length and its padded content.
sub abi_tail
{
	my ($type, $value) = @_;

	if ($type =~ /^(.*)\[\]$/)
	{
		return abi_word('uint', scalar @$value) . join '', map { abi_word($1, $_) } @$value;
	}
	my $content = $type eq 'string' ? unpack('H*', $value) : substr($value, 2);
	my $length = length($content) / 2;
	return abi_word('uint', $length) . $content . '00' x (-$length % 32);
}

=pod

=item abi_encode(types, values...)

The ABI encoding, without 0x, of values whose types are given as 'address,uint256':
integers, address, bool, bytesN, string, bytes, and arrays (T[]) of static types.

=cut

sub abi_encode
{
	my ($types, @values) = @_;
	my @types = split /,/, $types;
	my ($head, $tail) = ('', '');

	die "types are ($types), values are " . scalar(@values) unless @types == @values;
	for my $i (0 .. $#types)
	{
		if ($types[$i] =~ /^(?:string|bytes)$|\[\]$/)
		{
			$head .= abi_word('uint', 32 * @types + length($tail) / 2);
			$tail .= abi_tail($types[$i], $values[$i]);
		}
		else
		{
			$head .= abi_word($types[$i], $values[$i]);
		}
	}
	return $head . $tail;
}

=pod

=item artifact(contract)

What the compiler said of a contract of test/chain/contracts: {abi}, {bytecode}, ...

=cut

sub artifact
{
	my ($contract) = @_;

	return $artifacts{$contract} //= do
	{
		open my $in, '<', "$CHAIN/contracts/$contract.json" or die "no contract $contract: $!";
		local $/;
		$json->decode(<$in>);
	};
}

=pod

=item abi_json(contract)

Its ABI as JSON text, for rflow.abi().

=cut

sub abi_json
{
	return $json->encode(artifact(shift)->{abi});
}

=pod

=item calldata(contract, signature, values...)

Calldata for a function: calldata('StdToken', 'transfer(address,uint256)', $to, $value).

=cut

sub calldata
{
	my ($contract, $signature, @values) = @_;
	my $selector = artifact($contract)->{methodIdentifiers}{$signature}
	  or die "contract $contract has no function $signature";
	my ($types) = $signature =~ /\((.*)\)/;

	return "0x$selector" . abi_encode($types, @values);
}

=pod

=back

=head1 METHODS

=over

=item RflowAnvil->start(args => [...], port => N)

Starts a chain and waits until it answers.  Without --block-time or --no-mining among its
args it mines a block for each transaction.

=cut

sub start
{
	my ($class, %options) = @_;
	my $self = bless {
		args  => $options{args} // [],
		port  => $options{port} // free_port(),
		owner => $$,
		mines => !grep({ /^--no-mining$/ } @{ $options{args} // [] }),
	}, $class;

	$self->start_again;
	return $self;
}

sub free_port
{
	my $socket = IO::Socket::INET->new(
		Listen    => 1,
		LocalAddr => '127.0.0.1',
		LocalPort => 0,
		Proto     => 'tcp') or die "no free port: $!";
	return $socket->sockport;
}

=pod

=item start_again

Starts it anew, on the same port, after stop or kill9: an empty chain, unless its args say
--state.

=cut

sub start_again
{
	my ($self) = @_;
	my ($binary) = grep { -x } $ENV{RFLOW_ANVIL} // (),
	  glob("$CHAIN/node_modules/\@foundry-rs/anvil-*/bin/anvil");
	my $directory = $ENV{TESTDIR} ? "$ENV{TESTDIR}/tmp_check" : ($ENV{TMPDIR} // '/tmp');

	die 'no anvil: run npm ci in test/chain, or set RFLOW_ANVIL' unless $binary;
	die 'the chain runs already' if $self->{pid};
	$self->{log} = "$directory/anvil-$self->{port}.log";
	$self->{pid} = fork() // die "could not fork: $!";
	if ($self->{pid} == 0)
	{
		open STDIN,  '<',  '/dev/null';
		open STDOUT, '>>', $self->{log};
		open STDERR, '>&', \*STDOUT;
		exec {$binary} $binary, '--host', '127.0.0.1', '--port', $self->{port}, @{ $self->{args} }
		  or POSIX::_exit(127);
	}
	$self->{http} = HTTP::Tiny->new(timeout => $TIMEOUT, keep_alive => 1);
	wait_for(
		sub {
			die "anvil did not start: see $self->{log}" if waitpid($self->{pid}, WNOHANG) != 0;
			return eval { $self->rpc('eth_chainId') };
		},
		"anvil at port $self->{port} to answer");
}

=pod

=item dump_state(file) / restart_from(file)

Writes the chain as it is, with all blocks and receipts and without the pool; ends it at once, and starts it anew as it was
then, on the same port.  What came after the dump is lost.

=cut

sub dump_state
{
	my ($self, $file) = @_;
	my $zipped = pack 'H*', substr($self->rpc('anvil_dumpState'), 2);

	gunzip(\$zipped, $file) or die "cannot unpack the state: $GunzipError";
	return $file;
}

sub restart_from
{
	my ($self, $file) = @_;

	$self->kill9;
	local $self->{args} = [ @{ $self->{args} }, '--load-state', $file ];
	$self->start_again;
}

=pod

=item url / port / pid / log

Where it answers, its process, and the file of what it printed.

=cut

sub url  { return "http://127.0.0.1:$_[0]{port}" }
sub port { return $_[0]{port} }
sub pid  { return $_[0]{pid} }
sub log  { return $_[0]{log} }

sub end_with
{
	my ($self, @signals) = @_;
	my $pid = delete $self->{pid} or return;

	kill $_, $pid for @signals;
	waitpid $pid, 0;
}

=pod

=item stop / kill9

Ends it: orderly (its state is written, if args ask for that), or at once.

=item pause / resume

A node that hangs: it accepts connections and never answers, until resumed.

=cut

sub stop   { $_[0]->end_with('CONT', 'TERM') }
sub kill9  { $_[0]->end_with('KILL') }
sub pause  { kill 'STOP', $_[0]{pid} }
sub resume { kill 'CONT', $_[0]{pid} }

sub DESTROY
{
	my ($self) = @_;
	local ($?, $@);

	$self->kill9 if $self->{owner} == $$;
}

=pod

=item rpc(method, params...)

The result; dies with the node's error message if there is one.

=item rpc_response(method, params...)

The whole response: {result} or {error}.

=item rpc_batch([method, params...], ...)

The results of one batch, in order.

=cut

sub post
{
	my ($self, $body) = @_;
	my $response = $self->{http}->post($self->url,
		{ headers => { 'Content-Type' => 'application/json' }, content => $json->encode($body) });

	die "no answer from the node: $response->{content}" unless $response->{success};
	return $json->decode($response->{content});
}

sub request
{
	my ($id, $method, @params) = @_;
	return { jsonrpc => '2.0', id => $id, method => $method, params => \@params };
}

sub result_of
{
	my ($method, $response) = @_;
	die "$method: $response->{error}{message}\n" if $response->{error};
	return $response->{result};
}

sub rpc_response
{
	my ($self, @call) = @_;
	return $self->post(request(1, @call));
}

sub rpc
{
	my ($self, $method, @params) = @_;
	return result_of($method, $self->rpc_response($method, @params));
}

sub rpc_batch
{
	my ($self, @calls) = @_;
	my $id = 0;
	my %answers =
	  map { $_->{id} => $_ } @{ $self->post([ map { request(++$id, @$_) } @calls ]) };

	return map { result_of($calls[ $_ - 1 ][0], $answers{$_}) } 1 .. @calls;
}

=pod

=item send({to, data, value, from, gas, nonce...})

Sends a transaction from one of the node's own accounts (the first, unless {from} is set)
and returns its hash.  {value}, {gas} and {nonce} are decimal.

=item wait_receipt(hash)

Its receipt, waited for.

=item deploy(contract, constructor_arguments)

Deploys a contract of test/chain/contracts from the first account, mines it where the chain
does not mine by itself, and returns its address in lower case.

=cut

sub send
{
	my ($self, $transaction) = @_;
	my %fields = (from => $ACCOUNTS[0], %$transaction);

	for my $number (grep { defined $fields{$_} } qw(value gas nonce))
	{
		$fields{$number} = to_hex($fields{$number}) unless $fields{$number} =~ /^0x/;
	}
	return $self->rpc('eth_sendTransaction', \%fields);
}

sub wait_receipt
{
	my ($self, $hash) = @_;
	return wait_for(sub { $self->rpc('eth_getTransactionReceipt', $hash) },
		"the receipt of $hash");
}

sub deploy
{
	my ($self, $contract, $arguments) = @_;
	my $hash = $self->send({ data => artifact($contract)->{bytecode} . ($arguments // '') });

	$self->mine unless $self->{mines};
	my $receipt = $self->wait_receipt($hash);
	die "$contract was not deployed" unless $receipt->{status} eq '0x1';
	return $receipt->{contractAddress};
}

=pod

=item deploy_token(supply)

Deploys a StdToken of 18 decimals whose whole supply (a decimal string of base units,
a billion tokens unless given) belongs to the first account.

=item transfer(token, to, value, from)

Sends an ERC-20 transfer and returns the transaction's hash.

=item balance(token, address)

An ERC-20 balance, a decimal string.

=cut

sub deploy_token
{
	my ($self, $supply) = @_;
	return $self->deploy('StdToken',
		abi_encode('string,string,uint8,uint256', 'Test Token', 'TST', 18,
			$supply // '1' . '0' x 27));
}

sub transfer
{
	my ($self, $token, $to, $value, $from) = @_;
	return $self->send({
		to   => $token,
		data => calldata('StdToken', 'transfer(address,uint256)', $to, $value),
		defined $from ? (from => $from) : ()
	});
}

sub call
{
	my ($self, $to, $data) = @_;
	return $self->rpc('eth_call', { to => $to, data => $data }, 'latest');
}

sub balance
{
	my ($self, $token, $address) = @_;
	return hex_number(
		$self->call($token, calldata('StdToken', 'balanceOf(address)', $address)));
}

=pod

=item block_number / mine(n) / reorg(depth, pairs) / nonce(address)

The head; mines n blocks (1); replaces the last blocks, putting [[raw transaction, offset],
...] into the new ones; the number of mined transactions of an account.

=cut

sub block_number
{
	my ($self) = @_;
	return hex_number($self->rpc('eth_blockNumber'));
}

sub mine
{
	my ($self, $blocks) = @_;
	$self->rpc('anvil_mine', to_hex($blocks // 1));
}

sub reorg
{
	my ($self, $depth, $pairs) = @_;
	$self->rpc('anvil_reorg', $depth + 0, $pairs // []);
}

sub nonce
{
	my ($self, $address) = @_;
	return hex_number($self->rpc('eth_getTransactionCount', $address, 'latest'));
}

=pod

=item RflowAnvil::wait_for(code, what)

Calls code until it returns something true, which it returns; dies after $TIMEOUT seconds.

=back

=cut

sub wait_for
{
	my ($look, $what) = @_;
	my $deadline = time + $TIMEOUT;

	while (time < $deadline)
	{
		my $result = $look->();
		return $result if $result;
		select undef, undef, undef, $POLL_INTERVAL;
	}
	die "timed out waiting for $what";
}

1;
