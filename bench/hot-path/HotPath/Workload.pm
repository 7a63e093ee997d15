=pod

=head1 NAME

HotPath::Workload - the two workflows, their deposits, and the same calls for the floor

=head1 SYNOPSIS

  my $workload = HotPath::Workload->new($chain);
  $workload->install($server);
  my $deposit = $workload->deposit('a');      # {series, amount, hash}
  $workload->order($server, $deposit, ...);

=head1 DESCRIPTION

Deposits of series a are transfers of one token to a pool, those of b of another token, so that a log concerns one workflow
alone; both workflows pay the same amount out of a third token.  Every deposit has an amount of its own, by which
its payment is recognised on the chain.

=cut

package HotPath::Workload;

use strict;
use warnings;

use JSON::PP;
use Math::BigInt;
use RflowAnvil;

our $POOL   = lc $RflowAnvil::ACCOUNTS[1];
our $TARGET = lc $RflowAnvil::ACCOUNTS[2];
our $HOT    = lc $RflowAnvil::ACCOUNTS[4];
our $HOT_KEY = $RflowAnvil::KEYS[4];

our $DEPOSIT_GAS = 60_000;
# As the node counts them in a block: so that a burst of 1000 fills three.
our $BLOCK_GAS = 21_000_000;

my $TRANSFER = 'transfer(address,uint256)';

=pod

=head1 METHODS

=over

=item new(chain)

Deploys the three tokens.

=cut

sub new
{
	my ($class, $chain) = @_;
	my $self = bless { chain => $chain, count => 0 }, $class;

	$self->{$_} = lc $chain->deploy_token for qw(a b payout);
	$chain->wait_receipt($chain->transfer($self->{payout}, $HOT, '5' . '0' x 26));
	$chain->wait_receipt($chain->transfer($self->{$_}, $POOL, '1')) for qw(a b);
	return $self;
}

=pod

=item install(server)

Inserts network, contracts, relayer and workflows, and waits until the relayer knows its account.

=cut

sub install
{
	my ($self, $server) = @_;
	my $chain_id = hex_number($self->{chain}->rpc('eth_chainId'));
	my $url = $self->{chain}->url;

	$server->execute(<<"SQL");
INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('local', $chain_id, '{$url}');
INSERT INTO rflow.contracts (name, network, address, abi)
SELECT name, 'local', address::rflow.address,
       rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
                 'function transfer(address to, uint256 value) returns (bool)',
                 'function balanceOf(address owner) view returns (uint256)')
  FROM (VALUES ('deposits-a', '$self->{a}'), ('deposits-b', '$self->{b}'), ('payout', '$self->{payout}')) c(name, address);
INSERT INTO rflow.relayers (name, network, signer, max_in_flight) VALUES ('hot', 'local', 'env:RFLOW_BENCH_KEY', 500);
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('a', rflow.on_event('deposits-a', 'Transfer'),
  \$\$ event.to = '$POOL' AND event.value >= 1e18 \$\$,
  rflow.steps(
    rflow.send_transaction('pay', relayer => 'hot', contract => 'payout', function => 'transfer',
               args => \$\$ '$TARGET', event.value \$\$))),
 ('b', rflow.on_event('deposits-b', 'Transfer'),
  \$\$ event.to = '$POOL' AND event.value >= 1e18 \$\$,
  rflow.steps(
    rflow.read('funds', contract => 'payout', function => 'balanceOf', args => \$\$ '$HOT' \$\$),
    rflow.send_transaction('pay', relayer => 'hot', contract => 'payout', function => 'transfer',
               run_if => \$\$ funds.result >= event.value \$\$,
               args => \$\$ '$TARGET', least(event.value, funds.result) \$\$)))
SQL
	$server->wait_for(
		"SELECT count(*) FROM rflow_private.relayer_states WHERE relayer = 'hot' AND address IS NOT NULL",
		1, 30);
	# Both have a cursor: what comes now they see.
	$server->wait_for('SELECT count(*) FROM rflow_private.subscriptions WHERE cursor_id IS NULL', 0, 30);
}

=pod

=item deposit(series)

Sends a deposit and returns it: {series, amount, hash}.

=item deposits(series, count)

Sends so many, a hundred to a batch.

=cut

sub next_amount
{
	my ($self) = @_;

	return Math::BigInt->new('1' . '0' x 18)->badd(++$self->{count})->bstr;
}

sub transaction
{
	my ($self, $series, $amount) = @_;

	return {
		from => $RflowAnvil::ACCOUNTS[0],
		to   => $self->{$series},
		gas  => to_hex($DEPOSIT_GAS),
		data => RflowAnvil::calldata('StdToken', $TRANSFER, $POOL, $amount)
	};
}

sub deposit
{
	my ($self, $series) = @_;
	my $amount = $self->next_amount;

	return {
		series => $series,
		amount => $amount,
		hash   => $self->{chain}->rpc('eth_sendTransaction', $self->transaction($series, $amount))
	};
}

sub deposits
{
	my ($self, $series, $count) = @_;
	my @deposits = map { { series => $series, amount => $self->next_amount } } 1 .. $count;

	for (my $first = 0; $first < @deposits; $first += 100)
	{
		my $last = $first + 99 < $#deposits ? $first + 99 : $#deposits;
		my @part = @deposits[ $first .. $last ];
		my @hashes = $self->{chain}->rpc_batch(
			map { [ 'eth_sendTransaction', $self->transaction($series, $_->{amount}) ] } @part);

		$part[$_]{hash} = $hashes[$_] for 0 .. $#part;
	}
	return @deposits;
}

=pod

=item read_params / send_params(amount) / logs_params(block)

The parameters of the JSON-RPC calls for a deposit, as rflow asks them.

=item payment_data(amount)

The call data of the payment of a deposit.

=back

=cut

sub payment_data
{
	my ($amount) = @_;
	return RflowAnvil::calldata('StdToken', $TRANSFER, $TARGET, $amount);
}

sub read_params
{
	my ($self) = @_;
	my $data = RflowAnvil::calldata('StdToken', 'balanceOf(address)', $HOT);

	return qq([{"to":"$self->{payout}","data":"$data"},"latest"]);
}

sub send_params
{
	my ($self, $amount) = @_;
	my $data = payment_data($amount);

	return qq([{"from":"$HOT","to":"$self->{payout}","value":"0x0","data":"$data"},"latest"]);
}

sub logs_params
{
	my ($self, $block) = @_;
	my $number = to_hex($block);
	my $topic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

	return qq([{"fromBlock":"$number","toBlock":"$number","address":["$self->{a}","$self->{b}"],)
	  . qq("topics":[["$topic"]]}]);
}

1;
