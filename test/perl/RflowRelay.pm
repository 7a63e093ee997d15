
=pod

=head1 NAME

RflowRelay - relayers in TAP tests, and what must hold of them whatever happened

=head1 SYNOPSIS

  add_relayer($node, 'hot');
  submit($node, 'hot', 1 .. 50);
  all_settled($node);
  executed_once($chain, $node, 1 .. 50);

=head1 DESCRIPTION

Payments are told apart by their value: payment 7 sends 7 wei to $SINK, with the idempotency
key 'payment 7'.  So the chain itself says what was executed, and how often.

=cut

package RflowRelay;

use strict;
use warnings;

use Exporter qw(import);
use RflowAnvil;
use RflowTest;
use Test::More;

our @EXPORT = qw(add_relayer submit submit_sql all_settled executed executed_once $SINK);

# Nobody has its key.
our $SINK = '0x00000000000000000000000000000000005111c4';

=pod

=head1 FUNCTIONS

=over

=item add_relayer(node, name, signer, network)

=cut

sub add_relayer
{
	my ($node, $name, $signer, $network) = @_;

	$signer  //= 'env:RFLOW_TEST_KEY';
	$network //= 'local';
	$node->safe_psql('postgres',
		"INSERT INTO rflow.relayers (name, network, signer) VALUES ('$name', '$network', '$signer')");
}

=pod

=item submit_sql(relayer, payment...) / submit(node, relayer, payment...)

Queues payments, all in one transaction that waits for its WAL, so that no crash of the server may
lose it; the first only returns the SQL.

=cut

sub submit_sql
{
	my ($relayer, @payments) = @_;

	return join '', 'BEGIN; SET LOCAL synchronous_commit = on;', map(
		"SELECT rflow.submit_transaction('$relayer', recipient => '$SINK', data => '0x', "
		  . "value => $_, idempotency_key => 'payment $_');",
		@payments), 'COMMIT;';
}

sub submit
{
	my ($node, @rest) = @_;
	return split /\n/, $node->safe_psql('postgres', submit_sql(@rest));
}

=pod

=item all_settled(node, timeout)

Waits until nothing is queued or live; passes or fails a test.

=cut

sub all_settled
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($node, $timeout) = @_;

	return poll_until(
		$node,
		"SELECT NOT EXISTS (SELECT FROM rflow_private.nonces WHERE NOT settled) "
		  . "AND NOT EXISTS (SELECT FROM rflow_private.due WHERE kind = 'send')",
		't', $timeout);
}

=pod

=item executed(chain, address)

The transactions from an account on the chain, in order of nonce: [nonce, to, value, successful].

=cut

sub executed
{
	my ($chain, $address) = @_;
	my @calls = map { [ 'eth_getBlockByNumber', to_hex($_), JSON::PP::true ] } 0 .. $chain->block_number;
	my @transactions =
	  grep { lc $_->{from} eq lc $address } map { @{ $_->{transactions} } } $chain->rpc_batch(@calls);
	my @receipts =
	  @transactions ? $chain->rpc_batch(map { [ 'eth_getTransactionReceipt', $_->{hash} ] } @transactions) : ();
	my @found = map {
		my $t = $transactions[$_];
		[ hex_number($t->{nonce}), lc($t->{to} // ''), hex_number($t->{value}), $receipts[$_]{status} eq '0x1' ]
	} 0 .. $#transactions;

	return sort { $a->[0] <=> $b->[0] } @found;
}

=pod

=item executed_once(chain, node, payment...)

Each of these payments was executed once, and nothing else was paid to $SINK by the account; its
nonces have no gap; and the tables say the same.

=back

=cut

sub executed_once
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($chain, $node, @payments) = @_;
	my $address = $node->safe_psql('postgres',
		"SELECT DISTINCT from_address FROM rflow.transactions WHERE from_address IS NOT NULL");
	my @found  = executed($chain, $address);
	my @nonces = map { $_->[0] } @found;
	my $ok     = 1;

	$ok &= is_deeply(
		[ sort { $a <=> $b } map { $_->[2] } grep { $_->[1] eq lc $SINK && $_->[3] } @found ],
		[ sort { $a <=> $b } @payments ],
		'each payment was executed once');
	$ok &= is_deeply(\@nonces, [ $nonces[0] .. $nonces[0] + $#nonces ], 'nonces have no gap');
	$ok &= is(
		$node->safe_psql(
			'postgres',
			"SELECT count(*) FROM rflow.transactions WHERE state = 'confirmed' "
			  . "AND idempotency_key LIKE 'payment %' AND idempotency_key = 'payment ' || value"),
		scalar @payments,
		'and the tables know');
	return $ok;
}

1;
