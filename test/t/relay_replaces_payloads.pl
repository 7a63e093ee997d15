# rflow.replace_transaction() and rflow.bump_transaction(): before the signature the row is changed (R7); afterwards another payload
# competes for the nonce, and what mines decides (T17, T18, R2, I-9): the loser is never sent again under another nonce.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main', conf => "rflow.crash_point = ''\n");
my $token = $chain->deploy_token;
add_network($node, $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '100 ms', confirmations = 2");
add_relayer($node, 'hot');
$chain->mine(1);

sub sql { return $node->safe_psql('postgres', $_[0]) }

sub state_of
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($id, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE id = $id", $state);
}

sub mine
{
	my ($blocks) = @_;

	for (1 .. $blocks)
	{
		my $next = $chain->block_number + 1;
		$chain->mine(1);
		poll_until($node, "SELECT max(number) >= $next FROM rflow_private.blocks");
	}
}

sub replace
{
	my ($id, $value, $more) = @_;
	return sql("SELECT rflow.replace_transaction($id, recipient => '$SINK', value => $value, data => '0x', reason => 'a test'"
		  . ($more // '') . ')');
}

sub raw
{
	my ($id) = @_;
	return sql("SELECT raw FROM rflow_private.relayer_attempts WHERE transaction_id = $id AND kind = 'send' ORDER BY attempt LIMIT 1");
}

# What was paid to $SINK, in the order of nonces.
sub paid { return join ' ', map { $_->[2] } grep { $_->[1] eq lc $SINK } executed($chain, $RflowAnvil::ACCOUNTS[0]) }

# R7: not signed, so the row itself has the other payload; its key still stands for what was asked for first, and for that only.
sql('UPDATE rflow.relayers SET paused = true');
my ($first) = submit($node, 'hot', 1);
is(replace($first, 101), $first, 'it is the same transaction');
is((submit($node, 'hot', 1))[0], $first, 'whoever asks again gets it');
is($node->psql('postgres', submit_sql('hot', 1) =~ s/value => 1/value => 2/r, on_error_stop => 1), 3, 'another body is still an error');
sql('UPDATE rflow.relayers SET paused = false');
state_of($first, 'broadcast');
mine(2);
state_of($first, 'confirmed');
is(paid(), '101', 'the other payload was executed');

# T18: signed and in the pool. The replacement takes the nonce; both know each other.
my ($second, $behind) = submit($node, 'hot', 2, 3);
state_of($_, 'broadcast') for $second, $behind;
my $replacement = replace($second, 102);
isnt($replacement, $second, 'it is another transaction');
is(replace($second, 102), $replacement, 'the same again is the same one');
isnt($node->psql('postgres', "SELECT rflow.replace_transaction($second, recipient => '$SINK', value => 103, data => '0x')"),
	0, 'a third payload is refused');
isnt($node->psql('postgres', "SELECT rflow.replace_transaction($replacement, recipient => '$SINK', value => 103, data => '0x')"),
	0, 'of the replacement too');
state_of($replacement, 'broadcast');
is(sql("SELECT n.nonce = o.nonce, o.replaced_by = n.id, n.replaces = o.id, o.intent, n.intent FROM rflow.transactions o, rflow.transactions n "
		. "WHERE o.id = $second AND n.id = $replacement"), 't|t|t|replace|send', 'they share the nonce, and are linked');
ok(sql("SELECT n.max_fee_per_gas >= o.max_fee_per_gas * 1.1 AND n.max_priority_fee_per_gas >= o.max_priority_fee_per_gas * 1.1 "
		. "FROM rflow.attempts o, rflow.attempts n WHERE o.transaction_id = $second AND n.transaction_id = $replacement") eq 't',
	'it offers a tenth more on both fees');
mine(1);
state_of($replacement, 'mined');
is(sql("SELECT state FROM rflow.transactions WHERE id = $second"), 'broadcast', 'until that is deep enough everything can still turn');
mine(1);
state_of($replacement, 'confirmed');
state_of($second, 'replaced');
state_of($behind, 'confirmed');
is(paid(), '101 102 3', 'only the replacement was executed');
is(sql("SELECT reason ~ '^transaction $replacement is in block' FROM rflow.transactions WHERE id = $second"), 't', 'and it says by what');
isnt($node->psql('postgres', "SELECT rflow.replace_transaction($second, recipient => '$SINK', value => 9, data => '0x')"), 0, 'too late is an error');

# R2: the original wins. The replacement ends without effect, and is not sent at another nonce.
my ($third) = submit($node, 'hot', 4);
state_of($third, 'broadcast');
$replacement = replace($third, 104);
state_of($replacement, 'broadcast');
$chain->rpc('anvil_dropAllTransactions');
$chain->rpc('eth_sendRawTransaction', raw($third));
mine(1);
state_of($third, 'mined');
mine(1);
state_of($third, 'confirmed');
state_of($replacement, 'cancelled');
like(sql("SELECT reason FROM rflow.transactions WHERE id = $replacement"), qr/^without effect: transaction $third is in block/, 'it says why');
my ($next) = submit($node, 'hot', 5);
state_of($next, 'broadcast');
mine(2);
state_of($next, 'confirmed');
is(paid(), '101 102 3 4 5', 'the replacement was not sent again');

# The original is in a block, which a reorganisation takes away; then the replacement is.
my ($fourth) = submit($node, 'hot', 6);
state_of($fourth, 'broadcast');
$replacement = replace($fourth, 106);
state_of($replacement, 'broadcast');
$chain->rpc('anvil_dropAllTransactions');
$chain->rpc('eth_sendRawTransaction', raw($fourth));
mine(1);
state_of($fourth, 'mined');
$chain->reorg(1, []);
$chain->rpc('anvil_dropAllTransactions');
$chain->mine(1);
state_of($fourth, 'broadcast');
RflowAnvil::wait_for(sub { hex_number($chain->rpc('txpool_status')->{pending}) > 0 }, 'the replacement to be offered again');
mine(2);
state_of($replacement, 'confirmed');
state_of($fourth, 'replaced');
is(paid(), '101 102 3 4 5 106', 'one of both');

# Cancelling what is being replaced gives up the replacement; a no-op takes the nonce.
my ($fifth) = submit($node, 'hot', 7);
state_of($fifth, 'broadcast');
$replacement = replace($fifth, 107);
state_of($replacement, 'broadcast');
is(sql("SELECT rflow.cancel_transaction($fifth)"), 'cancelling', 'cancelling');
poll_until($node, "SELECT count(*) FROM rflow.attempts WHERE kind = 'noop' AND broadcast_at IS NOT NULL", 1);
mine(2);
state_of($replacement, 'cancelled');
state_of($fifth, 'replaced');

# One that could never run is refused, and the original goes on.
my ($sixth) = submit($node, 'hot', 8);
state_of($sixth, 'broadcast');
my $hopeless = sql("SELECT rflow.replace_transaction($sixth, recipient => '$token', value => 1, data => '0x12345678')");
state_of($hopeless, 'failed');
is(sql("SELECT intent, replaced_by IS NULL FROM rflow.transactions WHERE id = $sixth"), 'send|t', 'the original goes on');
mine(2);
state_of($sixth, 'confirmed');

# Dying between the signature of the replacement and its broadcast, by each way.
for my $action (qw(error exit abort))
{
	my $id = sql("SELECT rflow.submit_transaction('hot', recipient => '$SINK', value => 20, data => '0x', idempotency_key => 'crash $action')");
	state_of($id, 'broadcast');
	my $offset = -s $node->logfile;
	$node->append_conf('postgresql.conf', "rflow.crash_point = 'relay-after-sign-commit:$action'\n");
	$node->reload;
	my $other = replace($id, 120);
	$node->wait_for_log(qr/crash point "relay-after-sign-commit" reached/, $offset);
	$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
	poll_until($node, 'SELECT true');
	$node->reload;
	state_of($other, 'broadcast');
	mine(2);
	state_of($other, 'confirmed');
	state_of($id, 'replaced');
}
like(paid(), qr/^101 102 3 4 5 106 8 120 120 120$/, 'each replacement once, no original');

# A run that waits for what was replaced goes on with the replacement.
sql("INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pay', rflow.on_start(), rflow.steps("
	  . "rflow.send_transaction('send', 'hot', recipient => '''$SINK''', value => '30'), "
	  . "rflow.sql('book', 'SELECT send.transaction_hash')))");
sql("SELECT rflow.start('pay')");
poll_until($node, "SELECT state FROM rflow.transactions WHERE run_id IS NOT NULL", 'broadcast');
my $sent = sql("SELECT id FROM rflow.transactions WHERE run_id IS NOT NULL");
$replacement = replace($sent, 130);
state_of($replacement, 'broadcast');
mine(2);
poll_until($node, 'SELECT state FROM rflow.runs', 'succeeded');
is(sql("SELECT s.result->>'transaction_hash' = t.transaction_hash::text FROM rflow.steps s, rflow.transactions t WHERE s.step = 'send' AND t.id = $replacement"),
	't', 'with its hash');

# T14, T15: held at its cap; bumped by hand with a higher one, at once and once.
sql("UPDATE rflow.relayers SET bump_blocks = 1000");
my ($capped) = submit($node, 'hot', 40);
state_of($capped, 'broadcast');
my $price = sql("SELECT max_fee_per_gas FROM rflow.attempts WHERE transaction_id = $capped");
is(sql("SELECT rflow.bump_transaction($capped, $price)"), 'bumping', 'it is to be bumped');
poll_until($node, "SELECT reason ~ '^held at its price .* than the cap allows' FROM rflow.transactions WHERE id = $capped");
isnt($node->psql('postgres', "SELECT rflow.replace_transaction($capped, '0x000000000000000000000000000000000000dEaD', 1, '0x', max_fee_per_gas => $price)",
		stderr => \my $too_low), 0, 'what could never outbid it does not replace it');
like($too_low, qr/can only be replaced for a fee of \d+ wei per gas or more/, 'and the least is told');
is(sql("SELECT rflow.bump_transaction($capped, 9000000000, 'it is urgent')"), 'bumping', 'with a higher cap of its own');
poll_until($node, "SELECT attempts FROM rflow.transactions WHERE id = $capped", 2);
is(sql("SELECT rflow.bump_transaction($capped)"), 'bumping', 'and again');
poll_until($node, "SELECT attempts, bool_and(a.broadcast_at IS NOT NULL) FROM rflow.transactions t JOIN rflow.attempts a ON a.transaction_id = t.id WHERE t.id = $capped GROUP BY 1", '3|t');
mine(2);
state_of($capped, 'confirmed');
is(sql("SELECT rflow.bump_transaction($capped)"), 'confirmed', 'too late is said so');
is(sql("SELECT string_agg(concat_ws('/', verb, reason, detail), ', ' ORDER BY at) FROM rflow.operator_log WHERE subject = 'transaction $capped' AND reason IS NOT NULL"),
	'bump_transaction/it is urgent/{"max_fee_per_gas": 9000000000}', 'the journal has why');
all_settled($node);

done_testing();
