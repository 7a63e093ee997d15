=pod

=head1 NAME

RflowSoak::Audit - what the chain says of a soak, beside the tables

=head1 DESCRIPTION

Every block is read, with every transaction of the four accounts and its receipt, and every Transfer of the token.  What must
hold: each key that is confirmed was executed successfully once, every other one never; nothing else was executed; nonces
have no gap; and no row is under way.

=cut

package RflowSoak::Audit;

use strict;
use warnings;

use JSON::PP;
use List::Util qw(sum);
use RflowTest;
use Test::More;

my $SCAN_BLOCKS = 100;    # in one batch
my $SHOWN = 10;           # of what should not be

my $TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

# What each kind of payment may come to.
my %ENDS = (
	native    => { confirmed => 1 },
	token     => { confirmed => 1 },
	same      => { confirmed => 1 },
	reverts   => { failed    => 1 },
	cancelled => { confirmed => 1, cancelled => 1 },
	run       => { confirmed => 1 },
);

sub new
{
	my ($class, $soak) = @_;
	return bless { soak => $soak, node => $soak->{node}, chain => $soak->{chain} }, $class;
}

# ---- reading ---------------------------------------------------------------

# Every transaction of the accounts on the chain: {hash, from, nonce, to, value, block, successful}.
sub read_chain
{
	my ($self) = @_;
	my $chain = $self->{chain};
	my $head  = $chain->block_number;
	my %accounts = map { lc $_ => 1 } @ACCOUNTS[ 0 .. $RflowSoak::Plan::RELAYERS - 1 ];
	my @found;

	for (my $from = 0; $from <= $head; $from += $SCAN_BLOCKS)
	{
		my $to = $from + $SCAN_BLOCKS - 1 < $head ? $from + $SCAN_BLOCKS - 1 : $head;
		push @found, grep { $accounts{ lc $_->{from} } } map { @{ $_->{transactions} } }
		  $chain->rpc_batch(map { [ 'eth_getBlockByNumber', to_hex($_), JSON::PP::true ] } $from .. $to);
	}
	while (my @some = splice @found, 0, $SCAN_BLOCKS)
	{
		my @receipts = $chain->rpc_batch(map { [ 'eth_getTransactionReceipt', $_->{hash} ] } @some);
		push @{ $self->{executed} }, map {
			{
				hash       => $some[$_]{hash},
				from       => lc $some[$_]{from},
				nonce      => hex_number($some[$_]{nonce}),
				to         => lc($some[$_]{to} // ''),
				value      => hex_number($some[$_]{value}),
				block      => hex_number($some[$_]{blockNumber}),
				successful => $receipts[$_]{status} eq '0x1',
			}
		} 0 .. $#some;
	}
}

# The token's Transfers to the sinks: "sink amount" => how many.
sub read_transfers
{
	my ($self) = @_;
	my %sinks = map { substr(lc $_, 2) => 1 } $RflowSoak::SINK, @RflowSoak::SINKS;
	my $logs = $self->{chain}->rpc('eth_getLogs',
		{ fromBlock => '0x0', toBlock => 'latest', address => $self->{soak}{token}, topics => [$TRANSFER] });

	for my $log (@$logs)
	{
		my $to = substr $log->{topics}[2], 26;
		$self->{transfers}{ "0x$to " . hex_number($log->{data}) }++ if $sinks{$to};
	}
}

sub read_tables
{
	my ($self) = @_;
	my $rows = sub { decode_json($self->{node}->safe_psql('postgres', "SELECT coalesce(json_agg(r), '[]') FROM ($_[0]) r")) };

	$self->{rows} = $rows->(<<'SQL');
SELECT id, CASE WHEN run_id IS NULL THEN split_part(idempotency_key, ' ', 1) ELSE 'run' END AS kind, idempotency_key AS key,
       state, lower(transaction_hash::text) AS hash, block_number AS block, relayer
  FROM rflow_private.relayer_transactions
SQL
	$self->{attempts} = $rows->(<<'SQL');
SELECT lower(transaction_hash::text) AS hash, kind, transaction_id AS id, lower(address::text) AS address, nonce
  FROM rflow_private.relayer_attempts
SQL
	$self->{keys} = $rows->('SELECT lower(address::text) AS address, adopted_nonce, next_nonce FROM rflow_private.relayer_keys');
}

# ---- comparing -------------------------------------------------------------

sub some
{
	my (@what) = @_;
	return @what <= $SHOWN ? \@what : [ @what[ 0 .. $SHOWN - 1 ], scalar(@what) . ' in all' ];
}

# The successful executions of payloads, by the id of their row.
sub executions
{
	my ($self) = @_;
	my %attempt = map { $_->{hash} => $_ } @{ $self->{attempts} };
	my %adopted = map { $_->{address} => $_->{adopted_nonce} } @{ $self->{keys} };
	my (%of, @unknown, %hash_of);

	for my $executed (@{ $self->{executed} })
	{
		my $attempt = $attempt{ lc $executed->{hash} };

		next if $executed->{nonce} < ($adopted{ $executed->{from} } // 0);
		push @unknown, $executed->{hash} unless $attempt;
		next unless $attempt && $attempt->{kind} eq 'send';
		$of{ $attempt->{id} }++ if $executed->{successful};
		$hash_of{ $attempt->{id} } = "$executed->{hash} $executed->{block}";
	}
	is_deeply(some(@unknown), [], 'every transaction of the accounts was stored before it was sent');
	$self->{hash_of} = \%hash_of;
	return \%of;
}

sub check_executions
{
	my ($self) = @_;
	my $of = $self->executions;
	my @lost    = grep { $_->{state} eq 'confirmed' && !$of->{ $_->{id} } } @{ $self->{rows} };
	my @doubled = grep { ($of->{ $_->{id} } // 0) > 1 } @{ $self->{rows} };
	my @late    = grep { $_->{state} ne 'confirmed' && $of->{ $_->{id} } } @{ $self->{rows} };
	my @wrong = grep {
		$_->{state} eq 'confirmed' && "$_->{hash} $_->{block}" ne ($self->{hash_of}{ $_->{id} } // '')
	} @{ $self->{rows} };

	is_deeply(some(map { $_->{key} } @lost), [], 'every confirmed send was executed');
	is_deeply(some(map { $_->{key} } @doubled), [], 'no send was executed twice');
	is_deeply(some(map { "$_->{key} $_->{state}" } @late), [], 'what is not confirmed had no effect');
	is_deeply(some(map { $_->{key} } @wrong), [], 'rows name the transaction and the block that the chain has');
	@{ $self->{soak}{summary} }{qw(lost doubled)} = (scalar @lost, scalar @doubled);
}

# By amount: what the chain has paid, and what rows that are confirmed had to pay.
sub check_amounts
{
	my ($self) = @_;
	my $soak = $self->{soak};
	my %state = map { $_->{key} => $_->{state} } @{ $self->{rows} };
	my (%native, %due, %transfers_due);

	$native{ $_->{value} }++ for grep { $_->{successful} && $_->{to} eq $RflowSoak::SINK } @{ $self->{executed} };
	for my $payment (grep { $state{ $_->{key} } eq 'confirmed' } @{ $soak->{submitted} })
	{
		if ($payment->{kind} eq 'token')
		{
			$transfers_due{"$RflowSoak::SINK $payment->{amount}"}++;
		}
		else
		{
			$due{ $payment->{amount} }++;
		}
	}
	for my $amount (values %{ $soak->deposits_on_chain })
	{
		$transfers_due{"$_ $amount"}++ for @RflowSoak::SINKS;
	}
	is_deeply(\%native, \%due, 'each amount of ether was paid as often as it had to be');
	is_deeply($self->{transfers}, \%transfers_due, 'each amount of tokens was, too');
}

sub check_rows
{
	my ($self) = @_;
	my $soak = $self->{soak};
	my %rows = map { $_->{key} => $_ } @{ $self->{rows} };
	my @missing = grep { !$rows{ $_->{key} } } @{ $soak->{submitted} };
	my @other = grep { !$ENDS{ $_->{kind} }{ $_->{state} } } @{ $self->{rows} };

	is_deeply(some(map { $_->{key} } @missing), [], 'every send whose commit was known has a row');
	is_deeply(some(map { "$_->{key} $_->{state}" } @other), [], 'each has ended as it had to');
	is(scalar @{ $self->{rows} }, @{ $soak->{submitted} } + 2 * @{ $soak->{deposited} }, 'and there are no others');
	is( $self->{node}->safe_psql('postgres', <<'SQL'), 'f', 'rows of the user and transactions came together');
SELECT EXISTS (SELECT FROM payments p
                 FULL JOIN (SELECT idempotency_key AS key, relayer FROM rflow_private.relayer_transactions WHERE run_id IS NULL) t
                USING (key, relayer)
                WHERE p.key IS NULL OR t.key IS NULL)
SQL
	push @{ $soak->{summary}{missing} }, map { $_->{key} } @missing;
}

# Without a gap from the nonce with which rflow began to the next one, which is the chain's.
sub check_nonces
{
	my ($self) = @_;

	for my $key (@{ $self->{keys} })
	{
		my @used = sort { $a <=> $b } map { $_->{nonce} }
		  grep { $_->{from} eq $key->{address} && $_->{nonce} >= $key->{adopted_nonce} } @{ $self->{executed} };
		is_deeply(\@used, [ $key->{adopted_nonce} .. $key->{next_nonce} - 1 ], "nonces of $key->{address} have no gap");
	}
}

sub check_ends
{
	my ($self) = @_;

	is( $self->{node}->safe_psql('postgres', <<'SQL'), '', 'nothing is under way');
SELECT 'run ' || id || ' ' || state FROM rflow_private.workflow_runs WHERE state <> 'succeeded'
 UNION ALL
SELECT 'transaction ' || id || ' ' || state FROM rflow_private.relayer_transactions
 WHERE state NOT IN ('confirmed', 'failed', 'expired', 'cancelled', 'replaced')
 UNION ALL
SELECT 'nonce ' || nonce FROM rflow_private.nonces WHERE NOT settled
 UNION ALL
SELECT 'step ' || step FROM rflow_private.step_runs WHERE state = 'waiting'
 UNION ALL
SELECT 'due ' || kind || ' ' || id FROM rflow_private.due
SQL
	my $deposits = $self->{soak}->deposits_on_chain;
	is_deeply(
		[ sort split /\n/, $self->{node}->safe_psql('postgres', 'SELECT transaction_hash FROM rflow_private.workflow_runs') ],
		[ sort keys %$deposits ], 'each deposit on the chain has one run');
	is_deeply(
		[ sort values %$deposits ],
		[ sort map { $_->{amount} } @{ $self->{soak}{deposited} } ], 'and each was made once');
}

sub summarise
{
	my ($self) = @_;
	my $soak = $self->{soak};
	my $summary = $soak->{summary};
	my %states;
	my %attempts;

	$states{ $_->{state} }++ for @{ $self->{rows} };
	$attempts{ $_->{kind} }++ for @{ $self->{attempts} };
	%$summary = (
		%$summary,
		states           => \%states,
		attempts         => \%attempts,
		deaths           => $soak->{deaths},
		ended_in_faults  => $soak->{ended_in_faults},
		fault_seconds    => 0 + sprintf('%.1f', $soak->{fault_seconds}),
		terminal_seconds => 0 + sprintf('%.1f', $soak->{calm_seconds}),
		blocks           => 0 + $self->{chain}->block_number,
	);
}

=pod

=head1 METHODS

=over

=item all

Passes or fails a subtest.

=back

=cut

sub all
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($self) = @_;

	return subtest 'the chain and the tables' => sub {
		$self->{executed}  = [];
		$self->{transfers} = {};
		$self->read_chain;
		$self->read_transfers;
		$self->read_tables;
		$self->check_rows;
		$self->check_executions;
		$self->check_amounts;
		$self->check_nonces;
		$self->check_ends;
		$self->summarise;
	};
}

1;
