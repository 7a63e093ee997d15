# A restore to an earlier time, while the chain has gone ahead by twenty payments of workflows, two of them identical, and
# by sends that were queued in the restored image: nothing is paid twice, nothing is lost.  A payment by hand is explained
# by nothing and holds signing until an operator has dealt with it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $ACCOUNT = $ACCOUNTS[2];

my $chain = start_anvil('--block-time', '1');
my $token = $chain->deploy_token;
my $lost  = new_node('lost', init => [ allows_streaming => 1 ]);
my $abi   = RflowAnvil::abi_json('StdToken');
add_network($lost, $chain);
add_relayer($lost, 'hot', 'env:RFLOW_TEST_KEY_2');
$lost->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('token', 'local', '$token', '$abi');
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('answer', rflow.on_event('token', 'Transfer'), \$\$ event.to = '$ACCOUNTS[1]' \$\$,
        rflow.steps(rflow.send_transaction('pay', relayer => 'hot', recipient => \$\$ '$SINK' \$\$, data => \$\$ '0x' \$\$,
                                           value => \$\$ event.value \$\$, wait_for => 'confirmed')));
SQL
poll_until($lost, 'SELECT count(*) FROM rflow_private.cursors', 1);

# Deposits of these amounts; each is to be answered by a payment of as many wei.
sub deposit
{
	my @hashes = map { $chain->transfer($token, $ACCOUNTS[1], $_) } @_;
	$chain->wait_receipt($_) for @hashes;
}

# What the account has paid to $SINK, on the chain.
sub paid
{
	return join ' ', sort { $a <=> $b }
	  map { $_->[2] } grep { $_->[1] eq lc $SINK && $_->[3] } executed($chain, $ACCOUNT);
}

sub amounts { return join ' ', sort { $a <=> $b } @_ }

sub confirmed
{
	my ($node, $count) = @_;
	poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state = 'confirmed'", $count);
}

# ---- what the restored image has: three payments that are over, one in flight, five queued ---------------

my @before = (101, 102, 103);
deposit(@before);
confirmed($lost, 3);
$chain->rpc('evm_setIntervalMining', 0);
submit($lost, 'hot', 5);
poll_until($lost, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment 5'", 'broadcast');
$lost->safe_psql('postgres', "UPDATE rflow.relayers SET paused = true");
submit($lost, 'hot', 1 .. 4);
$chain->transfer($token, $ACCOUNTS[1], 201);
$chain->mine(3);
poll_until($lost, "SELECT count(*) FROM rflow.transactions WHERE state = 'queued'", 5);
$lost->backup('base');

# ---- what was lost: twenty payments, two of them identical ------------------------------------------------

my @queued = (1 .. 4, 201);
my @events = (301 .. 313, 307);
$chain->rpc('evm_setIntervalMining', 1);
$lost->safe_psql('postgres', "UPDATE rflow.relayers SET paused = false");
deposit(@events);
confirmed($lost, 3 + 1 + 5 + 14);
my @all = (@before, 5, @queued, @events);
is(paid(), amounts(@all), 'the chain has gone ahead');
my $nonce = $chain->nonce($ACCOUNT);
is($nonce, 23, 'by so many nonces');
$lost->stop('immediate');

# ---- restored ----------------------------------------------------------------------------------------------

sub restore
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup($lost, 'base', has_streaming => 1);
	$node->start;
	$node->promote;
	$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = false");
	return $node;
}

my $restored = restore('restored');
poll_until($restored, "SELECT status ~ '.' FROM rflow.reconciliations");
confirmed($restored, 23);
all_settled($restored);
is(paid(), amounts(@all), 'nothing is paid twice');
is($chain->nonce($ACCOUNT), $nonce, 'no nonce was used');
is($restored->safe_psql('postgres', "SELECT count(*), count(*) FILTER (WHERE state = 'succeeded') FROM rflow.runs"),
	'18|18', 'each deposit has its run');
poll_until($restored, 'SELECT found, matched, unmatched, status FROM rflow.reconciliations', '19|19|0|finished');
is( $restored->safe_psql('postgres', <<'SQL'), 23, 'each transaction has a nonce of its own, which is the one on the chain');
SELECT count(DISTINCT t.nonce)
  FROM rflow.transactions t
  JOIN rflow_private.relayer_attempts a ON a.transaction_hash = t.transaction_hash AND a.nonce = t.nonce
 WHERE t.state = 'confirmed' AND a.raw IS NOT NULL
SQL
poll_until($restored, 'SELECT rflow.readiness()', 'ready');

# ---- it goes on, and a restart does not hold again -----------------------------------------------------------

deposit(401);
push @all, 401;
confirmed($restored, 24);
$restored->restart;
deposit(402);
push @all, 402;
confirmed($restored, 25);
is(paid(), amounts(@all), 'new deposits are paid once');
is($restored->safe_psql('postgres', "SELECT count(*) FROM rflow.transactions WHERE nonce >= $nonce"), 2, 'with new nonces');
$restored->stop('immediate');

# ---- a payment by hand ---------------------------------------------------------------------------------------

my $by_hand = $chain->send({ from => $ACCOUNT, to => $SINK, value => 777 });
$chain->wait_receipt($by_hand);
push @all, 777;
my $again = restore('again');
poll_until($again, 'SELECT transaction_hash, value FROM rflow.unmatched_transactions', "$by_hand|777");
deposit(501);
poll_until($again, 'SELECT count(*) FROM rflow.runs', 21);
poll_until($again, "SELECT problem FROM rflow.relayer_status",
	'signing is held: 1 transactions of the account are on the chain and no send of this database: see rflow.unmatched_transactions');
is($again->safe_psql('postgres', "SELECT count(*) FROM rflow.stuck WHERE kind = 'unmatched transaction' AND subject = '$by_hand'"),
	1, 'rflow.stuck has it');
like($again->safe_psql('postgres', 'SELECT rflow.readiness()'),
	qr/^ready, but signing is held until accounts are reconciled with the chain: network local$/, 'rflow.readiness() says so');
is($again->safe_psql('postgres', "SELECT state, nonce FROM rflow.transactions WHERE value = 501"), 'queued|', 'nothing is signed');
$again->restart;
poll_until($again, "SELECT status ~ 'no send of this database' FROM rflow.reconciliations");
is($again->safe_psql('postgres', "SELECT state FROM rflow.transactions WHERE value = 501"), 'queued', 'also after a restart');

$again->safe_psql('postgres', 'CREATE ROLE stranger LOGIN; CREATE ROLE operator LOGIN IN ROLE rflow_operator');
my ($code, $out, $err) = $again->psql('postgres', "SELECT rflow.dismiss_unmatched('$by_hand', 'mine')",
	extra_params => [ '-U', 'stranger' ]);
like($err, qr/permission denied for function dismiss_unmatched/, 'a stranger may not dismiss it');
is($again->safe_psql('postgres', 'SELECT count(*) FROM rflow.unmatched_transactions', extra_params => [ '-U', 'stranger' ]),
	0, 'nor see it');
($code, $out, $err) = $again->psql('postgres', "SELECT rflow.dismiss_unmatched('$by_hand', ' ')");
like($err, qr/reason must not be empty/, 'it takes a reason');
$again->safe_psql('postgres', "SELECT rflow.dismiss_unmatched('$by_hand', 'paid by hand in the drill')",
	extra_params => [ '-U', 'operator' ]);
is($again->safe_psql('postgres', "SELECT decided_by, note FROM rflow_private.outside_transactions WHERE verdict = 'dismissed'"),
	'operator|paid by hand in the drill', 'who dismissed it, and why, is kept');
is($again->safe_psql('postgres', 'SELECT who, acting_as, verb, subject, reason FROM rflow.operator_log'),
	"operator|operator|dismiss_unmatched|outside transaction $by_hand|paid by hand in the drill", 'and in the journal');
confirmed($again, 26);
push @all, 501;
is(paid(), amounts(@all), 'then it goes on, and each is paid once');
($code, $out, $err) = $again->psql('postgres', "SELECT rflow.dismiss_unmatched('$by_hand', 'again')");
like($err, qr/there is no unmatched transaction 0x/, 'what is dealt with cannot be dismissed');

$again->stop;
done_testing();
