# A send whose time is over: what was not signed ends at once and costs no nonce (T8); of what was signed a no-op takes the nonce,
# and it has expired only when the no-op is in a block (T16); a payload is never first offered after its time (rrelayer#112).
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main', conf => "rflow.crash_point = ''\n");
add_network($node, $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '100 ms', confirmations = 1");
add_relayer($node, 'hot');
$chain->mine(1);

sub sql { return $node->safe_psql('postgres', $_[0]) }

sub state_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $payment'", $state);
}

sub submit_for
{
	my ($payment, $time) = @_;
	return sql("SELECT rflow.submit_transaction('hot', recipient => '$SINK', data => '0x', value => $payment, "
		  . "idempotency_key => 'payment $payment', expires_in => '$time')");
}

sub noops { return "SELECT count(*) FROM rflow.attempts WHERE kind = 'noop' AND broadcast_at IS NOT NULL" }

sub crash_point
{
	$node->append_conf('postgresql.conf', "rflow.crash_point = '$_[0]'\n");
	$node->reload;
}

# T8: not signed, since the relayer is paused; what is behind it takes the nonce.
sql('UPDATE rflow.relayers SET paused = true');
submit_for(1, '100 ms');
submit($node, 'hot', 2);
state_is(1, 'expired');
is(sql("SELECT nonce IS NULL, attempts, reason FROM rflow.transactions WHERE idempotency_key = 'payment 1'"),
	't|0|expired before it was signed', 'it has cost no nonce');
like(sql("SELECT reason, what_to_do FROM rflow.stuck WHERE kind = 'failed transactions'"),
	qr/^1 have expired in a day, .*mark_dealt_with\('failed transactions', 'hot'\)/, 'it is told');
sql('UPDATE rflow.relayers SET paused = false');
state_is(2, 'broadcast');
is(sql("SELECT nonce FROM rflow.transactions WHERE idempotency_key = 'payment 2'"), 0, 'the next one takes the nonce');

# The relayer's own time for what says none; what says one keeps it.
sql("UPDATE rflow.relayers SET paused = true, expires_in = '200 ms'");
submit($node, 'hot', 3);
submit_for(4, '1 hour');
state_is(3, 'expired');
sql('UPDATE rflow.relayers SET paused = false, expires_in = NULL');
state_is(4, 'broadcast');
$chain->mine(1);
state_is($_, 'confirmed') for 2, 4;

# Signed, and its time passes before it was offered to any node: only the no-op ever goes out.
my $offset = -s $node->logfile;
crash_point('relay-after-sign-commit:wait');
submit_for(5, '500 ms');
$node->wait_for_log(qr/crash point "relay-after-sign-commit" reached/, $offset);
poll_until($node, "SELECT valid_until < clock_timestamp() FROM rflow.transactions WHERE idempotency_key = 'payment 5'");
crash_point('');
submit($node, 'hot', 6);
poll_until($node, noops(), 1);
state_is(6, 'broadcast');
my $hash = sql("SELECT a.transaction_hash FROM rflow.attempts a JOIN rflow.transactions t ON t.id = a.transaction_id "
	  . "WHERE t.idempotency_key = 'payment 5' AND a.kind = 'send'");
is($chain->rpc('eth_getTransactionByHash', $hash), undef, 'no node has ever seen the payload');
state_is(5, 'broadcast');
is(sql("SELECT intent FROM rflow.transactions WHERE idempotency_key = 'payment 5'"), 'expire', 'it has not expired yet');
$chain->mine(1);
state_is(5, 'expired');
state_is(6, 'confirmed');

# T16: a node has it; the no-op takes its place in the pool, and it is expired when that is in a block.
submit_for(7, '1 s');
submit($node, 'hot', 8);
state_is(7, 'broadcast');
state_is(8, 'broadcast');
poll_until($node, noops(), 2);
is(sql("SELECT state, intent FROM rflow.transactions WHERE idempotency_key = 'payment 7'"), 'broadcast|expire', 'what mines decides');
$chain->mine(1);
state_is(7, 'expired');
state_is(8, 'confirmed');

# What mines decides: the payload is in a block before the no-op.
submit_for(9, '1 s');
state_is(9, 'broadcast');
poll_until($node, noops(), 3);
$chain->rpc('anvil_dropAllTransactions');
$chain->rpc('eth_sendRawTransaction',
	sql("SELECT a.raw FROM rflow_private.relayer_attempts a JOIN rflow.transactions t ON t.id = a.transaction_id "
		  . "WHERE t.idempotency_key = 'payment 9' AND a.attempt = 1"));
$chain->mine(1);
state_is(9, 'confirmed');

# Its time passes while it is in a block, and then the block goes: the no-op takes its nonce, and nothing behind it waits.
sql('UPDATE rflow.networks SET confirmations = 3');
submit_for(12, '2 s');
submit($node, 'hot', 13);
state_is($_, 'broadcast') for 12, 13;
$chain->mine(1);
state_is($_, 'mined') for 12, 13;
poll_until($node, "SELECT count(*) FROM rflow_private.due WHERE kind = 'expire'", 1);
$chain->reorg(1);
poll_until($node, noops(), 4);
is(sql("SELECT state, intent FROM rflow.transactions WHERE idempotency_key = 'payment 12'"), 'broadcast|expire', 'it expires after all');
state_is(13, 'broadcast');
poll_until($node, "SELECT bool_and(a.broadcast_at IS NOT NULL) AND count(*) FILTER (WHERE t.reason ~ 'is not on the chain') = 0 "
	  . "FROM rflow.attempts a JOIN rflow.transactions t ON t.id = a.transaction_id WHERE t.idempotency_key = 'payment 13'");
$chain->mine(3);
state_is(12, 'expired');
state_is(13, 'confirmed');
sql('UPDATE rflow.networks SET confirmations = 1');

# By the verb; and of a run, which is told.
my ($tenth) = submit($node, 'hot', 10);
state_is(10, 'broadcast');
is(sql("SELECT rflow.expire_transaction($tenth, 'by hand')"), 'expiring', 'the verb says what comes first');
poll_until($node, noops(), 5);
$chain->mine(1);
state_is(10, 'expired');
is(sql("SELECT rflow.expire_transaction($tenth)"), 'expired', 'and then what it is');
sql('UPDATE rflow.relayers SET paused = true');
sql("INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pay', rflow.on_start(), rflow.steps("
	  . "rflow.send_transaction('send', 'hot', recipient => '''$SINK''', value => '11', gas_limit => '21000', simulate => 'never', "
	  . "expires_in => '500 ms')))");
sql("SELECT rflow.start('pay')");
poll_until($node, "SELECT state, error_message ~ '^transaction \\d+ expired: expired before it was signed' FROM rflow.runs", 'failed|t');
sql('UPDATE rflow.relayers SET paused = false');
all_settled($node);
is(sql("SELECT count(*) FROM rflow_private.due WHERE kind = 'expire'"), 1, 'only what may still expire is kept in mind');
executed_once($chain, $node, 2, 4, 6, 8, 9, 13);

done_testing();
