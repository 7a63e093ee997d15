=pod

=head1 NAME

HotPath::Audit - what the chain itself says: was every deposit paid, and once?

=head1 SYNOPSIS

  my $audit = HotPath::Audit->new($chain, $server, $workload, \@deposits);
  $audit->{duplicates}, $audit->{missed}, $audit->{verified}, $audit->{receipts}, $audit->{complaints}

=head1 DESCRIPTION

Reads all blocks and the receipt of every transaction of the relayer's account.  A payment is recognised by its
amount, which no other deposit has.

=cut

package HotPath::Audit;

use strict;
use warnings;

use JSON::PP;
use RflowAnvil;

use HotPath::Workload;

# Blocks, or receipts, in one request.
my $BATCH = 50;

=pod

=head1 METHODS

=over

=item new(chain, server, workload, deposits)

Looks; each deposit gets {block}, {run}, {claimed_at}, {committed_at} (seconds since 1970), {payment} (hash) and
{alone} (no other deposit is in its block).

=back

=cut

sub new
{
	my ($class, $chain, $server, $workload, $deposits) = @_;
	my $self = bless {
		chain      => $chain,
		server     => $server,
		workload   => $workload,
		deposits   => $deposits,
		duplicates => 0,
		missed     => 0,
		verified   => 0,
		receipts   => [],
		complaints => []
	}, $class;

	$self->place_deposits;
	$self->match_runs;
	$self->match_payments($self->sent_by_relayer);
	return $self;
}

sub complain
{
	my ($self, $counter, $what) = @_;

	$self->{$counter}++;
	push @{ $self->{complaints} }, "$counter: $what";
}

sub in_batches
{
	my ($self, @calls) = @_;
	my @answers;

	push @answers, $self->{chain}->rpc_batch(splice @calls, 0, $BATCH) while @calls;
	return @answers;
}

sub receipts_of
{
	my ($self, @hashes) = @_;
	return $self->in_batches(map { [ 'eth_getTransactionReceipt', $_ ] } @hashes);
}

sub place_deposits
{
	my ($self) = @_;
	my @deposits = @{ $self->{deposits} };
	my @receipts = $self->receipts_of(map { $_->{hash} } @deposits);
	my %in_block;

	for my $i (0 .. $#deposits)
	{
		die "deposit $deposits[$i]{hash} was not mined" unless ($receipts[$i]{status} // '') eq '0x1';
		$deposits[$i]{block} = hex_number($receipts[$i]{blockNumber});
		$in_block{ $deposits[$i]{block} }++;
	}
	$_->{alone} = $in_block{ $_->{block} } == 1 ? JSON::PP::true : JSON::PP::false for @deposits;
}

sub match_runs
{
	my ($self) = @_;
	my (%runs, %known);

	for my $row ($self->{server}->rows(<<'SQL'))
SELECT r.transaction_hash, r.id, r.workflow, r.state, extract(epoch FROM r.created_at),
       extract(epoch FROM c.committed_at), t.transaction_hash, t.state
  FROM rflow_private.workflow_runs r
  LEFT JOIN rflow_private.commit_samples() c ON c.run_id = r.id
  LEFT JOIN rflow_private.relayer_transactions t ON t.run_id = r.id
 ORDER BY r.created_at
SQL
	{
		push @{ $runs{ $row->[0] } }, $row;
	}
	for my $deposit (@{ $self->{deposits} })
	{
		my ($first, @more) = @{ $runs{ $deposit->{hash} } // [] };

		$known{ $deposit->{hash} } = 1;
		if (!$first)
		{
			$self->complain('missed', "deposit $deposit->{hash} started no run");
			next;
		}
		$self->complain('duplicates', "deposit $deposit->{hash} has another row $_->[1]") for @more;
		@$deposit{qw(run claimed_at committed_at payment)} = @$first[ 1, 4, 5, 6 ];
		$self->complain('missed', "run $first->[1] is $first->[3], its transaction $first->[7]")
		  unless $first->[3] eq 'succeeded' && $first->[7] eq 'confirmed';
	}
	$self->complain('duplicates', "a run belongs to $_, which is no deposit")
	  for grep { !$known{$_} } keys %runs;
}

# Every transaction of the relayer's account, with its receipt, as the chain has it.
sub sent_by_relayer
{
	my ($self) = @_;
	my @blocks = $self->in_batches(map { [ 'eth_getBlockByNumber', to_hex($_), JSON::PP::true ] }
		  0 .. $self->{chain}->block_number);
	my @sent = grep { lc $_->{from} eq $HotPath::Workload::HOT } map { @{ $_->{transactions} } } @blocks;
	my @receipts = $self->receipts_of(map { $_->{hash} } @sent);

	return map { { %{ $sent[$_] }, receipt => $receipts[$_] } } 0 .. $#sent;
}

# It took effect: it was executed, and the token says that it moved the amount.
sub took_effect
{
	my ($self, $sent) = @_;
	my @logs = @{ $sent->{receipt}{logs} };

	return
		 $sent->{receipt}{status} eq '0x1'
	  && @logs == 1
	  && lc $logs[0]{address} eq $self->{workload}{payout}
	  && lc $logs[0]{data} eq lc '0x' . substr($sent->{input}, -64);
}

sub match_payments
{
	my ($self, @sent) = @_;
	my %by_data;

	push @{ $by_data{ lc $_->{input} } }, $_ for @sent;
	for my $deposit (@{ $self->{deposits} })
	{
		my $data = lc HotPath::Workload::payment_data($deposit->{amount});
		my ($first, @more) = @{ delete $by_data{$data} // [] };

		if (!$first)
		{
			$self->complain('missed', "deposit $deposit->{hash} was not paid");
			next;
		}
		$self->complain('duplicates', "deposit $deposit->{hash} was paid again by $_->{hash}") for @more;
		push @{ $self->{receipts} },
		  [
			$deposit->{hash}, $first->{hash},
			0 + hex_number($first->{receipt}{blockNumber}), 0 + hex_number($first->{nonce}),
			0 + hex $first->{receipt}{status}
		  ];
		if ($self->took_effect($first) && $first->{hash} eq ($deposit->{payment} // ''))
		{
			$self->{verified}++;
		}
		else
		{
			push @{ $self->{complaints} }, "receipt of $first->{hash} (deposit $deposit->{hash}) is not as expected";
		}
	}
	$self->complain('duplicates', "$_->{hash} pays no deposit") for map { @$_ } values %by_data;
}

1;
