=pod

=head1 NAME

RflowSoak::Plan - what a soak does, drawn from its seed before it begins

=head1 DESCRIPTION

Payments in batches, turns of faults, and deaths.  All of it is drawn at once, so that the same seed is the same plan; when
each thing meets which step of rflow is up to the machine.

=cut

package RflowSoak::Plan;

use strict;
use warnings;

use List::Util qw(shuffle sum);

our $RELAYERS = 4;

my $BATCH_MAX = 30;
# Turns of faults and deaths, more than any soak lives to see.
my $TURNS  = 4000;
my $DEATHS = 1000;

# Of a hundred sends; a deposit is two sends of a run.
my %SHARES = (token => 25, same => 10, reverts => 3, cancelled => 4, deposit => 15);

# Amounts say what a payment is; "same" ones are told apart by their keys alone.
my %AMOUNTS = (
	native    => 1_000_000,
	token     => 2_000_000,
	deposit   => 3_000_000,
	cancelled => 4_000_000,
	reverts   => 5_000_000,
);
my $SAME_AMOUNT = 777;

# [weight, name, most strikes, fault]: what the endpoints do for a turn.
my @FAULTS = (
	[ 8, 'none', 0, undef ],
	[ 5, 'reply to a send lost',      3,  { kind => 'truncate', method => 'eth_sendRawTransaction', bytes => 40 } ],
	[ 4, 'reply about a send lost',   6,  { kind => 'drop', method => 'eth_sendRawTransaction' } ],
	[ 4, 'accepted and forgotten',    8,  { kind => 'result', method => 'eth_sendRawTransaction', result => '0x' . 'f0' x 32 } ],
	[ 2, 'known and forgotten',       4,  { kind => 'error', method => 'eth_sendRawTransaction', code => -32000, message => 'already known' } ],
	[ 5, 'no receipts',               80, { kind => 'result', method => 'eth_getTransactionReceipt', result => undef } ],
	[ 2, 'receipts in error',         20, { kind => 'error', method => 'eth_getTransactionReceipt', code => -32000, message => 'header not found' } ],
	[ 3, 'replies to counts lost',    4,  { kind => 'drop', method => 'eth_getTransactionCount' } ],
	[ 3, '429',                       3,  { kind => 'rate_limit' } ],
	[ 2, '429 with Retry-After',      2,  { kind => 'rate_limit', seconds => 1 } ],
	[ 3, '503 in HTML',               3,  { kind => 'respond', status => 503, headers => { 'content-type' => 'text/html' },
			body => '<html><h1>503 Service Unavailable</h1></html>' } ],
	[ 2, '500',                       3,  { kind => 'respond', status => 500, body => '' } ],
	[ 3, 'timeout',                   1,  { kind => 'hang', ms => 2500 } ],
	[ 2, 'slow',                      5,  { kind => 'hang', ms => 300 } ],
	[ 2, 'slow drip',                 2,  { kind => 'drip', bytes => 400, ms => 40 } ],
	[ 3, 'out of order',              20, { kind => 'shuffle' } ],
	[ 2, 'answered twice',            10, { kind => 'duplicate' } ],
	[ 2, 'answers to nobody',         6,  { kind => 'wrong_id' } ],
	[ 2, 'batches refused',           2,  { kind => 'refuse_batch', max => 1 } ],
	[ 2, 'connections closed',        3,  { kind => 'close' } ],
	[ 2, 'connections reset',         3,  { kind => 'reset' } ],
	[ 2, 'cut off',                   3,  { kind => 'truncate', bytes => 300 } ],
	[ 2, 'nonce too low, untrue',     4,  { kind => 'error', method => 'eth_sendRawTransaction', code => -32000, message => 'nonce too low' } ],
	[ 2, 'nonce too high',            4,  { kind => 'error', method => 'eth_sendRawTransaction', code => -32000, message => 'nonce too high' } ],
	[ 2, 'pool is full',              4,  { kind => 'error', method => 'eth_sendRawTransaction', code => -32000, message => 'txpool is full' } ],
	[ 3, 'underpriced',               4,  { kind => 'error', method => 'eth_sendRawTransaction', code => -32000, message => 'transaction underpriced' } ],
	[ 2, 'replacement underpriced',   3,  { kind => 'error', method => 'eth_sendRawTransaction', code => -32000,
			message => 'replacement transaction underpriced' } ],
	[ 2, 'insufficient funds, untrue', 3, { kind => 'error', method => 'eth_sendRawTransaction', code => -32000,
			message => 'insufficient funds for gas * price + value' } ],
	[ 1, 'another chain',             2,  { kind => 'result', method => 'eth_chainId', result => '0x1' } ],
);

# [weight, name]: what happens to the chain itself in a turn (RflowSoak has a method for each).
my @CHAIN_EVENTS = (
	[ 30, 'nothing' ],
	[ 5,  'evict' ],
	[ 2,  'reorganise' ],
	[ 1,  'raise the base fee' ],
	[ 2,  'stop for a moment' ],
);

# [weight, name]: who dies.
my @DEATHS = (
	[ 4, 'relayer killed' ],        # by SIGKILL, which restarts the server
	[ 3, 'relayer terminated' ],
	[ 4, 'server stopped' ],        # immediately, while a batch is being submitted
	[ 2, 'endpoint restarted' ],
	[ 1, 'watcher terminated' ],
	[ 1, 'executor terminated' ],
);

sub pick
{
	my (@weighted) = @_;
	my $at = rand sum map { $_->[0] } @weighted;

	for my $one (@weighted)
	{
		return $one if ($at -= $one->[0]) < 0;
	}
	return $weighted[-1];
}

sub payment
{
	my ($kind, $index) = @_;
	return {
		kind    => $kind,
		key     => "$kind $index",
		relayer => 'hot_' . int rand $RELAYERS,
		amount  => $kind eq 'same' ? $SAME_AMOUNT : $AMOUNTS{$kind} + $index,
	};
}

sub batches
{
	my (@payments) = @_;
	my @batches;

	push @batches, [ splice @payments, 0, 1 + int rand $BATCH_MAX ] while @payments;
	return \@batches;
}

sub payments
{
	my ($sends) = @_;
	my %count = map { $_ => int($sends * $SHARES{$_} / 100) } keys %SHARES;
	my $deposits = delete $count{deposit};

	$count{native} = $sends - 2 * $deposits - sum values %count;
	my @payments = shuffle map { my $kind = $_; map { payment($kind, $_) } 1 .. $count{$kind} } sort keys %count;
	return (batches(@payments), [ map { payment('deposit', $_) } 1 .. $deposits ]);
}

sub turn
{
	my @faults;

	for (1 .. 1 + int rand 3)
	{
		my (undef, $name, $most, $fault) = @{ pick(@FAULTS) };
		push @faults, { %$fault, times => 1 + int rand $most, name => $name } if $fault;
	}
	return {
		seconds  => 0.2 + rand 1.2,
		endpoint => int rand 3,     # 2: both
		faults   => \@faults,
		lag      => rand() < 0.15 ? 1 + int rand 3 : 0,
		event    => pick(@CHAIN_EVENTS)->[1],
	};
}

=pod

=head1 FUNCTIONS

=over

=item draw(sends, seed)

The plan: {batches, deposits, turns, deaths}.

=back

=cut

sub draw
{
	my ($sends, $seed) = @_;

	srand $seed;
	my ($batches, $deposits) = payments($sends);
	return {
		batches  => $batches,
		deposits => $deposits,
		turns    => [ map { turn() } 1 .. $TURNS ],
		deaths   => [ map { { after => 1 + rand 4, who => pick(@DEATHS)->[1] } } 1 .. $DEATHS ],
	};
}

1;
