# An event that does not come back within the grace: its run is cancelled, what is not signed too, and what is signed is taken
# back by a no-op, unless it comes first. When the event comes back later there is a new incarnation, and never a second
# payment while the first one could still be mined.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $CONFIRMATIONS = 3;

my $chain  = start_anvil('--no-mining');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $job    = RflowAudit->start(
	node          => $node,
	chain         => $chain,
	endpoint      => $faulty->url,
	confirmations => $CONFIRMATIONS);
my $reorgs = 0;

sub raw
{
	return $chain->rpc('eth_getRawTransactionByHash', $_[0]);
}

sub mine
{
	my ($blocks) = @_;

	for (1 .. $blocks // 1)
	{
		my $next = $chain->block_number + 1;
		$chain->mine;
		poll_until($node, "SELECT max(number) >= $next FROM rflow.blocks");
	}
}

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

sub paused
{
	query("UPDATE rflow.relayers SET paused = $_[0]");
}

my $SEND = 'FROM rflow.transactions ORDER BY id DESC LIMIT 1';

# A block with a deposit, replaced by one without it as soon as its run has a send in that state. Returns the raw transaction.
sub vanishing_deposit
{
	my ($state) = @_;
	my $hash = $job->deposit;

	$job->{sent} = [];
	mine();
	poll_until($node, "SELECT state $SEND", $state);
	my $raw = raw($hash);
	$chain->reorg(1, []);
	poll_until($node, 'SELECT count(*) OVER (), detached, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', ++$reorgs . '|1|1');
	return $raw;
}

sub runs
{
	return query('SELECT state, incarnation FROM rflow_private.workflow_runs ORDER BY created_at');
}

# How often the contract was told of a deposit, and how often of one that it knew.
sub payments
{
	return join '|', map { $job->settle_counter($_) } qw(total duplicates);
}

sub come_back
{
	my ($raw, $runs) = @_;

	$chain->rpc('eth_sendRawTransaction', $raw);
	mine();
	poll_until($node, 'SELECT count(*) FROM rflow.runs', $runs);
}

sub go_on
{
	my ($what) = @_;
	RflowAnvil::wait_for(
		sub {
			$chain->mine;
			query("SELECT NOT EXISTS (SELECT FROM rflow.runs WHERE state IN ('queued', 'ready', 'waiting'))
				AND NOT EXISTS (SELECT FROM rflow_private.nonces WHERE NOT settled)") eq 't';
		},
		$what);
}

# ---- not signed ----
paused('true');
my $raw = vanishing_deposit('queued');
mine(2);
is(query("SELECT state $SEND"), 'queued', 'nothing is given up within the grace');
query("UPDATE rflow_private.workflow_runs SET detached_at = detached_at - interval '2 minutes' WHERE detached_at IS NOT NULL");
like(query("SELECT reason, what_to_do FROM rflow.stuck WHERE kind = 'run'"),
	qr/^block \d+ was replaced, and its event is not in the new blocks: held until block \d+ has been read\|Nothing: /,
	'rflow.stuck says what is held');
mine(2);
poll_until($node, 'SELECT retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', '1|0');
is(runs(), 'cancelled|1', 'the run is cancelled');
like(query('SELECT error_message FROM rflow.runs'),
	qr/^retracted: block \d+ of network "local" was replaced, and its event is not in the blocks that came instead$/, 'and says why');
like(query("SELECT state, reason $SEND"), qr/^cancelled\|retracted: /, 'so is the send');
is(query("SELECT count(*) FROM rflow_private.due"), 0, 'nothing is due');
paused('false');
mine(2);
is(payments(), '0|0', 'and nothing is paid');

come_back($raw, 2);
go_on('the second incarnation to end');
is(runs(), "cancelled|1\nsucceeded|2", 'when it comes back there is a second incarnation');
is(payments(), '1|0', 'and one payment');

# ---- signed, and no node has it: a no-op takes the nonce ----
$faulty->fault({ kind => 'close', method => 'eth_sendRawTransaction' });
$raw = vanishing_deposit('signed');
mine(5);
poll_until($node, 'SELECT retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', '1|0');
is(query("SELECT state, intent $SEND"), 'signed|cancel', 'what is signed is to be taken back');
like(query("SELECT reason FROM rflow.stuck WHERE kind = 'retracted'"), qr/^retracted: .*, and transaction 3 is signed$/,
	'rflow.stuck says what may have been sent for nothing');
come_back($raw, 4);
is(query('SELECT state, incarnation FROM rflow_private.workflow_runs ORDER BY created_at DESC LIMIT 1'),
	'queued|2', 'the second incarnation waits');
mine(2);
is(query('SELECT count(*) FROM rflow.transactions'), 3, 'and has sent nothing while the first payment could be mined');
query("UPDATE rflow_private.workflow_runs SET created_at = created_at - interval '2 minutes' WHERE state = 'queued'");
like(query("SELECT reason FROM rflow.stuck WHERE kind = 'run'"),
	qr/^its event has come back after run \S+ was retracted, whose transactions are not final: 3 is signed$/, 'rflow.stuck says what it waits for');
$faulty->heal;
poll_until($node, "SELECT count(*) FROM rflow.attempts WHERE kind = 'noop' AND broadcast_at IS NOT NULL", 1);
go_on('the second incarnation to end');
is(query('SELECT string_agg(state, $$ $$ ORDER BY id) FROM rflow.transactions'),
	'cancelled confirmed cancelled confirmed', 'the no-op was first, then the second payment');
is(payments(), '2|0', 'one payment again');
query('SELECT rflow.resolve_incident(id) FROM rflow.incidents');

# ---- broadcast, and mined although its reason has gone ----
$raw = vanishing_deposit('broadcast');
mine(5);
poll_until($node, 'SELECT retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', '1|0');
like(query("SELECT state, intent $SEND"), qr/^(mined|confirmed)\|send$/, 'what is mined stays');
like(query("SELECT reason FROM rflow.stuck WHERE kind = 'retracted'"), qr/and transaction 5 is (mined|confirmed)$/, 'rflow.stuck says it');
$chain->rpc('eth_sendRawTransaction', $raw);
mine();
poll_until($node, 'SELECT retracted, reattached FROM rflow.reorgs ORDER BY at DESC LIMIT 1', '0|1');
go_on('the run to end');
is(query('SELECT count(*) FROM rflow.runs'), 5, 'when its event comes back the first payment stands for it');
is(query('SELECT state, incarnation FROM rflow_private.workflow_runs ORDER BY created_at DESC LIMIT 1'), 'succeeded|1', 'and its run has succeeded');
is(payments(), '3|0', 'it was paid once');

done_testing();
