# Cancelling: before a nonce is assigned it costs nothing; afterwards a no-op takes the nonce, so that what is behind it
# goes on; and a pause holds what is signed.  A payload that can never run is ended in the same way.
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

sub state_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $payment'", $state);
}

sub cancel
{
	my ($id) = @_;
	return $node->safe_psql('postgres', "SELECT rflow.cancel_transaction($id)");
}

sub pause_relayer
{
	my ($paused) = @_;
	$node->safe_psql('postgres', "UPDATE rflow.relayers SET paused = $paused");
}

# rrelayer#99, rrelayer#106: none is assigned, so none is lost.
pause_relayer('true');
my ($first, $second) = submit($node, 'hot', 1, 2);
is(cancel($first), 'cancelled', 'what has no nonce is cancelled at once');
pause_relayer('false');
state_is(2, 'broadcast');
is($node->safe_psql('postgres', "SELECT nonce FROM rflow.transactions WHERE id = $second"), 0, 'and takes none');

# I-9, R2: a no-op in its place, and what mines decides; what is behind it goes on.
my ($third, $fourth) = submit($node, 'hot', 3, 4);
state_is(4, 'broadcast');
is(cancel($third), 'cancelling', 'what is signed needs a no-op');
is(cancel($third), 'cancelling', 'asking again changes nothing');
poll_until($node, "SELECT count(*) FROM rflow.attempts WHERE kind = 'noop' AND broadcast_at IS NOT NULL", 1);
$chain->mine(1);
state_is(3, 'cancelled');
state_is($_, 'confirmed') for 2, 4;
is(cancel($fourth), 'confirmed', 'too late is said so');

# Signed and not broadcast when the server stops; cancelled before it is there again (rrelayer#112, OZ relayer).
$node->append_conf('postgresql.conf', "rflow.crash_point = 'relay-after-sign-commit:wait'\n");
$node->reload;
my $offset = -s $node->logfile;
my ($fifth) = submit($node, 'hot', 5);
$node->wait_for_log(qr/crash point "relay-after-sign-commit" reached/, $offset);
is(cancel($fifth), 'cancelling', 'it is signed already');
$node->stop('immediate');
$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
$node->start;
poll_until($node, "SELECT count(*) FROM rflow.attempts WHERE kind = 'noop' AND broadcast_at IS NOT NULL", 2);
$chain->mine(1);
state_is(5, 'cancelled');

# The same with a pause: the bytes stay here until it is over.
$node->append_conf('postgresql.conf', "rflow.crash_point = 'relay-after-sign-commit:wait'\n");
$node->reload;
$offset = -s $node->logfile;
submit($node, 'hot', 6);
$node->wait_for_log(qr/crash point "relay-after-sign-commit" reached/, $offset);
pause_relayer('true');
$node->append_conf('postgresql.conf', "rflow.crash_point = ''\n");
$node->reload;
poll_until($node, "SELECT count(*) > 0 FROM rflow.workers WHERE kind = 'relayer' AND status = 'running'");
state_is(6, 'signed');
is(hex_number($chain->rpc('txpool_status')->{pending}), 0, 'nothing of it is in the pool');
pause_relayer('false');
state_is(6, 'broadcast');
$chain->mine(1);
state_is(6, 'confirmed');

# Prices fall to less than a tenth of what a payload offers that is cancelled, and that nodes have forgotten.
$chain->rpc('anvil_setNextBlockBaseFeePerGas', to_hex(100_000_000_000));
$chain->mine(1);
my ($dear) = submit($node, 'hot', 9);
state_is(9, 'broadcast');
pause_relayer('true');
cancel($dear);
$chain->rpc('anvil_dropAllTransactions');
$chain->rpc('anvil_setNextBlockBaseFeePerGas', to_hex(1_000_000));
$chain->mine(12);
pause_relayer('false');
submit($node, 'hot', 10);
poll_until($node, "SELECT count(*) FROM rflow.attempts WHERE transaction_id = $dear AND kind = 'noop' AND broadcast_at IS NOT NULL", 1);
state_is(10, 'broadcast');
$chain->mine(1);
state_is(9, 'cancelled');
state_is(10, 'confirmed');

# rrelayer#92: a gas limit below what the bytes cost alone can never be enough.
my $never = $node->safe_psql('postgres',
	"SELECT rflow.submit_transaction('hot', recipient => '$SINK', value => 7, data => '0x', idempotency_key => 'low', gas_limit => 20000)");
submit($node, 'hot', 8);
for (1 .. 300)
{
	last if $node->safe_psql('postgres', "SELECT state FROM rflow.transactions WHERE id = $never") eq 'failed';
	$chain->mine(1);
	select undef, undef, undef, 0.1;
}
like($node->safe_psql('postgres', "SELECT state, error->>'kind', reason FROM rflow.transactions WHERE id = $never"),
	qr/^failed\|never_valid\|.*intrinsic gas/i, 'it fails with what the node said');
state_is(8, 'confirmed');
executed_once($chain, $node, 2, 4, 6, 8, 10);

done_testing();
