# rflow.adopt_transaction(): what an operator has sent by hand is what a send became, and it is not paid once more; a wish that
# cannot be carried out holds the send and says why; one that is taken back pays as usual; whoever dies on the way leaves one.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $HASH = '0x' . 'ab' x 32;
my $OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

my $chain = start_anvil('--no-mining');
my $node  = new_node('main', conf => "restart_after_crash = on\n");
add_network($node, $chain);
$node->safe_psql('postgres', "UPDATE rflow.networks SET poll_max = '100 ms', confirmations = 2");
add_relayer($node, 'hot');
$node->safe_psql('postgres', 'CREATE ROLE hand IN ROLE rflow_operator');

sub sql { return $node->safe_psql('postgres', $_[0]) }

sub mine
{
	my $next = $chain->block_number + 1;

	$chain->mine(1);
	poll_until($node, "SELECT max(number) >= $next FROM rflow_private.blocks");
}

# Blocks until the transaction is in this state.
sub becomes
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($id, $state) = @_;

	for (1 .. 100)
	{
		last if sql("SELECT state FROM rflow.transactions WHERE id = $id") eq $state;
		mine();
		select undef, undef, undef, 0.2;
	}
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE id = $id", $state);
}

sub says
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($id, $why) = @_;
	return poll_until($node, "SELECT reason ~ '$why' FROM rflow.transactions WHERE id = $id", 't');
}

# By hand, with the relayer's key unless told.
sub by_hand
{
	my (%fields) = @_;

	return $chain->send({ from => $ACCOUNTS[0], to => $SINK, gas => 30000, %fields });
}

# As an operator.
sub adopt
{
	my ($id, $hash, $why) = @_;
	my $hex = defined $hash ? "'$hash'" : 'NULL';
	my $reason = defined $why ? "'$why'" : 'NULL';

	return sql("SET ROLE hand; SELECT rflow.adopt_transaction($id, $hex, $reason)");
}

# What is queued while the relayer does nothing stays queued.
sub queue
{
	my (@payments) = @_;

	sql("UPDATE rflow.relayers SET paused = true");
	return submit($node, 'hot', @payments);
}

sub go_on { return sql("UPDATE rflow.relayers SET paused = false") }

$chain->mine(1);
my ($first) = submit($node, 'hot', 1);
becomes($first, 'confirmed');

# ---- a queued one ---------------------------------------------------------------------------------------------

my ($queued) = queue(2);
my $paid = by_hand(value => 2);
is(adopt($queued, $paid, 'paid by hand'), 'adopting', 'the wish is taken');
is(adopt($queued, $paid), 'adopting', 'once more is the same wish');
go_on();
says($queued, "$paid is in no block yet");
mine();
becomes($queued, 'confirmed');
is(sql("SELECT nonce, transaction_hash = '$paid', intent FROM rflow.transactions WHERE id = $queued"), '1|t|send', 'it has that nonce and hash');
is(adopt($queued, $paid), 'confirmed', 'adopting it again changes nothing');
executed_once($chain, $node, 1, 2);
is(sql("SELECT who = 'rflow relayer', acting_as, outcome ~ 'adopted by', reason FROM rflow.operator_log WHERE verb = 'adopt_transaction' "
		. "AND subject = 'transaction $queued' AND outcome <> 'confirmed' ORDER BY at"),
	"f|hand|f|paid by hand\nf|hand|f|\nt|rflow relayer|t|paid by hand", 'the journal has who and why');

# ---- hashes that are wrong ------------------------------------------------------------------------------------

my ($wrong) = queue(3);
is(adopt($wrong, $HASH), 'adopting', 'an unknown hash is wished');
go_on();
says($wrong, "the node does not know $HASH");
$node->psql('postgres', "SELECT rflow.adopt_transaction($wrong, '0x" . 'cd' x 32 . "')", stderr => \my $error);
like($error, qr/is to become outside transaction $HASH already.*adopt_transaction\($wrong, NULL\)/s, 'another wish is refused');
is(sql("SELECT rflow.cancel_transaction($wrong), rflow.expire_transaction($wrong)"), 'adopting|adopting', 'what was wanted first stays wanted');
sql("UPDATE rflow.relayers SET paused = true");
is(adopt($wrong, undef, 'mistyped'), 'queued', 'the wish is taken back');
my $strangers = by_hand(from => $ACCOUNTS[1], value => 3, to => $OTHER);
is(adopt($wrong, $strangers), 'adopting', 'the transaction of another account is wished');
go_on();
mine() for 1 .. 4;
says($wrong, "$strangers was sent by $ACCOUNTS[1], and that is not the account of relayer");
like(sql("SELECT what_to_do FROM rflow.stuck WHERE kind = 'transaction' AND subject = '$wrong'")
		|| sql("UPDATE rflow_private.relayer_transactions SET state_since = state_since - interval '2 minutes' WHERE id = $wrong; "
			. "SELECT what_to_do FROM rflow.stuck WHERE kind = 'transaction' AND subject = '$wrong'"),
	qr/adopt_transaction\($wrong, NULL\) takes the wish back/, 'rflow.stuck says what to do');
adopt($wrong, undef);
becomes($wrong, 'confirmed');
executed_once($chain, $node, 1 .. 3);

# ---- one that does something else, one that is ours --------------------------------------------------------------

my ($other, $ours) = queue(4, 5);
my $less = by_hand(value => 40, to => $OTHER);
adopt($other, $less, 'agreed with them');
$node->psql('postgres', "SELECT rflow.adopt_transaction($ours, '$less')", stderr => \$error);
like($error, qr/cannot become what transaction $other is to become/, 'one transaction stands for one send');
my $own = sql("SELECT transaction_hash FROM rflow.transactions WHERE id = $first");
adopt($ours, $own);
go_on();
becomes($other, 'confirmed');
is(sql("SELECT count(*) FROM rflow.operator_log WHERE subject = 'transaction $other' AND outcome ~ 'with another recipient, value\$'"), 1,
	'the journal says that it does something else');
says($ours, "$own is a payload of transaction $first");
adopt($ours, undef);
becomes($ours, 'confirmed');
is(join(' ', map { $_->[2] } executed($chain, $ACCOUNTS[0])), '1 2 3 40 5', 'nothing was paid twice');

# ---- a live one -------------------------------------------------------------------------------------------------

my ($live) = submit($node, 'hot', 6);
poll_until($node, "SELECT state FROM rflow.transactions WHERE id = $live", 'broadcast');
my $nonce = sql("SELECT nonce FROM rflow.transactions WHERE id = $live");
my $competes = by_hand(value => 60, nonce => $nonce, maxFeePerGas => to_hex('900000000000'), maxPriorityFeePerGas => to_hex('800000000000'));
is(adopt($live, $competes), 'adopting', 'what replaced a live one by hand');
becomes($live, 'confirmed');
is(sql("SELECT nonce, transaction_hash = '$competes' FROM rflow.transactions WHERE id = $live"), "$nonce|t", 'is what it became');
is(sql('SELECT count(*) FROM rflow.incidents'), 0, 'it is not taken for the use of somebody else');

# ---- at the nonce of another one --------------------------------------------------------------------------------

my ($holder) = submit($node, 'hot', 8);
poll_until($node, "SELECT state FROM rflow.transactions WHERE id = $holder", 'broadcast');
$nonce = sql("SELECT nonce FROM rflow.transactions WHERE id = $holder");
my ($late) = queue(9);
$competes = by_hand(value => 9, nonce => $nonce, maxFeePerGas => to_hex('900000000000'), maxPriorityFeePerGas => to_hex('800000000000'));
adopt($late, $competes);
mine() for 1 .. 2;
go_on();
says($late, "nonce $nonce is transaction $holder");
becomes($holder, 'failed');
is(sql("SELECT error->>'kind' FROM rflow.transactions WHERE id = $holder"), 'displaced', 'the holder fails first, as without the wish');
becomes($late, 'confirmed');
is(sql("SELECT nonce, transaction_hash = '$competes' FROM rflow.transactions WHERE id = $late"), "$nonce|t", 'then the other one has it');
is(scalar(grep { $_->[2] == 9 } executed($chain, $ACCOUNTS[0])), 1, 'it was paid once');
is(scalar(grep { $_->[2] == 8 } executed($chain, $ACCOUNTS[0])), 0, 'and the holder never');

# ---- a run goes on ------------------------------------------------------------------------------------------------

sql("UPDATE rflow.relayers SET paused = true");
sql("INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pays', rflow.on_start(), rflow.steps("
	  . "rflow.send_transaction('pay', relayer => 'hot', recipient => \$\$ '$SINK' \$\$, value => '11', wait_for => 'confirmed')))");
sql("SELECT rflow.start('pays', '{}', key => 'one')");
my $send = "SELECT id FROM rflow.transactions WHERE run_id IS NOT NULL";
poll_until($node, "SELECT count(*) FROM ($send) s", 1);
my $of_run = sql($send);
adopt($of_run, by_hand(value => 11));
go_on();
becomes($of_run, 'confirmed');
poll_until($node, "SELECT state FROM rflow.runs WHERE workflow = 'pays'", 'succeeded');
is(scalar(grep { $_->[2] == 11 } executed($chain, $ACCOUNTS[0])), 1, 'what the run waited for was paid once');

# ---- its own payload is mined first --------------------------------------------------------------------------------

my ($own_way) = submit($node, 'hot', 10);
poll_until($node, "SELECT state FROM rflow.transactions WHERE id = $own_way", 'broadcast');
is(adopt($own_way, $HASH), 'adopting', 'a live one waits for a hash that never comes');
says($own_way, "the node does not know $HASH");
becomes($own_way, 'confirmed');
poll_until($node, 'SELECT count(*) FROM rflow_private.adoptions', 0);
is(sql("SELECT intent FROM rflow.transactions WHERE id = $own_way"), 'send', 'what mined at its nonce decides');

# ---- what a reconciliation cannot explain ----------------------------------------------------------------------------

my ($unmatched) = queue(12);
sql('SELECT rflow.disarm()');
my $by_lost = by_hand(value => 120, to => $OTHER);
$chain->mine(3);
sql("SELECT rflow.arm()");
go_on();
poll_until($node, "SELECT transaction_hash FROM rflow.unmatched_transactions", $by_lost);
like(sql("SELECT string_agg(what_to_do, ' ') FROM rflow.stuck"), qr/or rflow.adopt_transaction\(id, '$by_lost'\)/, 'rflow.stuck says so');
adopt($unmatched, $by_lost);
becomes($unmatched, 'confirmed');
poll_until($node, 'SELECT rflow.readiness()', 'ready');
is(sql('SELECT matched, unmatched FROM rflow.reconciliations') =~ /\|0$/, 1, 'it is explained by that');

# ---- one that reverts -------------------------------------------------------------------------------------------

my $reverter = $chain->send({ from => $ACCOUNTS[1], data => '0x6460006000fd6000526005601bf3', gas => 100000 });
$chain->mine(1);
my $code = $chain->rpc('eth_getTransactionReceipt', $reverter)->{contractAddress};
my ($fails) = queue(7);
adopt($fails, by_hand(value => 0, to => $code));
go_on();
becomes($fails, 'failed');
is(sql("SELECT error->>'kind' FROM rflow.transactions WHERE id = $fails"), 'reverted', 'one that has reverted fails');

# ---- crashes ----------------------------------------------------------------------------------------------------

sub crash_point
{
	$node->append_conf('postgresql.conf', "rflow.crash_point = '$_[0]'\n");
	$node->reload;
}

my $value = 100;
for my $point (qw(adopt-before-commit adopt-after-commit))
{
	for my $action (qw(error exit abort))
	{
		my ($id)   = queue(++$value);
		my $offset = -s $node->logfile;

		crash_point("$point:$action");
		my $hash = by_hand(value => $value);
		adopt($id, $hash);
		go_on();
		$chain->mine(3);
		$node->wait_for_log(qr/crash point "$point" reached/, $offset);
		crash_point('');
		poll_until($node, 'SELECT true');
		becomes($id, 'confirmed');
		is(sql("SELECT transaction_hash = '$hash' FROM rflow.transactions WHERE id = $id"), 't', "$point: $action: it was adopted");
		is(scalar(grep { $_->[2] == $value } executed($chain, $ACCOUNTS[0])), 1, '… and paid once');
	}
}

done_testing();
