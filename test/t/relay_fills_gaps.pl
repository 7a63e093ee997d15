# Gaps (I-3, I-19): an account is adopted with somebody else's transactions in the pool, and the pool forgets them; what rflow has
# signed behind them waits. A no-op fills each gap: by the verb at once, by itself when it has stayed for some blocks.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main');
add_network($node, $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '100 ms', confirmations = 1");
add_relayer($node, 'hot');
$chain->mine(1);

sub sql { return $node->safe_psql('postgres', $_[0]) }

sub mine
{
	my $next = $chain->block_number + 1;

	$chain->mine(1);
	poll_until($node, "SELECT max(number) >= $next FROM rflow_private.blocks");
}

sub state_of
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($id, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE id = $id", $state);
}

# Two of somebody else's in the pool; the account begins behind them.
$chain->send({ from => $RflowAnvil::ACCOUNTS[0], to => $SINK, value => 1000 + $_, nonce => $_ }) for 0, 1;
submit($node, 'hot', 1);
poll_until($node, "SELECT problem ~ 'call rflow.adopt_account' FROM rflow.relayer_status", 't');
is(sql("SELECT rflow.adopt_account('hot', 2, 'the old service is gone')"), 2, 'the next nonce is behind theirs');
poll_until($node, "SELECT nonce, state FROM rflow.transactions WHERE idempotency_key = 'payment 1'", '2|broadcast');

# What is no gap is refused.
for ([ 2, 'Transaction \d+ holds it' ], [ 7, 'has not come to this nonce yet' ])
{
	my ($nonce, $why) = @$_;
	$node->psql('postgres', "SELECT rflow.fill_gap('hot', $nonce)", stderr => \my $error);
	like($error, qr/nonce $nonce of relayer "hot" is no gap.*$why/s, "nonce $nonce is no gap");
}

# The pool forgets: nonces 0 and 1 are missing, and it is said so.
$chain->rpc('anvil_dropAllTransactions');
mine();
poll_until($node, "SELECT reason ~ '^nonce 0 is missing' FROM rflow.stuck WHERE kind = 'relayer'");

# By the verb, at once.
is(sql("SELECT rflow.fill_gap('hot', 1, 'they will not come back')"), 'filling', 'the second one by hand');
poll_until($node, "SELECT state FROM rflow.transactions WHERE nonce = 1", 'broadcast');
is(sql("SELECT recipient = from_address, value, data FROM rflow.transactions WHERE nonce = 1"), 't|0|0x', 'it does nothing');

# The first one by itself.
mine() for 1 .. 4;
poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE nonce = 0", 1);
poll_until($node, "SELECT bool_and(state = 'broadcast') FROM rflow.transactions", 't');
# What was forgotten is offered again after a while.
for (1 .. 100)
{
	mine();
	last if sql("SELECT bool_and(state = 'confirmed') FROM rflow.transactions") eq 't';
	select undef, undef, undef, 0.2;
}
poll_until($node, "SELECT bool_and(state = 'confirmed'), array_agg(nonce ORDER BY nonce) FROM rflow.transactions", 't|{0,1,2}');
poll_until($node, "SELECT count(*) FROM rflow.stuck WHERE kind = 'relayer'", 0);
is(sql("SELECT string_agg(concat_ws('/', who = 'rflow relayer', subject, reason), ', ' ORDER BY at) FROM rflow.operator_log WHERE verb = 'fill_gap'"),
	"f/relayer hot nonce 1/they will not come back, t/relayer hot nonce 1/the chain waits for it, and nothing of ours holds it, "
	  . "t/relayer hot nonce 0/the chain waits for it, and nothing of ours holds it", 'the journal has all of it');
executed_once($chain, $node, 1);

done_testing();
