# Pools with the rules of real clients, in their words: least bumps on both fees, gaps of nonces refused, pools that are full, a
# least tip, transactions that are evicted or never kept.  And an earlier payload that is mined after all.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $ACCOUNT = $RflowAnvil::ACCOUNTS[0];
my $SEND    = 'eth_sendRawTransaction';

my $chain  = start_anvil('--no-mining');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
add_network($node, $faulty);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '50 ms'");
add_relayer($node, 'hot');
my $paid = 0;

# What these clients have no words for.
my %SPEECHLESS = (arbitrum => 'known', openethereum => 'nonce_ahead');

sub has_words { return ($SPEECHLESS{ $_[0] } // '') ne $_[1] }

sub pay
{
	my ($count) = @_;
	my @payments = ($paid + 1 .. $paid + $count);

	$paid += $count;
	return submit($node, 'hot', @payments);
}

sub sql { return $node->safe_psql('postgres', $_[0]) }

# A block at a time, until it holds.
sub mine_until
{
	my ($query) = @_;

	RflowAnvil::wait_for(sub { $chain->mine(1); return sql($query) eq 't' }, $query);
}

sub settle
{
	mine_until('SELECT NOT EXISTS (SELECT FROM rflow_private.nonces WHERE NOT settled) '
		  . "AND NOT EXISTS (SELECT FROM rflow_private.due WHERE kind = 'send')");
	$chain->mine(60);    # the base fee comes down
}

# A base fee that nothing in the pool pays, for some blocks.
sub spike { $chain->rpc('anvil_setNextBlockBaseFeePerGas', to_hex('500000000000')) }

sub all_broadcast
{
	poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state IN ('queued', 'signed')", 0);
}

sub pooled { return scalar(my @held = $faulty->pool) }

$chain->mine(1);

# R3, go-livepeer#2126: a pool that wants a tenth more on both fees takes every replacement of ours.
$faulty->state(pool => { sender => $ACCOUNT, client => 'geth', bump => 10 });
pay(1);
all_broadcast();
spike();
mine_until('SELECT count(*) >= 2 FROM rflow.attempts WHERE broadcast_at IS NOT NULL');
is(sql("SELECT count(*) FROM rflow.attempts WHERE answer_class = 'slot_taken'"), 0, 'the pool took the replacement');
settle();

# R1, rrelayer#82, zkDatabase#253: replacements are signed and taken, and never reach the chain; the first payload is mined
# after all. It is one payment, and the row says which.
$faulty->state(pool => undef);
my ($twice) = pay(1);
all_broadcast();
my $first = sql("SELECT transaction_hash FROM rflow.attempts WHERE transaction_id = $twice");
$faulty->fault({ kind => 'forget', method => $SEND });
spike();
mine_until("SELECT count(*) >= 2 FROM rflow.attempts WHERE transaction_id = $twice AND broadcast_at IS NOT NULL");
$chain->mine(60);    # the base fee comes down, and somebody still has the first payload
$chain->rpc('eth_sendRawTransaction', sql("SELECT raw FROM rflow_private.relayer_attempts WHERE transaction_id = $twice AND attempt = 1"));
mine_until("SELECT state = 'confirmed' FROM rflow.transactions WHERE id = $twice");
is(sql("SELECT transaction_hash FROM rflow.transactions WHERE id = $twice"), $first, 'what was mined counts, not what was sent last');
$faulty->heal;
settle();
executed_once($chain, $node, 1 .. $paid);

# gp-v2-services#1583: a no-op outbids the highest payload of its nonce, whichever of them the pool has. The replacements do not
# reach the chain, so that nothing is mined meanwhile.
my ($id) = pay(1);
all_broadcast();
$faulty->fault({ kind => 'forget', method => $SEND });
spike();
mine_until("SELECT count(*) >= 2 FROM rflow.attempts WHERE transaction_id = $id");
is(sql("SELECT rflow.cancel_transaction($id)"), 'cancelling', 'it is cancelled');
mine_until("SELECT count(*) > 0 FROM rflow.attempts WHERE transaction_id = $id AND kind = 'noop' AND broadcast_at IS NOT NULL");
is(sql("SELECT bool_and(n.max_fee_per_gas * 10 >= s.max_fee_per_gas * 11 AND n.max_priority_fee_per_gas * 10 >= s.max_priority_fee_per_gas * 11) "
	  . "FROM rflow.attempts n JOIN rflow.attempts s USING (transaction_id) WHERE transaction_id = $id AND n.kind = 'noop' AND s.kind = 'send'"),
	't', 'the no-op outbids every payload');
# R10: a no-op is raised like a payload, also by a server that starts anew.
$node->restart;
spike();
mine_until("SELECT count(*) > 1 FROM rflow.attempts WHERE transaction_id = $id AND kind = 'noop'");
$faulty->heal;
mine_until("SELECT state = 'cancelled' FROM rflow.transactions WHERE id = $id");
settle();

# In the words of each client: a gap is refused (I-7: what is behind waits, and is not taken for failed), the pool is full, a
# slot is taken. OZ relayer#843, I-3: what no pool has ever taken goes out again, lowest first.
for my $client (qw(geth nethermind besu erigon reth arbitrum anvil hardhat openethereum))
{
	subtest $client => sub {
		my @words = map { { kind => 'refuse', client => $client, means => $_, method => $SEND, times => 1 } }
		  grep { has_words($client, $_) } qw(node_trouble nonce_ahead funds known);

		$faulty->fault(@words);
		$faulty->evict;
		$faulty->state(pool => { sender => $ACCOUNT, client => $client, gaps => 'refuse' })
		  if has_words($client, 'nonce_ahead');
		$faulty->forget_calls;
		my @ids = pay(3);
		$faulty->wait_hit(scalar @words);
		poll_until($node, "SELECT count(*) FROM rflow.attempts WHERE broadcast_at IS NULL AND transaction_id >= $ids[0]", 0);
		my @first = grep { @{ $_->{struck} } } $faulty->calls($SEND);
		is(scalar @first, scalar @words, 'each was said');
		is(sql("SELECT max(attempts) FROM rflow.transactions WHERE id >= $ids[0]"), 1, 'the same bytes went out again');
		settle();
	};
}
executed_once($chain, $node, 1, 2, 4 .. $paid);

# gear-bridges#842, I-18: a pool that says it has them and forgets; a pool that evicts. The same bytes, the same nonces.
$faulty->state(pool => undef);
$faulty->fault({ kind => 'forget', method => $SEND, times => 3 });
my @ids = pay(3);
$faulty->wait_hit(3);
RflowAnvil::wait_for(sub { hex_number($chain->rpc('txpool_status')->{pending}) == 3 }, 'the chain to have what its node forgot');
$faulty->heal;
settle();
$faulty->state(pool => { sender => $ACCOUNT, client => 'geth' });
push @ids, pay(2);
all_broadcast();
$faulty->evict;
is(pooled(), 0, 'the pool has evicted them');
RflowAnvil::wait_for(sub { pooled() == 2 }, 'the pool to have them again');
is(sql("SELECT max(attempts) FROM rflow.transactions WHERE id >= $ids[0]"), 1, 'as they were');
settle();
executed_once($chain, $node, 1, 2, 4 .. $paid);

# rrelayer#90, rrelayer#101, rrelayer#60: what a node said is kept. A least tip: what is refused for its price is raised until it is enough, and those behind it begin with what was learnt.
$faulty->state(pool => { sender => $ACCOUNT, client => 'geth', min_tip => '5000000000' });
my ($cheap) = pay(1);
RflowAnvil::wait_for(sub { sql("SELECT state = 'broadcast' FROM rflow.transactions WHERE id = $cheap") eq 't' }, 'the price to be enough');
cmp_ok(sql("SELECT count(*) FROM rflow.attempts WHERE transaction_id = $cheap AND answer_class = 'fee_too_low' AND answer_code = -32000 "
	  . "AND answer ~ '^transaction underpriced' AND refusals >= 1"), '>', 0, 'code, words and count of each refusal are kept');
my ($next) = pay(1);
all_broadcast();
is(sql("SELECT attempts FROM rflow.transactions WHERE id = $next"), 1, 'the next one begins with what was learnt');
$faulty->state(pool => undef);
settle();
executed_once($chain, $node, 1, 2, 4 .. $paid);

# A cap below what the pool wants: it waits there, and says so (R14).
sql("UPDATE rflow.relayers SET max_fee_per_gas = 4000000000");
$faulty->state(pool => { sender => $ACCOUNT, client => 'besu', min_tip => '9000000000' });
my ($capped) = pay(1);
poll_until($node, "SELECT reason ~ '^held at its price of [0-9]+ wei per gas: a replacement would need more than the cap' FROM rflow.transactions WHERE id = $capped");
is(sql("SELECT max(max_fee_per_gas) <= 4000000000 FROM rflow.attempts WHERE transaction_id = $capped"), 't', 'nothing beyond the cap is signed');
sql("UPDATE rflow.relayers SET max_fee_per_gas = NULL");
$faulty->state(pool => undef);
settle();
executed_once($chain, $node, 1, 2, 4 .. $paid);

$node->stop;
done_testing();
