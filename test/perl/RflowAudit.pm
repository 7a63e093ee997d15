
=pod

=head1 NAME

RflowAudit - the main job in TAP tests, and the proof that each event was answered exactly once

=head1 SYNOPSIS

  my $job = RflowAudit->start(node => $node, chain => $chain);
  $job->deposit(count => 3, value => 100);
  $job->settled;
  $job->audit('three deposits');

=head1 DESCRIPTION

A contract whose only purpose is to emit Transfer events, any number in a transaction, equal ones
too; a workflow that answers each Transfer of at least $LIMIT to $POOL by a transaction; and a contract
that counts these answers by the event they are for (test/chain/contracts/src/Settle.sol).

The audit believes no table alone.  What had to be done it reads from the chain's logs, what was done from
the blocks, transaction by transaction; both must agree with each other and with the tables.

=cut

package RflowAudit;

use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Utils;
use RflowAnvil;
use RflowTest;
use Test::More;

our $POOL  = '0x0000000000000000000000000000000000b001ed';
our $LIMIT = 100;

# Blocks that are asked for in one batch.
my $SCAN_BLOCKS = 200;

# Runs that are over, nonces that are not, and what is due.
my $PROGRESS = <<'SQL' =~ s/\s+/ /gr;
SELECT count(*), (SELECT count(*) FROM rflow_private.nonces WHERE NOT settled),
       (SELECT count(*) FROM rflow_private.due)
  FROM rflow_private.workflow_runs
 WHERE state IN ('succeeded', 'failed', 'cancelled')
SQL

my $TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

# Calldata is four words: how many events, the value of the first, what each adds to it, and to whom.
my $DEPOSITS = join '', qw(
  600035 602035
  5b
  8115 6047 57
  80 600052
  606035 33 7f), substr($TRANSFER, 2), qw(
  6020 6000 a3
  604035 01
  90 6001 90 03 90
  6006 56
  5b 00);

=pod

=head1 METHODS

=over

=item start(node => NODE, chain => CHAIN, endpoint => URL, name => NAME, steps => SQL)

Deploys the contracts, and defines network 'local' (at the chain, or the endpoint before it), relayer 'hot'
and workflow 'answer'.  The account of the relayer is $ACCOUNTS[4].  steps, an expression of type
jsonb, replaces the only step.

=cut

sub start
{
	my ($class, %options) = @_;
	my $self = bless {%options}, $class;
	my $chain = $self->{chain};

	$self->{relayer_address} = $ACCOUNTS[4];
	$self->{deposits} = $self->deploy_deposits;
	$self->{settle}   = $chain->deploy('Settle');
	my $chain_id = hex_number($chain->rpc('eth_chainId'));
	my $url      = $options{endpoint} // $chain->url;
	my $steps    = $options{steps} // <<"SQL";
rflow.steps(
    rflow.send_transaction('answer', relayer => 'hot', contract => 'settle', function => 'loose',
      args => \$\$ rflow.keccak256(log.transaction_hash::text || ' ' || log.log_index), event.value \$\$))
SQL
	$self->{node}->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.networks (name, chain_id, rpc_urls, confirmations, poll_max)
VALUES ('local', $chain_id, '{$url}', @{[ $options{confirmations} // 1 ]}, '100 ms');
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
  ('deposits', 'local', '$self->{deposits}',
   rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)')),
  ('settle', 'local', '$self->{settle}', rflow.abi('function loose(bytes32 key, uint256 amount)', 'function total() view returns (uint256)'));
INSERT INTO rflow.relayers (name, network, signer, max_in_flight) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY_4', 64);
SQL
	# A run that comes before the relayer has told its address is left to an executor; that is not meant here.
	poll_until($self->{node}, "SELECT address IS NOT NULL FROM rflow_private.relayer_states");
	$self->{node}->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.workflows (name, trigger, filter, steps) VALUES ('answer',
  rflow.on_event('deposits', 'Transfer'), \$\$ event.to = '$POOL' AND event.value >= $LIMIT \$\$, $steps)
SQL
	poll_until($self->{node}, 'SELECT count(*) FROM rflow_private.cursors', 1);
	return $self;
}

sub deploy_deposits
{
	my ($self) = @_;
	my $length = sprintf '%02x', length($DEPOSITS) / 2;
	my $hash = $self->{chain}->send({ data => "0x60${length}600c60003960${length}6000f3$DEPOSITS" });

	$self->{chain}->mine unless $self->{chain}{mines};
	return $self->{chain}->wait_receipt($hash)->{contractAddress};
}

=pod

=item deposit_data(count => N, value => N, step => N, to => ADDRESS)

The calldata of deposit.

=cut

sub deposit_data
{
	my ($self, %options) = @_;
	return '0x' . abi_encode('uint256,uint256,uint256,address', $options{count} // 1,
		$options{value} // $LIMIT, $options{step} // 0, $options{to} // $POOL);
}

=pod

=item deposit(count => N, value => N, step => N, to => ADDRESS, account => N)

One transaction with count (1) events, of value ($LIMIT) and what step (0) adds to it, from $ACCOUNTS[account]
(0).  Returns its hash.

=cut

sub deposit
{
	my ($self, %options) = @_;
	my $hash = $self->{chain}->send(
		{
			from => $ACCOUNTS[ $options{account} // 0 ],
			to   => $self->{deposits},
			data => $self->deposit_data(%options),
			gas  => 100_000 + 4_000 * ($options{count} // 1),
		});

	push @{ $self->{sent} }, $hash;
	return $hash;
}

=pod

=item events

The transactions with events that count, on the chain as it is: {hash => how many}.

=cut

sub events
{
	my ($self) = @_;
	my $logs = $self->{chain}->rpc('eth_getLogs',
		{ fromBlock => '0x0', toBlock => 'latest', address => $self->{deposits} });
	my %events;

	for my $log (@$logs)
	{
		next if substr($log->{topics}[2], 26) ne substr(lc $POOL, 2);
		next if hex_number($log->{data}) < $LIMIT;
		$events{ $log->{transactionHash} }++;
	}
	return \%events;
}

sub sum
{
	my ($counts) = @_;
	my $sum = 0;

	$sum += $_ for values %$counts;
	return $sum;
}

=pod

=item vanish(hash, count)

A reorganisation is going to take this deposit away after its count events were answered: their runs stay.

=cut

sub vanish
{
	my ($self, $hash, $count) = @_;

	$self->{sent} = [ grep { $_ ne $hash } @{ $self->{sent} } ];
	$self->{vanished}{$hash} = $count;
}

# What there has to be a run for.
sub answerable
{
	my ($self) = @_;
	return { %{ $self->events }, %{ $self->{vanished} // {} } };
}

=pod

=item settled(timeout)

Waits until all deposits are mined, there is a run for each event, and nothing is under way.

=cut

sub settled
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($self, $timeout) = @_;

	$self->{chain}->wait_receipt(shift @{ $self->{sent} }) while @{ $self->{sent} // [] };
	return poll_until($self->{node}, $PROGRESS, sum($self->answerable) . '|0|0', $timeout);
}

=pod

=item is_settled

What settled waits for, as a question.

=cut

sub is_settled
{
	my ($self) = @_;
	return $self->{node}->safe_psql('postgres', $PROGRESS) eq sum($self->answerable) . '|0|0';
}

# Rows of two columns as {first => second}.
sub pairs
{
	my ($self, $sql) = @_;
	return { map { split /\|/ } split /\n/, $self->{node}->safe_psql('postgres', $sql) };
}

# The relayer's transactions on the chain: [{hash, nonce, successful}], in order of nonce.
sub executed
{
	my ($self) = @_;
	my $chain = $self->{chain};
	my $head  = $chain->block_number;
	my @found;

	for (my $from = 0; $from <= $head; $from += $SCAN_BLOCKS)
	{
		my $to = $from + $SCAN_BLOCKS - 1;

		$to = $head if $to > $head;
		for my $block (
			$chain->rpc_batch(
				map { [ 'eth_getBlockByNumber', to_hex($_), JSON::PP::true ] } $from .. $to))
		{
			push @found, grep { lc $_->{from} eq lc $self->{relayer_address} } @{ $block->{transactions} };
		}
	}
	my @receipts =
	  @found
	  ? $chain->rpc_batch(map { [ 'eth_getTransactionReceipt', $_->{hash} ] } @found)
	  : ();
	return sort { $a->{nonce} <=> $b->{nonce} } map {
		{
			hash       => $found[$_]{hash},
			nonce      => hex_number($found[$_]{nonce}),
			successful => $receipts[$_]{status} eq '0x1',
		}
	} 0 .. $#found;
}

sub settle_counter
{
	my ($self, $counter) = @_;
	return hex_number(
		$self->{chain}->call($self->{settle}, RflowAnvil::calldata('Settle', "$counter()")));
}

=pod

=item dies_at(point, action)

Makes deposits, lets the process that comes to the crash point (src/db/crash.h) die by action - error,
exit, abort, SIGTERM, or an immediate shutdown of the server -, and waits until all is settled.  Passes or fails a
subtest.

=cut

sub crash_point
{
	my ($self, $setting) = @_;

	# The last line counts; ALTER SYSTEM would need a server that answers.
	$self->{node}->append_conf('postgresql.conf', "rflow.crash_point = '$setting'\n");
}

sub dies_at
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($self, $point, $action) = @_;
	my $node   = $self->{node};
	my $offset = -s $node->logfile;

	$self->crash_point("$point:" . ($action =~ /^(?:error|exit|abort)$/ ? $action : 'wait'));
	$node->reload;
	$self->deposit;
	$self->deposit(count => 2);
	$node->wait_for_log(qr/crash point "$point" reached/, $offset);
	if ($action eq 'SIGTERM')
	{
		my ($pid) = slurp_file($node->logfile, $offset) =~ /\[(\d+)\].*crash point "$point" reached/;
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	}
	$node->stop('immediate') if $action eq 'immediate shutdown';
	$self->crash_point('');
	if ($action eq 'immediate shutdown')
	{
		$node->start;
	}
	else
	{
		$node->reload;
	}
	return subtest "$point: $action" => sub { $self->settled };
}

=pod

=item audit(what)

Passes or fails a subtest: each event has exactly one run, each run exactly one successful transaction on chain, none has
two, nonces have no gap, the contract saw nothing twice, and nothing is left under way.

=back

=cut

sub audit
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($self, $what) = @_;

	return subtest $what => sub {
		my $events = $self->answerable;

		$self->audit_runs($events);
		$self->audit_transactions(sum($events));
		$self->audit_ends;
	};
}

sub audit_runs
{
	my ($self, $events) = @_;
	my $count = sum($events);

	is_deeply($self->pairs('SELECT transaction_hash, count(*) FROM rflow_private.workflow_runs GROUP BY 1'),
		$events, "each of $count events has exactly one run");
	is( $self->{node}->safe_psql('postgres',
			'SELECT count(*), count(DISTINCT key) FROM rflow_private.occurrences'),
		"$count|$count",
		'and is known once');
	is_deeply(
		$self->pairs('SELECT state, count(*) FROM rflow_private.workflow_runs GROUP BY 1'),
		$count > 0 ? { succeeded => $count } : {},
		'all runs have succeeded');
}

sub audit_transactions
{
	my ($self, $count) = @_;
	my $attempts = $self->pairs(<<'SQL');
SELECT a.transaction_hash, concat_ws(' ', a.kind, t.idempotency_key)
  FROM rflow_private.relayer_attempts a
  JOIN rflow_private.relayer_transactions t ON t.id = a.transaction_id
SQL
	my @executed = $self->executed;
	my %successful;
	my @unknown;

	for my $transaction (@executed)
	{
		my $of = $attempts->{ $transaction->{hash} };

		push @unknown, $transaction->{hash} unless defined $of;
		$successful{$of}++ if defined $of && $of =~ /^send / && $transaction->{successful};
	}
	is_deeply(\@unknown, [], 'every transaction of the account was stored before it was sent');
	is(scalar(grep { /^send run:/ } keys %successful),
		$count, "$count sends of runs have a successful transaction on the chain");
	is_deeply([ grep { $successful{$_} > 1 } keys %successful ], [], 'no idempotency key has two');
	is_deeply([ map { $_->{nonce} } @executed ], [ 0 .. $#executed ], 'nonces have no gap');
	is_deeply(
		[ map { $self->settle_counter($_) } qw(total duplicates) ],
		[ $count, 0 ],
		'the contract has seen each event once');
	is($self->{node}->safe_psql('postgres', 'SELECT coalesce(max(next_nonce), 0) FROM rflow_private.relayer_keys'),
		scalar @executed, 'the next nonce is that of the chain');
}

sub audit_ends
{
	my ($self) = @_;

	is( $self->{node}->safe_psql('postgres', <<'SQL'), '', 'nothing is under way');
SELECT 'run ' || id || ' ' || state FROM rflow_private.workflow_runs WHERE state NOT IN ('succeeded', 'failed', 'cancelled')
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
}

1;
